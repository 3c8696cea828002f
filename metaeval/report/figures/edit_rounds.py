"""Lines: the measures of citation pipelines after each round of edits, for every system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metaeval.report.figures.drawing import literal, looks_of, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = 3


@styled()
def round_lines(bars: Sequence[Mapping[str, Any]], level: float) -> Figure:
    """Return a panel for each measure: its value after each round of edits, a line for each system.

    bars: records of tables (system, measure, value, low, high, round). level: confidence level of the intervals, which
    are whiskers.
    """
    systems, measures = (list(dict.fromkeys(bar[key] for bar in bars)) for key in ("system", "measure"))
    looks = looks_of(systems)
    figure, plots = panels(len(measures), min(len(measures), _PANELS), 7.0, 2.6)
    for plot, measure in zip(plots, measures, strict=True):
        for number, system in enumerate(systems):
            points = [bar for bar in bars if (bar["system"], bar["measure"]) == (system, measure)]
            points.sort(key=lambda bar: bar["round"])
            # Systems stand side by side, so that their whiskers do not hide each other.
            places = [bar["round"] + 0.06 * (number - (len(systems) - 1) / 2) for bar in points]
            look, heights = looks[system], [bar["value"] for bar in points]
            plot.plot(places, heights, color=look.colour, marker=look.marker, markersize=5, label=literal(system))
            for place, bar in zip(places, points, strict=True):
                if bar["low"] is not None and bar["high"] is not None:
                    plot.plot([place, place], [bar["low"], bar["high"]], color=look.colour, linewidth=1.0)
        plot.set_xticks(sorted({bar["round"] for bar in bars}))
        plot.set_xlabel("rounds of edits")
        plot.set_ylabel(literal(measure.replace("_", " ")))
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    figure.supxlabel(f"upright lines: {100 * level:g} % intervals", fontsize=7.5)
    return figure
