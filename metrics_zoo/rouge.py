"""ROUGE (Lin, 2004) of the statement against the source, to the last digit as the rouge-score package has it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import product
from typing import Literal

from metaeval.scoring.backends.model_metric import calibrated, probability
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Span, Status
from metrics_zoo.cover import common_subsequence
from metrics_zoo.overlap import lower_letters

_WORD = re.compile("[a-z0-9]+")
_SIZES = {"rouge1": 1, "rouge2": 2}  # words that are matched together; rougeL matches a sequence


class RougeOptions(MetricOptions):
    """Options of ROUGE."""

    variant: Literal["rouge1", "rouge2", "rougeL"] = "rougeL"
    """What is matched: words, pairs of words, or the longest common subsequence."""
    side: Literal["precision", "recall", "fmeasure"] = "precision"
    """Precision is the share of the statement that is found in the source."""
    stem: bool = False
    """Match Porter stems instead of words."""


class Rouge(Metric):
    """ROUGE with the source as reference and the statement as candidate; in [0, 1]."""

    card = MetricCard(
        name="rouge",
        family="lexical",
        summary="ROUGE-L precision of the statement against the source",
        paper="Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries (W04-1013)",
        licence="Apache-2.0",
        **probability() | calibrated(0.48),
    )
    Options = RougeOptions
    batched = False

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a statement without a token (a-z, 0-9) is EMPTY, an empty source supports nothing (0)."""
        words = _tokens(self.options.stem)
        return [self._pair(words(source), words(text)) for source, text in zip(sources, statements, strict=True)]

    def _pair(self, source: list[str], statement: list[str]) -> PairScore:
        tokens = len(source) + len(statement)
        if not statement:
            return PairScore(None, Status.EMPTY, tokens)
        size = _SIZES.get(self.options.variant)
        matched = common_subsequence(source, statement) if size is None else _shared(source, statement, size)
        precision, recall = (matched / max(len(words) - (size or 1) + 1, 1) for words in (statement, source))
        fmeasure = 2 * precision * recall / (precision + recall) if matched else 0.0
        return PairScore(
            {"precision": precision, "recall": recall, "fmeasure": fmeasure}[self.options.side], tokens=tokens
        )

    @cached_property
    def _words(self) -> Callable[[str], list[str]]:
        """The tokens of single words, which texts share."""
        return _tokens(self.options.stem)

    def explain(self, source: str, statement: str) -> list[Span]:
        """The statement's words, 1 where they are matched, with their matches in the source, else 0."""
        texts = {"statement": statement, "source": source}
        places = {side: [m.span() for m in _WORD.finditer(lower_letters(text))] for side, text in texts.items()}
        words = {side: [" ".join(self._words(texts[side][a:b])) for a, b in places[side]] for side in texts}
        size = _SIZES.get(self.options.variant)
        both = words["statement"], words["source"]
        pairs = common_sequence(*both) if size is None else shared_grams(*both, size)
        spans = {number: Span("statement", *place, 0.0, number) for number, place in enumerate(places["statement"])}
        for one, other in pairs:
            spans[one] = spans[one]._replace(weight=1.0)
            spans[-1 - other] = Span("source", *places["source"][other], 1.0, one)
        return list(spans.values())


def _shared(one: Sequence[str], other: Sequence[str], size: int) -> int:
    first, second = (Counter(zip(*(words[step:] for step in range(size)), strict=False)) for words in (one, other))
    return (first & second).total()


def common_sequence(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence, in both."""
    shared = {*one} & {*other}
    rows, columns = ([place for place, word in enumerate(words) if word in shared] for words in (one, other))
    found = _common([one[place] for place in rows], [other[place] for place in columns])
    return [(rows[row], columns[column]) for row, column in found]


def _common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, j in product(reversed(range(len(one))), reversed(range(len(other)))):
        same, apart = lengths[i + 1][j + 1] + 1, max(lengths[i + 1][j], lengths[i][j + 1])
        lengths[i][j] = same if one[i] == other[j] else apart
    i = j = 0
    found = []
    while lengths[i][j]:
        if one[i] == other[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] == lengths[i][j]:
            i += 1
        else:
            j += 1
    return found


def shared_grams(one: Sequence[str], other: Sequence[str], size: int) -> list[tuple[int, int]]:
    """Places of the words of n-grams that both have; one that stands twice needs two to match, the first ones first."""
    places: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(other) - size + 1):
        places.setdefault(tuple(other[place : place + size]), []).append(place)
    found = []
    for place in range(len(one) - size + 1):
        if free := places.get(tuple(one[place : place + size])):
            first = free.pop(0)
            found += [(place + step, first + step) for step in range(size)]
    return found


def _tokens(stem: bool) -> Callable[[str], list[str]]:
    """The tokens of rouge-score, each text tokenised once. Only its stems need the package, whose import is slow."""
    if not stem:
        return cache(lambda text: _WORD.findall(text.lower()))
    from rouge_score.tokenizers import DefaultTokenizer

    tokenizer = DefaultTokenizer(use_stemmer=True)
    return cache(lambda text: [str(token) for token in tokenizer.tokenize(text)])
