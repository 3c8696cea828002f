"""A whole run: prepare, score, evaluate, write. Each step stands alone too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from metaeval.config import RunConfig
from metaeval.corpus.model import Corpus
from metaeval.errors import UserError
from metaeval.experiment.columns import (
    FILE_PREFIX,
    Column,
    check_names,
    control_columns,
    metric_columns,
    named_apart,
    score_path,
)
from metaeval.experiment.evaluation import evaluate, find_protocols
from metaeval.experiment.frame import from_job, from_ratings, no_candidates
from metaeval.experiment.manifest import write_manifests
from metaeval.experiment.prepared_run import Job, find_dataset, prepare
from metaeval.experiment.rated import RatedSet, prepare_ratings, published_columns, rating_column, rating_controls
from metaeval.experiment.scoring import MetricProgress
from metaeval.files import safe_name, sha256_file
from metaeval.report.formats import write_tables
from metaeval.report.result import Result, save_result
from metaeval.scoring.scorefile import read_scores
from metaeval.scoring.store import ScoreStore


def run(config: RunConfig, progress: MetricProgress | None = None, corpus: Corpus | None = None) -> list[Result]:
    """Score the data with every metric and evaluate it under every protocol; nothing is written but the score store.

    corpus: judged data to take in place of the run's data set.

    Raises `UserError` for anything wrong in the settings or the data, before any scoring where that can be told.
    """
    find_protocols(config)  # a wrong protocol is refused here, before hours of scoring
    check_names(config)
    job = prepare(config, corpus)
    with ExitStack() as stack:
        needs_store = any(not name.startswith(FILE_PREFIX) for name in config.metrics)
        store = stack.enter_context(ScoreStore(config.store_path)) if needs_store else None
        columns = metric_columns(job, store, progress)
    return evaluate_columns(job, columns)


def run_scores(config: RunConfig, progress: MetricProgress | None = None) -> list[Result]:
    """Evaluate the run's score files; on a rated set, beside the scores that were published with it.

    Raises `UserError` as `run` does.
    """
    if find_dataset(config.dataset)[0].kind == "corpus":
        return run(config, progress)
    find_protocols(config)
    rated = prepare_ratings(config)
    columns = published_columns(rated)
    for name in dict.fromkeys(config.metrics):
        path = score_path(name)
        column = rating_column(rated, read_scores(path), f"sha256:{sha256_file(path)[:12]}")
        columns.append(named_apart(column, columns, name))
    return evaluate_rated(rated, columns)


def evaluate_columns(job: Job, columns: Sequence[Column]) -> list[Result]:
    """Evaluate columns, and the controls if the run wants them, under every protocol of the run."""
    whole = [*columns, *control_columns(job)] if job.config.controls else columns
    return [
        evaluate(from_job(job, protocol), whole, protocol, options, job.config)
        for protocol, options in find_protocols(job.config)
    ]


def evaluate_rated(rated: RatedSet, columns: Sequence[Column]) -> list[Result]:
    """Evaluate columns of a rated set, and its controls, under every protocol of the run that can read its ratings.

    Raises `UserError` for no column, and for a protocol asked for by its name that cannot.
    """
    if not columns:
        raise UserError(f"{rated.name} comes without published scores: give a score file, with its ratings' ids.")
    frame = from_ratings(rated.ratings, rated.name, rated.split, rated.config.dataset_options)
    whole = [*columns, *rating_controls(rated)] if rated.config.controls else columns
    found: list[Result] = []
    for protocol, options in find_protocols(rated.config):
        obstacle = no_candidates(frame) if protocol.uses_pool else ""
        if obstacle and protocol.name in rated.config.protocols:
            raise UserError(f"Protocol {protocol.name} cannot read {rated.name}: {obstacle}.")
        if not obstacle:
            found.append(evaluate(frame, whole, protocol, options, rated.config))
    return found


def result_folder(config: RunConfig, result: Result) -> Path:
    """Where a run's tables go: results/DATASET-SPLIT-UNIT, with the pool where it is not `own`."""
    parts = [result.data.name, result.data.split, result.unit]
    if config.pool != "own":
        parts.append(config.pool)
    return config.results / "-".join(safe_name(part) for part in parts)


def write_results(config: RunConfig, results: Sequence[Result]) -> list[Path]:
    """Write each result as JSON and in every table format, and a manifest beside them; the paths written.

    The result files hold no time and no machine: the same run gives the same bytes. The manifest holds both.
    """
    written: list[Path] = []
    for result in results:
        folder = result_folder(config, result)
        path = folder / f"{result.protocol}.json"
        save_result(result, path)
        written.append(path)
        written.extend(write_tables(result, folder / result.protocol))
    write_manifests(config, results, written)
    return written
