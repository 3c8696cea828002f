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
from metaeval.report.measures import Readings, headlines, metrics_of
from metaeval.report.result import Result
from protocols.contract import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.report.figures.drawing import Look

PAGE = "report.html"
EXPLORER = "view.html"

_log = logging.getLogger("metaeval")


def write_report(
    results: Sequence[Result], protocols: Mapping[str, Protocol], folder: Path, title: str = "", pairs: bool = False
) -> Path:
    """Write the page of results into their folder, without figures where matplotlib is not installed; its path.

    protocols: by name. pairs: the folder is a job's, whose pairs the explorer can show.
    """
    readings = readings_of(protocols.values())
    forest, pictures = None, {}
    try:
        if any(one.metrics for one in headlines(results, readings)):
            forest = _forest(results, readings)
        pictures = pictures_of(results, protocols)
    except UserError as error:
        _log.info("The page has no figures: %s", error)
    code = folder.name.rpartition("-")[2]
    link = EXPLORER if (folder / EXPLORER).is_file() else ""
    shown = explorer_line(f"metaeval view {code}", link) if pairs else ""
    path = folder / PAGE
    write_text(path, page(results, pictures, title, readings, forest, shown))
    return path


def pictures_of(results: Sequence[Result], protocols: Mapping[str, Protocol]) -> dict[str, list[Picture]]:
    """What protocols draw of results, by data set as a page names it."""
    from metaeval.report.figures.bars import measure_bars

    found: dict[str, list[Picture]] = {}
    looks = metric_looks(results)
    for protocol, result in drawn(results, protocols):
        ties = " Bars are expectations over the orders of tied scores." if protocol.tie_orders else ""
        picture = _picture(f"{plain(result.title)}.{ties}", measure_bars(result, looks))
        found.setdefault(judged(result), []).append(picture)
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


def _forest(results: Sequence[Result], readings: Readings) -> Picture:
    from metaeval.report.figures.forest import forest

    caption = "Headline values with their intervals, the best control of each, and what scores that know nothing reach."
    return _picture(caption, forest(results, readings, metric_looks(results)))


def _picture(caption: str, figure: Figure) -> Picture:
    from metaeval.report.figures.drawing import image

    return Picture(caption, image(figure, "svg").decode("utf-8"))
