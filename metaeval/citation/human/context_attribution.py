"""Context attribution of CiteEval's judge against annotators: confusion matrix, and F1 of each class.

The classes are the four contexts, or "retrieval" and "other". The annotators' class is that of more than half of those
who named one; without such a majority a statement is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaeval.citation.citeeval.options_and_values import CONTEXTS, RETRIEVAL
from metaeval.citation.measures import f1

NEEDS, OTHER = CONTEXTS[RETRIEVAL], "other"


@dataclass(frozen=True, slots=True)
class ClassScore:
    """Precision, recall and F1 of a class (None: undefined), and the number of statements that annotators give it."""

    precision: float | None
    recall: float | None
    f1: float | None
    statements: int


@dataclass(frozen=True)
class Confusion:
    """Counts of statements by (annotators' class, judge's class). left_out: number of statements that lack either."""

    counts: Mapping[tuple[str, str], int]
    classes: Sequence[str]
    left_out: int

    def score(self, name: str) -> ClassScore:
        """Return precision and recall of the judge for a class, and their F1."""
        hits = self.counts.get((name, name), 0)
        human = sum(number for (gold, _), number in self.counts.items() if gold == name)
        judged = sum(number for (_, label), number in self.counts.items() if label == name)
        precision, recall = hits / judged if judged else None, hits / human if human else None
        return ClassScore(precision, recall, f1(precision, recall), human)

    @property
    def macro(self) -> float | None:
        """The mean F1 over classes that occur (None without any); F1 is 0 for a class that only one side uses."""
        used = [name for name in self.classes if any(name in pair for pair in self.counts)]
        return sum(self.score(name).f1 or 0.0 for name in used) / len(used) if used else None


def confusion(
    judged: Sequence[str | None],
    human: Sequence[Sequence[int | None]],
    cited: Sequence[bool],
    forced: bool = True,
    binary: bool = True,
) -> Confusion:
    """Return the confusion matrix of the judge's contexts and the annotators'.

    judged: the name of the judge's context of each statement. human: the keys of `CONTEXTS` that annotators give each
    statement. None: not judged. forced: on the judge's side, a statement with citations counts as "retrieval", as
    published. binary: the classes are "retrieval" and "other". Raises ValueError if the lengths differ.
    """
    counts: Counter[tuple[str, str]] = Counter()
    left_out = 0
    for context, contexts, has_citation in zip(judged, human, cited, strict=True):
        names = [CONTEXTS[number] for number in contexts if number is not None]
        chosen = Counter(_binary(name) if binary else name for name in names)
        gold = next((name for name, times in chosen.items() if 2 * times > len(names)), None)
        label = NEEDS if forced and has_citation else context
        if gold is None or label is None:
            left_out += 1
        else:
            counts[gold, _binary(label) if binary else label] += 1
    return Confusion(counts, (NEEDS, OTHER) if binary else tuple(CONTEXTS.values()), left_out)


def _binary(name: str) -> str:
    return NEEDS if name == NEEDS else OTHER
