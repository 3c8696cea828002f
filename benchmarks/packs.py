"""Packs of the offline metrics, and of scores that were published with data sets, in `results/reference/packs`.

    python -m benchmarks.packs --data ../shared/data           # make all (half an hour on one core)
    python -m benchmarks.packs --data ../shared/data wice-test-page --metrics overlap rouge

Every offline metric is run on every set whose data are texts with sources, and every published column of a set becomes
a pack: a new entry of `sets.yaml` needs nothing here. `metaeval results reference` makes the cells from them.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.reference import KEPT, METRICS, OFFLINE
from metaeval import registry
from metaeval.config import load_run
from metaeval.errors import UserError
from metaeval.files import atomic_write, csv_text, safe_name, write_text
from metaeval.parsing import read_yaml
from metaeval.runs.prepared_run import Job, RatedSet
from metaeval.runs.score_columns import AlignedColumn, named_metrics, published_columns, scored_columns, signed_as
from metaeval.runs.score_packs import CARD, PACKS, ReferenceSet, fingerprint_of, reference_sets, row_ids

DIGITS = 6
CHAT = ("gpt", "claude", "gemini", "apertus", "qwen", "opus")
"""How the names of chat models begin."""
WORDS = ("BLEU", "METEOR", "ROUGE")
"""How the names of metrics that compare words begin."""
LICENCES = {
    **{"wice_oracle": "MIT", "wiki_citations": "MIT", "frank": "MIT", "xsum_hallucination": "CC-BY-4.0"},
    "trec_rag24": "none stated",
}
"""The licences of the published scores; a pack without one belongs into a folder of one's own (--folder)."""


def card(metric: str, day: str, costs: Mapping[str, float]) -> dict[str, Any]:
    """The card of an offline metric, without its scores."""
    kind = registry.find("metric", metric)
    made = kind()
    return {
        "format": "metaeval-pack/1",
        "metric": metric,
        "version": str(kind.card.version),
        "signature": signed_as(metric, made, made.identity()),
        "run": "metaeval, on one core of a CPU",
        "by": "the metaeval contributors",
        "licence": "Apache-2.0",
        "commercial": True,
        "date": day,
        "needs": "cpu" if metric in OFFLINE else "model",
        "seconds_per_1000": float(f"{1000 / costs[metric]:.3g}") if metric in costs else "unknown",
        "usd_per_1000": 0,
        "fitted_on": list(kind.card.fitted_on),
    }


def published_card(metric: str, declared: ReferenceSet, day: str) -> dict[str, Any]:
    """The card of scores that were published with a data set, without its scores."""
    dataset = declared.card
    chat = metric.lower().startswith(CHAT)
    words = metric.startswith(WORDS)
    return {
        "format": "metaeval-pack/1",
        "metric": metric,
        "version": "as published",
        "signature": f"{metric}@published",
        "run": f"by the authors of {dataset.name}; read from the files at commit {dataset.commit[:12]}",
        "by": dataset.citation[:300],
        "licence": LICENCES[dataset.name],
        "commercial": LICENCES[dataset.name] != "none stated",
        "date": day,
        "needs": "api" if chat else "cpu" if words else "gpu",
        "source": dataset.origin,
    }


def yaml_text(fields: Mapping[str, Any]) -> str:
    """A card as YAML; texts are quoted as JSON, which YAML reads."""
    lines = [
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in fields.items()
        if key not in ("date", "scores")
    ]
    scores = (f"  {name}: {json.dumps(file)}\n" for name, file in sorted(fields["scores"].items()))
    return "".join([*lines, f"date: {fields['date']}\n", "scores:\n", *scores])


def score_text(ids: list[str], column: AlignedColumn) -> str:
    """A score file: every pair with its score, or with the status that says why it has none."""
    rows = [
        (pair, f"{score:.{DIGITS}g}" if score == score else "", str(status))
        for pair, score, status in zip(ids, column.score.tolist(), column.statuses, strict=True)
    ]
    return csv_text([("pair", "score", "status"), *rows], "\n")


def columns_of(source: Job | RatedSet, metrics: list[str], results: Path) -> Iterator[tuple[AlignedColumn, bool]]:
    """Yield each column of a set, and whether it was published with the data."""
    if metrics and isinstance(source, Job):
        settings = {**source.config.model_dump(exclude_unset=True), "metrics": metrics, "results": results}
        config = load_run(None, settings)
        for column in scored_columns(replace(source, config=config), named_metrics(config)):
            yield column, False
    for column in published_columns(source):
        if (column.score == column.score).any():
            yield column, True


def write_pack(
    folder: Path, name: str, fields: dict[str, Any], ids: list[str], column: AlignedColumn, data: str
) -> None:
    """Write a column into its pack, whose card keeps the other sets that it has."""
    path, file = folder / safe_name(fields["metric"].lower().replace(" ", "-")), f"{name}.csv.gz"
    before = read_yaml(path / CARD).get("scores", {}) if (path / CARD).is_file() else {}
    if "@published" in fields["signature"] and before and name not in before:
        first = next(iter(before))
        if not first.startswith(name.split("-")[0]):  # another paper's scores of a metric of this name
            path, before = path.with_name(f"{path.name}-{name}"), {}
    scores = {**before, name: {"file": file, "data": data}}
    with atomic_write(path / file) as out:
        out.write(gzip.compress(score_text(ids, column).encode("utf-8"), mtime=0))
    write_text(path / CARD, yaml_text({**fields, "scores": scores}))


def main() -> None:
    """Make the packs of the sets that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help="by default all of sets.yaml")
    parser.add_argument("--data", type=Path, help="folder with the published data sets; without it they are downloaded")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the score store")
    parser.add_argument("--folder", type=Path, default=KEPT, help="folder of the reference results")
    parser.add_argument("--metrics", nargs="*", default=list(METRICS), help="offline metrics (none: published scores)")
    parser.add_argument("--date", default=datetime.datetime.now(tz=datetime.UTC).date().isoformat())
    asked = parser.parse_args()
    with (asked.folder / "cost.csv").open(encoding="utf-8", newline="") as file:
        costs = {row["metric"]: float(row["pairs_per_second"]) for row in csv.DictReader(file)}
    try:
        sets = reference_sets(asked.folder)
        for name in asked.sets or sets:
            source = sets[name].load(asked.data)
            ids, data = row_ids(source), fingerprint_of(source)
            for column, published in columns_of(source, asked.metrics, asked.results):
                fields = (
                    published_card(column.name, sets[name], asked.date)
                    if published
                    else card(column.name, asked.date, costs)
                )
                write_pack(asked.folder / PACKS, name, fields, ids, column, data)
                print(f"{name}: {column.name}", flush=True)
    except UserError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
