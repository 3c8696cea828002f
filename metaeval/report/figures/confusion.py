"""A confusion matrix as a heat map, with the counts and the shares of each human level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaeval.errors import UserError
from metaeval.report.figures.canvas import axes, styled
from metaeval.report.figures.wording import literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DARK = 0.55


@styled()
def confusion_map(counts: Sequence[Sequence[int]], levels: Sequence[str], name: str = "") -> Figure:
    """Rows are human levels, columns the metric's decisions; a cell is as dark as its share of the row.

    counts: a square of numbers of pairs; levels: the names of both sides. Raises `UserError` for another shape.
    """
    size = len(levels)
    if size == 0 or len(counts) != size or any(len(row) != size for row in counts):
        raise UserError(f"A confusion matrix of {size} levels takes {size} rows of {size} counts.")
    shares = [[count / total if (total := sum(row)) else 0.0 for count in row] for row in counts]
    figure, plot = axes(1.6 + 1.05 * size, 1.2 + 0.9 * size)
    plot.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for y, row in enumerate(counts):
        for x, count in enumerate(row):
            shade = shares[y][x]
            text = f"{count:,}\n{100 * shade:.1f} %" if sum(row) else "0"
            plot.text(x, y, text, ha="center", va="center", color="white" if shade > _DARK else "black")
    labels = [literal(level) for level in levels]
    plot.set_xticks(range(size), labels)
    plot.set_yticks(range(size), labels)
    plot.tick_params(length=0)
    plot.spines[:].set_visible(False)
    plot.set(xlabel="metric", ylabel="human level")
    if name:
        plot.set_title(literal(name), loc="left", fontsize=9)
    return figure
