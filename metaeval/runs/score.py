"""Scores: metrics score the pairs of a job, here or in a pool, and their scores become a column of the rows."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.core import registry
from metaeval.core.cells import objects
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.core.files import sha256_file, sha256_json
from metaeval.corpus.ratings import numerals
from metaeval.corpus.units import PAGE, Aggregation, UnitRow, read_aggregation
from metaeval.report.result import Ledger
from metaeval.runs.data import Job, RatedSet
from metaeval.runs.metrics import PUBLISHED, LoadedMetrics, load_metrics, plug_in, score_path
from metaeval.scoring.aggregation import aggregate, best_members
from metaeval.scoring.backends.model_loading import devices_of
from metaeval.scoring.contract import Combination, Metric, PairScore, Status, TextPair, checked_answer, version_of
from metaeval.scoring.controls import BESIDE_A_METRIC, SYSTEM
from metaeval.scoring.engine import ScoredPairs, score_jointly, score_pairs
from metaeval.scoring.executors.contract import Execute, WorkerRecipe
from metaeval.scoring.executors.local import ProcessPool, places
from metaeval.scoring.executors.worker_pool import Pool
from metaeval.scoring.score_files import ScoreFile, align
from metaeval.scoring.score_store import ScoreStore

_VERSIONED = ("metaeval", "numpy", "torch", "transformers", "tokenizers")


@contextmanager
def worker_pool(config: RunConfig) -> Iterator[Pool | None]:
    """Yield the pool of processes that score, which start when first needed; None if this process alone scores."""
    if config.executor.name == "ray":
        from metaeval.scoring.executors.ray import RayPool

        with closing(RayPool(config.executor.address, config.executor.workers, config.executor.most)) as actors:
            yield actors
        return
    if config.executor.alone:
        yield None
        return
    workers, devices = config.executor.workers, devices_of(config.executor.devices)
    if devices and workers not in (0, len(devices)):
        raise UserError(f"executor.workers is {workers} and executor.devices names {len(devices)}: give one of them.")
    if os.name != "posix":
        raise UserError("Several processes need Linux or macOS: leave executor.workers and executor.devices out.")
    with closing(ProcessPool(places(workers or len(devices), devices))) as processes:
        yield processes


def scoring_function(
    pool: Pool | None, names: Sequence[str], metrics: Sequence[Metric], config: RunConfig
) -> Execute | None:
    """Return what scores blocks with metrics which share a job in the pool; None: this process does.

    That is without a pool, for objects of this Python session, and for metrics whose `where` is "driver".
    """
    # What Python gave is found in this process alone.
    here_alone = any(registry.is_given("metric", name) for name in names)
    if pool is None or here_alone or any(metric.where == "driver" for metric in metrics):
        return None
    return partial(pool.run, recipe_of(names, metrics, config))


def recipe_of(names: Sequence[str], metrics: Sequence[Metric], config: RunConfig) -> WorkerRecipe:
    """Return the recipe (names, options, identities, versions) from which another process makes these metrics."""
    settings = config.model_dump(mode="json", include={"metric_options", "budget"})
    identities = tuple(sha256_json(metric.identity()) for metric in metrics)
    return WorkerRecipe(tuple(names), {**settings, "trust_config": config.trust_config}, identities, package_versions())


def package_versions() -> Mapping[str, str]:
    """Return the versions of the packages that scores depend on, by name; "none" for one that is not installed."""
    return {name: version_of(name) for name in _VERSIONED}


MetricProgress = Callable[[str, int, int], None]
"""Called with the metric's name, the number of scored pairs, and the number of all pairs."""


def score_metrics(
    texts: Sequence[TextPair],
    names: Sequence[str],
    config: RunConfig,
    store: ScoreStore | None = None,
    progress: MetricProgress | None = None,
) -> Iterator[tuple[str, Metric, ScoredPairs]]:
    """Score (source, statement) texts with each metric; yield its name, the metric and its scores, combinations last.

    Every checkpoint is found (or fetched) before the first metric scores. The models of one group are released before
    those of the next are loaded. Scores are in the order of the texts; a store (None: none) keeps them.
    """
    with worker_pool(config) as pool:
        yield from score_in(pool, texts, load_metrics(names, config), store, progress)


