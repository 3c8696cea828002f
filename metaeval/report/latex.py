"""A table for a paper: a complete environment that needs only the package booktabs.

A table of one or two columns is a `table`, a wider one a `table*`, one of more than six several of these; intervals
stand below the numbers. Any text is escaped so that pdfLaTeX prints it as it is, with no package and no font encoding
asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, zip_longest

from metaeval.core.errors import Shown
from metaeval.report.table import CONTROL, CONTROLS, READING, Cell, Note, Table, TableLine
from metaeval.report.table_notes import LEVEL
from metaeval.report.terminal import GAP, packed

_RANKS = {"best": r"\textbf", "second": r"\underline", "": ""}
_NARROW, _SMALL, _WIDEST = 2, 4, 6  # most columns of a table in a column of the page, of one in \small, and of any
_LONGEST = 40  # characters of an unbroken name

# Labels of the footer's notes that readers of a paper need; the others stand as comments.
_PRINTED = READING - {"warnings", "not run"}


def table_of(grid: Table, controls: bool = False) -> str:
    """Return a table as LaTeX, with caption, label and notes below it; signatures and most of the footer are comments.

    controls: whether to include the block of controls, unless it is the only one; without it nothing refers to them.
    """
    kept = [block for block in grid.blocks if controls or block.title != CONTROLS]
    if kept and len(kept) < len(grid.blocks):
        blocks = (replace(block, lines=tuple(map(_without_controls, block.lines))) for block in kept)
        left_out = {line.name for block in grid.blocks if block.title == CONTROLS for line in block.lines}
        notes = (
            replace(note, items=tuple(item for item in note.items if item[0] not in left_out))
            for note in grid.footnotes
        )
        grid = replace(grid, blocks=tuple(blocks), footnotes=tuple(notes))
    sizes = [group.columns for group in grid.groups]
    parts = packed([1] * len(grid.headings), sizes, (1 + GAP) * _WIDEST)
    return "\n".join(_table(grid, part, number, len(parts)) for number, part in enumerate(parts, start=1))


def _without_controls(line: TableLine) -> TableLine:
    cells = (replace(cell, marks=tuple(mark for mark in cell.marks if mark != LEVEL)) for cell in line.cells)
    return TableLine(line.name.removesuffix(CONTROL), tuple(cells))


def _table(grid: Table, part: Sequence[int], number: int, of: int) -> str:
    """Return table `number` of the `of` tables that a grid is split into. part: indices of its columns."""
    which = f", part {number} of {of}" if of > 1 else ""
    cells = [line.cells[position] for line in grid.lines for position in part]
    # Of several data sets each has an item of its own.
    uncertain = [note for note in grid.footer if note.label == "uncertainty"]
    texts = [text for note in uncertain for text in (note.text, *(text for _, text in note.items)) if text]
    brackets = dict.fromkeys(",".join(text.split(",")[:2]) for text in texts)
    caption = [
        f"{escape(grid.title)} ({escape(grid.subtitle)}{which}).",
        escape(grid.legend) if any(cell.rank for cell in cells) else "",
        f"In brackets: {escape(Shown('; '.join(brackets)))}." if brackets and any(cell.ends for cell in cells) else "",
    ]
    label = re.sub("[^a-z0-9]+", "-", " ".join((*grid.key, *([str(number)] if number > 1 else []))).lower())
    lines = [line.name for line in grid.lines]
    used = {mark for cell in cells for mark in cell.marks} | {name.split()[-1] for name in lines if name.split()}
    lettered = any(mark[:1].isalpha() for cell in cells for mark in cell.marks)
    marks = [note for note in grid.footnotes if note.label in used or not note.label]
    printed = [note for note in grid.footer if note.label in _PRINTED and (lettered or note.label != "significance")]
    comments = [f"signature: {signature}" for signature in grid.signatures]
    comments += [f"{note.label}: {note.line}" for note in grid.footer if note not in printed]
    environment = "table" if len(part) <= _NARROW else "table*"
    return "\n".join(
        [
            r"% Needs \usepackage{booktabs}.",
            *(f"% {comment}" for comment in comments if number == of),
            rf"\begin{{{environment}}}[tp]",
            r"  \centering",
            r"  \setlength{\belowcaptionskip}{4pt}",
            rf"  \caption{{{' '.join(filter(None, caption))}}}",
            rf"  \label{{tab:{label.strip('-')}}}",
            r"  \small" if len(part) <= _SMALL else r"  \footnotesize",
            r"  \setlength{\tabcolsep}{4pt}",
            *_tabular(grid, part),
            *_notes(marks, printed),
            rf"\end{{{environment}}}",
            "",
        ]
    )


def _tabular(grid: Table, part: Sequence[int]) -> list[str]:
    names = "l" if max((len(line.name) for line in grid.lines), default=0) <= _LONGEST else r"p{.25\linewidth}"
    lines = [rf"  \begin{{tabular}}{{{names}{'r' * len(part)}}}", r"    \toprule"]
    if grid.groups:
        owners = [number for number, group in enumerate(grid.groups) for _ in range(group.columns)]
        titles, rules, start = [""], "", 2
        for owner, same in groupby(part, key=lambda position: owners[position]):
            width = len(list(same))
            titles.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(grid.groups[owner].title)}}}")
            rules += rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
            start += width
        lines += [rf"    {' & '.join(titles)} \\", f"    {rules}"]
    lines.append(rf"    {' & '.join(escape(text) for text in (grid.stub, *(grid.headings[n] for n in part)))} \\")
    for block in grid.blocks:
        lines.append(r"    \midrule")
        if block.title:
            lines.append(rf"    \multicolumn{{{1 + len(part)}}}{{l}}{{\emph{{{_broken(block.title)}}}}} \\")
        for line in block.lines:
            shown = [line.cells[position] for position in part]
            ends = [rf"{{\scriptsize [{', '.join(map(_signed, cell.ends))}]}}" if cell.ends else "" for cell in shown]
            below = [ends] if any(ends) else []
            asides = zip_longest(*(cell.asides for cell in shown))
            below += [[rf"{{\scriptsize {escape(aside)}}}" if aside else "" for aside in level] for level in asides]
            rows = [[_broken(line.name), *map(_number, shown)], *(["", *cells] for cells in below)]
            lines.append("\n".join(rf"    {' & '.join(row)} \\" for row in rows) + ("[2pt]" if below else ""))
    return [*lines, r"    \bottomrule", r"  \end{tabular}"]


def _broken(name: Shown) -> str:
    """Return a name, which may be broken behind its punctuation if it is long."""
    if len(name) <= _LONGEST:
        return escape(name)
    return r"\raggedright " + r"\allowbreak{}".join(escape(Shown(part)) for part in re.split(r"(?<=[-_/:.=,])", name))


def _number(cell: Cell) -> str:
    number = _signed(cell.number) if cell.number.startswith("-") else escape(cell.number)
    ranked = f"{_RANKS[cell.rank]}{{{number}}}" if cell.rank else number
    # Marks take no width, so that digits stand below digits.
    return ranked + (rf"\rlap{{{_raised(cell.marks)}}}" if cell.marks else "")


def _raised(marks: Sequence[Shown]) -> str:
    return rf"\textsuperscript{{{''.join(map(escape, marks))}}}"


def _signed(number: Shown) -> str:
    return "$-$".join(escape(Shown(part)) for part in number.split("-"))


def _notes(marks: Sequence[Note], printed: Sequence[Note]) -> list[str]:
    """Return a paragraph for each note on a mark, and for the others, below the table."""
    texts = [f"{_raised([note.label])} {escape(Shown(note.line))}" for note in marks if note.label]
    texts += [escape(Shown(note.line)) for note in marks if not note.label]
    texts += [rf"\emph{{{escape(note.label)}:}} {escape(Shown(note.line))}" for note in printed]
    if not texts:
        return []
    width = r"  \begin{minipage}{\linewidth}\footnotesize\raggedright\setlength{\parskip}{1pt}"
    return [r"  \par\smallskip", width, *(f"    {text}\\par" for text in texts), r"  \end{minipage}"]


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
