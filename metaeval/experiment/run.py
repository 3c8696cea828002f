"""A whole run: prepare, score, evaluate, write. Each step stands alone too."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from metaeval.config import RunConfig
from metaeval.corpus.model import Corpus
from metaeval.experiment.columns import (
    FILE_PREFIX,
    Column,
    check_names,
    control_columns,
    metric_columns,
)
from metaeval.experiment.evaluation import evaluate, find_protocols
from metaeval.experiment.job import Job, prepare
from metaeval.experiment.scoring import MetricProgress
from metaeval.files import safe_name, write_text
from metaeval.report.formats import write_tables
from metaeval.report.result import Result, save_result
from metaeval.scoring.store import ScoreStore

_VERSIONED = ("metaeval", "numpy", "scipy", "bm25s", "rouge-score", "torch", "transformers", "tokenizers")


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


def evaluate_columns(job: Job, columns: Sequence[Column]) -> list[Result]:
    """Evaluate columns, and the controls if the run wants them, under every protocol of the run."""
    whole = [*columns, *control_columns(job)] if job.config.controls else columns
    return [evaluate(job, whole, protocol, options) for protocol, options in find_protocols(job.config)]


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
        write_text(folder / "manifest.json", json.dumps(_manifest(config), indent=1, sort_keys=True) + "\n")
    return written


def _manifest(config: RunConfig) -> Mapping[str, object]:
    return {
        "config": config.model_dump(mode="json"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: found for name in _VERSIONED if (found := _version(name))},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
