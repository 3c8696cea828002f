"""The forest plot: every metric's headline values with their intervals, beside the best control and chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaeval.errors import UserError
from metaeval.report.charts import COLOURS, FAINT, INK, MARKERS, literal, panels, styled, wrapped
from metaeval.report.findings import best_control
from metaeval.report.measures import Headline, Readings, headlines, metrics_of
from metaeval.report.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled()
def forest(results: Sequence[Result], readings: Readings) -> Figure:
    """One panel for each result, a line for each metric, in one order and one colour and mark a metric throughout.

    Lines are the results' intervals. The dashed line is the best control, the dotted one what a score that knows
    nothing reaches, where that is known beforehand. Raises `UserError` for results without a value to draw.
    """
    shown = [one for one in headlines(results, readings) if one.metrics]
    if not shown:
        raise UserError("There is no value to draw: no metric has one.")
    names = list(dict.fromkeys(row.metric for one in shown for row in metrics_of(one.result)))
    several = len({one.result.data.name for one in shown}) > 1
    figure, plots = panels(min(len(shown), 3), -(-len(shown) // 3), 7.0, 0.9 + 0.24 * len(names))
    for number, plot in enumerate(plots):
        if number >= len(shown):
            plot.set_visible(False)
            continue
        one = shown[number]
        _lines(plot, one, readings)
        for row in one.metrics:
            _metric(plot, one, row.metric, names.index(row.metric))
        plot.set_yticks(range(len(names)), [wrapped(name) for name in names] if number % 3 == 0 else [""] * len(names))
        plot.set_ylim(len(names) - 0.5, -0.5)
        plot.tick_params(axis="y", length=0)
        plot.set_xlabel(literal(one.column.label) + (f" ({literal(one.result.data.name)})" if several else ""))
    return figure


def _metric(plot: Axes, one: Headline, name: str, place: int) -> None:
    row = next(row for row in one.metrics if row.metric == name)
    value, scale = one.value(row), one.column.scale
    colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
    if value.low is not None and value.high is not None:
        plot.plot([value.low * scale, value.high * scale], [place, place], color=colour, linewidth=1.6)
    plot.plot([(value.value or 0.0) * scale], [place], color=colour, marker=marker, markersize=5)


def _lines(plot: Axes, one: Headline, readings: Readings) -> None:
    chance = readings.of(one.result).chance.get(one.column.key)
    if chance is not None:
        plot.axvline(chance * one.column.scale, color=FAINT, linewidth=1.0, linestyle=(0, (1, 2)))
    if best := best_control(one, readings.aside):
        value = (one.value(best).value or 0.0) * one.column.scale
        plot.axvline(value, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        plot.set_title(literal(f"- - {best.metric}"), fontsize=7.5, color=INK)
