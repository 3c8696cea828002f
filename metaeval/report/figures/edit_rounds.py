"""Lines: the measures of citation pipelines after each round of edits, for every system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaeval.report.figures.bars import SystemBar
from metaeval.report.figures.drawing import literal, looks_of, panels, styled
from metaeval.report.result import Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = 3


@styled()
def round_lines(bars: Sequence[SystemBar], columns: Sequence[Column], level: float) -> Figure:
    """Return a panel for each measure: its value after each round of edits, a line for each system.

    bars: one for each system, round and measure. columns: how measures are printed. level: confidence level of the
    intervals, which are whiskers.
    """
    systems = list(dict.fromkeys(bar.system for bar in bars))
    looks = looks_of(systems)
    figure, plots = panels(len(columns), min(len(columns), _PANELS), 7.0, 2.6)
    for plot, column in zip(plots, columns, strict=True):
        for number, system in enumerate(systems):
            points = sorted(
                (bar for bar in bars if (bar.system, bar.measure) == (system, column.key)),
                key=lambda bar: bar.round or 0,
            )
            # Systems stand side by side, so that their whiskers do not hide each other.
            places = [(bar.round or 0) + 0.06 * (number - (len(systems) - 1) / 2) for bar in points]
            look = looks[system]
            heights = [bar.value * column.scale for bar in points]
            plot.plot(places, heights, color=look.colour, marker=look.marker, markersize=5, label=literal(system))
            for place, bar in zip(places, points, strict=True):
                if bar.low is not None and bar.high is not None:
                    ends = [bar.low * column.scale, bar.high * column.scale]
                    plot.plot([place, place], ends, color=look.colour, linewidth=1.0)
        plot.set_xticks(sorted({bar.round or 0 for bar in bars}))
        plot.set_xlabel("rounds of edits")
        plot.set_ylabel(literal(column.label))
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    figure.supxlabel(f"upright lines: {100 * level:g} % intervals", fontsize=7.5)
    return figure
