"""CiteEval's own meta-evaluation, for CiteBench's judgements: its rules and its rules alone, in both scenarios."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.citation.citeeval.evaluate import SCENARIOS
from metaeval.citation.citeeval.human_agreement import Agreement, agreement, agreement_of, agreement_on_contexts
from metaeval.citation.citeeval.values import Scenario
from metaeval.experiment.citing.meta.run import Meta
from metaeval.experiment.citing.meta.sheets import CORRELATIONS, sheet_of
from metaeval.experiment.citing.meta.values import Measured
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import interval_cell
from metaeval.report.grid import Cell, Note
from metaeval.report.result import Column

_JUDGED = {"citeeval:auto": "auto", "citeeval:rating": "rating", "citeeval:edits": "edits"}
_SHARE = Column(key="share", label="", digits=3)


def citebench_sheets(meta: Meta) -> list[Sheet]:
    """The published correlations, and the judge's "needs a citation" against most people; none for other data."""
    if not meta.prepared.human.people:
        return []
    return [_agreements(meta), *([_contexts(meta)] if meta.rated else [])]


def _agreements(meta: Meta) -> Sheet:
    blocks, records = [], []
    for scenario in SCENARIOS:
        rows = []
        for one in (one for one in meta.measured if one.name in meta.aligned):
            found = _found(meta, one, scenario)
            cells: list[Cell] = []
            for unit, values in (("statements", found.statements), ("responses", found.responses)):
                record: dict[str, Scalar] = {"scenario": scenario, "measure": one.name, "level": unit}
                for column in CORRELATIONS:
                    own = {str(name): value for name, value in values.items()}[column.key]
                    cells.append(interval_cell((own.value, own.low, own.high), column, signed=True))
                    record |= {column.key: own.value, f"{column.key}_low": own.low, f"{column.key}_high": own.high}
                statements = unit == "statements"
                record["rows"] = found.n_statements if statements else found.n_responses
                record["left_out"] = found.statements_left_out if statements else found.responses_left_out
                records.append(record)
            left = f"{found.statements_left_out:,}, {found.responses_left_out:,}"
            rows.append((one.name, [*cells, Cell(left)]))
        blocks.append((f"scenario {scenario}", rows))
    labels = [f"{column.label}, {unit}" for unit in ("statements", "responses") for column in CORRELATIONS]
    reading = Note(
        "reading",
        "as CiteEval publishes: the statements of all responses together; one without a value takes its response's, on "
        "each side by itself; a response is the mean over its statements, 1 without any; cited: statements without "
        "citations are masked on both sides; left out: responses with a value that a judge left missing, and the "
        "statements that would take it",
    )
    title = "Agreement with people, by CiteEval's procedure"
    return sheet_of(meta, "citebench", title, records, "measure", (*labels, "left out"), blocks, [reading])


def _found(meta: Meta, one: Measured, scenario: Scenario) -> Agreement:
    prepared, interval = meta.prepared, meta.prepared.config.interval
    how = scenario, interval.resamples, interval.seed, interval.level
    people = prepared.human.people
    if one.name in _JUDGED:
        measure = _JUDGED[one.name]
        return agreement(prepared.answers, meta.rated, people, measure, *how)  # type: ignore[arg-type]
    values = [meta.aligned[one.name][answer.id].values for answer in prepared.answers]
    cited = [
        [bool(statement.citations) for statement in prepared.human.splits[answer.id].statements]
        for answer in prepared.answers
    ]
    return agreement_of(
        prepared.answers,
        [[value.value for value in own] for own in values],
        [[value.state == "missing" for value in own] for own in values],
        cited,
        people,
        *how,
    )


def _contexts(meta: Meta) -> Sheet:
    rows: list[tuple[str, Sequence[Cell]]] = []
    records: list[Record] = []
    for forced, name in ((True, "statements with citations need them, as published"), (False, "as the judge says")):
        found = agreement_on_contexts(meta.rated, meta.prepared.human.people, forced)
        shares = [interval_cell((found[key], None, None), _SHARE) for key in ("precision", "recall", "f1")]
        rows.append((name, [*shares, Cell(f"{found['statements'] or 0:,.0f}")]))
        records.append({"forced": forced, **found})
    title = "Does a statement need a citation? The judge against most people"
    headings = ("precision", "recall", "F1", "statements")
    return sheet_of(meta, "citebench-contexts", title, records, "judge", headings, [("", rows)])
