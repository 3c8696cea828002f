"""A grid as HTML: one table with its notes, and nothing that asks for a script or another file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from metaeval.report.grid import Block, Cell, Grid, Line, Note

_RANKS = {"best": ("<strong>", "</strong>"), "second": ("<u>", "</u>"), "": ("", "")}


# What a reader needs to read the cells stays open; how the numbers came about is folded away.
_READING = ("ceiling", "perfect metric", "published", "significance", "paper", "blank", "reading", "warnings")


def table_of(grid: Grid, titled: bool = True) -> str:
    """The table in a frame of its own that scrolls, its notes, and the rest of the footer and the signatures folded.

    titled: the caption holds the title, which a heading above the table may do instead.
    """
    title = f"{escape(grid.title)} " if titled else ""
    reading = [note for note in grid.footer if note.label in _READING]
    making = [note for note in grid.footer if note.label not in _READING]
    parts = [
        '<div class="frame"><table>',
        f"<caption>{title}<small>{escape(grid.subtitle)}</small></caption>",
        _head(grid),
        *(_body(block, len(grid.headings)) for block in grid.blocks),
        "</table></div>",
        f'<p class="legend">{escape(grid.legend)}</p>' if grid.legend else "",
        _notes(grid.footnotes, "notes", raised=True),
        _notes(reading, "footer", raised=False),
        _folded("How these numbers were made", _notes(making, "footer", raised=False)),
        _folded("Signatures", _signatures(grid.signatures)),
    ]
    return "\n".join(part for part in parts if part)


def _head(grid: Grid) -> str:
    headings = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in grid.headings)
    groups = "".join(
        f'<th scope="colgroup" colspan="{group.columns}">{escape(group.title)}</th>' for group in grid.groups
    )
    over = f"<tr><td></td>{groups}</tr>" if groups else ""
    return f'<thead>{over}<tr><th scope="col">{escape(grid.stub)}</th>{headings}</tr></thead>'


def _body(block: Block, columns: int) -> str:
    title = f'<tr><th scope="rowgroup" colspan="{columns + 1}">{escape(block.title)}</th></tr>' if block.title else ""
    return "\n".join(["<tbody>", *([title] if title else []), *(_row(line) for line in block.lines), "</tbody>"])


def _row(line: Line) -> str:
    cells = "".join(f"<td>{_cell(cell)}</td>" for cell in line.cells)
    return f'<tr><th scope="row">{escape(line.name)}</th>{cells}</tr>'


def _cell(cell: Cell) -> str:
    before, after = _RANKS[cell.rank]
    # Marks take no width, so that digits stand below digits.
    marks = f"<sup>{escape(''.join(cell.marks))}</sup>" if cell.marks else ""
    below = [*([cell.interval] if cell.interval else []), *cell.asides]
    return f"{before}{escape(cell.number)}{after}{marks}" + "".join(f"<small>{escape(text)}</small>" for text in below)


def _notes(notes: Sequence[Note], kind: str, raised: bool) -> str:
    """Footnotes under their raised marks, or footer lines under their labels."""
    if not notes:
        return ""
    lines = []
    for note in notes:
        label = f"<sup>{escape(note.label)}</sup>" if raised else escape(note.label)
        items = "".join(f"<li><b>{escape(names)}</b> {escape(text)}</li>" for names, text in note.items)
        lines.append(f"<dt>{label}</dt><dd>{escape(note.text)}{f'<ul>{items}</ul>' if items else ''}</dd>")
    return f'<dl class="{kind}">{"".join(lines)}</dl>'


def _signatures(signatures: Sequence[str]) -> str:
    return f"<pre>{escape(chr(10).join(signatures))}</pre>" if signatures else ""


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>" if content else ""
