"""What was judged, row by row: a table of answers, one of sentences and one of citations for each backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from metaeval.citation.measures import f1
from metaeval.citation.table import Line, claims_of, write_table
from metaeval.experiment.citing.judging import Cited, Judged
from metaeval.experiment.citing.row_files import write_row_files
from metaeval.experiment.sheet import Record
from metaeval.files import safe_name


def write_rows(cited: Cited, folder: Path) -> list[Path]:
    """Write the tables of every backend as CSV and JSON lines; the paths. Same verdicts, same bytes."""
    written: list[Path] = []
    for one in cited.judged:
        name = safe_name(one.backend.name)
        written += write_row_files(answer_rows(cited, one), folder, f"per-answers-{name}")
        written += write_row_files(sentence_rows(one.lines), folder, f"per-sentences-{name}")
        for suffix in (".csv", ".jsonl"):
            path = folder / f"per-citations-{name}{suffix}"
            write_table(path, one.lines)
            written.append(path)
    return written


def tables(cited: Cited) -> dict[str, list[Record]]:
    """The tables by what they hold and the backend: "answers:overlap", "sentences:overlap", "citations:overlap"."""
    found: dict[str, list[Record]] = {}
    for one in cited.judged:
        found[f"answers:{one.backend.name}"] = answer_rows(cited, one)
        found[f"sentences:{one.backend.name}"] = sentence_rows(one.lines)
        found[f"citations:{one.backend.name}"] = [asdict(line) for line in one.lines]
    return found


def answer_rows(cited: Cited, one: Judged) -> list[Record]:
    """One row per answer: its recall, precision and F1, its verdicts that are missing, and what needs no verdict."""
    rows: list[Record] = []
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


def sentence_rows(lines: Sequence[Line]) -> list[Record]:
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
