"""Any registered metric as judge of whether a premise entails a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from metaeval.citation.model import Entails, NliPair, Verdict
from metaeval.corpus.chunks import Chunking, chunk_document
from metaeval.corpus.model import Document
from metaeval.corpus.units import Aggregation, UnitRow
from metaeval.errors import RequestsWritten, UserError
from metaeval.llm.batch import write_batch
from metaeval.report.result import Ledger
from metaeval.runs.columns import ledger_of, signed_as
from metaeval.runs.cutoffs import SOFT, Cutoff, judge_of
from metaeval.runs.metrics import LoadedMetrics, MetricProgress, executed, plug_in
from metaeval.scoring.aggregation import aggregate
from metaeval.scoring.contract import PairScore
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.executors.pool import Pool
from metaeval.scoring.store import ScoreStore

Premise = Literal["joint", "max over chunks"]
"""Whether the metric reads a premise as one text, or in chunks, the best of which decides."""


@dataclass(frozen=True, eq=False)
class Backend:
    """A metric that gives verdicts.

    fields: what the signature says of it. entails: pairs to verdicts. answers: what the metric said of every pair that
    was asked so far.
    """

    name: str
    cutoff: Cutoff
    fields: Mapping[str, object]
    entails: Entails
    answers: Mapping[NliPair, PairScore]

    @property
    def soft(self) -> bool:
        """Whether scores are read as degrees of support, and nothing is decided."""
        return self.cutoff.value is None

    @property
    def ledger(self) -> Ledger:
        """What the metric read so far, and what its input limit cut off."""
        return ledger_of(self.answers.values())


def entailment(
    name: str,
    metrics: LoadedMetrics,
    cutoff: Cutoff,
    store: ScoreStore | None = None,
    premise: Premise = "joint",
    progress: MetricProgress | None = None,
    pool: Pool | None = None,
    requests: Path | None = None,
) -> Backend:
    """A metric as judge, the premise as its source and the claim as its statement.

    pool: processes that score; None for this one. requests: a file to which a metric that asks a chat model writes what
    has no reply yet, in place of asking; `RequestsWritten` is then raised.

    Pairs are deduplicated, served from the store and stored by the engine. A pair without a score has no verdict, and
    keeps its status. With `max over chunks` the premise is cut as the run cuts documents (`chunk`), and its best chunk
    decides. A soft cut-off leaves every verdict open and gives the score alone.

    Raises `UserError` as `judge_of` does, and for soft verdicts of a metric whose scores are not from 0 to 1.
    """
    metric, config = judge_of(name, metrics), metrics.config
    card = metric.card
    if cutoff.value is None and (card.low, card.high, card.direction) != (0.0, 1.0, 1):
        raise UserError(
            f"Soft verdicts read scores as degrees of support from 0 to 1, and {name!r} gives others: give it a "
            f"threshold (--threshold {name}=X), or calibrate one (metaeval thresholds {name} --learn)."
        )
    answers: dict[NliPair, PairScore] = {}
    report = partial(progress, name) if progress else None
    with plug_in(name):
        execute = executed(pool, [name], [metric], config)
    chunking = config.chunk.chunking() if premise == "max over chunks" else None

    def entails(pairs: Sequence[NliPair]) -> list[Verdict]:
        asked: list[NliPair] = []
        rows = []  # one per premise with the numbers of its chunks, for the rules of the engine's aggregation
        for source, claim in pairs:
            first = len(asked)
            asked += [(text, claim) for text in _texts(source, chunking)]
            rows.append(UnitRow("", "", "", None, False, tuple(range(first, len(asked))), "", 0, 0))
        with plug_in(name):
            if requests is not None and (bodies := metric.requests(*zip(*asked, strict=True)) if asked else {}):
                raise RequestsWritten(write_batch(requests, bodies))
            found = score_pairs(metric, asked, store, report, execute).answers
        best = aggregate(found, rows, Aggregation("max"), card.direction)
        answers.update(zip(pairs, best, strict=True))
        return [_verdict(answer, cutoff, card.direction) for answer in best]

    with plug_in(name):
        backend = signed_as(name, metric, metric.identity())
    fields = {
        "backend": backend,
        **metric.provenance(),
        "threshold": SOFT if cutoff.value is None else f"{cutoff.value:g}",
        "premise": f"{premise} {chunking}" if chunking else premise,
    }
    return Backend(name, cutoff, fields, entails, answers)


def _texts(source: str, chunking: Chunking | None) -> list[str]:
    """What the metric reads of a premise; one without words as it is, so that the metric says what it makes of it."""
    if chunking is None:
        return [source]
    return [chunk.text for chunk in chunk_document(Document("premise", source), chunking)] or [source]


def _verdict(answer: PairScore, cutoff: Cutoff, direction: Literal[1, -1]) -> Verdict:
    """The verdict on an answer whose score is turned so that higher is more support; the score goes back as it was."""
    if answer.score is None:
        return Verdict(None, None, str(answer.status), answer.cut > 0)
    entailed = None if cutoff.value is None else answer.score >= direction * cutoff.value
    return Verdict(entailed, direction * answer.score, cut=answer.cut > 0)
