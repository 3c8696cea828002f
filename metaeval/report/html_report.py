"""A report as one HTML page: every table of a run, its figures and a forest plot as SVG text, readable anywhere.

It is whole without its script, which sorts tables by the heading that is clicked.
"""

from __future__ import annotations

import html
import math
import re
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from string import Template
from types import MappingProxyType

from metaeval.display_text import Shown
from metaeval.report.cautions import cautions
from metaeval.report.figures.drawing import FAINT, INK, looks_of
from metaeval.report.figures.forest import panel_of
from metaeval.report.findings import findings
from metaeval.report.ranking_measures import Declarations, Headline, headlines, metrics_of, named_in
from metaeval.report.result import Data, Result
from metaeval.report.result_tables import ability_columns, comparison_grid, headline_grid, in_headline, lay_out, units
from metaeval.report.table import READING, Block, Cell, Note, Table, grouped, place_of, plain

_RANKS = {"best": ("<strong>", "</strong>"), "second": ("<u>", "</u>"), "": ("", "")}
_FOREST = "Headline values with their intervals; dashed: the best control, where there is one; dotted: chance."


def escape(text: Shown) -> str:
    """Return text escaped for HTML content and quoted attributes."""
    return html.escape(text)


def table_of(grid: Table, titled: bool = True) -> str:
    """Return a table as HTML, in a scrolling frame, with the notes that are needed to read it.

    Other notes of the footer, and the signatures, are collapsed. titled: whether the caption holds the title, which a
    heading above the table may hold instead.
    """
    title = f"{escape(grid.title)} " if titled else ""
    reading = [note for note in grid.footer if note.label in READING]
    making = [note for note in grid.footer if note.label not in READING]
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
        _folded("Signatures", f"<pre>{html.escape(lines)}</pre>" if (lines := "\n".join(grid.signatures)) else ""),
    ]
    return "\n".join(part for part in parts if part)


def _head(grid: Table) -> str:
    headings = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in grid.headings)
    groups = "".join(
        f'<th scope="colgroup" colspan="{group.columns}">{escape(group.title)}</th>' for group in grid.groups
    )
    over = f"<tr><td></td>{groups}</tr>" if groups else ""
    return f'<thead>{over}<tr><th scope="col">{escape(grid.stub)}</th>{headings}</tr></thead>'


def _body(block: Block, columns: int) -> str:
    lines = [
        f'<tr><th scope="row">{escape(line.name)}</th>{"".join(f"<td>{_cell(cell)}</td>" for cell in line.cells)}</tr>'
        for line in block.lines
    ]
    title = f'<tr><th scope="rowgroup" colspan="{columns + 1}">{escape(block.title)}</th></tr>' if block.title else ""
    return "\n".join(["<tbody>", *([title] if title else []), *lines, "</tbody>"])


def _cell(cell: Cell) -> str:
    before, after = _RANKS[cell.rank]
    # Marks take no width, so that digits stand below digits.
    marks = f"<sup>{''.join(map(escape, cell.marks))}</sup>" if cell.marks else ""
    below = [*([cell.interval] if cell.interval else []), *cell.asides]
    return f"{before}{escape(cell.number)}{after}{marks}" + "".join(f"<small>{escape(text)}</small>" for text in below)


def _notes(notes: Sequence[Note], kind: str, raised: bool) -> str:
    """Return notes as HTML; "" without any. kind: CSS class. raised: whether labels are raised marks of footnotes."""
    if not notes:
        return ""
    lines = []
    for note in notes:
        label = f"<sup>{escape(note.label)}</sup>" if raised else escape(note.label)
        items = "".join(f"<li><b>{escape(names)}</b> {escape(text)}</li>" for names, text in note.items)
        lines.append(f"<dt>{label}</dt><dd>{escape(note.text)}{f'<ul>{items}</ul>' if items else ''}</dd>")
    return f'<dl class="{kind}">{"".join(lines)}</dl>'


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>" if content else ""


