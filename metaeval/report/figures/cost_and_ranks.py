"""Figures of a suite: cost against quality, and how far each metric's rank moves with choices that are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from metaeval.errors import UserError
from metaeval.report.figures.drawing import COLOURS, FAINT, INK, Look, axes, literal, looks_of, styled, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ROW = 0.19

# Places of a number, in widths and heights of the gap from its mark; the nearest sides first.
_SIDES = (
    *((1.0, 0.3), (-1.0, 0.3), (1.0, -0.6), (-1.0, -0.6), (1.0, 1.2), (-1.0, 1.2)),
    *((2.2, 0.0), (-2.2, 0.0), (0.0, 2.5)),
)

_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class CostPoint:
    """A point of a cost plot: a metric, its cost (pairs per second, or USD per 1,000 pairs), value and interval."""

    name: str
    cost: float
    value: float
    low: float | None = None
    high: float | None = None


@styled()
def cost_quality(
    points: Sequence[CostPoint], cost: str, measure: str, looks: Mapping[str, Look] | None = None
) -> Figure:
    """Plot each metric's value against its cost on a log axis; numbers beside the points refer to a key of names.

    cost, measure: the axes' names. looks: colour and marker of each metric (default: by its position). Raises
    `UserError` for a cost that is not finite and above 0, or no points.
    """
    if not points:
        raise UserError("A figure of cost against quality needs at least one metric.")
    for point in points:
        if not 0 < point.cost < float("inf"):
            raise UserError(f"The metric {point.name} costs {point.cost}: a log axis shows costs above 0 only.")
    figure, plot = axes(7.0, max(3.6, 1.0 + _ROW * len(points)))
    ranked = sorted(points, key=lambda point: (-point.value, point.name))
    looks = looks or looks_of(point.name for point in points)
    for number, point in enumerate(ranked):
        colour, marker, _ = looks[point.name]
        if point.low is not None and point.high is not None:
            plot.plot([point.cost] * 2, [point.low, point.high], color=colour, linewidth=1.2, zorder=1)
        label = f"{number + 1}  {literal(point.name)}"
        plot.plot([point.cost], [point.value], color=colour, marker=marker, markersize=8, label=label, zorder=2)
        plot.lines[-1].set(linestyle="", markeredgecolor=INK, markeredgewidth=0.5)
    plot.set_xscale("log")
    plot.margins(x=0.12, y=0.1)
    plot.set_xlabel(literal(cost))
    plot.set_ylabel(literal(measure))
    plot.grid(color="#E5E5E5", linewidth=0.6)
    plot.set_axisbelow(True)
    figure.legend(loc="outside right upper", fontsize=8)
    _number(figure, plot, ranked)
    return figure


def _number(figure: Figure, plot: Axes, points: Sequence[CostPoint]) -> None:
    """Write each point's number (from 1) beside it, where it overlaps no point, whisker or other number if possible."""
    figure.draw_without_rendering()
    scale = 72 / figure.dpi
    spots = [tuple(scale * plot.transData.transform((point.cost, point.value))) for point in points]
    taken = [_box(x, y, 5.0, 5.0) for x, y in spots]
    for point in points:
        if point.low is not None and point.high is not None:
            ends = scale * plot.transData.transform([(point.cost, point.low), (point.cost, point.high)])
            taken.append((ends[0][0] - 1, ends[0][1], ends[1][0] + 1, ends[1][1]))
    for number, (x, y) in enumerate(spots, start=1):
        half = 3.0 * len(str(number))
        boxes = [(side, _box(x + side[0] * (6 + half), y + side[1] * 10, half, 4.5)) for side in _SIDES]
        side, box = next(
            (candidate for candidate in boxes if not any(_meet(candidate[1], other) for other in taken)), boxes[0]
        )
        taken.append(box)
        offset = (side[0] * (6 + half), side[1] * 10)
        at = points[number - 1].cost, points[number - 1].value
        plot.annotate(
            str(number), at, offset, textcoords="offset points", ha="center", va="center", fontsize=8, zorder=3
        )


def _box(x: float, y: float, width: float, height: float) -> _Box:
    return x - width, y - height, x + width, y + height


def _meet(first: _Box, other: _Box) -> bool:
    return first[0] < other[2] and other[0] < first[2] and first[1] < other[3] and other[1] < first[3]


@styled()
def rank_stability(ranks: Mapping[str, Sequence[float]], title: str = "") -> Figure:
    """Return a row of discs for each metric: the area is the share of specifications that give it that rank.

    ranks: metric -> its rank under each specification, 1 the best (tied ranks may be halves), in one order for all.
    The metrics are drawn by median rank, which a ring marks. Raises `UserError` when the lengths differ.
    """
    from matplotlib.ticker import MaxNLocator

    lengths = {len(values) for values in ranks.values()}
    if len(lengths) != 1 or 0 in lengths:
        raise UserError(f"Each metric needs a rank under every specification; numbers of ranks: {sorted(lengths)}.")
    count = lengths.pop()
    order = sorted(ranks, key=lambda name: (median(ranks[name]), sum(ranks[name]), name))
    last = max(max(values) for values in ranks.values())
    figure, plot = axes(7.0, 1.1 + 0.34 * len(order))
    for place, name in enumerate(order):
        shares = Counter(ranks[name])
        values = sorted(shares)
        sizes = [260.0 * shares[value] / count for value in values]
        plot.plot([values[0], values[-1]], [place, place], color=FAINT, linewidth=1.0, zorder=1)
        plot.scatter(values, [place] * len(values), s=sizes, color=COLOURS[0], zorder=2)
        plot.scatter([median(ranks[name])], [place], s=300.0, facecolor="none", edgecolor=INK, linewidth=1.0, zorder=3)
    plot.set_yticks(range(len(order)), [wrapped(name) for name in order])
    plot.set_ylim(len(order) - 0.4, -0.6)
    plot.set_xlim(0.4, max(last, len(order)) + 0.6)
    plot.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    plot.tick_params(axis="y", length=0)
    plot.set_xlabel(f"rank over {count:,} specifications (area: share of them; ring: median)")
    if title:
        plot.set_title(wrapped(title, 70), loc="left", fontsize=9)
    return figure
