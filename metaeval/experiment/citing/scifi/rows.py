"""What was judged, row by row: for each backend a table of answers, one of facts and one of the references' facts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from metaeval.citation.scifi.model import CoverageLine, FactLine
from metaeval.experiment.citing.scifi.run import Assessed, Scored
from metaeval.experiment.citing.scifi.sheets import text_shares
from metaeval.files import safe_name, write_text

Row = Mapping[str, str | int | float | bool | None]

_COLUMNS: Mapping[str, Sequence[str]] = {
    "facts": [each.name for each in fields(FactLine)],
    "answers": [],
    "reference-facts": [each.name for each in fields(CoverageLine)],
}
"""Of tables that can be without rows."""


def write_scifi(assessed: Assessed) -> tuple[Path, list[Path]]:
    """Write the tables as CSV and JSON lines; the folder, RESULTS/cite/scifi/NAME, and the paths.

    Same facts and verdicts, same bytes. Without a reference there is no table of its facts.
    """
    folder = assessed.prepared.config.results / "cite" / "scifi" / safe_name(assessed.prepared.asked.name)
    written: list[Path] = []
    for one in assessed.scored:
        tables: Mapping[str, Sequence[Row]] = {
            "facts": [fact_row(line) for line in one.facts],
            "answers": answer_rows(assessed, one),
        }
        if assessed.referred:
            tables = {**tables, "reference-facts": [asdict(line) for line in one.references]}
        for stem, rows in tables.items():
            for suffix, text in ((".csv", _csv(_COLUMNS[stem], rows)), (".jsonl", _jsonl(rows))):
                path = folder / f"per-{stem}-{safe_name(one.backend.name)}{suffix}"
                write_text(path, text)
                written.append(path)
    return folder, written


def fact_row(line: FactLine) -> Row:
    """A fact as one row; the numbers that it was assigned stand with spaces between, an unparsable one as ?."""
    cited = " ".join("?" if number is None else str(number) for number in line.citations)
    return {**asdict(line), "citations": cited}


def answer_rows(assessed: Assessed, one: Scored) -> list[Row]:
    """One row per answer: its citation entailment and coverage, what they are over, and what needs no verdict."""
    texts = text_shares(assessed)
    rows: list[Row] = []
    for number, (answer, own) in enumerate(zip(assessed.answers, assessed.read, strict=True)):
        entailment, coverage = one.entailment[number], one.coverage[number]
        rows.append(
            {
                "answer": answer.id,
                "system": answer.system,
                "group": answer.group or answer.id,
                "entailment": entailment.value,
                "facts_judged": entailment.total,
                "facts_unjudged": entailment.open,
                "coverage": coverage.value,
                "reference_facts": coverage.total,
                "reference_facts_unjudged": coverage.open,
                "sentences": len(own.sentences),
                "sentences_without_facts": len(own.lost),
                "facts": len(own.facts),
                **{key: shares[number].value for key, shares in texts.items()},
                "problems": "; ".join(f"{name} {times}" for name, times in sorted(own.problems.items())),
            }
        )
    return rows


def _csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """With a header, even without rows; None is an empty field, truth values are 0 and 1."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: int(value) if isinstance(value, bool) else value for key, value in row.items()})
    # A lone surrogate, which JSON input may hold, has no UTF-8 form.
    return out.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def _jsonl(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(row, allow_nan=False, separators=(",", ":")) + "\n" for row in rows)
