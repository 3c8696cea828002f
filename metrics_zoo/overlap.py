"""Lexical overlap: the share of the statement's distinct content words that occur in the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.corpus import languages
from metaeval.scoring.backends.model_metric import calibrated, probability
from metaeval.scoring.contract import MetricCard, PairScore, Side, Span, Status
from metrics_zoo.words import WordMetric, WordOptions

FUNCTION_WORDS = frozenset(
    """a about above after again all also although am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her here hers
    him his how i if in into is it its itself just may me might more most my no nor not of off on once only or other
    our ours out over own s same she should so some such t than that the their theirs them then there these they this
    those through to too under until up upon very was we were what when where which while who whom why will with would
    you your yours""".split()
)


class OverlapOptions(WordOptions):
    """Options of word overlap."""

    content_only: bool = True
    """Leave function words (of English, German, Spanish, French, Hindi) out, unless a statement has no others."""


class Overlap(WordMetric):
    """Share of the statement's distinct content words (see `content_only`), lower-cased, that occur in the source."""

    card = MetricCard(
        name="overlap",
        family="lexical",
        summary="share of the statement's content words that stand in the source",
        paper="none: a baseline",
        licence="Apache-2.0",
        **probability() | calibrated(0.63),
    )
    Options = OverlapOptions
    folds = True
    batched = False

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a statement without words is EMPTY, an empty source supports nothing (0)."""
        words = {text: self.words(text) for text in {*sources, *statements}}
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
        left_out = FUNCTION_WORDS if self.language == "en" else languages.FUNCTION_WORDS.get(self.language, frozenset())
        return words - left_out or words if self.options.content_only else words

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the statement's counted words: weight 1 if the source has them, with their matches there, else 0."""
        source_words = {*self.words(source)}
        counted = sorted(self._counted(self.words(statement)))
        return word_spans(self, source, statement, {word: float(word in source_words) for word in counted})


def word_spans(metric: WordMetric, source: str, statement: str, weights: Mapping[str, float]) -> list[Span]:
    """Return the spans of the words in `weights`, lower-cased, in the statement and, if above 0, in the source."""
    links = {word: number for number, word in enumerate(weights)}
    spans: list[tuple[Side, tuple[str, int, int]]] = [
        ("statement", place) for place in metric.places(statement) if place[0] in weights
    ]
    spans += [("source", place) for place in metric.places(source) if weights.get(place[0], 0) > 0]
    return [Span(side, start, end, weights[word], links[word]) for side, (word, start, end) in spans]
