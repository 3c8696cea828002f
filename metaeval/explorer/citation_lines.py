"""Rows that citation pipelines write, as the explorer shows them: lines with the fields of ALCE's and ALiiCE's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metaeval.core.parsing import json_objects

SUPPORTED = 0.5  # value from which a fact or a statement has the colour of support, where a pipeline gives degrees


def rows_of(path: Path) -> list[Mapping[str, Any]]:
    """Return the records of a file of JSON lines."""
    return [line for _, line in json_objects(path, "")]


def verdicts_of(folder: Path) -> tuple[dict[str, list[Mapping[str, Any]]], bool]:
    """Return the lines of a job's judged citations, by backend, and whether the verdicts are degrees of support."""

    def files(stem: str) -> dict[str, list[Mapping[str, Any]]]:
        return {path.stem.removeprefix(stem): rows_of(path) for path in sorted(folder.glob(f"{stem}*.jsonl"))}

    if cited := files("per-citations-"):
        return cited, False
    if facts := files("per-facts-"):
        fact_lines: dict[str, list[Mapping[str, Any]]] = {name: [] for name in facts}
        for name, row in ((name, row) for name, rows in facts.items() for row in rows):
            verdict = {"claim": row["fact"], "score": row["value"], "recall": _recall(row["value"])}
            for number in _numbers(row):  # a line for each passage that a SCiFi fact cites
                held = row["passage"] is not None and number == row["passage"]
                fact_lines[name].append({**row, **verdict, "citation": number, "cut": row["cut"] and held})
        return fact_lines, True
    if not (statements := [row for rows in files("per-statements").values() for row in rows]):
        return {}, True
    verdicts: dict[str, list[Any]] = {"CiteEval": []}
    for row in statements:
        stars = "" if row["stars"] is None else f"{row['stars']} of 5 stars"
        context = f"context: {row['context']}" if row["context"] else ""
        judgement = ", ".join(filter(None, [stars, row["edits"], context]))
        verdicts["CiteEval"] += _statement_claims(row, "auto", judgement)
    for match in filter(None, map(_COLUMN.fullmatch, statements[0])):  # the columns of baselines' verdicts
        kind = str(match.lastgroup)
        name = {"autoais": "AutoAIS", "attr": "AttrScore"}.get(kind, "LQAC")
        name += "" if match["lqac"] else f", {match[kind]}"
        verdicts[name] = [line for row in statements for line in _statement_claims(row, match[0], "")]
    return verdicts, True


def _numbers(row: Mapping[str, Any]) -> list[int] | list[None]:
    """Return the numbers of the passages that a row cites, or [None], so that a row without any has a line too."""
    return [int(number) for number in str(row["citations"]).split()] or [None]


def _recall(value: float | None) -> float | None:
    return None if value is None else float(value >= SUPPORTED)


_COLUMN = re.compile(
    r"autoais_recall_(?P<autoais>.+)|lqac_(?P<lqac>recall)|attrscore_strict_(?!least_|most_)(?P<attr>.+)"
)


def _statement_claims(row: Mapping[str, Any], column: str, reason: str) -> Iterator[Mapping[str, Any]]:
    """Yield a line for each passage that a CiteEval statement cites, or one for none; `column` holds the verdict."""
    recall, numbers = _recall(row[column]), _numbers(row)
    where = {"answer": row["answer"], "sentence_start": row["start"], "sentence_end": row["end"]}
    verdict = {"claim": row["text"], "score": row[column], "recall": recall}
    verdict["state"] = "uncited" if numbers == [None] and not recall else str(row["state"])
    verdict["reason"] = reason or ("" if recall is not None else "no verdict")
    yield from ({**where, **verdict, "citation": number} for number in numbers)
