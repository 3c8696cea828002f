"""Figure 3 of the paper: a group of bars for each metric, with what the order of ties could have made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from metaeval.errors import UserError
from metaeval.report.figures.canvas import INK, axes, styled
from metaeval.report.figures.wording import wrapped
from metaeval.report.number_format import plain, value_of
from metaeval.report.result import Column, Result, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FILLS = ("#0B3C5D", "#328CC1", "#A9D6E5", "#DCEAF2")
_LINES: tuple[Literal["--", ":", "-.", "-"], ...] = ("--", ":", "-.", "-")
_SHOWN = ("random", "constant", "lexical overlap", "chunk position")
_BAND = 0.8
_TIES = "#D55E00"


@styled()
def ndcg_bars(result: Result) -> Figure:
    """Bars of every shown measure for every metric, in the table's order; whiskers are intervals.

    A tick to either side of a bar marks the worst and the best order of tied scores; the bar is their expectation.
    Vertical lines are controls under the first measure. Raises `UserError` for a result without metrics.
    """
    metrics = [row for row in result.rows if row.kind == "metric"]
    if not metrics:
        raise UserError(f"The {result.protocol} result of {result.data.name!r} has no metric to draw.")
    columns = result.columns[: len(_FILLS)]
    # Names lie flat below each other: they never meet, however many and long they are.
    figure, plot = axes(7.0, 1.3 + len(metrics) * (0.17 * len(columns) + 0.12))
    for place, row in enumerate(metrics):
        for number, column in enumerate(columns):
            _bar(plot, row, column, place, number, len(columns))
    handles = [_patch(fill, plain(column.label)) for fill, column in zip(_FILLS, columns, strict=False)]
    handles += _controls(plot, result, columns[0])
    if any(value_of(row, column).ties for row in metrics for column in columns):
        handles.append(_tie_mark())
    plot.set_yticks(range(len(metrics)), [wrapped(row.metric) for row in metrics])
    plot.set_ylim(len(metrics) - 0.5, -0.5)
    plot.set_xlim(left=min(0.0, plot.get_xlim()[0]))
    plot.tick_params(axis="y", length=0)
    plot.set_xlabel(f"{plain(result.title)} ({plain(result.data.name)}, {100 * result.interval.level:g} % intervals)")
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    return figure


def _bar(plot: Axes, row: Row, column: Column, place: int, number: int, of: int) -> None:
    value = value_of(row, column)
    if value.value is None:
        return
    height = _BAND / of
    y = place - _BAND / 2 + height * (number + 0.5)
    plot.barh(y, value.value * column.scale, height=0.92 * height, color=_FILLS[number], edgecolor=INK, linewidth=0.5)
    if value.ties is not None and value.ties[0] != value.ties[1]:
        for end in value.ties:
            # The same light edge as under the whiskers, which keeps marks visible on a dark bar.
            plot.plot(end * column.scale, y, marker="|", color="white", markersize=6.5, markeredgewidth=3.2, zorder=4)
            plot.plot(end * column.scale, y, marker="|", color=_TIES, markersize=5, markeredgewidth=1.5, zorder=4.1)
    if value.low is not None and value.high is not None:
        ends = [value.low * column.scale, value.high * column.scale]
        plot.plot(ends, [y, y], color="white", linewidth=2.2, solid_capstyle="butt", zorder=3)
        plot.plot(ends, [y, y], color=INK, linewidth=1.0, solid_capstyle="butt", zorder=3.5)


def _controls(plot: Axes, result: Result, column: Column) -> list[object]:
    from matplotlib.lines import Line2D

    found = [row for row in result.rows if row.kind == "control" and row.metric in _SHOWN]
    handles: list[object] = []
    for row in sorted(found, key=lambda row: _SHOWN.index(row.metric)):
        value = value_of(row, column).value
        if value is not None:
            style = _LINES[len(handles) % len(_LINES)]
            plot.axvline(value * column.scale, color="#666666", linewidth=1.0, linestyle=style, zorder=0)
            label = f"{row.metric}, {plain(column.label)}"
            handles.append(Line2D([], [], color="#666666", linewidth=1.0, linestyle=style, label=label))
    return handles


def _patch(fill: str, label: str) -> object:
    from matplotlib.patches import Patch

    return Patch(facecolor=fill, edgecolor=INK, linewidth=0.5, label=label)


def _tie_mark() -> object:
    from matplotlib.lines import Line2D

    label = "ties in the worst and best order"
    return Line2D([], [], color=_TIES, marker="|", linestyle="", markersize=6, markeredgewidth=1.4, label=label)
