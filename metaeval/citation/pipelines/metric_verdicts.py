"""Verdicts of any registered metric on whether a premise entails a claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

from metaeval.citation.data_model import Entails, NliPair, Verdict
from metaeval.citation.pipelines.options import AsksChat, JudgedByMetrics
from metaeval.core.config import RunConfig
from metaeval.core.errors import RequestsWritten, UserError
from metaeval.corpus.chunks import chunk_document
from metaeval.corpus.model import Document
from metaeval.corpus.units import Aggregation, UnitRow
from metaeval.llm.batch_files import write_batch
from metaeval.report.result import Ledger
from metaeval.runs.metrics import (
    SOFT,
    Cutoff,
    LoadedMetrics,
    find_cutoff,
    judge_of,
    load_metrics,
    named_metrics,
    plug_in,
    read_thresholds,
)
from metaeval.runs.score import MetricProgress, ledger_of, scoring_function, signed_as, worker_pool
from metaeval.scoring.aggregation import aggregate
from metaeval.scoring.contract import Metric, PairScore
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.executors.worker_pool import Pool
from metaeval.scoring.score_store import ScoreStore

# How the metric reads a premise: as one text, or in chunks, of which the best decides.
Premise = Literal["joint", "max over chunks"]


DEFAULT_BACKEND = "minilm-bertscore"  # the best on WiCE dev of the metrics that need no download


@dataclass(frozen=True, eq=False)
class Backend:
    """A metric that gives entailment verdicts, with its threshold and scores so far.

    fields: fields of its signature. entails: maps pairs to verdicts. answers: the scores of all pairs so far.
    """

    name: str
    cutoff: Cutoff
    fields: Mapping[str, object]
    entails: Entails
    answers: Mapping[NliPair, PairScore]

    @property
    def soft(self) -> bool:
        """Whether scores are degrees of support, without decisions."""
        return self.cutoff.value is None

    @property
    def ledger(self) -> Ledger:
        """Counts of what the metric has read, and of what its input limit cut off."""
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
    """Return a backend whose metric reads the premise as source and the claim as statement.

    pool: processes that score (None: this process). requests: file for requests without a reply of a metric that asks a
    chat model; they are written instead of sent, and `RequestsWritten` is raised.

    The engine removes duplicate pairs, and reads and writes the store. A pair without a score has no verdict, and keeps
    its status. With `max over chunks` the premise is cut as the run cuts documents (`chunk`), and its best chunk
    decides. With a soft cut-off there are scores and no decisions.

    Raises `UserError` as `judge_of` does, and for soft verdicts of a metric whose scores are not from 0 to 1.
    """
    metric, config = judge_of(name, metrics), metrics.config
    card = metric.card
    if cutoff.value is None and (card.low, card.high, card.direction) != (0.0, 1.0, 1):
        raise UserError(f"{name!r} has no scores from 0 to 1, as soft verdicts need: give --threshold {name}=X.")
    answers: dict[NliPair, PairScore] = {}
    report = partial(progress, name) if progress else None
    with plug_in(name):
        execute = scoring_function(pool, [name], [metric], config)
    chunking = config.chunk.chunking() if premise == "max over chunks" else None

    def entails(pairs: Sequence[NliPair]) -> list[Verdict]:
        chunk_pairs: list[NliPair] = []
        rows = []  # a unit per premise with the numbers of its chunks, as the engine aggregates them
        for source, claim in pairs:
            first = len(chunk_pairs)
            # The premise itself is read without chunking, and where it has no words.
            chunks = chunk_document(Document("premise", source), chunking) if chunking else []
            chunk_pairs += [(text, claim) for text in [chunk.text for chunk in chunks] or [source]]
            rows.append(UnitRow("", "", "", None, False, tuple(range(first, len(chunk_pairs))), "", 0, 0))
        with plug_in(name):
            if requests is not None and chunk_pairs and (bodies := metric.requests(*zip(*chunk_pairs, strict=True))):
                raise RequestsWritten(write_batch(requests, bodies))
            scores = score_pairs(metric, chunk_pairs, store, report, execute).answers
        best = aggregate(scores, rows, Aggregation("max"), card.direction)
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


def _verdict(answer: PairScore, cutoff: Cutoff, direction: Literal[1, -1]) -> Verdict:
    """Return the verdict at a cut-off on a pair's score, which is oriented so that higher is more support.

    direction: of the raw scores and the cut-off (-1: lower is more support); the verdict holds the raw score.
    """
    if answer.score is None:
        return Verdict(None, None, str(answer.status), bool(answer.cut))
    entailed = None if cutoff.value is None else answer.score >= direction * cutoff.value
    return Verdict(entailed, direction * answer.score, cut=bool(answer.cut))


class Judges:
    """The metrics that judge in a run: all are loaded, and their cut-offs are known, before the first of them scores.

    Iterating yields one `Backend` after the other, so that one model at a time is in memory; each iteration makes new
    ones.

    Parameters
    ----------
    options : JudgedByMetrics
        Names of the metrics (default `DEFAULT_BACKEND`), thresholds and calibrations.
    progress : callable, optional
        Reports the progress of scoring.
    needed : bool
        Whether there is a default where no metric is named.
    decides : str
        What needs decisions, as the beginning of the error about a soft cut-off; empty: soft is allowed.
    find : callable
        Returns a metric's cut-off (`metaeval.runs.metrics.find_cutoff`).

    Raises
    ------
    UserError
        For a metric that cannot be loaded, that judges no single claim, or that has no cut-off.
    """

    def __init__(
        self,
        options: JudgedByMetrics,
        progress: MetricProgress | None = None,
        needed: bool = True,
        decides: str = "",
        find: Callable[..., Cutoff] = find_cutoff,
    ) -> None:
        self.config: RunConfig = options.run(metrics=tuple(options.nli) or (DEFAULT_BACKEND,) * needed)
        names = tuple(dict.fromkeys(self.config.metrics))
        self.metrics = named_metrics(self.config) if names else load_metrics((), self.config)
        self._progress, self._requests = progress, options.requests
        if not isinstance(options, AsksChat):  # which sends and reads such files itself
            for name in ("requests", "batch"):
                if getattr(options, name) is not None:
                    self.metrics.check_asking(f"--set {name}")
        self.premise: Premise = getattr(options, "premise", "joint")
        thresholds = read_thresholds(None if options.threshold is None else str(options.threshold), names)
        self.cutoffs = {name: find(name, self.metric(name), thresholds, options.calibration) for name in names}
        if soft := [name for name, cutoff in self.cutoffs.items() if decides and cutoff.value is None]:
            raise UserError(f"{decides}, and 'soft' gives {soft[0]!r} no threshold: give --threshold {soft[0]}=X.")

    def metric(self, name: str) -> Metric:
        """Return the metric of this name, which can judge pairs one by one."""
        return judge_of(name, self.metrics)

    def __iter__(self) -> Iterator[Backend]:
        with ExitStack() as stack:
            # The store is opened when the first backend is made.
            store = cache(lambda: stack.enter_context(ScoreStore(self.config.store_path)))
            pool = cache(lambda: stack.enter_context(worker_pool(self.config)))
            for name, cutoff in self.cutoffs.items():
                how = self.premise, self._progress, pool(), self._requests
                yield entailment(name, self.metrics, cutoff, store(), *how)
