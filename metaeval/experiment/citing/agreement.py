"""Agreement of automatic verdicts with human labels, sentence by sentence and citation by citation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.alce.citations import alce_lines
from metaeval.citation.alce.options import RELEASED
from metaeval.citation.measures import group_codes
from metaeval.citation.sentences import SentenceSplitter
from metaeval.citation.table import Line
from metaeval.config import RunConfig
from metaeval.experiment.citing.human_labels import Labelled
from metaeval.experiment.citing.quantities import Interval, interval_of
from metaeval.experiment.sheet import known
from metaeval.experiment.verdicts import Backend
from metaeval.stats.agreement import cohen_kappa, fleiss_kappa
from metaeval.stats.arrays import ratio
from metaeval.stats.classification import decision_counts, resampled
from metaeval.stats.resampling import bootstrap, replicate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MISSING = -1
"""Of a rater who said nothing of a unit."""

PUBLISHED = "automatic, as published"
UNITS: Mapping[str, str] = {"sentence": "recall: is the sentence supported?", "citation": "precision: is the citation?"}


@dataclass(frozen=True, eq=False)
class Labels:
    """What the people and every other rater said of the same units, (n,) each: 1 support, 0 none, or MISSING.

    group: (n,) codes of the questions.
    """

    human: Ints
    group: Ints
    n_groups: int
    raters: Mapping[str, Ints]


@dataclass(frozen=True)
class Agreed:
    """One rater against the people, on the units that both judged.

    supported: the share of them that the people support, and that the rater does.
    """

    rater: str
    units: int
    missing: int
    accuracy: Interval
    kappa: Interval
    supported: tuple[float | None, float | None]


def gather_labels(
    labelled: Sequence[Labelled], backends: Sequence[Backend], splitter: SentenceSplitter
) -> dict[str, Labels]:
    """Labels by unit. Backends judge as the released ALCE code does, for its sentences are the ones that were labelled.

    Where the sentences of an answer, or the citations of a sentence, are not as many as the labels, no rater but the
    published one is taken to have judged them.
    """
    raters = {PUBLISHED: _published(labelled)} if any(one.automatic_recall for one in labelled) else {}
    answers = [one.answer for one in labelled]
    for backend in backends:
        raters[backend.name] = _aligned(labelled, alce_lines(answers, backend.entails, RELEASED, splitter))
    codes, n_groups = group_codes(answers)
    human = [(list(one.recall), [list(own) for own in one.precision]) for one in labelled]
    return {
        unit: Labels(
            human=_column(human, unit),
            group=np.repeat(codes, [len(_flat(one, unit)) for one in human]),
            n_groups=n_groups,
            raters={name: _column(said, unit) for name, said in raters.items()},
        )
        for unit in UNITS
    }


_Said = tuple[list[int], list[list[int]]]
"""Of one answer: a verdict on each sentence, and on each citation of each sentence."""


def _published(labelled: Sequence[Labelled]) -> list[_Said]:
    said: list[_Said] = []
    for one in labelled:
        recall = list(one.automatic_recall or [MISSING] * len(one.recall))
        given = one.automatic_precision or [()] * len(one.recall)
        precision = [_as_many(list(own), len(of)) for own, of in zip(given, one.precision, strict=True)]
        said.append((recall, precision))
    return said


def _aligned(labelled: Sequence[Labelled], lines: Sequence[Line]) -> list[_Said]:
    by_answer: dict[str, dict[int, list[Line]]] = {}
    for line in lines:
        if line.claim_number is not None:
            by_answer.setdefault(line.answer, {}).setdefault(line.claim_number, []).append(line)
    said: list[_Said] = []
    for one in labelled:
        own = list(by_answer.get(one.answer.id, {}).values())
        if len(own) != len(one.recall):
            own = [[] for _ in one.recall]
        recall = [_code(few[0].recall) if few else MISSING for few in own]
        precision = [
            _as_many([_code(line.precision) for line in few if line.state in ("judged", "unjudged")], len(of))
            for few, of in zip(own, one.precision, strict=True)
        ]
        said.append((recall, precision))
    return said


def _as_many(values: list[int], wanted: int) -> list[int]:
    return values if len(values) == wanted else [MISSING] * wanted


def _code(value: int | None) -> int:
    return MISSING if value is None else value


def _flat(said: _Said, unit: str) -> list[int]:
    return said[0] if unit == "sentence" else [value for own in said[1] for value in own]


def _column(said: Sequence[_Said], unit: str) -> Ints:
    return np.array([value for one in said for value in _flat(one, unit)], dtype=np.int64)


def agreement(labels: Labels, config: RunConfig) -> list[Agreed]:
    """Accuracy and Cohen's kappa of every rater with the people; intervals draw questions."""
    interval = config.interval
    draws = bootstrap(labels.n_groups, interval.resamples, interval.seed)
    found = []
    for name, said in labels.raters.items():
        both = said != MISSING
        human, own = labels.human[both], said[both]
        counts = decision_counts(own, human, labels.group[both], labels.n_groups, 2)
        values = [
            interval_of(replicate(resampled(counts, measure), draws), interval.level)
            for measure in (_agreed, cohen_kappa)
        ]
        shares = tuple(known(float(column.mean())) if column.size else None for column in (human, own))
        missing = int((~both).sum())
        found.append(Agreed(name, int(both.sum()), missing, values[0], values[1], (shares[0], shares[1])))
    return found


def _agreed(counts: Floats) -> Floats:
    """Share of the units that two raters decide alike, from counts (..., 2, 2), be they all of one kind."""
    return ratio(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1)))


def fleiss(labels: Labels) -> float | None:
    """Fleiss' kappa of the people's label and all raters on the units that all judged; None with fewer than three."""
    columns = np.stack([labels.human, *labels.raters.values()])
    if columns.shape[0] < 3:
        return None
    whole = columns[:, (columns != MISSING).all(axis=0)]
    support = whole.sum(axis=0).astype(np.float64)
    return known(fleiss_kappa(np.stack([columns.shape[0] - support, support], axis=1)))
