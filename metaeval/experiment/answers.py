"""Answers of metrics to the rows of a job: what a metric reads of a row, and how the scores of chunks become one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from metaeval.config import RunConfig
from metaeval.corpus.units import Aggregation, UnitRow, read_aggregation
from metaeval.experiment.executing import executed, worker_pool
from metaeval.experiment.metrics import MetricProgress, load_metric, oriented, plug_in, score_in
from metaeval.experiment.prepared_run import Job
from metaeval.scoring.contract import Combination, Metric, PairScore
from metaeval.scoring.engine import Scored, aggregate, best_members, score_pairs
from metaeval.scoring.executors.pool import Pool
from metaeval.scoring.plan import Texts
from metaeval.scoring.store import ScoreStore

Rescore = Callable[[Sequence[Texts]], Scored]
"""Scores further texts with the same metric."""


@dataclass(frozen=True)
class Answered:
    """A metric's answers to a job.

    rows: one answer per row, higher is more support. read: the answer to each unique (source, statement) that was
    scored. pairs: the answers to the pairs of what it read, as the metric gave them. identity: the metric's, for those
    pairs; joined: for the joined chunks of a union, None where nothing was joined.
    """

    rows: list[PairScore]
    read: Collection[PairScore]
    pairs: list[PairScore]
    identity: Mapping[str, Any]
    joined: Mapping[str, Any] | None


def reading(job: Job, metric: Metric) -> Job:
    """The job as the metric reads it: with unit page, over chunks where the metric has an input limit."""
    if job.config.unit != "page" or job.config.over_limit == "cut" or not _is_limited(metric, job.config):
        return job
    return job.in_chunks


def _is_limited(metric: Metric, config: RunConfig) -> bool:
    if isinstance(metric, Combination):  # its members answer the same texts
        return any(_is_limited(load_metric(member, config), config) for member in metric.members)
    return metric.card.input_limit is not None


def answer_rows(
    job: Job, names: Sequence[str], store: ScoreStore | None = None, progress: MetricProgress | None = None
) -> Iterator[tuple[str, Metric, Answered]]:
    """Answer every row of a job with each metric, in an order of its own."""
    config = job.config
    in_chunks = [name for name in names if reading(job, load_metric(name, config)) is not job]
    as_is = [name for name in names if name not in in_chunks]
    with worker_pool(config) as pool:
        for over, own in ((job, as_is), *([(job.in_chunks, in_chunks)] if in_chunks else [])):
            for name, metric, scored in score_in(pool, over.texts, own, config, store, progress):
                again = partial(_rescore, pool, name, metric, config, store, progress)
                yield name, metric, answered(over, scored, metric.card.direction, again)


def _rescore(
    pool: Pool | None,
    name: str,
    metric: Metric,
    config: RunConfig,
    store: ScoreStore | None,
    progress: MetricProgress | None,
    texts: Sequence[Texts],
) -> Scored:
    if isinstance(metric, Combination):
        ((_, _, scored),) = score_in(pool, texts, [name], config, store, progress)
        return scored
    report = partial(progress, f"{name}, joined chunks") if progress else None
    with plug_in(name):
        return score_pairs(metric, texts, store, report, executed(pool, [name], [metric], config))


def answered(job: Job, scored: Scored, direction: Literal[1, -1], again: Rescore) -> Answered:
    """One answer per row from those to the job's pairs. again: called once, for the joined chunks of a union."""
    how = read_aggregation(job.config.aggregate)
    rows = aggregate(scored.answers, job.rows, how, direction)
    read = dict(zip(job.texts, scored.answers, strict=True))
    if not joins(job, how):
        return Answered(rows, read.values(), scored.answers, scored.identity, None)
    joined = {
        number: join(job, row, best_members(scored.answers, row.members, how.most, direction))
        for number, row in enumerate(job.rows)
        if rows[number].score is not None
    }
    found = again(list(joined.values()))
    read |= zip(joined.values(), found.answers, strict=True)
    for number, answer in zip(joined, found.answers, strict=True):
        rows[number] = oriented(answer, direction)
    return Answered(rows, read.values(), scored.answers, scored.identity, found.identity)


def joins(job: Job, how: Aggregation) -> bool:
    """Whether chunks of the job are joined and scored again."""
    return how.kind == "union" and any(len(row.members) > 1 for row in job.rows)


def join(job: Job, row: UnitRow, members: Sequence[int]) -> Texts:
    """The texts of some of a row's pairs in the order of the page, as one source, and the row's statement."""
    return " ".join(job.pairs[number].source for number in members), row.statement


def expected_texts(job: Job, metric: Metric) -> list[Texts]:
    """The texts that a metric would read. Which chunks a union joins is not known before: the first stand for them."""
    over, how = reading(job, metric), read_aggregation(job.config.aggregate)
    joined = [join(over, row, row.members[: how.most]) for row in over.rows] if joins(over, how) else []
    return [*over.texts, *joined]
