"""Figures from results and from what was learnt beside them; the report room draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval import registry
from metaeval.experiment.evaluation import readings_of
from metaeval.experiment.report_page import drawn, metric_looks
from metaeval.experiment.suites.cost import Cost
from metaeval.files import safe_name
from metaeval.report.measures import headlines
from metaeval.report.multiverse import Multiverse, Outlook, by_protocol, specification
from metaeval.report.result import Result
from protocols.contract import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RATE = "pairs per second of CPU time"
_MONEY = "USD per 1,000 pairs"

# Every function raises `UserError`, with the command to type, when matplotlib is not installed.


def figures_of(results: Sequence[Result], protocols: Mapping[str, Protocol] | None = None) -> dict[str, Figure]:
    """Figures by the names of their files. protocols: by name; None: those that are registered."""
    from metaeval.report.figures.bars import measure_bars
    from metaeval.report.figures.forest import ability_forest, forest, has_abilities

    known = protocols or {name: registry.find("protocol", name) for name in registry.names("protocol")}
    readings, looks = readings_of(known.values()), metric_looks(results)
    found: dict[str, Figure] = {}
    if any(headline.metrics for headline in headlines(results, readings)):
        found["figure-forest"] = forest(results, readings, looks)
    for result in results:
        if has_abilities(result, readings):
            found[f"figure-forest-{safe_name(result.protocol)}-{_name(result)}"] = ability_forest(
                result, readings, looks
            )
    for protocol, result in drawn(results, known):
        stem = protocol.figure_name or f"figure-{safe_name(protocol.name)}"
        found[f"{stem}-{_name(result)}"] = measure_bars(result, looks)
    return found


def write_cost_quality(
    costs: Sequence[Cost], results: Sequence[Result], protocols: Mapping[str, Protocol], folder: Path
) -> list[Path]:
    """For each result, its headline measure against what the metrics cost: speed, and money where any is paid."""
    from metaeval.report.figures.cost import CostPoint, cost_quality
    from metaeval.report.figures.drawing import save_figure

    written: list[Path] = []
    looks = metric_looks(results)
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
                written += save_figure(cost_quality(points, axis, column.label, looks), stem)
    return written


def write_rank_stability(found: Multiverse, folder: Path) -> list[Path]:
    """How far each metric's rank moves, one figure for each protocol; specifications that rank all metrics."""
    from metaeval.report.figures.cost import rank_stability
    from metaeval.report.figures.drawing import save_figure

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
