"""XSum hallucinations: summaries of four systems, rated for faithfulness, with the published scores of five metrics."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from pathlib import Path
from typing import Any

from metaeval.core.parsing import csv_records
from metaeval.corpus.data_rows import FETCH, DataRow, finite
from metaeval.corpus.dataset import published
from metaeval.corpus.ratings import Rating, Ratings

SCORES = "eval_scores_xsum_summaries.csv"
SPANS = "hallucination_annotations_xsum_summaries.csv"
# The column that holds each metric's scores, by the paper's name of the metric.
METRICS = {"ROUGE-1": "R1", "ROUGE-2": "R2", "ROUGE-L": "RL", "BERTScore": "BERTScore", "Entailment": "Entailment"}
# The systems by their names in the score file: the annotated spans of the two files agree under no other pairing.
SYSTEMS = {"bert_withckpt": "BERTS2S", "bert_nockpt": "TranS2S", "tconvs2s": "TConvS2S", "ptgen": "PtGen"}
# The hallucination type in the row of an annotator who marks no span, a vote of 1; any marked span is a vote of 0.
NOTHING = "NULL"
GOLD: Mapping[str, str] = {"faithful": "Faithful", "factual": "Factual"}


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Ratings:
    texts: dict[tuple[str, str], str] = {}
    votes: dict[tuple[str, str], dict[str, float]] = {}
    for row in starmap(DataRow, csv_records(paths[SPANS], FETCH)):
        place = row.text("system"), row.text("bbcid")
        texts[place] = row.text("summary")
        vote, worker = float(row.text("hallucination_type") == NOTHING), row.text("worker_id")
        vote_by_worker = votes.setdefault(place, {})
        vote_by_worker[worker] = min(vote_by_worker.get(worker, 1.0), vote)
    rows: list[Rating] = []
    scores: dict[str, dict[str, float | None]] = {name: {} for name in METRICS}
    for row in starmap(DataRow, csv_records(paths[SCORES], FETCH)):
        summary_id = row.identifier("system_bbcid")
        name, _, article = summary_id.rpartition("_")
        if name not in SYSTEMS:
            raise row.error("system_bbcid", f"SYSTEM_ARTICLE with a system of {', '.join(SYSTEMS)}")
        system = SYSTEMS[name]
        rows.append(
            Rating(
                *(summary_id, article, finite(row, GOLD[options["gold"]]), system),
                text=texts.get((system, article), ""),
                votes=votes.get((system, article), {}) if options["gold"] == "faithful" else {},
            )
        )
        for metric, column in METRICS.items():
            scores[metric][summary_id] = finite(row, column)
    return Ratings("xsum_hallucination", tuple(rows), scores)


DATASET = published("xsum_hallucination", _load)
