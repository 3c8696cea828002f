"""A run: it scores and evaluates the data of its settings, and writes results, their page, pairs and scores."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, count
from metaeval.core.files import atomic_write, declare, safe_name, sha256_file, write_text
from metaeval.core.parsing import parquet_library
from metaeval.corpus.model import Corpus
from metaeval.corpus.pair_table import Pair
from metaeval.corpus.ratings import Ratings
from metaeval.corpus.units import read_aggregation
from metaeval.report.html_report import Picture, page, rows_description
from metaeval.report.ranking_measures import metrics_of
from metaeval.report.result import Result, save_result
from metaeval.report.table import plain
from metaeval.report.table_files import PAGE
from metaeval.runs.evaluation import ProtocolSetup, declarations_of, evaluate, find_protocols, readable_protocols
from metaeval.runs.job_folder import PAIRS, Command, close_job, job_folder, write_pairs
from metaeval.runs.loaded_metrics import LoadedMetrics, MetricProgress, score_in, worker_pool
from metaeval.runs.prepared_run import Job, RatedSet, prepare
from metaeval.runs.row_scores import job_as_read, joins, score_rows
from metaeval.runs.score_columns import (
    FILE_PREFIX,
    AlignedColumn,
    load_run_data,
    named_metrics,
    scored_columns,
    with_controls,
)
from metaeval.runs.scored_table import pair_table
from metaeval.runs.significance import as_one_family
from metaeval.scoring.contract import Combination, PairScore
from metaeval.scoring.score_files import write_scores
from metaeval.scoring.score_store import ScoreStore
from protocols.contract import Protocol

if TYPE_CHECKING:
    from metaeval.report.figures.drawing import Look

EXPLORER = "view.html"

_log = logging.getLogger("metaeval")


def write_report(
    results: Sequence[Result],
    protocols: Mapping[str, Protocol],
    folder: Path,
    title: str = "",
    pairs: bool = False,
    bars: bool = False,
) -> Path:
    """Write the HTML page of results into a job's folder, and return the page's path.

    protocols: by name. title: of the page; "": made from the data sets. pairs: whether the folder holds pairs that the
    explorer can show. bars: draw the bars that protocols declare, if matplotlib is installed.
    """
    pictures = {}
    try:
        pictures = pictures_of(results, protocols) if bars else {}
    except UserError as error:
        _log.info("The page has no bars: %s", error)
    code = folder.name.rpartition("-")[2]
    link = EXPLORER if (folder / EXPLORER).is_file() else ""
    shown = (f"metaeval view {code}", link) if pairs else ("", "")
    path = folder / PAGE
    write_text(path, page(results, pictures, title, declarations_of(protocols.values()), shown))
    return path


def pictures_of(results: Sequence[Result], protocols: Mapping[str, Protocol]) -> dict[str, list[Picture]]:
    """Return the bars that protocols declare, as pictures by `rows_description` of the result. protocols: by name."""
    from metaeval.report.figures.bars import measure_bars
    from metaeval.report.figures.drawing import image

    pictures: dict[str, list[Picture]] = {}
    looks = metric_looks(results)
    for protocol, result in results_with_figures(results, protocols):
        ties = " Bars are expectations over the orders of tied scores." if protocol.tie_orders else ""
        drawing = image(measure_bars(result, looks), "svg").decode("utf-8")
        pictures.setdefault(rows_description(result), []).append(Picture(f"{plain(result.title)}.{ties}", drawing))
    return pictures


def metric_looks(results: Sequence[Result]) -> dict[str, Look]:
    """Return how each metric of the results is drawn in all figures."""
    from metaeval.report.figures.drawing import looks_of

    return looks_of(row.metric for result in results for row in metrics_of(result))


def results_with_figures(
    results: Sequence[Result], protocols: Mapping[str, Protocol]
) -> Iterator[tuple[Protocol, Result]]:
    """Yield the results with metrics whose protocols declare a figure, each with its protocol. protocols: by name."""
    for result in results:
        protocol = protocols.get(result.protocol)
        if protocol and protocol.figure and metrics_of(result):
            yield protocol, result


@dataclass(frozen=True, eq=False)
class EvaluatedRun:
    """The results of a run, one per protocol that can distinguish metrics on the data. columns: metrics, then controls.

    protocols: all of the run, by name. left_out: why the other protocols have no result, by name.
    """

    source: Job | RatedSet
    columns: Sequence[AlignedColumn]
    results: list[Result]
    protocols: Mapping[str, Protocol]
    left_out: Mapping[str, str]

    @property
    def are_decided(self) -> bool:
        """Whether every metric has scores and all of them are levels (0, 1 or 2), so that they are decisions."""
        scores = [column.score[~np.isnan(column.score)] for column in self.columns if column.kind == "metric"]
        return all(score.size and np.isin(score, (0.0, 1.0, 2.0)).all() for score in scores)


def run(
    config: RunConfig,
    progress: MetricProgress | None = None,
    data: Corpus | Ratings | None = None,
    published: bool = False,
) -> EvaluatedRun:
    """Score the data with every metric and evaluate it under every protocol; only the score store is written.

    data: replaces the run's data set. published: whether the scores that come with ratings are evaluated too. Raises
    `UserError` for wrong settings or data, before any scoring where possible.
    """
    protocols = find_protocols(config)
    metrics, source = load_run_data(config, data, published)
    _check_batch(metrics)
    readable_protocols(protocols, source)
    return evaluate_columns(source, scored_columns(source, metrics, progress), protocols)


def evaluate_columns(
    source: Job | RatedSet,
    columns: Sequence[AlignedColumn],
    protocols: Sequence[ProtocolSetup] = (),
    tested: Collection[str] | None = None,
) -> EvaluatedRun:
    """Evaluate columns, and the run's controls, under every protocol that can distinguish metrics.

    protocols: those of the run, if loaded already. tested: names of metrics that are compared with each other and with
    controls; None for all. Raises `UserError` for a rated set without columns, and if no protocol distinguishes
    metrics.
    """
    config = source.config
    if isinstance(source, RatedSet) and not columns:
        hint = ", or the table a column of numbers for each metric" if config.dataset == "ratings" else ""
        raise UserError(f"{source.name} comes without published scores: give a score file with its rating ids{hint}.")
    protocols = protocols or find_protocols(config)
    whole = with_controls(source, columns) if config.controls else columns
    readable, left_out = readable_protocols(protocols, source)
    results = [evaluate(frame, whole, *protocol, config, tested, len(readable)) for protocol, frame in readable]
    if config.comparison.family == "suite":
        results = as_one_family(results)
    return EvaluatedRun(source, whole, results, {protocol.name: protocol for protocol, _ in protocols}, left_out)


def write_run(
    config: RunConfig, run: EvaluatedRun, command: str = "run", more: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write each result as JSON, their page, the rows with all scores, and a manifest; return the paths but the last.

    The folder is RESULTS/DATASET-SPLIT-UNIT-HASH, with the pool before the hash where it is not `own`. Only the
    manifest names time and machine, so that the same run writes the same files. more: further fields of the manifest.
    """
    folder = run_folder(config, run.results)
    written = []
    if run.source is not None:
        written.append(folder / PAIRS)
        write_pairs(run.source, run.columns, folder / PAIRS)
    for result in run.results:
        save_result(result, folder / f"{result.protocol}.json")
        written.append(folder / f"{result.protocol}.json")
    pairs = isinstance(run.source, Job)
    written.append(write_report(run.results, run.protocols, folder, pairs=pairs))
    close_job(config, Command(command), folder, [result.data for result in run.results], written, more)
    return written


