"""Bars: a protocol's measures for every metric, those of citation pipelines for every system, and shares of wholes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from metaeval.core.errors import UserError
from metaeval.report.figures.drawing import COLOURS, INK, Look, literal, looks_of, panels, stack, styled
from metaeval.report.result import Result
from metaeval.report.table import value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURES = 4
_LINES = ((0, (4, 2)), (0, (1, 2)), (0, (6, 2, 1, 2)), (0, ()), (0, (8, 3)))  # dashes: points on, points off
_SHOWN = ("random", "constant", "overlap", "support-mini", "chunk position")


@styled()
def measure_bars(result: Result, looks: Mapping[str, Look] | None = None) -> Figure:
    """Return a figure of a protocol's first four measures: a panel for each measure, a bar for every metric.

    Whiskers are intervals. A tick to either side of a bar's end marks the worst and the best order of tied scores;
    the bar is their expectation. Vertical lines are the main controls (`_SHOWN`), at most five. looks: colour and
    marker of each metric (default: by its position). Raises `UserError` for a result without metrics.
    """
    from matplotlib.lines import Line2D

    metrics = [row for row in result.rows if row.kind == "metric"]
    if not metrics:
        where = f"{result.protocol} result of {result.data.name!r}"
        raise UserError(f"The {where} has no metric to draw: choose a result that has one.")
    looks = looks or looks_of(row.metric for row in metrics)
    columns = result.columns[:_MEASURES]
    controls = [name for name in _SHOWN if any(row.kind == "control" and row.metric == name for row in result.rows)]
    lines = dict(zip(controls, _LINES, strict=False))
    # Names lie flat below each other: they never meet, however many and long they are.
    figure, plots = panels(len(columns), len(columns), 7.0, 1.4 + 0.36 * len(metrics))
    for number, (plot, column) in enumerate(zip(plots, columns, strict=True)):
        for row in result.rows:
            at = value_of(row, column).value
            if row.kind == "control" and row.metric in lines and at is not None:
                style = lines[row.metric]
                plot.axvline(at * column.scale, color="#666666", linewidth=1.0, linestyle=style, zorder=0)
        for place, row in enumerate(metrics):
            value, colour = value_of(row, column), looks[row.metric].colour
            if value.value is None:
                continue
            plot.barh(place, value.value * column.scale, height=0.62, color=colour, edgecolor=INK, linewidth=0.5)
            for end in value.ties if value.ties is not None and value.ties[0] != value.ties[1] else ():
                # The same light edge as under the whiskers, which keeps marks visible on a dark bar.
                mark = partial(plot.plot, end * column.scale, place, marker="|")
                mark(color="white", markersize=8.5, markeredgewidth=3, zorder=4)
                mark(color=INK, markersize=7, markeredgewidth=1.5, zorder=4.1)
            _whisker(plot, value.low, value.high, column.scale, place)
        stack(plot, [row.metric for row in metrics], shown=number == 0)
        plot.set_xlim(left=min(0.0, plot.get_xlim()[0]))
        plot.set_xlabel(literal(column.label))
    handles = [
        Line2D([], [], color="#666666", linewidth=1.0, linestyle=style, label=literal(name))
        for name, style in lines.items()
    ]
    if any(value_of(row, column).ties for row in metrics for column in columns):
        label = "ties in the worst and best order"
        tick = Line2D([], [], color=INK, marker="|", linestyle="", markersize=6, markeredgewidth=1.4, label=label)
        handles.append(tick)
    if handles:
        figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    level = f"{100 * result.interval.level:g} % intervals"
    figure.supxlabel(f"{literal(result.title)} ({literal(result.data.name)}, {level})", fontsize=8)
    return figure


def _whisker(plot: Axes, low: float | None, high: float | None, scale: float, place: float) -> None:
    if low is not None and high is not None:
        for colour, width, layer in (("white", 2.4, 3), (INK, 1.0, 3.5)):
            ends = [low * scale, high * scale]
            plot.plot(ends, [place, place], color=colour, linewidth=width, solid_capstyle="butt", zorder=layer)


_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
_PANELS = 3


@styled()
def system_bars(bars: Sequence[Mapping[str, Any]], level: float) -> Figure:
    """Return a panel for each measure: the systems down, and for each system a bar for each judge.

    bars: records of tables (system, judge, measure, value, low, high), whose values are drawn as they are. level:
    confidence level of the intervals. Raises `UserError` without bars.
    """
    from matplotlib.patches import Patch

    if not bars:
        raise UserError("A figure of systems needs at least one system with a value, and no system has one.")
    systems, judges, measures = (
        list(dict.fromkeys(bar[key] for bar in bars)) for key in ("system", "judge", "measure")
    )
    looks = {name: (COLOURS[n % len(COLOURS)], _HATCHES[n % len(_HATCHES)]) for n, name in enumerate(judges)}
    across, height = min(len(measures), _PANELS), 0.8 / len(judges)
    figure, plots = panels(len(measures), across, 7.0, 1.1 + len(systems) * (0.16 * len(judges) + 0.2))
    for number, (plot, measure) in enumerate(zip(plots, measures, strict=True)):
        for bar in (bar for bar in bars if bar["measure"] == measure):
            y = systems.index(bar["system"]) - 0.4 + height * (judges.index(bar["judge"]) + 0.5)
            colour, hatch = looks[bar["judge"]]
            plot.barh(y, bar["value"], height=0.9 * height, color=colour, edgecolor="white", hatch=hatch)
            plot.barh(y, bar["value"], height=0.9 * height, fill=False, edgecolor=INK, linewidth=0.5)
            _whisker(plot, bar["low"], bar["high"], 1, y)
        stack(plot, systems, shown=number % _PANELS == 0)
        plot.set_xlim(left=min(0.0, plot.get_xlim()[0]))
        plot.set_xlabel(literal(measure.replace("_", " ")))
    handles = [
        Patch(facecolor=colour, edgecolor="white", hatch=hatch, label=literal(name))
        for name, (colour, hatch) in looks.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    figure.supxlabel(f"lines: {100 * level:g} % intervals", fontsize=7.5)
    return figure