def score_in(
    pool: Pool | None,
    texts: Sequence[TextPair],
    metrics: LoadedMetrics,
    store: ScoreStore | None,
    progress: MetricProgress | None,
) -> Iterator[tuple[str, Metric, ScoredPairs]]:
    """Score texts with each metric in a pool (None: here); yield name, metric and scores of each, combinations last."""
    metrics = metrics.settled(texts)
    combinations = metrics.combinations
    members = {member for metric in combinations.values() for member in metric.members}
    member_scores: dict[str, tuple[int, ScoredPairs]] = {}
    for group in metrics.groups():
        label, models = " + ".join(group), [metrics.fresh(name) for name in group]
        with plug_in(label):
            report = partial(progress, label) if progress else None
            execute = scoring_function(pool, group, models, metrics.config)
            answers = score_jointly(models, texts, store, report, execute)
        for name, metric, scored in zip(group, models, answers, strict=True):
            if note := metric.note():
                _log.info("%s: %s", name, note)
            if name in members:
                member_scores[name] = metric.card.direction, scored
            if name in metrics.names:
                yield name, metric, scored
        del models, metric
    for name, combination in combinations.items():
        parts = [member_scores[member] for member in combination.members]
        yield name, combination, _combine(name, combination, parts, texts)


def _combine(
    name: str, metric: Combination, parts: Sequence[tuple[int, ScoredPairs]], texts: Sequence[TextPair]
) -> ScoredPairs:
    # Unique pairs only: a pair that occurs twice in the job would count twice in the scale.
    first = {pair: number for number, pair in reversed(list(enumerate(texts)))}
    numbers = sorted(first.values())
    answers = [[scored.answers[number].oriented(direction) for number in numbers] for direction, scored in parts]
    with plug_in(name):
        combined = [checked_answer(metric, answer) for answer in metric.combine(answers)]
        unique = dict(zip((texts[number] for number in numbers), combined, strict=True))
    corpus = sha256_json(sorted(set(texts)))
    identity = {**metric.identity(), "members": [scored.identity for _, scored in parts], "corpus": corpus}
    return ScoredPairs([unique[pair] for pair in texts], identity, len(unique), 0)


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
    if isinstance(job, RatedSet) or not job.whole_pages or job.config.over_limit == "cut":
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
    if partly := [name for name in metrics.names if metrics[name].card.whole_pages and not job.whole_pages]:
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


FITTED = "fitted on the labels of {} {}: its values here do not say how well it does on other data"


@dataclass(frozen=True, eq=False)
class AlignedColumn:
    """A column of scores, (n,), of the n rows of the data: higher is more support, NaN is unscored.

    statuses: why a row is unscored. fields: the signature's, about the metric. ledger: what it read (None: unknown).
    cut: by row, the number of tokens that the input limit cut off. is_control: a metric that is also a control, with
    which the others are compared. unrated: scores of a rated set's texts without a rating, in their order, or (). cost:
    (n,) what each score cost in USD, NaN where it is not known, or None.
    """

    name: str
    kind: Literal["metric", "control"]
    score: NDArray[np.float64]
    statuses: Sequence[Status] | NDArray[np.object_]
    fields: Mapping[str, object]
    ledger: Ledger | None = None
    warnings: tuple[str, ...] = ()
    cut: Mapping[int, int] = field(default_factory=dict)
    is_control: bool = False
    unrated: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    cost: NDArray[np.float64] | None = None

    @property
    def is_random(self) -> bool:
        """Return whether this is the control of random scores, for which expected values are reported."""
        return self.kind == "control" and self.name.removesuffix(BESIDE_A_METRIC) == "random"

    @property
    def is_system(self) -> bool:
        """Return whether this is the control whose score only depends on the system that wrote a text."""
        return self.kind == "control" and self.name.removesuffix(BESIDE_A_METRIC) == SYSTEM


