"""A table for a GitHub page or a README."""

from __future__ import annotations

import re

from metaeval.core.errors import Shown
from metaeval.report.table import Cell, Table

# GitHub keeps <ins> and <sup> and drops <u>.
_RANKS = {"best": ("**", "**"), "second": ("<ins>", "</ins>"), "": ("", "")}


def page_of(grid: Table) -> str:
    """Return a GitHub table with footnotes below it and the signatures in a code block."""
    # A new bullet begins a new list; with the same one GitHub would join the two into one loose list.
    footnotes = (f"- {_mark(note.label)} {escape(Shown(note.line))}".replace("-  ", "- ") for note in grid.footnotes)
    # The fence of a code block is longer than any run of backticks inside it.
    runs = [len(run) for line in grid.signatures for run in re.findall("`+", line)]
    fence = "`" * max(3, 1 + max(runs, default=0))
    footer = (f"* {escape(note.label)}: {escape(Shown(note.line))}" for note in grid.footer)
    blocks = [
        f"**{escape(grid.title)}** ({escape(grid.subtitle)})",
        _table(grid),
        escape(grid.legend),
        "\n".join(footnotes),
        "\n".join(footer),
        "\n".join([f"{fence}text", *grid.signatures, fence]) if grid.signatures else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: Shown) -> str:
    """Return text escaped so that Markdown and HTML print it unchanged, also in a table cell."""
    escaped = re.sub(r"([\\`*_\[\]<>|~$&#])", r"\\\1", text)
    # These three mean something only where a line or a list item begins.
    escaped = re.sub(r"^([-+=])", r"\\\1", escaped)
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", escaped)


def _table(grid: Table) -> str:
    headings = [escape(heading) for heading in grid.headings]
    if grid.groups:
        # The first column of a group names the group above it: a cell spans no columns.
        titles = [title for group in grid.groups for title in [escape(group.title)] + [""] * (group.columns - 1)]
        headings = [f"{title}<br>{heading}" for title, heading in zip(titles, headings, strict=True)]
    rows = [[escape(grid.stub), *headings], [":--", *("--:" for _ in headings)]]
    for block in grid.blocks:
        if block.title:
            rows.append([f"*{escape(block.title)}*", *("" for _ in grid.headings)])
        rows.extend([escape(line.name), *(_cell(cell) for cell in line.cells)] for line in block.lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(cell: Cell) -> str:
    before, after = _RANKS[cell.rank]
    interval = f" ({_number(cell.interval)})" if cell.ends else ""
    asides = f"<br>{escape(Shown(', '.join(cell.asides)))}" if cell.asides else ""
    return f"{before}{_number(cell.number)}{after}{''.join(_mark(mark) for mark in cell.marks)}{interval}{asides}"


def _number(text: Shown) -> str:
    """Return the text of a cell, unchanged if it has no markup, so that numbers stay legible; otherwise escaped."""
    return escape(text) if re.search(r"[\\`<>|]|\]\(", text) else text


def _mark(mark: Shown) -> str:
    return f"<sup>{_number(mark)}</sup>" if mark and mark.isascii() else _number(mark)
