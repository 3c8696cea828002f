"""A report as one HTML page: every table of a run, its figures and a forest plot as SVG text, readable anywhere.

It is whole without its script, which sorts tables by the heading that is clicked. The templates escape whatever is put
into them.
"""

from __future__ import annotations

import math
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from metaeval.report.cautions import cautions
from metaeval.report.figures.drawing import looks_of
from metaeval.report.figures.forest import panel_of
from metaeval.report.findings import findings
from metaeval.report.first_table import first_table, first_tables, judge_of
from metaeval.report.rank_agreement import rank_agreement
from metaeval.report.ranking_measures import Declarations, abilities, headlines, metrics_of, strips
from metaeval.report.result import Data, Result
from metaeval.report.result_tables import comparison_grid, lay_out, units
from metaeval.report.table import READING, Table, grouped, place_of, plain

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("metaeval.report"), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    templates.globals["reading"] = READING
    return templates


def _filled(template: str, **values: Any) -> str:
    return str(_templates().get_template(template).render(**values))


def table_of(grid: Table, titled: bool = True) -> str:
    """Return a table as HTML, in a scrolling frame, with its footnotes and the notes on what is missing.

    Other notes of the footer, and the signatures, are collapsed. titled: whether the caption holds the title, which a
    heading above the table may hold instead.
    """
    macro: Callable[..., str] = _templates().get_template("table.html").module.table  # type: ignore[attr-defined]
    return str(macro(grid, titled)).strip()


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
    explorer: tuple[str, str] = ("", ""),
) -> str:
    """Return the HTML page of results, a section for each data set; the same arguments give the same bytes.

    pictures: by `rows_description` of their result. title: heading of the page; "": made from the data sets.
    declarations: if given, the page opens with the findings, the first tables and their forest plot. explorer: the
    command that shows the pairs, and a link to their page; "" without.
    """
    names = ", ".join(dict.fromkeys(plain(result.data.name) for result in results))
    heading = plain(title) or Data.wording_of(
        [result.data for result in results], f"Metrics against human labels: {names}"
    )

    sections = []
    for name, same in grouped((rows_description(result), result) for result in results).items():
        paired = [bool(result.significance and result.significance.comparisons) for result in same]
        pairs = [table_of(comparison_grid(result)) if of else "" for result, of in zip(same, paired, strict=True)]
        folded = (grid and f"<details><summary>Pairs of metrics</summary>{grid}</details>" for grid in pairs)
        sections.append(Section(list(zip(map(lay_out, same), folded, strict=True)), name, pictures.get(name, ())))
    opening = ""
    if declarations is not None and results:
        judge = judge_of(headlines(results, declarations), declarations)
        grids = [*first_tables(results, declarations, sys.maxsize), *rank_agreement(results, declarations)]
        one_set = len({rows_description(result) for result in results}) == 1
        if judge and len(results) > 1 and one_set:
            grids.append(first_table([judge.result], declarations, sys.maxsize))
        opening = _filled(
            "opening.html",
            grids=grids,
            sentences=[plain(text) for text in findings(results, declarations)],
            cautions=[plain(text) for text in cautions(results)],
            panels=forest_panels(results, declarations),
            command=plain(explorer[0]),
            link=plain(explorer[1]),
        )
    return page_of(heading, sections, opening)


def rows_description(result: Result) -> str:
    """Return what a result's rows are, as text: "DATASET, SPLIT: UNITS"."""
    return f"{place_of(result.data)}: {units(result.unit)}"


