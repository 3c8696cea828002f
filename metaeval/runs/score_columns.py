"""Score columns: one score per judged row or rated text, from a metric, a score file, a publication or a control."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.core import registry
from metaeval.core.cells import objects
from metaeval.core.config import RunConfig
from metaeval.core.config_files import variants
from metaeval.core.errors import UserError, did_you_mean, unknown
from metaeval.core.files import sha256_file, sha256_json
from metaeval.core.headings import SCORES, TEXTS
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings, numerals
from metaeval.corpus.units import PAGE, read_aggregation
from metaeval.report.result import Ledger
from metaeval.runs.loaded_metrics import LoadedMetrics, MetricProgress, load_metrics
from metaeval.runs.prepared_run import Job, RatedSet, find_dataset, kind_of_data, load_corpus, prepare, prepare_ratings
from metaeval.runs.row_scores import JobScores, job_as_read, job_scores, joins, score_rows
from metaeval.scoring.aggregation import aggregate
from metaeval.scoring.contract import Metric, PairScore, Status
from metaeval.scoring.controls import BESIDE_A_METRIC, CONTROLS, OVERLAP, REFERENCE_MODEL, SYSTEM, rated_controls
from metaeval.scoring.engine import ScoredPairs, score_pairs, settled_metric
from metaeval.scoring.score_files import ScoreFile, align, read_scores
from metaeval.scoring.score_store import ScoreStore

_log = logging.getLogger("metaeval")

FILE_PREFIX = "scores:"
PUBLISHED = "published"
"""The name that stands for all metrics whose scores were published with the data."""
MAX_CONTROL_PAIRS = 20_000
"""The most pairs that support-mini scores where it is only a control; they take some 20 seconds."""
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


def load_run_data(
    config: RunConfig, data: Corpus | Ratings | None = None, published: bool = False
) -> tuple[LoadedMetrics, Job | RatedSet]:
    """Load the run's metrics, and then its data (or take `data`); ratings first, whose published scores have names.

    published: whether all published scores of ratings are evaluated, before the metrics that the run names. Raises
    `UserError` as `named_metrics` does, and where ratings lack the texts that a metric would read.
    """
    if isinstance(data, Corpus) or (data is None and kind_of_data(config) == "corpus"):
        return named_metrics(config), prepare(config, data)
    named = [name for name in config.metrics if name != PUBLISHED and not name.startswith(FILE_PREFIX)]
    known = {*registry.names("metric"), *(name for name in named if ":" in name or registry.is_given("metric", name))}
    dataset = find_dataset(config.dataset, config)[0]
    files = data is None and any(dataset.files.values())
    if files and not dataset.texts and known.intersection(named):
        load_corpus(config)  # which says that the texts are not there
    rated = prepare_ratings(config, data)
    scores = rated.ratings.scores
    if unscored := [name for name in named if name not in scores]:
        others = (name for name in unscored if name not in known and (files or did_you_mean(name, scores)))
        if (wrong := next(others, None)) is not None:
            raise unknown(f"metric published with {rated.name}", wrong, scores)
        _ = rated.texts
    both = [name for name in named if name in scores and name in known]
    if both and len(rated.text_headings) == len(TEXTS):
        _log.warning("%s: %s is the column of this name: rename it to run the metric.", rated.name, ", ".join(both))
    names = tuple(dict.fromkeys([*(scores if published else ()), *config.metrics]))
    config = config.model_copy(update={"metrics": names})
    return named_metrics(config, scores) if names else load_metrics((), config), rated


def named_metrics(config: RunConfig, published: Collection[str] | None = None) -> LoadedMetrics:
    """Load the run's metrics and score files before any work is done; published metrics have nothing to load.

    published: names of the scores that come with ratings; None for a corpus, whose data set names them. Options of a
    known metric that is not part of the run are ignored with a warning. Raises `UserError` for a wrong metric or none,
    a missing score file, and options of an unknown metric.
    """
    if not config.metrics:
        raise UserError("No metric is given: give at least one, for example --metrics overlap.")
    files = [name for name in dict.fromkeys(config.metrics) if name.startswith(FILE_PREFIX)]
    scored = {*files, PUBLISHED, *(find_dataset(config.dataset, config)[0].scores if published is None else published)}
    registry.refuse_given("metric", scored, f"the published scores of {config.dataset}")
    metrics = load_metrics((name for name in config.metrics if name not in scored), config)
    # The other mapped columns belong to the ratings.
    mapping = {role: name for role, name in config.columns.items() if published is None or role in SCORES}
    metrics = replace(metrics, files={name: read_scores(score_path(name), mapping) for name in files})
    known = {*config.metrics, *(name.partition(":")[0] for name in config.metrics)}
    for owner in sorted(config.metric_options.keys() - known):
        base = owner.partition(":")[0]
        if base not in registry.names("metric") and owner not in variants("metrics"):
            every = {*config.metrics, *registry.names("metric"), *variants("metrics")}
            raise unknown("metric in metric_options", owner, every, registry.LIST_COMMAND["metric"])
        _log.warning("The options of %s are ignored: it is not a metric of this run.", owner)
    return metrics


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
            raise UserError(
                f"No scores of {name!r} were published with {job.name} ({job.split}): give a file of scores, or "
                "another metric."
            )
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


def with_controls(source: Job | RatedSet, columns: Sequence[AlignedColumn]) -> list[AlignedColumn]:
    """Return the columns and one for each control; a metric that is a control is marked, and not added again."""
    if isinstance(source, RatedSet):
        marked = [*columns]
        controls = [_control_column(name, score) for name, score in rated_controls(source.ratings.columns).items()]
    else:
        metrics = {name: settled_metric(_control_metric(name), source.texts) for name in (OVERLAP, REFERENCE_MODEL)}
        signed = {signed_as(name, metric, metric.identity()): name for name, metric in metrics.items()}
        marked = [replace(column, is_control=column.fields.get("metric") in signed) for column in columns]
        scored_here = {signed[str(column.fields["metric"])] for column in marked if column.is_control}
        controls = list(trivial_columns(source, overlap=OVERLAP not in scored_here))
        if REFERENCE_MODEL not in scored_here:
            why = ""
            if is_fitted_on(_control_metric(REFERENCE_MODEL), source):
                why = f"it was fitted on {source.name} {source.split}"
            elif len(source.texts) > MAX_CONTROL_PAIRS:
                why = f"{len(source.texts):,} pairs would take minutes. Name it as a metric to have it"
            else:
                controls.append(_control_column(REFERENCE_MODEL, _metric_control(source, REFERENCE_MODEL)))
            if why:
                _log.warning("Without the control %s: %s.", REFERENCE_MODEL, why)
    taken = {column.name for column in marked}
    return [
        *marked,
        *(replace(each, name=each.name + BESIDE_A_METRIC) if each.name in taken else each for each in controls),
    ]


def trivial_columns(job: Job, overlap: bool = True) -> Iterator[AlignedColumn]:
    """Yield a column for each control but the reference model, and without word overlap unless `overlap` is true."""
    for name, control in CONTROLS.items():
        if job.config.unit == "chunk" or name != "chunk position":
            yield _control_column(name, control(job.rows))
    if overlap:
        yield _control_column(OVERLAP, _metric_control(job, OVERLAP))


def _control_column(name: str, score: NDArray[np.float64]) -> AlignedColumn:
    return replace(array_column(name, score, {"control": name}, Status.NOTHING_TO_SCORE), kind="control")


def _metric_control(job: Job, name: str) -> NDArray[np.float64]:
    scored = _control_scores(name, tuple(job.texts))
    rows = job_scores(job, scored, 1, lambda texts: _control_scores(name, tuple(texts))).rows
    return np.array([row.score for row in rows], dtype=np.float64)


@lru_cache(maxsize=4)
def _control_scores(name: str, texts: tuple[tuple[str, str], ...]) -> ScoredPairs:
    return score_pairs(settled_metric(_control_metric(name), texts), texts)


def _control_metric(name: str) -> Metric:
    """Return the metric that the control `name` is, with default options."""
    metric: Metric = registry.find("metric", name)()
    return metric


def is_fitted_on(metric: Metric, job: Job | RatedSet) -> bool:
    """Return whether the metric's card says that it was fitted on the labels of the job's split, or of a part of it."""
    here = f"{job.name}/"
    return any(on.startswith(here) and job.split in ("all", on.removeprefix(here)) for on in metric.card.fitted_on)


def _metric_column(
    job: Job | RatedSet, name: str, metric: Metric, metrics: LoadedMetrics, scores: JobScores
) -> AlignedColumn:
    identity = scores.identity
    fields: dict[str, object] = {"metric": signed_as(name, metric, identity), **metric.provenance()}
    if isinstance(job, RatedSet):  # whose hash is of ids and ratings
        fields["texts"] = f"sha256:{sha256_json(sorted((row.id, *job.texts[row.members[0]]) for row in job.rows))[:12]}"
    elif job.config.whole_pages:
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
            raise UserError(
                f"aggregate={source.config.aggregate} scores several chunks joined into one text, and {file.path} has "
                "only scores of single chunks: give a score for each citation_id, or set aggregate=mean:K."
            )
        per_row = aggregate(pair_scores, source.rows, how, sign)
    return column_of(file.metric, per_row, file.signed(content))


def score_path(name: str) -> Path:
    """Return the path of a score file from its name among the metrics, scores:PATH."""
    return Path(name.removeprefix(FILE_PREFIX))


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
