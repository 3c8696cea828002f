"""What was judged, row by row: for each backend a table of answers, one of facts and one of the references' facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from metaeval.citation.scifi.model import CoverageLine, FactLine
from metaeval.citation.scifi.shares import lost_citing
from metaeval.experiment.citing.result import RowTable
from metaeval.experiment.citing.scifi.run import Assessed, Scored
from metaeval.experiment.citing.scifi.sheets import text_shares
from metaeval.experiment.sheet import Record
from metaeval.files import safe_name

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
    for name, rows in tables(assessed).items():
        written += RowTable(name, rows, columns=_COLUMNS[name.partition(":")[0]]).write(folder)
    return folder, written


def tables(assessed: Assessed) -> dict[str, list[Record]]:
    """The tables by what they hold and the backend: "facts:overlap"."""
    found: dict[str, list[Record]] = {}
    for one in assessed.scored:
        found[f"facts:{one.backend.name}"] = [fact_row(line) for line in one.facts]
        found[f"answers:{one.backend.name}"] = answer_rows(assessed, one)
        if assessed.referred:
            found[f"reference-facts:{one.backend.name}"] = [asdict(line) for line in one.references]
    return found


def fact_row(line: FactLine) -> Record:
    """A fact as one row; the numbers that it was assigned stand with spaces between, an unparsable one as ?."""
    cited = " ".join("?" if number is None else str(number) for number in line.citations)
    return {**asdict(line), "citations": cited}


def answer_rows(assessed: Assessed, one: Scored) -> list[Record]:
    """One row per answer: its citation entailment and coverage, what they are over, and what needs no verdict."""
    texts = text_shares(assessed)
    rows: list[Record] = []
    for number, (answer, own) in enumerate(zip(assessed.answers, assessed.read, strict=True)):
        entailment, coverage = one.entailment[number], one.coverage[number]
        lost = own.reference.sentences_lost if own.reference is not None else 0
        rows.append(
            {
                "answer": answer.id,
                "system": answer.system,
                "group": answer.group or answer.id,
                "entailment": entailment.value,
                "facts_judged": entailment.total,
                "facts_unjudged": entailment.open - len(lost_citing(own)),
                "coverage": coverage.value,
                "reference_facts": coverage.total,
                "reference_facts_unjudged": coverage.open - lost,
                "sentences": len(own.sentences),
                "sentences_without_facts": len(own.lost),
                "facts": len(own.facts),
                **{key: shares[number].value for key, shares in texts.items()},
                "problems": "; ".join(f"{name} {times}" for name, times in sorted(own.problems.items())),
            }
        )
    return rows
