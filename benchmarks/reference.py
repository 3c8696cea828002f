"""Reference results: what the metrics that run offline score on data with human labels, in `results/reference`.

    python -m benchmarks.reference --data ../shared/data               # make all anew (half an hour on one core)
    python -m benchmarks.reference --data ../shared/data wice-test-page
    python -m benchmarks.reference --check mini-all-chunk              # compare what is kept with what is made now

Each set has a folder: the results of every protocol as files that `metaeval results show` prints (compressed), and
the scores as a table by pair id. No text of any data set is in them. No number depends on the machine. `--check`
makes the sets anew and ends with exit code 1 where a number differs.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.config import load_run
from metaeval.errors import UserError
from metaeval.files import atomic_write, csv_text, write_text
from metaeval.report.result import Result, load_result, records
from metaeval.runs.run import EvaluatedRun, run, run_scores

KEPT = Path("results/reference")
OFFLINE = ("overlap", "rouge", "bm25", "support-mini")
"""The metrics that run no model."""

MADE = (*OFFLINE, "minilm-cosine", "minilm-bertscore")
METRICS = (*MADE, "support-minilm")
"""Metrics of the kept results; the scores of support-minilm are those of a metric that there is no more."""
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
DIGITS = 6
"""Significant digits of a score that is kept."""

CLOSE = 2e-4
"""How far two numbers of one set may lie apart: scores are kept with few digits, and models add up in other orders."""


def made(name: str, data: Path | None, results: Path, metrics: Sequence[str] = MADE) -> EvaluatedRun:
    """A set, scored and evaluated now; scores are kept in the store of `results`."""
    settings = {**SETS[name], "data": data, "results": results}
    if name in PUBLISHED:
        return run_scores(load_run(None, {**settings, "protocols": ["correlation"], "metrics": ()}))
    return run(load_run(None, {**settings, "metrics": metrics}))


def keep(name: str, found: EvaluatedRun, folder: Path) -> list[Path]:
    """Write a set's results, and the scores that were made for it; the paths. The same results give the same bytes."""
    written = []
    for result in found.results:
        path = folder / name / f"{result.protocol}.json.gz"
        text = result.model_dump_json(by_alias=True)
        with atomic_write(path) as file:
            file.write(gzip.compress(text.encode("utf-8"), mtime=0))
        written.append(path)
    if name not in PUBLISHED:
        columns = [column for column in found.columns if column.kind == "metric"]
        ids = [row.id for row in found.source.rows]
        rows = [[one, *(_score(column.score[at]) for column in columns)] for at, one in enumerate(ids)]
        written.append(folder / name / "scores.csv")
        write_text(written[-1], csv_text([["pair_id", *(column.name for column in columns)], *rows]))
    return written


def _score(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.{DIGITS}g}"


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


def differences(name: str, found: EvaluatedRun, folder: Path = KEPT) -> Iterator[str]:
    """What differs between a set as it is kept and as it was made now, for the metrics that were made now."""
    if name not in PUBLISHED:
        kept = kept_scores(name, folder)
        ids = [row.id for row in found.source.rows]
        for column in found.columns:
            if column.kind == "metric":
                now = {one: score for one, score in zip(ids, column.score.tolist(), strict=True) if score == score}
                yield from _apart(f"{name} {column.name}", kept[column.name], now)
    before = kept_results(folder)[name]
    names = {column.name for column in found.columns}
    for result in found.results:
        one, other = (_values(each, names) for each in (before[result.protocol], result))
        yield from _apart(f"{name} {result.protocol}", one, other)


def _values(result: Result, names: Iterable[str]) -> dict[str, float]:
    """Values and ends of the intervals, by metric and measure."""
    return {
        f"{record['metric']} {record['measure']} {field}": float(record[field] or 0.0)
        for record in records(result)
        for field in ("value", "low", "high")
        if record["metric"] in names and record[field] is not None
    }


def _apart(what: str, kept: Mapping[str, float], now: Mapping[str, float]) -> Iterator[str]:
    for key in sorted(kept.keys() ^ now.keys()):
        yield f"{what}: {key} is only {'kept' if key in kept else 'made now'}"
    for key in sorted(kept.keys() & now.keys()):
        if abs(kept[key] - now[key]) > CLOSE * max(1.0, abs(kept[key])):
            yield f"{what}: {key} was {kept[key]:.6g} and is {now[key]:.6g}"


def main() -> None:
    """Make the sets that are asked for, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"by default all: {', '.join(SETS)}")
    parser.add_argument("--data", type=Path, help="folder with the published data sets; without it they are downloaded")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the score store")
    parser.add_argument("--metrics", nargs="+", default=list(MADE), help="with --check: only these")
    parser.add_argument("--check", action="store_true", help="compare with what is kept, and write nothing")
    asked = parser.parse_args()
    if unknown := set(asked.sets) - set(SETS):
        parser.error(f"no such set: {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    wrong: list[str] = []
    try:
        for name in asked.sets or SETS:
            found = made(name, asked.data, asked.results, asked.metrics if asked.check else MADE)
            wrong += differences(name, found) if asked.check else ()
            print(f"{name}: compared" if asked.check else "\n".join(map(str, keep(name, found, KEPT))), flush=True)
    except UserError as error:
        raise SystemExit(str(error)) from error
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
