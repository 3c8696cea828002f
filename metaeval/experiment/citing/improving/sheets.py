"""Improved answers as sheets: what they are worth round by round, what changed, and the edits that were done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.citeeval.editing import REASONS, Edit
from metaeval.citation.citeeval.evaluate import bounds
from metaeval.citation.measures import Interval, group_codes, interval_of, replicates
from metaeval.experiment.citing.citeeval.sheets import COLUMNS
from metaeval.experiment.citing.improving.notes import data_of, frame_of, sheet_of
from metaeval.experiment.citing.improving.run import Bettered, Round
from metaeval.experiment.citing.quantities import mean_of
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import interval_cell, lines_grid
from metaeval.report.grid import UNDEFINED, Cell, plain
from metaeval.report.result import Column, Data
from metaeval.stats.resampling import bootstrap

Ints = NDArray[np.int64]

_Lines = list[tuple[str, list[Cell]]]
_MONEY = "USD for these replies"


def improving_sheets(bettered: Bettered) -> list[Sheet]:
    """The values round by round, with what they changed by; then the edits."""
    data = data_of(bettered)
    return [_values(bettered, data), _edits(bettered, data)]


def _values(bettered: Bettered, data: Data) -> Sheet:
    prepared = bettered.prepared
    blocks: list[tuple[str, _Lines]] = []
    records: list[Record] = []
    for system, numbers in prepared.systems.items():
        standing, changes = _of_system(bettered, system, numbers, records)
        blocks += [(plain(system), standing), *([(f"{plain(system)}: change", changes)] if changes else [])]
    headings = [*(column.label for column in COLUMNS.values()), "citations", "answers"]
    frame = frame_of(bettered, data, "improving", "Citations before and after their judge's edits")
    return sheet_of(bettered, data, "improving", records, lines_grid(frame, "round", headings, blocks))


def _of_system(bettered: Bettered, system: str, numbers: Sequence[int], records: list[Record]) -> tuple[_Lines, _Lines]:
    """A system's lines of every round, and of what each round changed the first by; the records are added."""
    rows = np.array(numbers, dtype=np.int64)
    standing, changes = [], []
    first = bettered.rounds[0]
    for turn, one in enumerate(bettered.rounds):
        title = f"round {turn}" if turn else "before"
        cited, cited_first = _citations(one, numbers), _citations(first, numbers)
        cells: dict[bool, list[Cell]] = {False: [], True: []}
        pairs = 0
        for measure, column in COLUMNS.items():
            values = [own.values[measure, bettered.prepared.scenario].value for own in one.results]
            old = [own.values[measure, bettered.prepared.scenario].value for own in first.results]
            moved = [None if a is None or b is None else b - a for a, b in zip(old, values, strict=True)]
            own, change = (_mean(bettered, column, each, rows) for each in (values, moved))
            known = sum(values[n] is not None for n in numbers)
            least, most = bounds([one.results[n] for n in numbers], measure, bettered.prepared.scenario)
            pairs = sum(moved[n] is not None for n in numbers)
            cells[False].append(interval_cell((own.value, own.low, own.high), column))
            cells[True].append(interval_cell((change.value, change.low, change.high), column, signed=True))
            ends = {f"change_{key}": end for key, end in asdict(change).items()}
            records.append(
                {"system": system, "round": turn, "measure": measure, **asdict(own), "answers": known}
                | {"least": least, "most": most, **ends, "pairs": pairs, "citations": cited}
            )
        standing.append((title, [*cells[False], Cell(f"{cited:,}"), Cell(f"{known:,} of {len(numbers):,}")]))
        if turn:
            changes.append((title, [*cells[True], Cell(f"{cited - cited_first:+,}"), Cell(f"{pairs:,}")]))
    return standing, changes


