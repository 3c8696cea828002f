"""FRANK: summaries of nine systems, rated for factuality, with the published scores of fifteen metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import FETCH, DataRow, finite, finite_or_none, read_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.ratings import Rating, Ratings

HUMAN = "human_annotations.json"
SCORES = "baseline_factuality_metrics_outputs.json"
# The field that holds each metric's scores, by the paper's name of the metric.
METRICS: Mapping[str, str] = {
    "BLEU": "Bleu",
    "METEOR": "Meteor",
    "ROUGE-1": "Rouge 1",
    "ROUGE-2": "Rouge 2",
    "ROUGE-L": "Rouge L",
    "BERTScore-P": "BertScore P",
    "BERTScore-R": "BertScore R",
    "BERTScore-F1": "BertScore F1",
    "BERTScore-P article": "BertScore P Art",
    "BERTScore-R article": "BertScore R Art",
    "BERTScore-F1 article": "BertScore F1 Art",
    "FEQA": "FEQA",
    "QAGS": "QAGS",
    "DAE": "Dep Entail",
    "FactCC": "FactCC",
}
SPLITS: Mapping[str, str] = {"test": "test", "validation": "valid"}
SUBSETS: Mapping[str, str] = {"cnndm": "cnndm", "bbc": "xsum"}


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Ratings:
    rows: list[Rating] = []
    dropped: Counter[str] = Counter()
    for row in read_rows(paths[HUMAN]):
        summary_id, group, system = _identity(row)
        subset = row.choice("dataset", SUBSETS)
        if split not in ("all", row.choice("split", {file: ours for ours, file in SPLITS.items()})):
            continue
        if options["subset"] not in ("all", subset):
            dropped[f"ratings of the other subset (subset={options['subset']})"] += 1
            continue
        rows.append(Rating(summary_id, group, finite(row, "Factuality"), system, subset))
    return Ratings(f"frank/{split}", tuple(rows), _scores(paths[SCORES], {row.id for row in rows}), dict(dropped))


def _scores(path: Path, wanted: set[str]) -> dict[str, dict[str, float | None]]:
    scores: dict[str, dict[str, float | None]] = {name: {} for name in METRICS}
    seen: set[str] = set()
    for row in read_rows(path):
        summary_id, _, _ = _identity(row)
        if summary_id in seen:
            raise UserError(f"{row.where}: the file has two rows of scores for {summary_id!r}, not one: {FETCH}.")
        seen.add(summary_id)
        if summary_id in wanted:
            for name, column in METRICS.items():
                scores[name][summary_id] = finite_or_none(row, column)
    if not seen:
        raise UserError(f"{path} holds no scores: {FETCH}.")
    return scores


def _identity(row: DataRow) -> tuple[str, str, str]:
    group, system = row.identifier("hash"), row.identifier("model_name")
    return f"{group}:{system}", group, system


DATASET = published("frank", _load)
