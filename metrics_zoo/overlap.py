"""Lexical overlap: the share of the statement's content words that stand in the source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from metaeval.scoring.backends.model_metric import calibrated, probability
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Side, Span, Status

_WORD = re.compile(r"\w+")
FUNCTION_WORDS = frozenset(
    """a about above after again all also although am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her here hers
    him his how i if in into is it its itself just may me might more most my no nor not of off on once only or other
    our ours out over own s same she should so some such t than that the their theirs them then there these they this
    those through to too under until up upon very was we were what when where which while who whom why will with would
    you your yours""".split()
)


class OverlapOptions(MetricOptions):
    """Options of word overlap."""

    content_only: bool = True
    """Leave function words out of the statement; a statement of function words alone keeps them."""


class Overlap(Metric):
    """Share of the statement's distinct words, lower-cased, that occur in the source; in [0, 1]."""

    card = MetricCard(
        name="overlap",
        family="lexical",
        summary="share of the statement's content words that stand in the source",
        paper="none: a baseline",
        licence="Apache-2.0",
        **probability() | calibrated(0.63),
    )
    Options = OverlapOptions
    batched = False

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a statement without words is EMPTY, an empty source supports nothing (0)."""
        words = {text: _WORD.findall(text.lower()) for text in {*sources, *statements}}
        return [
            self._pair(words[source], words[statement]) for source, statement in zip(sources, statements, strict=True)
        ]

    def _pair(self, source: list[str], statement: list[str]) -> PairScore:
        tokens = len(source) + len(statement)
        if not statement:
            return PairScore(None, Status.EMPTY, tokens)
        counted = self._counted(statement)
        return PairScore(len(counted.intersection(source)) / len(counted), tokens=tokens)

    def _counted(self, statement: list[str]) -> set[str]:
        words = set(statement)
        return words - FUNCTION_WORDS or words if self.options.content_only else words

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the statement's words: weight 1 if the source has them, with their occurrences there, else 0."""
        source_words = {*_WORD.findall(source.lower())}
        counted = self._counted(_WORD.findall(statement.lower()))
        return word_spans(source, statement, {word: float(word in source_words) for word in counted})


def word_spans(source: str, statement: str, weights: Mapping[str, float]) -> list[Span]:
    """Return the spans of the weighted words, lower-cased, in the statement and, for weights above 0, the source."""
    links = {word: number for number, word in enumerate(weights)}
    judged, read = (_WORD.finditer(lower_letters(text)) for text in (statement, source))
    spans: list[tuple[Side, re.Match[str]]] = [("statement", place) for place in judged if place.group() in weights]
    spans += [("source", place) for place in read if weights.get(place.group(), 0) > 0]
    return [Span(side, *place.span(), weights[place.group()], links[place.group()]) for side, place in spans]


def lower_letters(text: str) -> str:
    """Return a text in lower case with its length unchanged: a letter whose lower case is two letters stays."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(low if len(low := c.lower()) == 1 else c for c in text)
