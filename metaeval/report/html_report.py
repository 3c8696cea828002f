"""A report as one HTML page: every table of a run and its figures, readable anywhere, with no script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from metaeval.files import write_text
from metaeval.report.cells import lay_out
from metaeval.report.comparisons import comparison_grid
from metaeval.report.grid import Grid
from metaeval.report.html_table import table_of
from metaeval.report.number_format import plain
from metaeval.report.result import Result
from metaeval.report.style import STYLE


@dataclass(frozen=True)
class Picture:
    """A figure for a page: what it shows, in words, and its SVG text."""

    caption: str
    svg: str


def page(results: Sequence[Result], pictures: Sequence[Picture] = (), title: str = "") -> str:
    """The page's text. Its bytes follow from the results and pictures alone."""
    heading = plain(title) or _title(results)
    grids = [lay_out(result) for result in results]
    contents = "".join(f'<li><a href="#t{n}">{escape(_name(grid))}</a></li>' for n, grid in enumerate(grids, start=1))
    sections = [
        f'<section id="t{number}">\n<h2>{escape(grid.title)}</h2>\n'
        f"{table_of(grid, titled=False)}\n{_pairs(result)}</section>"
        for number, (grid, result) in enumerate(zip(grids, results, strict=True), start=1)
    ]
    drawn = [_figure(picture, number) for number, picture in enumerate(pictures, start=1)]
    figures = [f'<section id="figures"><h2>Figures</h2>{"".join(drawn)}</section>'] if drawn else []
    more = '<li><a href="#figures">Figures</a></li>' if drawn else ""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(heading)}</title>",
            f"<style>{STYLE}</style></head>",
            f"<body><h1>{escape(heading)}</h1>",
            f"<nav><ul>{contents}{more}</ul></nav>",
            "<main>",
            *sections,
            *figures,
            "</main></body></html>",
            "",
        ]
    )


def write_page(results: Sequence[Result], path: Path, pictures: Sequence[Picture] = (), title: str = "") -> Path:
    """Write the page and return its path."""
    write_text(path, page(results, pictures, title))
    return path


def _title(results: Sequence[Result]) -> str:
    names = dict.fromkeys(plain(result.data.name) for result in results)
    return f"Metrics against human judgement: {', '.join(names)}" if names else "Metrics against human judgement"


def _name(grid: Grid) -> str:
    return f"{grid.title} ({grid.subtitle})"


def _pairs(result: Result) -> str:
    """The pairs of metrics, folded away: few readers want them all."""
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
