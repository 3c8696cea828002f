"""Columns: one score per judged row or rated text, from a metric's answers, a score file, publication or a control."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval import registry
from metaeval.cells import Coded
from metaeval.config import RunConfig
from metaeval.config_files import variants
from metaeval.corpus.units import Aggregation, UnitRow, read_aggregation
from metaeval.data_tables import SCORE_ROLES
from metaeval.errors import UserError, unknown
from metaeval.files import sha256_file, sha256_json
from metaeval.report.result import Ledger
from metaeval.runs.metrics import (
    LoadedMetrics,
    MetricProgress,
    executed,
    load_metrics,
    plug_in,
    score_in,
    worker_pool,
)
from metaeval.runs.prepared_run import Job, RatedSet
from metaeval.scoring.aggregation import aggregate, best_members
from metaeval.scoring.contract import Combination, Metric, PairScore, Status
from metaeval.scoring.controls import CONTROLS, rated_controls
from metaeval.scoring.engine import ScoredPairs, score_pairs
from metaeval.scoring.executors.pool import Pool
from metaeval.scoring.plan import TextPair
from metaeval.scoring.scorefile import ScoreFile, align, read_scores
from metaeval.scoring.store import ScoreStore


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


def reading(job: Job, name: str, metrics: LoadedMetrics) -> Job:
    """The job as a metric reads it: with unit page, over chunks where the metric has an input limit."""
    if job.config.unit != "page" or job.config.over_limit == "cut":
        return job
    metric = metrics[name]
    # The members of a combination answer the same texts.
    read = [metrics[member] for member in metric.members] if isinstance(metric, Combination) else [metric]
    return job if all(one.card.input_limit is None for one in read) else job.in_chunks


def answer_rows(
    job: Job, metrics: LoadedMetrics, store: ScoreStore | None = None, progress: MetricProgress | None = None
) -> Iterator[tuple[str, Metric, Answered]]:
    """Answer every row of a job with each metric, in an order of its own."""
    in_chunks = [name for name in metrics.names if reading(job, name, metrics) is not job]
    as_is = [name for name in metrics.names if name not in in_chunks]
    with worker_pool(metrics.config) as pool:
        for over, names in ((job, as_is), *([(job.in_chunks, in_chunks)] if in_chunks else [])):
            for name, metric, scored in score_in(pool, over.texts, metrics.only(names), store, progress):
                again = partial(_rescore, pool, name, metric, metrics, store, progress)
                yield name, metric, answered(over, scored, metric.card.direction, again)


def _rescore(
    pool: Pool | None,
    name: str,
    metric: Metric,
    metrics: LoadedMetrics,
    store: ScoreStore | None,
    progress: MetricProgress | None,
    texts: Sequence[TextPair],
) -> ScoredPairs:
    if isinstance(metric, Combination):
        ((_, _, scored),) = score_in(pool, texts, metrics.only([name]), store, progress)
        return scored
    report = partial(progress, f"{name}, joined chunks") if progress else None
    with plug_in(name):
        return score_pairs(metric, texts, store, report, executed(pool, [name], [metric], metrics.config))


def answered(
    job: Job, scored: ScoredPairs, direction: Literal[1, -1], again: Callable[[Sequence[TextPair]], ScoredPairs]
) -> Answered:
    """One answer per row from those to the job's pairs. again: scores the joined chunks of a union, once."""
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
        rows[number] = answer.oriented(direction)
    return Answered(rows, read.values(), scored.answers, scored.identity, found.identity)


def joins(job: Job, how: Aggregation) -> bool:
    """Whether chunks of the job are joined and scored again."""
    return how.kind == "union" and any(len(row.members) > 1 for row in job.rows)


def join(job: Job, row: UnitRow, members: Sequence[int]) -> TextPair:
    """The texts of some of a row's pairs in the order of the page, as one source, and the row's statement."""
    return " ".join(job.pairs[number].source for number in members), row.statement