def scored_columns(
    job: Job | RatedSet, metrics: LoadedMetrics, progress: MetricProgress | None = None
) -> list[AlignedColumn]:
    """Return the columns of the run's metrics, in the run's order: a score file gives one for each metric in it.

    The path of a score file is added to the name of a column that an earlier one has. The score store is opened only if
    a metric has to be scored.
    """
    with ScoreStore(job.config.store_path) if metrics.names else nullcontext() as store:
        scored = {
            name: _metric_column(job, name, metric, metrics, scores)
            for name, metric, scores in (score_rows(job, metrics, store, progress) if metrics.names else ())
        }
    columns: list[AlignedColumn] = []
    for name in dict.fromkeys(metrics.config.metrics):
        if name in scored:
            of_name = [scored[name]]
        elif name in metrics.files:
            of_name = file_columns(job, name, metrics.files[name])
        elif not (of_name := [column for column in published_columns(job) if name in (column.name, PUBLISHED)]):
            raise UserError(f"No scores of {name!r} were published with {job.name} ({job.split}).")
        for column in of_name:
            columns.append(with_unique_name(column, columns, name))
    return columns


def file_columns(source: Job | RatedSet, name: str, files: Sequence[ScoreFile]) -> list[AlignedColumn]:
    """Return a column for each metric in a score file. name: how the run's metrics name the file."""
    content = f"sha256:{sha256_file(score_path(name))[:12]}"
    return [score_column(source, file, content) for file in files]


def with_unique_name(column: AlignedColumn, others: Sequence[AlignedColumn], name: str) -> AlignedColumn:
    """Return the column; if another has its name, the path of the score file, named `name` as a metric, is added."""
    taken = column.name in {other.name for other in others}
    return replace(column, name=f"{column.name} ({score_path(name)})") if taken else column


def is_fitted_on(metric: Metric, job: Job | RatedSet) -> bool:
    """Return whether the metric's card says that it was fitted on labels of which the job's split has some."""
    splits = [on.removeprefix(f"{job.name}/") for on in metric.card.fitted_on if on.startswith(f"{job.name}/")]
    return bool(splits) and (job.split in ("all", *splits) or "all" in splits)


def _metric_column(
    job: Job | RatedSet, name: str, metric: Metric, metrics: LoadedMetrics, scores: JobScores
) -> AlignedColumn:
    identity = scores.identity
    fields: dict[str, object] = {"metric": signed_as(name, metric, identity), **metric.provenance()}
    if isinstance(job, RatedSet):  # whose hash is of ids and ratings
        fields["texts"] = f"sha256:{sha256_json(sorted((row.id, *job.texts[row.members[0]]) for row in job.rows))[:12]}"
    elif job.whole_pages:
        fields["reads"] = "pages" if job_as_read(job, name, metrics) is job else "chunks"
    if "members" in identity:
        fields["members"] = f"sha256:{sha256_json(identity['members'])[:12]}"
    if "corpus" in identity:
        fields["over-sources"] = "+".join(part["corpus"][:12] for part in (identity, scores.joined) if part)
    column = column_of(name, scores.rows, fields, ledger_of(scores.read))
    if type(metric).cost is not Metric.cost:
        paid = [[metric.cost(*job.texts[number]) for number in row.members] for row in job.rows]
        column = replace(column, cost=np.array([np.array(each, dtype=np.float64).sum() for each in paid]))
    return replace(column, warnings=(FITTED.format(job.name, job.split),)) if is_fitted_on(metric, job) else column


def signed_as(name: str, metric: Metric, identity: Mapping[str, Any]) -> str:
    """Return a metric as signatures name it: NAME@vVERSION(OPTION=VALUE,...), for a variant VARIANT=METRIC@v... ."""
    options = ",".join(f"{key}={value}" for key, value in identity["options"].items())
    known_as = name if name == metric.card.name else f"{name}={metric.card.name}"
    return f"{known_as}@v{metric.card.version}" + (f"({options})" if options else "")