@dataclass(frozen=True)
class Picture:
    """A figure for a page, as SVG text. caption: what it shows."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """A section of a page: tables, each with HTML to put below it, then pictures. title: "" if tables have titles."""

    tables: Sequence[tuple[Table, str]]
    title: str = ""
    pictures: Sequence[Picture] = ()


def page(
    results: Sequence[Result],
    pictures: Mapping[str, Sequence[Picture]] = MappingProxyType({}),
    title: str = "",
    declarations: Declarations | None = None,
    explorer: str = "",
) -> str:
    """Return the HTML page of results, a section for each data set; the same arguments give the same bytes.

    pictures: by `rows_description` of their result. title: heading of the page; "": made from the data sets.
    declarations: if given, the page opens with the findings, the headline table and its forest plot. explorer: HTML
    that says where the pairs can be viewed.
    """
    names = ", ".join(dict.fromkeys(plain(result.data.name) for result in results))
    against = Data.wording_of([result.data for result in results], "Metrics against human labels")
    heading = plain(title) or f"{against}{': ' if results else ''}{names}"
    opening = _opening(results, declarations) if declarations and results else ""
    sections = [
        Section([(lay_out(result), _folded_pairs(result)) for result in same], name, pictures.get(name, ()))
        for name, same in grouped((rows_description(result), result) for result in results).items()
    ]
    return page_of(heading, sections, opening + explorer)


def rows_description(result: Result) -> str:
    """Return what a result's rows are, as text: "DATASET, SPLIT: UNITS"."""
    return f"{place_of(result.data)}: {units(result.unit)}"


def page_of(heading: str, sections: Sequence[Section], opening: str = "") -> str:
    """Return an HTML page of tables and pictures. opening: HTML shown first; the rest of the page is collapsed then."""
    drawn, contents, tables, figures = [], [], 0, 0
    if opening:
        contents.append('<li><a href="#findings">Findings</a></li>')
    for number, section in enumerate(sections, start=1):
        level = 3 if section.title else 2
        inside, listed = [], []
        for grid, below in section.tables:
            tables += 1
            entry = grid.title if section.title else Shown(f"{grid.title} ({grid.subtitle})")
            listed.append(f'<li><a href="#t{tables}">{escape(entry)}</a></li>')
            title = f"<h{level}>{escape(grid.title)}</h{level}>"
            inside.append(f'<section id="t{tables}">\n{title}\n{table_of(grid, titled=False)}\n{below}</section>')
        for picture in section.pictures:
            figures += 1
            inside.append(_figure(picture, figures))
        if not section.title:
            drawn += inside
            contents += listed
            continue
        title = escape(plain(section.title))
        drawn.append(f'<section id="s{number}">\n<h2>{title}</h2>\n{chr(10).join(inside)}</section>')
        contents.append(f'<li><a href="#s{number}">{title}</a><ul>{"".join(listed)}</ul></li>')
    if opening:
        rest = _folded("All tables and figures", "\n".join(drawn))
        drawn = [f'<section id="findings">\n<h2>Findings</h2>\n{opening}</section>', rest]
    here = resources.files("metaeval.report")
    files = ("page.html", "sorting.js", "scrolling.css")
    template, script, scrolling = (here.joinpath(name).read_text(encoding="utf-8") for name in files)
    allowed = b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
    return Template(template).substitute(
        title=escape(Shown(heading)),
        contents="".join(contents),
        sections="".join(f"{section}\n" for section in drawn),
        # Nothing is loaded, and the one script that runs is this one.
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'",
        script=script,
        scrolling=scrolling,
    )


def explorer_line(command: str, link: str = "") -> str:
    """Return HTML that says where pairs can be viewed: a link to the page if it exists, and the command to write it."""
    page = f'<a href="{escape(Shown(link))}">The explorer</a> shows every pair. ' if link else ""
    return f"<p>{page}To look at the pairs one by one, type <code>{escape(Shown(command))}</code>.</p>"


def _opening(results: Sequence[Result], declarations: Declarations) -> str:
    """Return the opening of a page as HTML: the headline table, the findings, the cautions and the forest plot."""
    grid, shown = headline_grid(results, declarations, sys.maxsize), in_headline(results, declarations)
    sentences = "".join(f"<li>{escape(plain(text))}</li>" for text in findings(shown, declarations))
    careful = "".join(f"<li>{escape(plain(text))}</li>" for text in cautions(results))
    forest = page_forest(shown, declarations)
    figure = f"<figure>{forest}<figcaption>{escape(plain(_FOREST))}</figcaption></figure>" if forest else ""
    limits = f"<ul>{careful}</ul>\n" if careful else ""
    return f"{table_of(grid)}\n<ol>{sentences}</ol>\n{limits}{figure}"


def _folded_pairs(result: Result) -> str:
    """Return the table of pairs of metrics as HTML, collapsed; "" for a result without tests of pairs."""
    if result.significance is None or not result.significance.comparisons:
        return ""
    return f"<details><summary>Pairs of metrics</summary>{table_of(comparison_grid(result))}</details>"