def expected_texts(job: Job, name: str, metrics: LoadedMetrics) -> list[TextPair]:
    """The texts that a metric would read. Which chunks a union joins is not known before: the first stand for them."""
    over, how = reading(job, name, metrics), read_aggregation(job.config.aggregate)
    joined = [join(over, row, row.members[: how.most]) for row in over.rows] if joins(over, how) else []
    return [*over.texts, *joined]


_log = logging.getLogger("metaeval")

FILE_PREFIX = "scores:"
LEXICAL_OVERLAP = "lexical overlap"
MOST_LEARNT = 20_000
"""Pairs that support-mini scores for the control alone: some 20 seconds."""
FITTED = "fitted on the labels of {} {}: its values here do not say how well it does on other data"


@dataclass(frozen=True, eq=False)
class Column:
    """Scores aligned with the job's rows, higher is more support; NaN where `statuses` says why there is none.

    cut: by row, tokens that the metric never saw, where there are any.
    """

    name: str
    kind: Literal["metric", "control"]
    score: NDArray[np.float64]
    statuses: Sequence[Status]
    fields: Mapping[str, object]
    ledger: Ledger | None = None
    warnings: tuple[str, ...] = ()
    cut: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_random(self) -> bool:
        """Whether it is the control of random scores, which counts with its expectation."""
        return self.kind == "control" and self.name == "random"


def named_metrics(config: RunConfig) -> LoadedMetrics:
    """The run's metrics and score files, read before any work is done.

    The options of a metric that the run does without are ignored, and that is said. Raises `UserError` for a wrong
    metric, a missing score file, or options of no metric.
    """
    if not config.metrics:
        raise UserError("No metric is asked for: name at least one, for example --metrics overlap.")
    files = [name for name in dict.fromkeys(config.metrics) if name.startswith(FILE_PREFIX)]
    metrics = load_metrics((name for name in config.metrics if name not in files), config)
    metrics = replace(metrics, files={name: read_scores(score_path(name), config.columns) for name in files})
    known = {*config.metrics, *(name.partition(":")[0] for name in config.metrics)}
    for owner in sorted(config.metric_options.keys() - known):
        base = owner.partition(":")[0]
        if base not in registry.names("metric") and owner not in variants("metrics"):
            every = {*config.metrics, *registry.names("metric"), *variants("metrics")}
            raise unknown("metric in metric_options", owner, every, registry.LIST_COMMAND["metric"])
        _log.warning("The options of %s are ignored: it is no metric of this run.", owner)
    return metrics


def unscored_metrics(config: RunConfig) -> LoadedMetrics:
    """The run's metrics; `UserError` as `named_metrics`, and for a file of scores."""
    if files := [name for name in config.metrics if name.startswith(FILE_PREFIX)]:
        raise UserError(f"{files[0]!r} is scored already: evaluate it with 'metaeval evaluate FILE'.")
    return named_metrics(config)


def scored_columns(job: Job, metrics: LoadedMetrics, progress: MetricProgress | None = None) -> list[Column]:
    """One column per metric of the run, in the order asked for; a score file whose name is taken adds its path.

    The run's score store is opened only where a metric is to be scored.
    """
    with ScoreStore(job.config.store_path) if metrics.names else nullcontext() as store:
        scored = {
            name: _metric_column(job, name, metric, metrics, found)
            for name, metric, found in answer_rows(job, metrics, store, progress)
        }
    columns: list[Column] = []
    for name in dict.fromkeys(job.config.metrics):
        for column in [scored[name]] if name in scored else file_columns(job, name, metrics.files[name]):
            columns.append(named_apart(column, columns, name))
    return columns


def file_columns(source: Job | RatedSet, name: str, files: Sequence[ScoreFile]) -> list[Column]:
    """The columns of a score file that is named as a metric: one, or one for each metric that has a column in it."""
    content = f"sha256:{sha256_file(score_path(name))[:12]}"
    return [score_column(source, file, content) for file in files]


