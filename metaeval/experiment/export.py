"""Ways out: the pairs of a job as a file, and a metric's scores as a score file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.columns import FILE_PREFIX, check_names
from metaeval.experiment.prepared_run import Job, prepare
from metaeval.experiment.scoring import MetricProgress, score_metrics
from metaeval.files import atomic_write, safe_name, write_text
from metaeval.scoring.scorefile import write_scores
from metaeval.scoring.store import ScoreStore


def export_pairs(config: RunConfig, path: Path) -> int:
    """Write the job's pairs as .jsonl or .parquet, one row each; the number of pairs."""
    if path.suffix not in (".jsonl", ".parquet"):
        raise UserError(f"Pairs are written as .jsonl or .parquet; {path.name!r} is neither.")
    job = prepare(config)
    rows = [_record(pair._asdict()) for pair in job.pairs]
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        with atomic_write(path) as file:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return len(rows)


def export_scores(
    config: RunConfig, folder: Path, suffix: str, progress: MetricProgress | None = None
) -> Iterator[str]:
    """Score the job with each metric of the run and write FOLDER/METRIC.suffix; yields a line about each."""
    files = [name for name in config.metrics if name.startswith(FILE_PREFIX)]
    if files:
        raise UserError(f"{files[0]!r} is scored already: evaluate it with 'metaeval evaluate FILE'.")
    check_names(config)
    job = prepare(config)
    with ScoreStore(config.store_path) as store:
        for name, metric, scored in score_metrics(job.texts, config.metrics, config, store, progress):
            path = folder / (safe_name(name.replace(":", ".")) + f".{suffix}")
            manifest = {
                "metric": name,
                "direction": metric.card.direction,
                "identity": scored.identity,
                **_data(job),
            }
            write_scores(path, [pair.pair_id for pair in job.pairs], scored.answers, manifest)
            missing = sum(answer.score is None for answer in scored.answers)
            yield f"{path}: {len(scored.answers):,} pairs, {missing:,} without a score"


def _record(row: dict[str, Any]) -> dict[str, Any]:
    levels = {key: None if row[key] is None else row[key].label for key in ("level", "citation_level")}
    return {**row, **levels}


def _data(job: Job) -> dict[str, Any]:
    return {"pairs": len(job.pairs), "job": {key: str(value) for key, value in job.fields.items()}}
