"""A table for a paper of two columns: complete environments that need only the package booktabs.

A table that fits one column of an ACL page is a `table`, a wider one a `table*`, and one that is wider than the page
several of these. Any text is escaped so that pdfLaTeX prints it as it is, with no package and no font encoding asked
for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from math import ceil

from metaeval.display_text import Shown
from metaeval.report.column_layout import GAP, Shape, packed, shapes_of
from metaeval.report.table import CONTROLS, READING, Cell, Note, Table, TableLine, grouped

_RANKS = {"best": r"\textbf", "second": r"\underline", "": ""}

# Intervals stand beside the numbers up to this many LaTeX columns, below them in a wider table.
_BESIDE = 6

# Of an ACL page, in points. Sizes with the width of a digit in a text of 11 points, a rule of thumb for all text; what
# stands beside or below a number is \scriptsize whatever the size of the table.
_COLUMN, _TEXT = 219.0, 455.0
_SIZES = ((r"\small", 5.0), (r"\footnotesize", 4.5), (r"\scriptsize", 4.0))
_SMALL = 4.0
_SEPARATION = 4

_LONGEST = (72, 36)
"""Most characters of a name: a longer one is broken in a paragraph; the second where a table would need parts."""

_MISSING = frozenset({"not run", "not judged", "could be", "left out", "not read", "without facts"})
_PRINTED = (frozenset(READING) | _MISSING) - {"perfect metric", "perfect detector"}
"""Labels of the footer's notes that are printed, those of what is missing whole; all else stands as comments."""


def table_of(grid: Table, controls: bool = False) -> str:
    """Return a table as LaTeX, with caption, label and notes below it; signatures and most of the footer are comments.

    controls: whether to include the block of controls, which few papers have room for; it stays if it is the only one.
    """
    kept = tuple(block for block in grid.blocks if controls or block.title != CONTROLS)
    grid = replace(grid, blocks=kept or grid.blocks)
    parts = _parts(grid)
    return "\n".join(_table(grid, part, number, len(parts)) for number, part in enumerate(parts, start=1))


def _kind_of_intervals(grid: Table) -> Shown:
    """Return the level and the method of the intervals in a table; "" where it has none."""
    if not any(cell.interval for block in grid.blocks for line in block.lines for cell in line.cells):
        return Shown("")
    kinds = [note.text.partition(",")[0] for note in grid.footer if note.label == "uncertainty"]
    return Shown(kinds[0] if kinds and kinds[0][:1].isdigit() else "")