def run_folder(config: RunConfig, results: Sequence[Result]) -> Path:
    """Return the path of the folder of a run's results, which need not exist yet."""
    first = results[0]
    parts = [first.data.name, first.data.split, first.unit, *([config.pool] if config.pool != "own" else [])]
    signatures = [row.signature for result in results for row in result.rows]
    return job_folder(config.results, parts, signatures, Command("run"), config)


def _check_batch(metrics: LoadedMetrics) -> None:
    """Raise `UserError` for a file of a batch's replies if no metric of the run asks a chat model."""
    if metrics.config.batch is not None:
        metrics.check_asking("--replies")


def check_pair_file(path: Path) -> None:
    """Raise `UserError` for a file type in which pairs cannot be written."""
    if path.suffix not in (".jsonl", ".parquet"):
        raise UserError(f"Pairs are written as .jsonl or .parquet: give {path.name!r} one of these endings.")
    if path.suffix == ".parquet":
        parquet_library()


def write_pair_file(pairs: Iterable[Pair], path: Path) -> None:
    """Write pairs as .jsonl or .parquet (by the path's ending), one row each; levels are words, None where unknown."""
    rows = []
    for pair in pairs:
        levels = {"level": pair.level, "citation_level": pair.citation_level}
        named = {key: None if level is None else level.label for key, level in levels.items()}
        rows.append({**pair._asdict(), **named})
    if path.suffix == ".parquet":
        pyarrow = parquet_library()
        with atomic_write(path) as file:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


