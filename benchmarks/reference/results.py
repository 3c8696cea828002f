"""The kept results of the offline metrics: for each set, those of every protocol, and the scores by pair id."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reference import DIGITS, KEPT
from metaeval.core.config import load_run
from metaeval.core.files import atomic_write, csv_text, write_text
from metaeval.report.result import Result, load_result
from metaeval.runs.data import prepare
from metaeval.runs.evaluate import EvaluatedRun, evaluate_columns, run
from metaeval.runs.metrics import named_metrics
from metaeval.runs.score import column_of, scored_columns
from metaeval.scoring.contract import PairScore, Status

OFFLINE = ("overlap", "rouge", "bm25", "support-mini")
"""The metrics that run no model."""

FROZEN = {"support-minilm": "support-minilm@v1(max_tokens=512,score=expected)"}
"""The signature of a metric that there is no more: its scores are read from what is kept."""

METRICS = (*OFFLINE, "minilm-cosine", "minilm-bertscore", *FROZEN)
"""Metrics of the kept results."""
SETS: Mapping[str, Mapping[str, Any]] = {
    "mini-all-chunk": {"dataset": "mini"},
    "wice-test-chunk": {"dataset": "wice", "split": "test"},
    "wice-test-page": {"dataset": "wice", "split": "test", "unit": "page"},
    "factcheck_gpt-all-page": {"dataset": "factcheck_gpt", "unit": "page"},
    "qasem-test-page": {"dataset": "qasem", "split": "test", "unit": "page"},
    "expertqa-rand_test-page": {"dataset": "expertqa", "split": "rand_test", "unit": "page"},
    "frank-all-rating": {"dataset": "frank"},
    "xsum_hallucination-all-rating": {"dataset": "xsum_hallucination"},
}
"""The settings of each set. The last two have the scores that were published with them, and no others."""

PUBLISHED = ("frank-all-rating", "xsum_hallucination-all-rating")


def made(name: str, data: Path | None, results: Path, metrics: Sequence[str] = METRICS) -> EvaluatedRun:
    """A set, scored and evaluated now; scores are kept in the store of `results`."""
    settings = {**SETS[name], "data": data, "results": results}
    if name in PUBLISHED:
        return run(load_run(None, {**settings, "protocols": ["correlation"], "metrics": ()}), published=True)
    config = load_run(None, {**settings, "metrics": [metric for metric in metrics if metric not in FROZEN]})
    job = prepare(config)
    columns = scored_columns(job, named_metrics(config))
    for metric in FROZEN.keys() & set(metrics):
        kept = kept_scores(name)[metric]
        answers = [PairScore(kept[row.id]) if row.id in kept else PairScore(None, Status.ABSENT) for row in job.rows]
        columns.append(column_of(metric, answers, {"metric": FROZEN[metric]}))
    return evaluate_columns(job, columns)


def keep(name: str, found: EvaluatedRun, folder: Path = KEPT) -> None:
    """Write a set's results, and the scores that were made for it. The same results give the same bytes."""
    for result in found.results:
        with atomic_write(folder / name / f"{result.protocol}.json.gz") as file:
            file.write(gzip.compress(result.model_dump_json(by_alias=True).encode("utf-8"), mtime=0))
    if name not in PUBLISHED:
        columns = [column for column in found.columns if column.kind == "metric"]
        texts = [["" if score != score else f"{score:.{DIGITS}g}" for score in column.score] for column in columns]
        rows = zip([row.id for row in found.source.rows], *texts, strict=True)
        write_text(folder / name / "scores.csv", csv_text([["pair_id", *(one.name for one in columns)], *rows]))


def kept_results(folder: Path = KEPT) -> dict[str, dict[str, Result]]:
    """The results that are kept, by set and protocol."""
    return {
        name: {path.name.partition(".")[0]: load_result(path) for path in sorted((folder / name).glob("*.json.gz"))}
        for name in SETS
        if (folder / name).is_dir()
    }


def kept_scores(name: str, folder: Path = KEPT) -> dict[str, dict[str, float]]:
    """The scores of a set, by metric and pair id; without those that are missing."""
    with (folder / name / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    metrics = [heading for heading in rows[0] if heading != "pair_id"]
    return {metric: {row["pair_id"]: float(row[metric]) for row in rows if row[metric]} for metric in metrics}


def make(names: Iterable[str], data: Path | None) -> None:
    """Make the sets and keep them."""
    for name in names:
        keep(name, made(name, data, KEPT.parent))
        print(f"{name}: {KEPT / name}", flush=True)
