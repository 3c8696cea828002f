r"""A table for a paper: a complete `table` environment that needs only \usepackage{booktabs}."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaeval.report.cells import lay_out
from metaeval.report.grid import Cell, Grid, Line, Note
from metaeval.report.result import Result
from metaeval.report.tex_escape import escape

_RANKS = {"best": r"\textbf", "second": r"\underline", "": ""}

# Intervals stand beside the numbers up to this many measures, below them in a wider table: a text column is 345 pt.
_BESIDE = 3


def render(result: Result) -> str:
    """The table with caption, label, notes, and the signatures as comments above the tabular."""
    grid = lay_out(result)
    caption = f"{escape(grid.title)} ({escape(grid.subtitle)})." + (f" {escape(grid.legend)}" if grid.legend else "")
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}[tp]",
        r"  \centering",
        r"  \setlength{\belowcaptionskip}{4pt}",
        rf"  \caption{{{caption}}}",
        rf"  \label{{tab:{_label(grid.key)}}}",
        r"  \small",
        r"  \setlength{\tabcolsep}{4pt}",
        *(f"  % signature: {signature}" for signature in grid.signatures),
        *_tabular(grid),
        *_notes(grid.footnotes, ""),
        *_notes(grid.footer, ":"),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _label(key: Sequence[str]) -> str:
    """The table's key as a LaTeX label: lower-case letters, digits and hyphens."""
    return re.sub("[^a-z0-9]+", "-", " ".join(key).lower()).strip("-")


def _tabular(grid: Grid) -> list[str]:
    row = _row_beside if len(grid.headings) <= _BESIDE else _row_stacked
    # Beside: a number and its interval are two LaTeX columns, so that digits and brackets both stand in line.
    span, column = (2, "r@{}l") if row is _row_beside else (1, "r")
    headings = [rf"\multicolumn{{{span}}}{{c}}{{{escape(heading)}}}" for heading in grid.headings]
    lines = [
        rf"  \begin{{tabular}}{{l{column * len(headings)}}}",
        r"    \toprule",
        rf"    {' & '.join(['metric', *headings])} \\",
        r"    \midrule",
        *(row(line) for line in grid.metrics),
    ]
    if grid.controls:
        lines += [r"    \midrule", rf"    \multicolumn{{{1 + span * len(headings)}}}{{l}}{{\emph{{controls}}}} \\"]
        lines += [row(line) for line in grid.controls]
    return [*lines, r"    \bottomrule", r"  \end{tabular}"]


def _row_beside(line: Line) -> str:
    cells = [f"{_number(cell)} & {_interval(cell)}{_marks(cell.marks)}" for cell in line.cells]
    return rf"    {' & '.join([escape(line.name), *cells])} \\"


def _row_stacked(line: Line) -> str:
    """Marks take no width here: the number's last digit and the bracket below it stand in line."""
    numbers = [_number(cell) + (rf"\rlap{{{_marks(cell.marks)}}}" if cell.marks else "") for cell in line.cells]
    above = " & ".join([escape(line.name), *numbers])
    if not any(cell.ends for cell in line.cells):
        return f"    {above} \\\\"
    below = " & ".join(["", *(_interval(cell) for cell in line.cells)])
    return f"    {above} \\\\\n    {below} \\\\[2pt]"


def _number(cell: Cell) -> str:
    number = f"$-${cell.number[1:]}" if cell.number.startswith("-") else escape(cell.number)
    return f"{_RANKS[cell.rank]}{{{number}}}" if cell.rank else number


def _interval(cell: Cell) -> str:
    if cell.ends is None:
        return ""
    low, high = (end.replace("-", "$-$") for end in cell.ends)
    return rf"\,{{\scriptsize [{low}, {high}]}}"


def _marks(marks: Sequence[str]) -> str:
    return rf"\textsuperscript{{{''.join(escape(mark) for mark in marks)}}}" if marks else ""


def _notes(notes: Sequence[Note], colon: str) -> list[str]:
    """One paragraph for each note, below the tabular and as wide as the text."""
    if not notes:
        return []
    return [
        r"  \par\smallskip",
        r"  \begin{minipage}{\linewidth}\footnotesize\raggedright\setlength{\parskip}{1pt}",
        *(f"    {_note(note, colon)}\\par" for note in notes),
        r"  \end{minipage}",
    ]


def _note(note: Note, colon: str) -> str:
    label = rf"\emph{{{escape(note.label)}{colon}}}" if colon else _marks([note.label])
    said = [f"{escape(names)}: {escape(text)}" for names, text in note.items]
    return f"{label} {' '.join(part for part in (escape(note.text), '; '.join(said)) if part)}"
