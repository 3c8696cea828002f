"""A metric's scores of the rows of a job: the texts it reads, one score per row, and joined chunks scored again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from metaeval.corpus.units import Aggregation, UnitRow, read_aggregation
from metaeval.runs.loaded_metrics import LoadedMetrics, MetricProgress, plug_in, score_in, scoring_function, worker_pool
from metaeval.runs.prepared_run import Job, RatedSet
from metaeval.scoring.aggregation import aggregate, best_members
from metaeval.scoring.contract import Combination, Metric, PairScore, TextPair
from metaeval.scoring.engine import ScoredPairs, score_pairs
from metaeval.scoring.executors.worker_pool import Pool
from metaeval.scoring.score_store import ScoreStore

_log = logging.getLogger("metaeval")


@dataclass(frozen=True)
class JobScores:
    """The scores of one metric for a job. rows: one per row of the job, in order; higher is more support.

    read: the score of each unique (source, statement) that the metric read, joined chunks included. pairs: those of the
    job's pairs. Both are as the metric gave them. identity: the metric's, for these pairs. joined: its identity for the
    joined chunks of a union; None where nothing was joined.
    """

    rows: list[PairScore]
    read: Collection[PairScore]
    pairs: list[PairScore]
    identity: Mapping[str, Any]
    joined: Mapping[str, Any] | None


def job_as_read(job: Job | RatedSet, name: str, metrics: LoadedMetrics) -> Job | RatedSet:
    """Return the job with pages cut into chunks if they are whole and the metric has an input limit; else unchanged.

    A combination has the limits of its members. With the setting over_limit=cut the job is unchanged too.
    """
    if isinstance(job, RatedSet) or not job.config.whole_pages or job.config.over_limit == "cut":
        return job
    metric = metrics[name]
    # The members of a combination score the same texts.
    readers = [metrics[member] for member in metric.members] if isinstance(metric, Combination) else [metric]
    return job if all(reader.card.input_limit is None for reader in readers) else job.in_chunks


def score_rows(
    job: Job | RatedSet, metrics: LoadedMetrics, store: ScoreStore | None = None, progress: MetricProgress | None = None
) -> Iterator[tuple[str, Metric, JobScores]]:
    """Yield each metric's name, the metric, and its scores of a job's rows; those that need chunks come last."""
    metrics = metrics.settled(job.texts)
    if partly := [name for name in metrics.names if metrics[name].card.whole_pages and not job.config.whole_pages]:
        _log.warning("%s: made for whole contexts, and shown parts of pages here: give --unit page.", ", ".join(partly))
    read = {name: job_as_read(job, name, metrics) for name in metrics.names}
    jobs = {id(over): over for over in (job, *read.values())}

    def rescored(pool: Pool | None, name: str, metric: Metric, texts: Sequence[TextPair]) -> ScoredPairs:
        if isinstance(metric, Combination):
            ((_, _, scored),) = score_in(pool, texts, metrics.only([name]), store, progress)
            return scored
        report = partial(progress, f"{name}, joined chunks") if progress else None
        with plug_in(name):
            return score_pairs(metric, texts, store, report, scoring_function(pool, [name], [metric], metrics.config))

    with worker_pool(metrics.config) as pool:
        for over in jobs.values():
            names = metrics.only(name for name, wanted in read.items() if wanted is over)
            for name, metric, scored in score_in(pool, over.texts, names, store, progress):
                rescore = partial(rescored, pool, name, metric)
                yield name, metric, job_scores(over, scored, metric.card.direction, rescore)


def job_scores(
    job: Job | RatedSet,
    scored: ScoredPairs,
    direction: Literal[1, -1],
    rescore: Callable[[Sequence[TextPair]], ScoredPairs],
) -> JobScores:
    """Aggregate a metric's scores of the pairs of a job to one score per row, by the setting `aggregate`.

    direction: 1 if higher scores mean more support, else -1. rescore: a function that scores the joined chunks of each
    scored row; it is called for a union only, whose rows then have these scores.
    """
    how = read_aggregation(job.config.aggregate)
    rows = aggregate(scored.answers, job.rows, how, direction)
    read = dict(zip(job.texts, scored.answers, strict=True))
    if not joins(job, how):
        return JobScores(rows, read.values(), scored.answers, scored.identity, None)
    joined = {
        number: _join(job, row, best_members(scored.answers, row.members, how.most, direction))
        for number, row in enumerate(job.rows)
        if rows[number].score is not None
    }
    rescored = rescore(list(joined.values()))
    read |= zip(joined.values(), rescored.answers, strict=True)
    for number, answer in zip(joined, rescored.answers, strict=True):
        rows[number] = answer.oriented(direction)
    return JobScores(rows, read.values(), scored.answers, scored.identity, rescored.identity)


def joins(job: Job | RatedSet, how: Aggregation) -> bool:
    """Return whether an aggregation joins chunks and scores them again: a union, in a job with rows of several."""
    return how.kind == "union" and any(len(row.members) > 1 for row in job.rows)


def _join(job: Job | RatedSet, row: UnitRow, members: Sequence[int]) -> TextPair:
    """Return the sources of the pairs `members` of a row, joined by spaces in this order, and the row's statement.

    members: indices in the job's pairs.
    """
    return " ".join(job.texts[number][0] for number in members), row.statement


def expected_texts(job: Job | RatedSet, name: str, metrics: LoadedMetrics) -> list[TextPair]:
    """Return the (source, statement) pairs that a metric would read, duplicates included.

    Which chunks a union joins depends on scores; the first chunks of each row stand for them.
    """
    over, how = job_as_read(job, name, metrics), read_aggregation(job.config.aggregate)
    joined = [_join(over, row, row.members[: how.most]) for row in over.rows] if joins(over, how) else []
    return [*over.texts, *joined]