@dataclass(frozen=True)
class ScoreFileWritten:
    """A written score file of one metric, with the numbers of its pairs and of unscored ones."""

    metric: str
    path: Path
    pairs: int
    unscored: int

    def __str__(self) -> str:
        return f"{self.path}: {count(self.pairs, 'pair')}, {self.unscored:,} without a score"


def export_scores(
    config: RunConfig,
    folder: Path,
    suffix: str,
    progress: MetricProgress | None = None,
    shard: tuple[int, int] | None = None,
) -> Iterator[ScoreFileWritten]:
    """Score the run's data with each metric, and write FOLDER/METRIC.SUFFIX (jsonl or parquet); yield a record each.

    shard: (I, N) for every N-th row of the data alone, from row I on, in FOLDER/METRIC.I-of-N.SUFFIX. In such a file
    higher scores are more support, whatever the metric's direction, so that files can be joined without a manifest.
    """
    if files := [name for name in config.metrics if name.startswith(FILE_PREFIX)]:
        raise UserError(f"{files[0]!r} is a file of scores: evaluate it with 'metaeval evaluate FILE'.")
    metrics = named_metrics(config)
    _check_batch(metrics)
    if suffix == "parquet":
        parquet_library()  # refused here, before hours of scoring
    for name in metrics.names if shard else ():  # whose scores or cost depend on the whole job
        if isinstance(metric := metrics[name], Combination):
            why = "combines the scores of all pairs"
        elif metric.corpus_dependent:
            why = "depends on all sources of a job"
        elif "budget" in metric.Options.model_fields:
            why = "would spend its budget in each shard"
        else:
            continue
        raise UserError(f"{name!r} {why}: leave --shard out for it, and score its pairs in one command.")
    table = pair_table(config) or {}
    job = None if table else prepare(config)
    metrics = metrics.settled(job.texts if job else [*table.values()])  # alike in all shards
    fields = {key: str(value) for key, value in job.fields.items()} if job else {"unit": "rating"}
    if table and config.data:
        fields["data"] = f"{config.data.stem}/all@{sha256_file(config.data)[:12]}"
    ending = f"{shard[0]}-of-{shard[1]}.{suffix}" if shard else suffix
    paths = {name: folder / f"{safe_name(name.replace(':', '.'))}.{ending}" for name in metrics.names}
    declare("output", *paths.values())
    # Rows are written where the job's pairs lack their scores: for joined chunks, and chunks of a page.
    how = read_aggregation(config.aggregate)
    read = {name: job_as_read(job, name, metrics) for name in metrics.names} if job else {}
    by_row = {name for name, over in read.items() if over is not job or joins(over, how)}
    if shard:
        fields["shard"] = f"{shard[0]}/{shard[1]}"
        job, table = job and job.shard(*shard), dict(islice(table.items(), shard[0], None, shard[1]))
        if not (table or (job and job.rows)):
            raise UserError(f"--shard is {fields['shard']}, and the data have fewer rows: ask for fewer shards.")

    def written(
        name: str, direction: int, identity: Mapping[str, Any], ids: Sequence[str], scores: Sequence[PairScore]
    ) -> ScoreFileWritten:
        if shard:
            scores, direction = [pair.oriented(direction) for pair in scores], 1
        manifest = {"metric": name, "direction": direction, "identity": identity, "pairs": len(ids), "job": fields}
        write_scores(paths[name], ids, scores, manifest)
        return ScoreFileWritten(name, paths[name], len(scores), sum(pair.score is None for pair in scores))

    with ScoreStore(config.store_path) as store:
        if job is None:
            with worker_pool(metrics.config) as pool:
                for name, metric, answered in score_in(pool, [*table.values()], metrics, store, progress):
                    yield written(name, metric.card.direction, answered.identity, [*table], answered.answers)
            return
        for name, metric, scored in score_rows(job, metrics, store, progress):
            if name in by_row:
                yield written(name, 1, scored.identity, [row.id for row in job.rows], scored.rows)
            else:
                ids = [pair.pair_id for pair in job.pairs]
                yield written(name, metric.card.direction, scored.identity, ids, scored.pairs)
