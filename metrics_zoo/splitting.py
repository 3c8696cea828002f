"""Base classes of the metrics that split sentences, and of those whose score is that of the source's best chunk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from metaeval.corpus.sentences import SentenceSplitter
from metaeval.scoring.backends.model_metric import LoadedModelMetric, ModelOptions
from metaeval.scoring.backends.sentence_splitting import Wish, best_pieces, find_splitter
from metaeval.scoring.contract import PairScore, Span, Status, TextPair


class SplitterOptions(ModelOptions):
    """Options of a metric that splits sentences."""

    runtime: ClassVar[frozenset[str]] = ModelOptions.runtime | {"splitter"}

    splitter: Wish = "auto"
    """Sentence splitter: nltk as the official code, rules, or auto."""


class SplittingMetric(LoadedModelMetric):
    """Base of metrics that split texts into sentences; the identity includes the splitter's name."""

    Options = SplitterOptions

    @cached_property
    def splitter(self) -> SentenceSplitter:
        """The sentence splitter."""
        return find_splitter(self.options.splitter)

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the splitter's name."""
        return {**super().identity(), "splitter": self.splitter.name}


class BestChunkMetric(SplittingMetric):
    """Base of metrics that score the whole statement against each chunk of the source, and return the largest score."""

    @abstractmethod
    def chunks(self, source: str) -> list[str]:
        """Return the chunks of a source; a blank one has none."""

    @abstractmethod
    def judge_chunks(self, rows: Sequence[Sequence[TextPair]]) -> list[list[PairScore]]:
        """Score rows of (chunk, statement) pairs, a row for each (source, statement); a row has all scores, or none."""

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; EMPTY for a blank statement, or a source without chunks (at which official codes stop)."""
        chunks = {source: self.chunks(source) for source in dict.fromkeys(sources)}
        rows = [
            [(chunk, statement) for chunk in chunks[source]] if statement.strip() else []
            for source, statement in zip(sources, statements, strict=True)
        ]
        pair_scores = []
        for answers in self.judge_chunks(rows):
            tokens, cut = sum(answer.tokens for answer in answers), sum(answer.cut for answer in answers)
            best = max((answer.score for answer in answers if answer.score is not None), default=None)
            pair_scores.append(PairScore(best, answers[0].status if answers else Status.EMPTY, tokens, cut))
        return pair_scores

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return the statement with the source's chunk whose score is the pair's; [] for a pair without a score."""
        chunks = self.chunks(source) if statement.strip() else []
        (answers,) = self.judge_chunks([[(chunk, statement) for chunk in chunks]])
        scores = [answer.score for answer in answers if answer.score is not None]
        return best_pieces(source, statement, chunks, [statement], np.array(scores)[:, None]) if scores else []
