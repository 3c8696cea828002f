"""Figures from results and from what was learnt beside them; the report room draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval import registry
from metaeval.experiment.suites.cost import Cost
from metaeval.files import safe_name
from metaeval.report.grid import plain
from metaeval.report.html_report import Picture
from metaeval.report.measures import Readings, headlines
from metaeval.report.multiverse import Multiverse, Outlook, by_protocol, specification
from metaeval.report.result import Result
from protocols.contract import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RATE = "pairs per second of CPU time"
_MONEY = "USD per 1,000 pairs"

# Every function raises `UserError`, with the command to type, when matplotlib is not installed.


def write_figures(results: Sequence[Result], protocols: Mapping[str, Protocol], folder: Path) -> list[Path]:
    """What their protocols (by name) draw of results, such as the base paper's figure 3; the paths."""
    from metaeval.report.charts import ndcg_bars, save_figure

    written: list[Path] = []
    for protocol, result in _drawn(results, protocols):
        stem = protocol.figure_name or f"figure-{safe_name(protocol.name)}"
        written += save_figure(ndcg_bars(result), folder / f"{stem}-{_name(result)}")
    return written


def write_forest(results: Sequence[Result], readings: Readings, folder: Path) -> list[Path]:
    """The forest plot of all results, where any metric has a value; the paths."""
    from metaeval.report.charts import save_figure
    from metaeval.report.forest import forest

    if not any(headline.metrics for headline in headlines(results, readings)):
        return []
    return save_figure(forest(results, readings), folder / "figure-forest")


def figures_of(results: Sequence[Result]) -> dict[str, Figure]:
    """What the registered protocols draw of results, by protocol and data set."""
    from metaeval.report.charts import ndcg_bars

    known = {name: registry.find("protocol", name) for name in registry.names("protocol")}
    return {f"{protocol.name}-{_name(result)}": ndcg_bars(result) for protocol, result in _drawn(results, known)}


def page_figures(results: Sequence[Result], protocols: Mapping[str, Protocol]) -> list[Picture]:
    """The same figures for an HTML page."""
    from metaeval.report.charts import image, ndcg_bars

    found = []
    for protocol, result in _drawn(results, protocols):
        ties = " Bars are expectations over the orders of tied scores." if protocol.tie_orders else ""
        caption = f"{plain(result.title)}: {plain(result.data.name)}.{ties}"
        found.append(Picture(caption, image(ndcg_bars(result), "svg").decode("utf-8")))
    return found


def forest_figure(results: Sequence[Result], readings: Readings) -> Picture:
    """The forest plot for an HTML page."""
    from metaeval.report.charts import image
    from metaeval.report.forest import forest

    caption = (
        "Headline values with their intervals. Dashed: the best control; dotted: what scores that know nothing reach."
    )
    return Picture(caption, image(forest(results, readings), "svg").decode("utf-8"))


def _drawn(results: Sequence[Result], protocols: Mapping[str, Protocol]) -> Iterator[tuple[Protocol, Result]]:
    for result in results:
        protocol = protocols.get(result.protocol)
        if protocol and protocol.figure and any(row.kind == "metric" for row in result.rows):
            yield protocol, result


def write_cost_quality(
    costs: Sequence[Cost], results: Sequence[Result], protocols: Mapping[str, Protocol], folder: Path
) -> list[Path]:
    """For each result, its headline measure against what the metrics cost: speed, and money where any is paid."""
    from metaeval.report.charts import CostPoint, cost_quality, save_figure

    written: list[Path] = []
    axes = {
        _RATE: {cost.metric: cost.pairs_per_second for cost in costs},
        _MONEY: {cost.metric: cost.usd_per_1000 for cost in costs},
    }
    for result in results:
        key = protocols[result.protocol].ranked_by([column.key for column in result.columns])
        column = next(one for one in result.columns if one.key == key)
        for axis, known in axes.items():
            points = []
            for row in result.rows:
                cost, found = known.get(row.metric), row.values[column.key]
                if cost and found.value is not None:
                    low, high = (None if end is None else end * column.scale for end in (found.low, found.high))
                    points.append(CostPoint(row.metric, cost, found.value * column.scale, low, high))
            if points:
                kind = "speed" if axis == _RATE else "money"
                stem = folder / f"cost-quality-{kind}-{result.protocol}-{_name(result)}"
                written += save_figure(cost_quality(points, axis, column.label), stem)
    return written


def write_rank_stability(found: Multiverse, folder: Path) -> list[Path]:
    """How far each metric's rank moves, one figure for each protocol; specifications that rank all metrics."""
    from metaeval.report.charts import rank_stability, save_figure

    written: list[Path] = []
    for protocol, outlooks in by_protocol(found.outlooks):
        if ranks := _ranks(outlooks):
            figure = rank_stability(ranks, f"{found.dataset}, {found.split}: {outlooks[0].measure}")
            written += save_figure(figure, folder / f"rank-stability-{protocol}")
    return written


def _ranks(outlooks: Sequence[Outlook]) -> dict[str, list[float]]:
    metrics = list(dict.fromkeys(outlook.metric for outlook in outlooks))
    found = {(specification(one), one.metric): one.rank for one in outlooks}
    whole = [
        key
        for key in dict.fromkeys(specification(one) for one in outlooks)
        if all(found.get((key, metric)) is not None for metric in metrics)
    ]
    return {metric: [float(found[key, metric] or 0) for key in whole] for metric in metrics} if whole else {}


def _name(result: Result) -> str:
    return safe_name("-".join((result.data.name, result.data.split, result.unit)))