def named_apart(column: Column, others: Sequence[Column], name: str) -> Column:
    """The column, under a name that adds the score file's path where another column has its own."""
    taken = column.name in {other.name for other in others}
    return replace(column, name=f"{column.name} ({score_path(name)})") if taken else column


def control_columns(source: Job | RatedSet, columns: Sequence[Column]) -> Iterator[Column]:
    """One column per control; `learnt coverage` takes the scores of support-mini where `columns` have them."""
    if isinstance(source, RatedSet):
        rows = source.ratings.columns
        for name, score in rated_controls(rows).items():
            yield Column(name, "control", score, Coded.all_of(Status.OK, len(rows)), {"control": name})
        return
    yield from trivial_columns(source)
    learnt = _learnt_control(source, columns)
    if learnt is not None:
        yield _control_column("learnt coverage", learnt)


def trivial_columns(job: Job) -> Iterator[Column]:
    """One column per control that nothing was learnt for from other data."""
    for name, control in CONTROLS.items():
        if job.config.unit == "chunk" or name != "chunk position":
            yield _control_column(name, control(job.rows))
    yield _control_column(LEXICAL_OVERLAP, _score_array(_own_answers(job, "overlap")))


def _control_column(name: str, score: NDArray[np.float64]) -> Column:
    statuses = [Status.OK if np.isfinite(value) else Status.NOTHING_TO_SCORE for value in score]
    return Column(name, "control", score, statuses, {"control": name})


def _learnt_control(job: Job, columns: Sequence[Column]) -> NDArray[np.float64] | None:
    """The scores of support-mini; None, which is said, on what it was fitted on and where they would take minutes."""
    metric = _control_metric("support-mini")
    if is_fitted_on(metric, job):
        _log.warning("Without the control 'learnt coverage': support-mini was fitted on %s %s.", job.name, job.split)
        return None
    name = signed_as("support-mini", metric, metric.identity())
    own = next((column for column in columns if column.fields.get("metric") == name), None)
    if own is not None:
        return own.score
    if len(job.texts) > MOST_LEARNT:
        _log.warning(
            "Without the control 'learnt coverage', %s pairs would take minutes: name support-mini to have it.",
            f"{len(job.texts):,}",
        )
        return None
    return _score_array(_own_answers(job, "support-mini"))


def _own_answers(job: Job, name: str) -> list[PairScore]:
    """One answer per row of a metric that is a control."""
    return answered(job, _own_scores(name, tuple(job.texts)), 1, lambda texts: _own_scores(name, tuple(texts))).rows


@lru_cache(maxsize=4)
def _own_scores(name: str, texts: tuple[tuple[str, str], ...]) -> ScoredPairs:
    """The answers to the same pairs under other protocols or options cost nothing."""
    return score_pairs(_control_metric(name), texts)


def _control_metric(name: str) -> Metric:
    """A metric that is a control, whose options are always the usual ones."""
    metric: Metric = registry.find("metric", name)()
    return metric


def is_fitted_on(metric: Metric, job: Job) -> bool:
    """Return whether the metric was fitted on the labels of the job's data."""
    return f"{job.name}/{job.split}" in metric.card.fitted_on


def _metric_column(job: Job, name: str, metric: Metric, metrics: LoadedMetrics, found: Answered) -> Column:
    identity = found.identity
    fields: dict[str, object] = {"metric": signed_as(name, metric, identity), **metric.provenance()}
    if job.config.unit == "page":
        fields["reads"] = "pages" if reading(job, name, metrics) is job else "chunks"
    if "members" in identity:
        fields["members"] = f"sha256:{sha256_json(identity['members'])[:12]}"
    if "corpus" in identity:
        fields["over-sources"] = "+".join(one["corpus"][:12] for one in (identity, found.joined) if one)
    column = column_of(name, found.rows, fields, ledger_of(found.read))
    return replace(column, warnings=(FITTED.format(job.name, job.split),)) if is_fitted_on(metric, job) else column