def _table(grid: Table, part: Sequence[int], number: int, of: int) -> str:
    """Return table `number` of the `of` tables that a grid is split into, with the meaning of its marks below it.

    part: indices of its columns. Other notes, and signatures as comments, are in the last of these tables.
    """
    which = f", part {number} of {of}" if of > 1 else ""
    caption = f"{escape(grid.title)} ({escape(grid.subtitle)}{which})."
    caption += f" {escape(grid.legend)}" if grid.legend else ""
    caption += f" In brackets: {escape(kind)}." if (kind := _kind_of_intervals(grid)) else ""
    label = re.sub("[^a-z0-9]+", "-", " ".join((*grid.key, str(number)) if number > 1 else grid.key).lower())
    environment, size, beside = _fit(grid, part)
    marks, reading, making = _below(grid, part, last=number == of)
    lines = [
        r"% Needs \usepackage{booktabs}.",
        *(f"% signature: {signature}" for signature in (grid.signatures if number == of else ())),
        *(f"% {line}" for line in making),
        rf"\begin{{{environment}}}[tp]",
        r"  \centering",
        r"  \setlength{\belowcaptionskip}{4pt}",
        rf"  \caption{{{caption}}}",
        rf"  \label{{tab:{label.strip('-')}}}",
        f"  {size}",
        rf"  \setlength{{\tabcolsep}}{{{_SEPARATION}pt}}",
        *_tabular(grid, part, size, beside),
        *_notes(marks, ""),
        *_notes(reading, ":"),
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def _below(grid: Table, part: Sequence[int], last: bool) -> tuple[list[Note], list[Note], list[str]]:
    """Return notes on marks, other notes, and comments for below a table; most of these only if it is the `last`."""
    used = {mark for line in grid.lines for position in part for mark in line.cells[position].marks}
    marks = [note for note in grid.footnotes if note.label in used]
    reading = [note for note in grid.footer if note.label in _PRINTED and last]
    if not last and any(mark[0].isalpha() for mark in used):
        reading = [note for note in grid.footer if note.label == "significance"]
    making = [note for note in grid.footer if note.label not in _PRINTED] if last else []
    detailed = [note for note in (*marks, *reading) if _brief(note) != note] if last else []
    comments = [f"{note.label}: {note.line}" for note in (*making, *detailed)]
    return [_brief(note) for note in marks], [_brief(note) for note in reading], comments


def _brief(note: Note) -> Note:
    """Return a note without its items (they become comments), unless it is about missing values or has no text."""
    kept = not note.text or not note.items or note.label in _MISSING
    return note if kept else replace(note, text=note.text.removesuffix(":"), items=())


def _fit(grid: Table, part: Sequence[int]) -> tuple[str, str, bool]:
    """Return environment, font size, and whether intervals are beside their numbers, for the columns `part` of a table.

    The first that fits by its number of characters is returned: a narrower environment comes before a wider one, then
    intervals beside the numbers before those below, then the larger size. If none fits, it is the widest and smallest.
    """
    spread = [any(line.cells[position].ends for line in grid.lines) for position in part]
    may_stand_beside = len(spread) + sum(spread) <= _BESIDE
    fits = (
        (environment, size, beside)
        for environment, room in (("table", _COLUMN), ("table*", _TEXT))
        for beside in ((True, False) if may_stand_beside else (False,))
        for size, point in _SIZES
        if _width(grid, part, point, beside) <= room
    )
    return next(fits, ("table*", _SIZES[-1][0], False))


def _parts(grid: Table) -> tuple[tuple[int, ...], ...]:
    """Return the indices of the columns of each table: all in one if that fits the page at some size."""
    everything = tuple(range(len(grid.headings)))
    point = _SIZES[-1][1]
    if _width(grid, everything, point, beside=False) <= _TEXT:
        return (everything,)
    room = int(_TEXT - _names(grid, point))
    widths: list[float] = []
    for title, places in _grouped(grid, everything, point):
        columns = [_column(shapes_of(grid)[place], point, beside=False) + 2 * _SEPARATION for place in places]
        lacking = max(title - sum(columns), 0)
        parted = title + lacking > room or sum(columns) > room  # each part then repeats the title
        widths += [max(column, title) if parted else column + lacking / len(columns) for column in columns]
    return packed([ceil(width) - GAP for width in widths], [group.columns for group in grid.groups], room)


def _grouped(grid: Table, part: Sequence[int], point: float) -> list[tuple[float, list[int]]]:
    """Return each group's title width in points and its columns' indices in a part; without groups (0, all)."""
    if not grid.groups:
        return [(0.0, list(part))]
    owners = [group.title for group in grid.groups for _ in range(group.columns)]
    firsts = [number for number, group in enumerate(grid.groups) for _ in range(group.columns)]
    of = grouped((firsts[place], place) for place in part)
    return [(point * len(owners[places[0]]) + 2 * _SEPARATION, places) for places in of.values()]


def _width(grid: Table, part: Sequence[int], point: float, beside: bool) -> float:
    return _names(grid, point) + _values(grid, part, point, beside)


def _values(grid: Table, part: Sequence[int], point: float, beside: bool) -> float:
    shapes = shapes_of(grid)
    return sum(
        max(title, sum(_column(shapes[place], point, beside) + 2 * _SEPARATION for place in places))
        for title, places in _grouped(grid, part, point)
    )


def _names(grid: Table, point: float) -> float:
    return point * min(_longest(grid), _most(grid)) + 2 * _SEPARATION


def _most(grid: Table) -> int:
    """Return the most characters of a name before it is broken: fewer where longer names would split the table."""
    point = _SIZES[-1][1]
    room = _TEXT - _values(grid, range(len(grid.headings)), point, beside=False) - 2 * _SEPARATION
    return _LONGEST[point * min(_longest(grid), _LONGEST[0]) > room]


def _longest(grid: Table) -> int:
    return max((len(line.name) for line in grid.lines), default=0)


def _name(name: Shown, most: int) -> str:
    """Return a line's name; one that is too long for its column may be broken behind its punctuation."""
    return escape(name) if len(name) <= most else rf"\raggedright {_broken(name)}"


def _broken(name: str) -> str:
    return r"\allowbreak{}".join(escape(Shown(part)) for part in re.split(r"(?<=[-_/:.=,])", name))


def _column(shape: Shape, point: float, beside: bool) -> float:
    # Brackets, comma and thin space take more than the dash that they stand for.
    number, interval = point * shape.number, _SMALL * (shape.interval + 2 if shape.interval else 0)
    value = number + interval + _SMALL * shape.marks if beside else max(number, interval)
    return max(value, point * shape.heading, _SMALL * shape.aside)


def _tabular(grid: Table, part: Sequence[int], size: str, beside: bool) -> list[str]:
    # Beside: a number and its interval are two LaTeX columns, so that digits and brackets both stand in line.
    span, column, row = (2, "r@{}l", _row_beside) if beside else (1, "r", _row_stacked)
    headings = [rf"\multicolumn{{{span}}}{{c}}{{{escape(grid.headings[position])}}}" for position in part]
    point, most = dict(_SIZES)[size], _most(grid)
    names = "l" if _longest(grid) <= most else f"p{{{most * point:g}pt}}"
    width = _width(grid, part, point, beside) - 2 * _SEPARATION
    lines = [
        rf"  \begin{{tabular}}{{{names}{column * len(part)}}}",
        r"    \toprule",
        *_over(grid, part, span),
        rf"    {' & '.join([escape(grid.stub), *headings])} \\",
    ]
    for block in grid.blocks:
        lines.append(r"    \midrule")
        if block.title:
            kind, title = ("l", escape(block.title))
            if point * len(block.title) > width:
                kind, title = (rf"p{{{width:g}pt}}", rf"\raggedright {_broken(block.title)}")
            lines.append(rf"    \multicolumn{{{1 + span * len(part)}}}{{{kind}}}{{\emph{{{title}}}}} \\")
        kept = [TableLine(line.name, tuple(line.cells[position] for position in part)) for line in block.lines]
        lines += [row(line, most) for line in kept]
    return [*lines, r"    \bottomrule", r"  \end{tabular}"]


def _over(grid: Table, part: Sequence[int], span: int) -> list[str]:
    """Return the line of column-group headings and that of their rules; empty without groups. span: LaTeX columns."""
    if not grid.groups:
        return []
    owners = [number for number, group in enumerate(grid.groups) for _ in range(group.columns)]
    titles, rules, start = [""], [], 2
    for number in dict.fromkeys(owners[position] for position in part):
        width = span * sum(owners[position] == number for position in part)
        titles.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(grid.groups[number].title)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [rf"    {' & '.join(titles)} \\", f"    {''.join(rules)}"]


def _row_beside(line: TableLine, most: int) -> str:
    cells = [f"{_number(cell)} & {_interval(cell)}{_marks(cell.marks)}" for cell in line.cells]
    below = [rf"\multicolumn{{2}}{{r}}{{{_small(', '.join(cell.asides))}}}" for cell in line.cells]
    return _stack([_name(line.name, most), *cells], [below] if any(cell.asides for cell in line.cells) else [])


def _row_stacked(line: TableLine, most: int) -> str:
    """Return a row with intervals below the numbers, whose digits are aligned. most: characters of an unbroken name."""
    numbers = [_number(cell) + (rf"\rlap{{{_marks(cell.marks)}}}" if cell.marks else "") for cell in line.cells]
    below = [[_interval(cell) for cell in line.cells]] if any(cell.ends for cell in line.cells) else []
    levels = zip_longest(*(cell.asides for cell in line.cells))
    below += [[f"{{{_small(aside)}}}" if aside else "" for aside in level] for level in levels]
    return _stack([_name(line.name, most), *numbers], below)


def _stack(above: Sequence[str], below: Sequence[Sequence[str]]) -> str:
    rows = [above, *(["", *cells] for cells in below)]
    return "\n".join(rf"    {' & '.join(row)} \\" for row in rows) + ("[2pt]" if below else "")


def _small(text: str) -> str:
    return rf"\scriptsize {escape(Shown(text))}" if text else ""


def _number(cell: Cell) -> str:
    number = _signed(cell.number) if cell.number.startswith("-") else escape(cell.number)
    return f"{_RANKS[cell.rank]}{{{number}}}" if cell.rank else number


def _interval(cell: Cell) -> str:
    if cell.ends is None:
        return ""
    low, high = map(_signed, cell.ends)
    return rf"\,{{\scriptsize [{low}, {high}]}}"


def _signed(number: Shown) -> str:
    return "$-$".join(escape(Shown(part)) for part in number.split("-"))


def _marks(marks: Sequence[Shown]) -> str:
    return rf"\textsuperscript{{{''.join(escape(mark) for mark in marks)}}}" if marks else ""


def _notes(notes: Sequence[Note], colon: str) -> list[str]:
    """Return the lines of a paragraph for each note, as wide as the text. colon: behind labels; "": they are raised."""
    if not notes:
        return []
    lines = []
    for note in notes:
        label = rf"\emph{{{escape(note.label)}{colon}}}" if colon else _marks([note.label])
        items = "; ".join(f"{escape(names)}: {escape(text)}" for names, text in note.items)
        lines.append(" ".join([label, *filter(None, (escape(note.text), items))]))
    return [
        r"  \par\smallskip",
        r"  \begin{minipage}{\linewidth}\footnotesize\raggedright\setlength{\parskip}{1pt}",
        *(f"    {line}\\par" for line in lines),
        r"  \end{minipage}",
    ]


_GREEK = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau "
    "upsilon varphi chi psi omega"
).split()
# Characters, each with its spelling. Behind the \\ that ends a table row the brackets and the star would be read as its
# arguments.
_SPELT = r"""
& \& % \% $ \$ # \# _ \_ { \{ } \} \ \textbackslash{} ~ \textasciitilde{} ^ \textasciicircum{} < \textless{}
> \textgreater{} | \textbar{} ` \`{} " {\char34} [ {[} ] {]} * {*} – -- — --- ‐ - ‑ - − $-$ ‘ \textquoteleft{}
’ \textquoteright{} “ \textquotedblleft{} ” \textquotedblright{} … \dots{} † \dag{} ‡ \ddag{} § \S{} ° $^{\circ}$
² $^{2}$ ³ $^{3}$ × $\times$ · $\cdot$ ± $\pm$ ≤ $\leq$ ≥ $\geq$ ≠ $\neq$ ≈ $\approx$ → $\to$ ∞ $\infty$ Δ $\Delta$
Σ $\Sigma$ ß \ss{} æ \ae{} Æ \AE{} œ \oe{} Œ \OE{} ø \o{} Ø \O{} ł \l{} Ł \L{}
""".split()
_KNOWN = {chr(0x3B1 + place): rf"$\{name}$" for place, name in enumerate(_GREEK)} | {"ο": "o", "\u00a0": "~"}
_KNOWN |= zip(_SPELT[::2], _SPELT[1::2], strict=True)
_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u"}
_ACCENTS |= {"\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c"}


def escape(text: Shown) -> str:
    """Return text escaped for a paragraph or a cell; a character with no LaTeX spelling becomes its code, [U+4E2D]."""
    # Two hyphens in a name are two hyphens; LaTeX would join them to a dash.
    return "{}".join("".join(map(_spelling, part)) for part in re.split("(?<=-)(?=-)", text))


def _spelling(char: str) -> str:
    if char in _KNOWN:
        return _KNOWN[char]
    if char.isascii():
        return char
    parts = unicodedata.normalize("NFD", char)
    base, accent = parts[:1], _ACCENTS.get(parts[1:])
    if base.isascii() and accent:
        dotless = rf"\{base}" if base in "ij" else base
        return rf"\{accent}{{{dotless}}}"
    return f"{{[}}U+{ord(char):04X}{{]}}"
