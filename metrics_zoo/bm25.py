"""BM25 of the statement as a query against the source, among the sources of the job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from pydantic import Field

from metaeval.scoring.contract import MetricCard, PairScore, Span, Status
from metrics_zoo.overlap import word_spans
from metrics_zoo.words import WordMetric, WordOptions


class BM25Options(WordOptions):
    """Options of BM25: its parameters k1 and b."""

    k1: float = Field(default=1.5, ge=0)
    """Saturation of repeated words: the higher, the more repetitions count."""
    b: float = Field(default=0.75, ge=0, le=1)
    """Normalisation by the source's length: 0 is none, 1 is full."""


class BM25(WordMetric):
    """Okapi BM25 of the source for the statement's words, in Lucene's form, as bm25s computes it by default.

    The sum over statement words of ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean)),
    with N, df and the mean length over the job's unique sources: unbounded above, and a score depends on that set.
    """

    card = MetricCard(
        name="bm25",
        title="BM25",
        family="lexical",
        summary="BM25 of the statement as a query, over the sources of the job",
        paper="Robertson and Zaragoza 2009, The Probabilistic Relevance Framework: BM25 and Beyond",
        licence="Apache-2.0",
        low=0.0,
        corpus_dependent=True,
    )
    Options = BM25Options

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Count words over the job's unique sources."""
        super().prepare(sources, statements)
        counts = [Counter(self.words(source)) for source in sources]
        self._frequency = Counter(word for count in counts for word in count)
        self._sources = len(sources)
        self._mean_length = sum(count.total() for count in counts) / max(len(counts), 1)

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a statement without words is EMPTY, an empty source supports nothing (0)."""
        counts = {source: Counter(self.words(source)) for source in set(sources)}
        return [self._pair(counts[source], self.words(text)) for source, text in zip(sources, statements, strict=True)]

    def _pair(self, source: Counter[str], statement: list[str]) -> PairScore:
        length = source.total()
        if not statement:
            return PairScore(None, Status.EMPTY, length)
        norm = self._norm(length)
        total = 0.0  # not by sum(), which rounds otherwise from Python 3.12 on
        for word in filter(source.__getitem__, statement):
            total += self._rarity(word) * source[word] / (source[word] + norm)
        return PairScore(total, tokens=length + len(statement))

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the statement's words and their matches in the source, by their term over the largest possible."""
        counts, words = Counter(self.words(source)), dict.fromkeys(self.words(statement))
        norm, most = self._norm(counts.total()), max(map(self._rarity, words), default=1.0)
        weights = {word: self._rarity(word) * counts[word] / (counts[word] + norm) / most for word in words}
        return word_spans(self, source, statement, weights)

    def _norm(self, length: int) -> float:
        k1, b = self.options.k1, self.options.b
        return float(k1 * (1 - b + b * length / self._mean_length) if self._mean_length else k1)

    def _rarity(self, word: str) -> float:
        frequency = self._frequency[word]
        return log(1 + (self._sources - frequency + 0.5) / (frequency + 0.5))
