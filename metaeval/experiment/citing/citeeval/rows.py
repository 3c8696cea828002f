"""What CiteEval's judge said, row by row: a table of answers and one of statements."""

from __future__ import annotations

from pathlib import Path

from metaeval.citation.citeeval.evaluate import StatementValues
from metaeval.experiment.citing.citeeval.baseline_rows import baselines_of_answer, baselines_of_statement
from metaeval.experiment.citing.citeeval.run import Rated
from metaeval.experiment.citing.result import RowTable
from metaeval.experiment.sheet import Record
from metaeval.files import safe_name


def write_citeeval(rated: Rated) -> tuple[Path, list[Path]]:
    """Write the tables as CSV and JSON lines; the folder, RESULTS/cite/citeeval/NAME, and the paths."""
    folder = rated.config.results / "cite" / "citeeval" / safe_name(rated.name)
    rows = tables(rated)
    written = RowTable("answers", rows["answers"], words=True).write(folder)
    return folder, written + RowTable("statements", rows["statements"]).write(folder)


def tables(rated: Rated) -> dict[str, list[Record]]:
    """The tables by what they hold."""
    return {"answers": answer_rows(rated), "statements": statement_rows(rated)}


def answer_rows(rated: Rated) -> list[Record]:
    """One row per answer: its values in the run's scenario, how far they are bounded, and what its replies took."""
    rows: list[Record] = []
    for number, (answer, result, spent) in enumerate(zip(rated.answers, rated.results, rated.spent, strict=True)):
        auto = result.values["auto", rated.scenario]
        rows.append(
            {
                "answer": answer.id,
                "system": answer.system,
                "group": answer.group or answer.id,
                "auto": auto.value,
                "rating": result.values["rating", rated.scenario].value,
                "edit_distance": result.values["edits", rated.scenario].value,
                "auto_least": auto.least,
                "auto_most": auto.most,
                "statements": len(result.statements),
                "statements_rated": auto.rated,
                "statements_missing": auto.missing,
                "no_answer": result.no_answer,
                "attribution": result.judged.attribution,
                "editing": result.judged.editing,
                "problems": "; ".join(f"{name} {times}" for name, times in sorted(result.judged.problems.items())),
                "tokens_in": spent.tokens_in,
                "tokens_out": spent.tokens_out,
                **baselines_of_answer(rated, number),
            }
        )
    return rows


def statement_rows(rated: Rated) -> list[Record]:
    """One row per statement: what it cites, what the judge said, and its values; the state says why one is missing."""
    return [
        {
            "answer": answer.id,
            "system": answer.system,
            **_statement(one),
            **baselines_of_statement(rated, number, place),
        }
        for number, (answer, result) in enumerate(zip(rated.answers, rated.results, strict=True))
        for place, one in enumerate(result.statements)
    ]


def _statement(one: StatementValues) -> Record:
    auto = one.values["auto"]
    return {
        "statement": one.statement.number,
        "start": one.statement.start,
        "end": one.statement.end,
        "text": one.statement.text,
        "citations": " ".join(map(str, one.statement.citations)),
        "marks_unread": len(one.statement.unread),
        "context": one.context,
        "edits": None if one.edits is None else " ".join(f"{edit.name}:{edit.citation}" for edit in one.edits),
        "stars": one.stars,
        "auto": auto.value,
        "rating": one.values["rating"].value,
        "edit_distance": one.values["edits"].value,
        "state": auto.state,
        "auto_least": auto.least,
        "auto_most": auto.most,
    }
