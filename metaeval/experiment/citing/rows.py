"""What was judged, row by row: a table of answers, one of sentences and one of citations for each backend."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.citation.measures import f1
from metaeval.citation.table import Line, claims_of, write_table
from metaeval.experiment.citing.judging import Cited, Judged
from metaeval.files import safe_name, write_text

Row = Mapping[str, str | int | float | None]


def write_rows(cited: Cited, folder: Path) -> list[Path]:
    """Write the tables of every backend as CSV and JSON lines; the paths. Same verdicts, same bytes."""
    written: list[Path] = []
    for one in cited.judged:
        name = safe_name(one.backend.name)
        for rows, stem in ((answer_rows(cited, one), "answers"), (sentence_rows(one.lines), "sentences")):
            for suffix, text in ((".csv", _csv(rows)), (".jsonl", _jsonl(rows))):
                path = folder / f"per-{stem}-{name}{suffix}"
                write_text(path, text)
                written.append(path)
        for suffix in (".csv", ".jsonl"):
            path = folder / f"per-citations-{name}{suffix}"
            write_table(path, one.lines)
            written.append(path)
    return written


def answer_rows(cited: Cited, one: Judged) -> list[Row]:
    """One row per answer: its recall, precision and F1, its verdicts that are missing, and what needs no verdict."""
    rows: list[Row] = []
    for number, answer in enumerate(cited.pipeline.answers):
        recall, precision = one.recall[number], one.precision[number]
        rows.append(
            {
                "answer": answer.id,
                "system": answer.system,
                "group": answer.group or answer.id,
                "recall": recall.value,
                "precision": precision.value,
                "f1": f1(precision.value, recall.value),
                "claims": recall.total,
                "claims_unjudged": recall.open,
                "citations_unjudged": precision.open,
                **{key: values[number] for key, values in cited.pipeline.values.items()},
            }
        )
    return rows


def sentence_rows(lines: Sequence[Line]) -> list[Row]:
    """One row per sentence with a claim: how many claims and citations it holds, and how many of them hold.

    A claim or citation without a verdict is in the number, not in the supported or precise.
    """
    claims: dict[tuple[str, int | None], list[Line]] = {}
    citations: dict[tuple[str, int | None], list[Line]] = {}
    for line in claims_of(lines):
        claims.setdefault((line.answer, line.sentence), []).append(line)
    for line in lines:
        if line.start is not None:
            citations.setdefault((line.answer, line.sentence), []).append(line)
    return [
        {
            "answer": answer,
            "system": own[0].system,
            "sentence": sentence,
            "start": own[0].sentence_start,
            "end": own[0].sentence_end,
            "claims": len(own),
            "claims_supported": sum(line.recall == 1 for line in own),
            "claims_unjudged": sum(line.recall is None and bool(line.reason) for line in own),
            "citations": len(marks := citations.get((answer, sentence), [])),
            "citations_precise": sum(line.precision == 1 for line in marks),
            "citations_unjudged": sum(line.state == "unjudged" for line in marks),
        }
        for (answer, sentence), own in claims.items()
    ]


def _csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def _jsonl(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(row, allow_nan=False, separators=(",", ":")) + "\n" for row in rows)
