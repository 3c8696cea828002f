"""The layouts of the ALiiCE paper's Tables 1 and 3 (arXiv 2406.13375)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from metaeval.report.citation.layout import Ends, Frame, framed_grid, interval_cell
from metaeval.report.grid import Block, Cell, Grid, Group, Line, Note, plain
from metaeval.report.result import Column

_PERCENT = Column(key="", label="", scale=100, digits=1)
_COLUMNS: Sequence[tuple[str, tuple[str, ...], Column]] = (
    ("Rec.", ("recall",), _PERCENT),
    ("Prec.", ("precision",), _PERCENT),
    ("F1", ("f1",), _PERCENT),
    ("CV_CP", ("cvcp",), Column(key="", label="", digits=2)),
    ("Correct.", ("str_em", "rougeLsum"), _PERCENT),
    ("Length", ("length",), Column(key="", label="", digits=1)),
)
_SIDES = (("ALiiCE", "aliice"), ("ALCE", "alce"))

OVERALL = tuple(key for _, keys, _ in _COLUMNS for key in keys)
"""Keys of the measures that Table 1 shows; of the two of correctness, the first that an answer set has."""


@dataclass(frozen=True)
class PaperRow:
    """A system with its values by measure. answers: on how many answers, where that is a part of all."""

    system: str
    values: Mapping[str, Ends]
    answers: int | None = None


def overall_grid(frame: Frame, rows: Sequence[PaperRow]) -> Grid:
    """Table 1: citation quality, CVCP, correctness and length of every system."""
    lines = tuple(
        Line(plain(row.system), tuple(interval_cell(_first(row, keys), column) for _, keys, column in _COLUMNS))
        for row in rows
    )
    reading = Note(
        "reading",
        "as Table 1 of the ALiiCE paper, with intervals where it has deviations over runs, and without its column of "
        "fluency (MAUVE). Correct.: EM recall, or ROUGE-Lsum where there are no short answers",
    )
    headings = tuple(heading for heading, _, _ in _COLUMNS)
    return _grid(frame, "Citation quality, correctness and length", headings, lines, reading)


def side_by_side_grid(frame: Frame, rows: Sequence[PaperRow]) -> Grid:
    """Table 3: recall and precision of both pipelines on the answers with a citation within a sentence."""
    keys = [f"{side}_{key}" for _, side in _SIDES for key in ("recall", "precision")]
    lines = tuple(
        Line(
            plain(row.system),
            (*(interval_cell(row.values.get(key), _PERCENT) for key in keys), Cell(f"{row.answers or 0:,}")),
        )
        for row in rows
    )
    reading = Note(
        "reading", "as Tables 3 and 4 of the ALiiCE paper: answers with a citation between the words of a sentence"
    )
    groups = (*(Group(title, 2) for title, _ in _SIDES), Group("", 1))
    headings = ("Rec.", "Prec.", "Rec.", "Prec.", "answers")
    title = "Answers that cite within a sentence: recall and precision (%)"
    return _grid(frame, title, headings, lines, reading, groups)


def _first(row: PaperRow, keys: Sequence[str]) -> Ends | None:
    return next((row.values[key] for key in keys if row.values.get(key, (None,))[0] is not None), None)


def _grid(
    frame: Frame,
    title: str,
    headings: Sequence[str],
    lines: tuple[Line, ...],
    reading: Note,
    groups: tuple[Group, ...] = (),
) -> Grid:
    own = replace(frame, title=title, footer=(reading, *frame.footer))
    return framed_grid(own, headings, [Block("", lines)], "Model", groups)
