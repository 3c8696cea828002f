"""The report page of results, with the figures that need nothing but results."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.errors import UserError
from metaeval.experiment.evaluation import readings_of
from metaeval.files import write_text
from metaeval.report.grid import plain
from metaeval.report.html_report import Picture, explorer_line, judged, page
from metaeval.report.measures import metrics_of
from metaeval.report.result import Result
from protocols.contract import Protocol

if TYPE_CHECKING:
    from metaeval.report.figures.drawing import Look

PAGE = "report.html"
EXPLORER = "view.html"

_log = logging.getLogger("metaeval")


def write_report(
    results: Sequence[Result],
    protocols: Mapping[str, Protocol],
    folder: Path,
    title: str = "",
    pairs: bool = False,
    bars: bool = False,
) -> Path:
    """Write the page of results into their folder; its path.

    protocols: by name. pairs: the folder is a job's, whose pairs the explorer can show. bars: with the bars that
    protocols declare, where matplotlib, which takes its time, is installed.
    """
    pictures = {}
    try:
        pictures = pictures_of(results, protocols) if bars else {}
    except UserError as error:
        _log.info("The page has no bars: %s", error)
    code = folder.name.rpartition("-")[2]
    link = EXPLORER if (folder / EXPLORER).is_file() else ""
    shown = explorer_line(f"metaeval view {code}", link) if pairs else ""
    path = folder / PAGE
    write_text(path, page(results, pictures, title, readings_of(protocols.values()), shown))
    return path


def pictures_of(results: Sequence[Result], protocols: Mapping[str, Protocol]) -> dict[str, list[Picture]]:
    """What protocols draw of results, by data set as a page names it."""
    from metaeval.report.figures.bars import measure_bars
    from metaeval.report.figures.drawing import image

    found: dict[str, list[Picture]] = {}
    looks = metric_looks(results)
    for protocol, result in drawn(results, protocols):
        ties = " Bars are expectations over the orders of tied scores." if protocol.tie_orders else ""
        drawing = image(measure_bars(result, looks), "svg").decode("utf-8")
        found.setdefault(judged(result), []).append(Picture(f"{plain(result.title)}.{ties}", drawing))
    return found


def metric_looks(results: Sequence[Result]) -> dict[str, Look]:
    """How each metric of the results looks, in all of their figures."""
    from metaeval.report.figures.drawing import looks_of

    return looks_of(row.metric for result in results for row in metrics_of(result))


def drawn(results: Sequence[Result], protocols: Mapping[str, Protocol]) -> Iterator[tuple[Protocol, Result]]:
    """The results that their protocols draw."""
    for result in results:
        protocol = protocols.get(result.protocol)
        if protocol and protocol.figure and metrics_of(result):
            yield protocol, result