def score_column(source: Job | RatedSet, file: ScoreFile, content: str) -> AlignedColumn:
    """Return the column of one metric in a score file, whose ids are those of pairs or of rows (citations, ratings).

    Scores of pairs are aggregated to rows. The ids of ratings may all have the ending of pairs with whole documents
    (`PAGE`). content: the file's content hash, for the signature. A row that the file does not score has status absent.
    Raises `UserError` for scores of unknown ids, and for scores of chunks where the setting `aggregate` joins chunks.
    """
    sign = file.direction
    if isinstance(source, RatedSet):
        ids = source.ratings.columns.id.tolist()
        if all(name.endswith(PAGE) for name in file.answers) and not file.answers.keys() & set(ids):
            file = replace(file, answers={name.removesuffix(PAGE): answer for name, answer in file.answers.items()})
        unrated, where = source.ratings.unrated, f"ratings of {source.name} ({source.split})"
        both = [answer.oriented(sign) for answer in align(file, [*ids, *unrated], where)]
        column = column_of(file.metric, both[: len(ids)], file.signed(content))
        return replace(column, unrated=np.array([answer.score for answer in both[len(ids) :]], dtype=np.float64))
    row_ids = [row.id for row in source.rows]
    if file.answers.keys() <= set(row_ids):
        per_row = [answer.oriented(sign) for answer in align(file, row_ids)]
    else:
        how = read_aggregation(source.config.aggregate)
        pair_scores = align(file, [pair.pair_id for pair in source.pairs])
        if joins(source, how):
            raise UserError(f"aggregate={source.config.aggregate} joins chunks, which {file.path} lacks: set mean:K.")
        per_row = aggregate(pair_scores, source.rows, how, sign)
    return column_of(file.metric, per_row, file.signed(content))


def column_of(
    name: str, per_row: Sequence[PairScore], fields: Mapping[str, object], ledger: Ledger | None = None
) -> AlignedColumn:
    """Return a metric's column from one score per row (higher: more support). fields: of its signature."""
    statuses = [answer.status for answer in per_row]
    cut = {row: answer.cut for row, answer in enumerate(per_row) if answer.cut}
    score = np.array([answer.score for answer in per_row], dtype=np.float64)
    return AlignedColumn(name, "metric", score, statuses, fields, ledger, cut=cut)


def array_column(
    name: str, score: NDArray[np.float64], fields: Mapping[str, object], unscored: Status = Status.ABSENT
) -> AlignedColumn:
    """Return a metric's column from scores, (n,). unscored: why a row has none. fields: of its signature."""
    statuses = objects((Status.OK, unscored))[np.isnan(score).astype(np.int8)]
    return AlignedColumn(name, "metric", score, statuses, fields)


def ledger_of(scores: Collection[PairScore]) -> Ledger:
    """Return the counts of pairs and tokens that a metric read, and of pairs and tokens that its input limit cut."""
    return Ledger(
        pairs=len(scores),
        tokens=sum(pair.tokens for pair in scores),
        cut_pairs=sum(pair.cut > 0 for pair in scores),
        cut_tokens=sum(pair.cut for pair in scores),
    )


def published_columns(source: Job | RatedSet) -> list[AlignedColumn]:
    """Return one column per metric whose scores were published with the data; an empty list if there are none.

    Raises `UserError` where the data have such scores, of citations, and the rows are not citations or pages.
    """
    known = source.ratings.score_columns if isinstance(source, RatedSet) else {}
    scores = {metric: (column.score, column.fingerprint) for metric, column in known.items()}
    if isinstance(source, Job):
        if source.corpus.scores and source.config.unit not in ("citation", "page"):
            raise UserError(f"The scores published with {source.name} are of whole citations: add --unit citation.")
        scores = {
            metric: (np.array([by_id.get(row.id) for row in source.rows], dtype=np.float64), sha256_json(dict(by_id)))
            for metric, by_id in source.corpus.scores.items()
        }
    columns = [
        array_column(metric, score, {"metric": f"{metric}@published", "scores": f"sha256:{fingerprint[:12]}"})
        for metric, (score, fingerprint) in scores.items()
    ]
    for place, rated in enumerate(known.values()):
        unlabelled = {"unlabelled": f"sha256:{sha256_json(numerals(rated.unrated))[:12]}"} if rated.unrated.size else {}
        signed = {**columns[place].fields, **unlabelled}
        columns[place] = replace(columns[place], unrated=rated.unrated, cost=rated.cost, fields=signed)
    return columns
