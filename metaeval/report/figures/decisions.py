"""A metric's decisions: their confusion with the human levels, and the reliability of its chances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaeval.errors import UserError
from metaeval.report.figures.drawing import COLOURS, FAINT, INK, axes, literal, styled

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
        raise UserError(f"A confusion matrix of {size} levels needs {size} rows of {size} counts.")
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


@styled()
def reliability_curve(
    predicted: Sequence[float], observed: Sequence[float], counts: Sequence[int], name: str = "", note: str = ""
) -> Figure:
    """The bins of one metric: mean prediction and observed share in each, with the pairs behind it as bars.

    predicted, observed, counts: one entry for each bin; bins without pairs are left out. note: said below the title,
    e.g. the expected calibration error. Raises `UserError` when the lengths differ or no bin holds a pair.
    """
    if not len(predicted) == len(observed) == len(counts):
        lengths = f"{len(predicted)}, {len(observed)} and {len(counts)}"
        raise UserError(f"A reliability curve needs equal numbers of predictions, shares and counts, got {lengths}.")
    bins = [entry for entry in zip(predicted, observed, counts, strict=True) if entry[2] > 0]
    if not bins:
        raise UserError("No bin holds a pair: there is no reliability curve to draw.")
    figure, plot = axes(4.2, 4.2)
    below = plot.inset_axes((0.0, 0.0, 1.0, 0.18), zorder=0.5)
    most = max(count for _, _, count in bins)
    below.bar([x for x, _, _ in bins], [count for _, _, count in bins], width=0.03, color=FAINT)
    below.set(xlim=(-0.02, 1.02), ylim=(0, most * 1.05))
    below.axis("off")
    plot.plot([0, 1], [0, 1], color="#666666", linewidth=1.0, linestyle="--", label="perfectly calibrated", zorder=1)
    plot.plot(
        *([x for x, _, _ in bins], [y for _, y, _ in bins]),
        color=COLOURS[0],
        marker="o",
        markeredgecolor=INK,
        markeredgewidth=0.5,
        linewidth=1.5,
        label="observed",
        zorder=2,
    )
    plot.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted", ylabel="observed share", aspect="equal")
    plot.legend(loc="upper left", fontsize=8, title=f"bars: pairs, at most {most:,}", title_fontsize=8)
    if name or note:
        plot.set_title("\n".join(part for part in (literal(name), literal(note)) if part), loc="left", fontsize=9)
    return figure