def signed_as(name: str, metric: Metric, identity: Mapping[str, Any]) -> str:
    """A metric in a signature: its name (a variant's, then the metric behind it), version and options."""
    options = ",".join(f"{key}={value}" for key, value in identity["options"].items())
    known_as = name if name == metric.card.name else f"{name}={metric.card.name}"
    return f"{known_as}@v{metric.card.version}" + (f"({options})" if options else "")


def score_column(source: Job | RatedSet, file: ScoreFile, content: str) -> Column:
    """A column of scores made elsewhere, by pair id (or by citation or rating id, of a row each); `content` pins them.

    A rating without a row is absent. Raises `UserError` where the file scores what is not of the source, and for scores
    of chunks where the setting `aggregate` has chunks joined and scored again.
    """
    sign = file.direction
    if isinstance(source, RatedSet):
        aligned = align(file, source.ratings.columns.id.tolist(), f"ratings of {source.name} ({source.split})")
        return column_of(file.metric, [answer.oriented(sign) for answer in aligned], file.signed(content))
    row_ids = [row.id for row in source.rows]
    if file.answers.keys() <= set(row_ids):
        per_row = [answer.oriented(sign) for answer in align(file, row_ids)]
    else:
        how = read_aggregation(source.config.aggregate)
        answers = align(file, [pair.pair_id for pair in source.pairs])
        if joins(source, how):
            raise UserError(
                f"aggregate={source.config.aggregate} joins chunks and scores them again, and {file.path} has scores "
                "of single chunks: give a score for each citation_id, or set aggregate=mean:K."
            )
        per_row = aggregate(answers, source.rows, how, sign)
    return column_of(file.metric, per_row, file.signed(content))


def score_path(name: str) -> Path:
    """The path of a score file that is named as a metric."""
    return Path(name.removeprefix(FILE_PREFIX))


def column_of(
    name: str, per_row: Sequence[PairScore], fields: Mapping[str, object], ledger: Ledger | None = None
) -> Column:
    """A metric's column from one answer per judged row."""
    statuses = [answer.status for answer in per_row]
    cut = {row: answer.cut for row, answer in enumerate(per_row) if answer.cut}
    return Column(name, "metric", _score_array(per_row), statuses, fields, ledger, cut=cut)


def _score_array(answers: Sequence[PairScore]) -> NDArray[np.float64]:
    return np.array([np.nan if answer.score is None else answer.score for answer in answers], dtype=np.float64)


def ledger_of(answers: Collection[PairScore]) -> Ledger:
    """What a metric read in these answers, and what its input limit cut off."""
    return Ledger(
        pairs=len(answers),
        tokens=sum(answer.tokens for answer in answers),
        cut_pairs=sum(answer.cut > 0 for answer in answers),
        cut_tokens=sum(answer.cut for answer in answers),
    )


def published_columns(rated: RatedSet) -> list[Column]:
    """One column per metric whose scores were published with the ratings."""
    columns: list[Column] = []
    for metric, scores in rated.ratings.score_columns.items():
        statuses = Coded((Status.OK, Status.ABSENT), np.isnan(scores.score).astype(np.int8))
        fields = {"metric": f"{metric}@published", "scores": f"sha256:{scores.fingerprint[:12]}"}
        columns.append(Column(metric, "metric", scores.score, statuses, fields))
    return columns


def rated_columns(rated: RatedSet, names: Sequence[str]) -> list[Column]:
    """The columns of metrics published with the ratings (all, where none is named) and of score files, as asked for."""
    published = {column.name: column for column in published_columns(rated)}
    columns: list[Column] = []
    for name in names or published:
        if name.startswith(FILE_PREFIX):
            # The rest of the columns that are mapped are of the ratings.
            given = {role: heading for role, heading in rated.config.columns.items() if role in SCORE_ROLES}
            for column in file_columns(rated, name, read_scores(score_path(name), given)):
                columns.append(named_apart(column, columns, name))
        elif name in published:
            columns.append(published[name])
        else:
            then = "Or give a score file (.jsonl or .parquet): the texts' sources are not in the files."
            raise unknown(f"metric published with {rated.name}", name, published, then)
    return columns
