"""Refitted coefficients as sheets: agreement with people by the old and the new ones, and each action's worth."""

from __future__ import annotations

from metaeval.citation.citeeval.editing import PUBLISHED
from metaeval.citation.human.refitting import FOLDS
from metaeval.citation.measures import Interval
from metaeval.experiment.citing.citeeval.fields import asked_fields, changed_options
from metaeval.experiment.citing.provenance import resampled, signed, uncertainty
from metaeval.experiment.citing.refitting.agreement import MEASURES, ROWS
from metaeval.experiment.citing.refitting.run import Refitted
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Frame, interval_cell, lines_grid
from metaeval.report.grid import Cell, Note, count, plain
from metaeval.report.result import Column, Data

_THREE = Column(key="", label="", digits=3)
_INTERCEPT = "intercept"


def refit_sheets(found: Refitted) -> list[Sheet]:
    """How far each set of coefficients agrees with people, and the coefficients."""
    return [_agreement(found), _coefficients(found)]


def _agreement(found: Refitted) -> Sheet:
    rows: list[tuple[str, list[Cell]]] = []
    records: list[Record] = []
    for key, measures in found.agreement.items():
        cells = []
        for measure, (value, low, high) in ((name, _ends(one)) for name, one in measures.items()):
            cells.append(interval_cell((value, low, high), _THREE, signed=(low or 0) < 0))
            records.append(_record(key, measure, value, low, high))
        rows.append((ROWS[key], cells))
    headings = list(MEASURES.values())
    reading = Note(
        "reading",
        f"a statement's worth by refitted coefficients comes from a fit on other groups ({FOLDS} folds); one without "
        "edits takes part in the fit, and is worth 1 by either; error: mean absolute difference from people's rating",
    )
    title = "CiteEval's edit distance and people's ratings"
    return _sheet(found, "refit", title, records, "coefficients", headings, rows, reading)


def _coefficients(found: Refitted) -> Sheet:
    fit = found.fit
    old, new = ({**one.action, _INTERCEPT: one.intercept} for one in (PUBLISHED, fit.coefficients))
    rows = [
        (
            name,
            [
                Cell(f"{old[name]:.3f}"),
                Cell(f"{new[name]:.3f}"),
                Cell(f"{fit.used[name]:,}" if name in fit.used else ""),
            ],
        )
        for name in old
    ]
    records: list[Record] = [
        {"action": name, "published": old[name], "refitted": new[name], "statements": fit.used.get(name)}
        for name in old
    ]
    reading = Note(
        "reading",
        "refitted on all groups, least squares of smallest norm: an action that no statement has is worth 0; "
        "statements: those in which the action occurs",
    )
    headings = ["published", "refitted", "statements"]
    return _sheet(found, "coefficients", "What each action is worth", records, "action", headings, rows, reading)


def _sheet(
    found: Refitted,
    name: str,
    title: str,
    records: list[Record],
    stub: str,
    headings: list[str],
    rows: list[tuple[str, list[Cell]]],
    reading: Note,
) -> Sheet:
    data, plan = _data(found), found.plan
    subtitle = f"{plain(plan.name)}, edited by {plain(plan.asking.model)}"
    frame = Frame(
        (name, plan.name),
        title,
        subtitle,
        (reading, *_notes(found, data)),
        (signed(data, _fields(found), plan.config.interval),),
    )
    return Sheet(name, data, _settings(found), records, lines_grid(frame, stub, headings, [("", rows)]))


def _ends(one: Interval) -> tuple[float | None, float | None, float | None]:
    return one.value, one.low, one.high


def _record(
    coefficients: str, measure: str, value: float | None, low: float | None = None, high: float | None = None
) -> Record:
    return {"coefficients": coefficients, "measure": measure, "value": value, "low": low, "high": high}


def _data(found: Refitted) -> Data:
    return Data(
        name=found.plan.name,
        split="citeeval",
        fingerprint=found.plan.fingerprint,
        statements=len(found.fit.statements),
        documents=sum(len(answer.passages) for answer in found.plan.answers),
        citations=sum(len(one.citations) for one in found.fit.statements),
        groups=len(set(found.fit.group.tolist())),
        levels={},
    )


def _fields(found: Refitted) -> dict[str, Scalar]:
    plan = found.plan
    return {
        "pipeline": "citeeval-refit",
        "profile": plan.profile,
        "options": changed_options(plan.profile, plan.options),
        "splitter": plan.splitter,
        **asked_fields(plan.asking, found.models),
        "folds": FOLDS,
    }


def _settings(found: Refitted) -> dict[str, Scalar]:
    return {**_fields(found), **resampled(found.plan.config.interval)}


def _notes(found: Refitted, data: Data) -> tuple[Note, ...]:
    fit = found.fit
    left_out = ", ".join(f"{reason} {number:,}" for reason, number in sorted(fit.left_out.items()))
    dropped = ", ".join(f"{plain(reason)} {number:,}" for reason, number in sorted(found.plan.dropped.items()))
    notes = (
        Note(
            "data",
            f"{count(data.statements, 'statement')} with citations, edits and a rating, in "
            f"{count(len(found.plan.people), 'answer')} of {count(data.groups, 'group')}",
        ),
        Note("left out", left_out),
        Note("not read", dropped),
        uncertainty(found.plan.config.interval, data.groups),
    )
    return tuple(note for note in notes if note.text)