def page_of(heading: str, sections: Sequence[Section], opening: str = "") -> str:
    """Return an HTML page of tables and pictures. opening: HTML shown first; the rest of the page is collapsed then."""
    from markupsafe import Markup, escape

    tables, figures, drawn = 0, 0, []
    for section in sections:
        numbered = [(grid, Markup(below), number) for number, (grid, below) in enumerate(section.tables, tables + 1)]
        tables += len(numbered)
        shown = []
        for picture in section.pictures:
            figures += 1
            caption, svg = plain(picture.caption), picture.svg[picture.svg.index("<svg") :]
            # Ids are for a whole page: those of two pictures must not meet.
            svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>f{figures}-", svg)
            svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(caption)}"', 1)
            shown.append({"caption": caption, "svg": Markup(svg)})
        drawn.append({"title": plain(section.title), "tables": numbered, "pictures": shown})
    here = resources.files("metaeval.report")
    script = here.joinpath("sorting.js").read_text(encoding="utf-8")
    allowed = b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
    return _filled(
        "page.html",
        title=plain(heading),
        sections=drawn,
        opening=Markup(opening),
        # Nothing is loaded, and the one script that runs is this one.
        policy=Markup(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"),
        script=Markup(script),
        scrolling=Markup(here.joinpath("scrolling.css").read_text(encoding="utf-8")),
    )


_WIDTH, _LINE, _HEAD = 380, 20, 44
_LONGEST = 30  # characters of a name that are shown
_ASKED = 5  # ticks of an axis, about


def forest_panels(results: Sequence[Result], declarations: Declarations) -> list[dict[str, Any]]:
    """Return the panels of a forest plot, with places in pixels, as the template draws them; empty without a value.

    The panels are the measures that show an ability, of a single result that has several, else each result's headline
    measure.
    """
    able = abilities(results[0], declarations)
    every = able if len(results) == 1 and len(able) > 1 else strips(results, declarations)
    shown = [headline for headline in every if headline.metrics]
    looks = looks_of(row.metric for result in results for row in metrics_of(result))
    colours = {name: look.colour.replace("#000000", "currentColor") for name, look in looks.items()}
    left = 12 + 7 * min(_LONGEST, max(map(len, looks), default=0))
    sets = {place_of(headline.result.data) for headline in shown}
    panels = []
    for headline in shown:
        panel = panel_of(headline, declarations)
        lines = [*([panel.control[1]] if panel.control else []), *([] if panel.chance is None else [panel.chance])]
        ticks = ticks_of([*(end for _, value, ends in panel.lines for end in (value, *(ends or ()))), *lines])

        def x(value: float, first: float = ticks[0], last: float = ticks[-1]) -> str:
            return f"{left + 10 + (value - first) / (last - first) * (_WIDTH - 30):.1f}"

        # Ticks are 1, 2 or 5 times a power of ten apart.
        digits = max(0, -math.floor(math.log10(1.5 * (ticks[1] - ticks[0]))))
        where = f" on {plain(headline.result.data.name)}" if len(sets) > 1 else ""
        panels.append(
            {
                "title": f"{headline.label}{where}{', %' if headline.column.scale == 100 else ''}",
                "control": panel.control and (_cut(panel.control[0]), x(panel.control[1])),
                "chance": "" if panel.chance is None else x(panel.chance),
                "ticks": [(x(tick), f"{tick:.{digits}f}") for tick in ticks],
                "lines": [
                    {
                        **{"name": _cut(metric), "x": x(value), "ends": ends and tuple(map(x, ends))},
                        **{"colour": colours[metric], "y": _HEAD + _LINE * number + _LINE // 2},
                    }
                    for number, (metric, value, ends) in enumerate(panel.lines)
                ],
                **{"left": left, "width": left + _WIDTH, "foot": _HEAD + _LINE * len(panel.lines)},
            }
        )
    return panels


def ticks_of(values: Sequence[float]) -> list[float]:
    """Return about `_ASKED` round numbers at equal distances; all values lie between the first and the last.

    The axis is never shorter than a tenth of its largest value, so that the labels of its ends differ.
    """
    low, high = min(values), max(values)
    rough = max((high - low) / _ASKED, 0.02 * max(abs(high), abs(low)), 1e-6)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * round_number for round_number in (1, 2, 5, 10) if power * round_number >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _cut(name: str) -> str:
    shown = plain(name)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
