"""The figure of how far each metric's rank moves with choices that are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from metaeval.core.errors import UserError
from metaeval.report.figures.drawing import COLOURS, FAINT, INK, axes, styled, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