def _figure(picture: Picture, number: int) -> str:
    caption = escape(plain(picture.caption))
    svg = picture.svg[picture.svg.index("<svg") :]
    # Ids are for a whole page: those of two pictures must not meet.
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>f{number}-", svg)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{caption}"', 1)
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


_WIDTH, _LINE, _HEAD, _AXIS = 380, 20, 44, 30
_LONGEST = 30  # characters of a name that are shown
_ASKED = 5  # ticks of an axis, about


def page_forest(results: Sequence[Result], declarations: Declarations) -> str:
    """Return a forest plot as HTML: panels side by side where they fit, a line for each metric; "" without a value.

    The panels are the measures that show an ability, of a single result that has several, else each result's headline
    measure. A line is an interval; the dashed vertical line is the best control, the dotted one chance.
    """
    able = ability_columns(results[0], declarations) if len(results) == 1 else []
    shown = [Headline(results[0], column) for column in able] if len(able) > 1 else headlines(results, declarations)
    shown = [headline for headline in shown if headline.metrics]
    looks = looks_of(row.metric for result in results for row in metrics_of(result))
    colours = {name: look.colour for name, look in looks.items()}
    names = 12 + 7 * min(_LONGEST, max((len(name) for name in colours), default=0))
    drawn = []
    for headline in shown:
        height = _HEAD + _LINE * len(headline.metrics) + _AXIS
        size = f'width="{names + _WIDTH}" height="{height}" viewBox="0 0 {names + _WIDTH} {height}"'
        style = f'role="img" aria-label="{_text(named_in(headline, shown))}" font-family="sans-serif" font-size="12"'
        panel = "".join(_panel(headline, shown, declarations, colours, names))
        drawn.append(f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} fill="{INK}">{panel}</svg>')
    return f'<div class="panels">{"".join(drawn)}</div>' if drawn else ""


def _panel(
    headline: Headline, every: Sequence[Headline], declarations: Declarations, colours: dict[str, str], names: int
) -> Iterator[str]:
    panel = panel_of(headline, declarations)
    values = [value for line in panel.lines for value in (line.value, *(line.ends or ()))]
    lines = (panel.control[1] if panel.control else None, panel.chance)
    ticks = _ticks([*values, *(value for value in lines if value is not None)])

    def x(value: float) -> str:
        return f"{names + 10 + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (_WIDTH - 30):.1f}"

    def upright(value: float, stroke: str, dashes: str) -> str:
        return f'<path d="M{x(value)} {_HEAD - 4}V{foot}" stroke="{stroke}" stroke-dasharray="{dashes}"/>'

    foot = _HEAD + _LINE * len(panel.lines)
    unit = ", %" if headline.column.scale == 100 else ""
    yield f'<text x="{names}" y="14" font-weight="bold">{_text(named_in(headline, every) + unit)}</text>'
    if panel.control:
        name, value = panel.control
        yield f'<text x="{names}" y="30" font-size="11">{_text("best control (dashed): " + name, 48)}</text>'
        yield upright(value, INK, "4 2")
    if panel.chance is not None:
        yield upright(panel.chance, FAINT, "1 2")
    yield f'<path d="M{x(ticks[0])} {foot}H{x(ticks[-1])}" stroke="{INK}"/>'
    # Ticks are 1, 2 or 5 times a power of ten apart.
    digits = max(0, -math.floor(math.log10(1.5 * (ticks[1] - ticks[0]))))
    for tick in ticks:
        yield f'<text x="{x(tick)}" y="{foot + 15}" text-anchor="middle" font-size="11">{tick:.{digits}f}</text>'
    for number, line in enumerate(panel.lines):
        y, colour = _HEAD + _LINE * number + _LINE // 2, colours[line.metric]
        yield f'<text x="{names - 4}" y="{y + 4}" text-anchor="end">{_text(line.metric, _LONGEST)}</text>'
        if line.ends:
            low, high = map(x, line.ends)
            yield f'<path d="M{low} {y}H{high}" stroke="{colour}" stroke-width="2.5"/>'
        yield f'<circle cx="{x(line.value)}" cy="{y}" r="4.5" fill="{colour}"/>'


def _ticks(values: Sequence[float]) -> list[float]:
    """Return about `_ASKED` round numbers at equal distances; all values lie between the first and the last."""
    low, high = min(values), max(values)
    rough = max((high - low) / _ASKED, 1e-6 * max(abs(high), 1.0))
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * round_number for round_number in (1, 2, 5, 10) if power * round_number >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _text(name: str, width: int = 60) -> str:
    shown = plain(name)
    return html.escape(shown if len(shown) <= width else f"{shown[: width - 1]}…")
