"""Leaderboards: the value that each run has on each topic, from the files of evaluation programs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from metaeval.errors import UserError
from metaeval.parsing import read_text

ALL = "all"
"""The topic of a run's value over all topics."""

_NAMES = {
    "run": ("run", "run_id", "runid", "system"),
    "topic": ("topic", "topic_id", "query_id", "qid"),
    "value": ("value", "score"),
    "measure": ("measure", "metric"),
}


@dataclass(frozen=True)
class Board:
    """The values of a measure by run, then topic. totals: by run, those that the file gives for the topic "all"."""

    name: str
    measure: str
    values: Mapping[str, Mapping[str, float]]
    totals: Mapping[str, float] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        """Return the topics that any run has a value on, sorted; without "all"."""
        return sorted({topic for values in self.values.values() for topic in values})


@dataclass(frozen=True)
class _Line:
    run: str
    topic: str
    measure: str
    value: str
    place: str


def read_board(path: Path, measure: str = "") -> Board:
    """Return the leaderboard in a file, or in a folder of files of one run each.

    Forms: a table with a heading (CSV or TSV; columns run, topic, value and, if there are several, measure); lines
    "run topic measure value", as AutoJudge's and ir_measures'; lines "measure topic value" of one run, as trec_eval's,
    whose run is in a line "runid all NAME", else the file's name without its ending. measure: the one to read, needed
    if there are several.

    Raises `UserError` for other files, several measures of which none is chosen, an unknown one, a value of the chosen
    one that is not a finite number, and two values of a run on one topic.
    """
    files = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
    lines = [line for file in files for line in _lines(file)]
    measures = sorted({line.measure for line in lines if _number(line.value) is not None})
    if not measures:
        raise UserError(f"{path} holds no value of a run: give a leaderboard with run, topic and value in each line.")
    some = ", ".join([*measures[:8], *(["..."] if len(measures) > 8 else [])])
    if not measure and len(measures) > 1:
        raise UserError(
            f"{path} holds {len(measures)} measures ({some}): choose one with --measure (or, of the metric's file, "
            "with --metric-measure)."
        )
    chosen = measure or measures[0]
    if chosen not in measures:
        raise UserError(f"{path} holds no measure {chosen!r}; it holds {some}: choose one of these.")
    values: dict[str, dict[str, float]] = {}
    for line in lines:
        if line.measure == chosen:
            _add(values, line)
    totals = {run: of_run.pop(ALL) for run, of_run in values.items() if ALL in of_run}
    return Board(path.name, chosen, values, totals)


def _add(values: dict[str, dict[str, float]], line: _Line) -> None:
    value = _number(line.value)
    if value is None:
        raise UserError(f"{line.place}: {line.value!r} is not a finite number: write one, or delete the line.")
    if line.topic in values.setdefault(line.run, {}):
        raise UserError(
            f"{line.place}: run {line.run!r} has a second value on topic {line.topic!r}: keep one of the two."
        )
    values[line.run][line.topic] = value


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _lines(path: Path) -> Iterator[_Line]:
    lines = read_text(path, "give a leaderboard").splitlines()
    first = next((line for line in lines if line.strip()), "")
    separator = next((sign for sign in ",\t;" if sign in first), "")
    columns = _columns([name.strip().lower() for name in first.split(separator)]) if separator else {}
    if columns:
        rows = csv.reader(lines[lines.index(first) + 1 :], delimiter=separator)
        for number, cells in enumerate(rows, lines.index(first) + 2):
            yield _of_table(cells, columns, f"{path}, line {number}")
        return
    split = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    names = [cells[2] for _, cells in split if cells[:2] == ["runid", ALL] and len(cells) == 3]
    for number, cells in split:
        place = f"{path}, line {number}"
        if len(cells) == 4:
            yield _Line(cells[0], cells[1], cells[2], cells[3], place)
        elif len(cells) == 3:
            if cells[0] != "runid":
                yield _Line(names[0] if names else path.stem, cells[1], cells[0], cells[2], place)
        else:
            raise UserError(
                f"{place} is neither 'run topic measure value' nor 'measure topic value', and the file has no heading "
                "with run, topic and value: write the line in one of these forms."
            )


def _columns(headings: list[str]) -> dict[str, int]:
    """Return the index of each known column by its meaning (the keys of `_NAMES`); empty without run and value."""
    places = {
        meaning: headings.index(name)
        for meaning, names in _NAMES.items()
        for name in reversed(names)
        if name in headings
    }
    return places if {"run", "value"} <= places.keys() else {}


def _of_table(cells: list[str], columns: Mapping[str, int], place: str) -> _Line:
    if len(cells) <= max(columns.values()):
        raise UserError(f"{place} has {len(cells)} cells, fewer than the heading names: fill in the line.")
    texts = {meaning: cells[number].strip() for meaning, number in columns.items()}
    return _Line(texts["run"], texts.get("topic", ALL), texts.get("measure", "value"), texts["value"], place)