def _mean(bettered: Bettered, column: Column, values: Sequence[float | None], rows: Ints) -> Interval:
    """The mean over some answers; the same draws whatever is averaged, none from a single group with a value."""
    codes, n_groups = group_codes(bettered.prepared.answers)
    interval = bettered.prepared.config.interval
    valued = {int(codes[row]) for row in rows if values[row] is not None}
    resamples = interval.resamples if len(valued) > 1 else 0
    draws = bootstrap(n_groups, resamples, interval.seed)
    return interval_of(replicates(mean_of(column, values), rows, codes, draws), interval.level)


def _citations(one: Round, numbers: Sequence[int]) -> int:
    return sum(len(statement.citations) for n in numbers for statement in one.splits[n].statements)


def _edits(bettered: Bettered, data: Data) -> Sheet:
    """What was done in each round, to whom, and what could not be done."""
    blocks: list[tuple[str, _Lines]] = []
    records: list[Record] = []
    for system, numbers in bettered.prepared.systems.items():
        found = [_done(bettered, turn, numbers) for turn in range(1, len(bettered.rounds) + 1)]
        counted = Counter[str]()
        for own in found:
            counted.update(own)
        names = [name for name, times in counted.items() if times]
        turns = [f"round {turn}" for turn in range(1, len(found))] + ["not done"]
        blocks.append((plain(system), [(name, [Cell(f"{own.get(name, 0):,}") for own in found]) for name in names]))
        records += [
            {"system": system, "round": turn, "count": name, "value": own.get(name, 0)}
            for turn, own in zip(turns, found, strict=True)
            for name in names
        ]
    spent = bettered.spent
    money = bettered.money
    taken: dict[str, tuple[Scalar, str]] = {
        "tokens in": (spent.tokens_in, f"{spent.tokens_in:,}"),
        "tokens out": (spent.tokens_out, f"{spent.tokens_out:,}"),
        "replies without a count of tokens": (spent.uncounted, f"{spent.uncounted:,}"),
        _MONEY: (money, UNDEFINED if money is None else f"{money:.4f}"),
        "answers left, since edits would bring an earlier text back": (
            len(bettered.circling),
            f"{len(bettered.circling):,}",
        ),
    }
    headings = [*(f"round {turn}" for turn in range(1, len(bettered.rounds))), "not done"]
    blank = [Cell("")] * (len(headings) - 1)
    blocks.append(("all rounds", [(name, [*blank, Cell(text)]) for name, (_, text) in taken.items()]))
    records += [{"system": "", "round": "all", "count": name, "value": value} for name, (value, _) in taken.items()]
    frame = frame_of(bettered, data, "improving-edits", "The edits")
    return sheet_of(bettered, data, "improving-edits", records, lines_grid(frame, "count", headings, blocks))


def _done(bettered: Bettered, turn: int, numbers: Sequence[int]) -> dict[str, int]:
    """Counts of what brought a round about; for the round after the last, of what was left to do."""
    before = bettered.rounds[turn - 1]
    after = bettered.rounds[turn] if turn < len(bettered.rounds) else None
    changed = before.moving if after is None else after.changed
    own = [n for n in numbers if n in changed]
    fates = Counter(
        fate for n in numbers for fate in before.edits[n].fates.values() if n in changed or fate != "changed"
    )
    done = Counter(_named(edit) for n in own for edits in before.edits[n].done.values() for edit in edits)
    problems = Counter[str]()
    for n in numbers:
        problems += before.edits[n].problems
    order = [_named(Edit(action, reason, 1)) for action in REASONS for reason in (1, 2, 3)]
    return {
        "answers changed": len(own),
        **{f"statements {fate}": fates[fate] for fate in ("changed", "unchanged", "not judged", "marks not found")},
        **{name: done[name] for name in order},
        **{f"passed over: {name}": times for name, times in sorted(problems.items())},
        "answers whose sentences end elsewhere": 0 if after is None else len(after.recut & set(numbers)),
    }


def _named(edit: Edit) -> str:
    return f"{edit.action}: {REASONS[edit.action][edit.reason - 1]}"
