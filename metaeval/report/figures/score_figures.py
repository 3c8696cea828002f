"""Figures of single scores: ROC curves, distributions by level, how often scores are right, and decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaeval.core.errors import UserError
from metaeval.report.figures.drawing import COLOURS, FAINT, INK, Look, axes, literal, panels, styled, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ACROSS = 3
# A level is a colour, a dash and a mark; marks are those of the explorer: a square, a triangle, a ring.
_LEVELS = (Look(COLOURS[0], "s", (0, ())), Look(COLOURS[1], "^", (0, (5, 2))), Look(INK, "o", (0, (1, 1.5))))


@dataclass(frozen=True)
class Curve:
    """One metric's ROC curve.

    x, y: false and true positive rates. point: the rates at the metric's threshold, if it has one.
    """

    metric: str
    x: Sequence[float]
    y: Sequence[float]
    point: tuple[float, float] | None = None


@dataclass(frozen=True)
class Histogram:
    """A histogram of one level's scores: shares of rows in bins of equal width between `edges`; middle: the median."""

    level: str
    edges: Sequence[float]
    shares: Sequence[float]
    middle: float


@dataclass(frozen=True)
class Bins:
    """A metric's reliability bins, of equal width from 0 to 1. stated: mean score; observed: mean outcome of each.

    outcome: what is observed, in words. rows: number of rows of each bin; the means of an empty one are not drawn.
    """

    outcome: str
    stated: Sequence[float]
    observed: Sequence[float]
    rows: Sequence[int]


@styled()
def roc_curves(curves: Mapping[str, Sequence[Curve]], looks: Mapping[str, Look], title: str = "") -> Figure:
    """Draw ROC curves, a panel for each pair of levels, a curve for each metric; a marker is the metric's threshold.

    curves: by the pair of levels ("full from none"). looks: colour and marker of each metric. Raises `UserError`
    where there is no curve.
    """
    shown = {name: of_pair for name, of_pair in curves.items() if of_pair}
    if not shown:
        raise UserError("A ROC curve needs scored rows of two levels.")
    names = list(dict.fromkeys(curve.metric for of_pair in shown.values() for curve in of_pair))
    rows = -(-len(names) // _ACROSS)
    figure, plots = panels(len(shown), len(shown), 7.0 * len(shown) / 3 if len(shown) > 1 else 3.4, 3.2 + 0.17 * rows)
    for number, (plot, (name, of_pair)) in enumerate(zip(plots, shown.items(), strict=True)):
        plot.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
        for curve in of_pair:
            look = looks[curve.metric]
            plot.plot(curve.x, curve.y, color=look.colour, linestyle=look.dash, linewidth=1.3)
            if curve.point:
                plot.plot(*([value] for value in curve.point), color=look.colour, marker=look.marker, markersize=6)
                plot.lines[-1].set(markeredgecolor=INK, markeredgewidth=0.6, zorder=3)
        plot.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), box_aspect=1, xlabel="false positive rate")
        if number == 0:
            plot.set_ylabel("true positive rate")
        plot.set_title(literal(name), loc="left", fontsize=8.5)
    marked = any(curve.point for of_pair in shown.values() for curve in of_pair)
    note = "marks: the metric's own threshold; " if marked else ""
    _legend(figure, {name: looks[name] for name in names}, marked, f"{note}grey: chance", title)
    return figure


@styled()
def score_distributions(histograms: Mapping[str, Sequence[Histogram]], title: str = "") -> Figure:
    """Draw score distributions, a panel for each metric, a step line for each level; markers above are medians.

    histograms: by metric; at most three levels. Raises `UserError` without histograms.
    """
    if not histograms:
        raise UserError("A figure of distributions needs scores, and no metric has any.")
    levels = list(dict.fromkeys(histogram.level for of_metric in histograms.values() for histogram in of_metric))
    looks = dict(zip(levels, _LEVELS, strict=False))
    figure, plots = _small_multiples(list(histograms), 1.75, "rows of the level, %")
    for plot, of_metric in zip(plots, histograms.values(), strict=True):
        top = max((100 * share for histogram in of_metric for share in histogram.shares), default=1.0)
        for place, histogram in enumerate(of_metric):
            look = looks[histogram.level]
            heights = [100 * share for share in histogram.shares]
            plot.stairs(heights, histogram.edges, color=look.colour, linestyle=look.dash, linewidth=1.4)
            at = top * (1.08 + 0.12 * (len(of_metric) - 1 - place))
            plot.plot([histogram.middle], [at], color=look.colour, marker=look.marker, markersize=5, clip_on=False)
            plot.lines[-1].set_markerfacecolor(_face(look))
        plot.set_ylim(0, top * 1.45)
        plot.locator_params(axis="x", nbins=5)
    _legend(figure, looks, True, "score, 20 bins of equal width; marks above: medians", title)
    return figure


@styled()
def reliability(bins_of: Mapping[str, Sequence[Bins]], title: str = "") -> Figure:
    """Draw reliability diagrams, a panel for each metric: mean outcome in each bin of scores, with rows as bars.

    bins_of: by metric; at most three outcomes. Raises `UserError` without bins.
    """
    if not bins_of:
        raise UserError("A reliability diagram needs a metric whose scores all lie between 0 and 1, and there is none.")
    outcomes = list(dict.fromkeys(series.outcome for of_metric in bins_of.values() for series in of_metric))
    looks = dict(zip(outcomes, _LEVELS, strict=False))
    figure, plots = _small_multiples(list(bins_of), 2.25, "observed in the bin")
    for plot, of_metric in zip(plots, bins_of.values(), strict=True):
        below = plot.inset_axes((0.0, 0.0, 1.0, 0.2), zorder=0.5)
        most, bins = max(of_metric[0].rows), len(of_metric[0].rows)
        below.bar([(place + 0.5) / bins for place in range(bins)], of_metric[0].rows, width=0.8 / bins, color="#DDDDDD")
        below.set(xlim=(-0.02, 1.02), ylim=(0, most * 1.05))
        below.axis("off")
        plot.plot([0, 1], [0, 1], color="#888888", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        for series in of_metric:
            look = looks[series.outcome]
            known = [(x, y) for x, y, rows in zip(series.stated, series.observed, series.rows, strict=True) if rows]
            plot.plot(*zip(*known, strict=True), color=look.colour, marker=look.marker, linestyle=look.dash)
            plot.lines[-1].set(linewidth=1.2, markersize=4.5, zorder=2)
        plot.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    note = f"mean score of a bin, {len(next(iter(bins_of.values()))[0].rows)} bins of equal width"
    _legend(figure, looks, True, f"{note}; bars: rows; dashed: score = observed", title)
    return figure


def _face(look: Look) -> str:
    """Return the fill of a marker: the lowest level's marker is a ring."""
    return "white" if look == _LEVELS[-1] else look.colour


def _small_multiples(names: Sequence[str], height: float, upright: str) -> tuple[Figure, list[Axes]]:
    """Return a figure with an empty panel for each name.

    height: of a row, in inches. upright: label of the vertical axes.
    """
    across = min(_ACROSS, len(names))
    figure, plots = panels(len(names), across, max(3.4, 7.0 * across / 3), height)
    figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() + 0.7)
    for number, (plot, name) in enumerate(zip(plots, names, strict=True)):
        plot.set_title(wrapped(name, 30), loc="left", fontsize=8)
        plot.tick_params(labelsize=7.5)
        if number % _ACROSS == 0:
            plot.set_ylabel(upright, fontsize=8)
    return figure, plots


def _legend(figure: Figure, looks: Mapping[str, Look], marks: bool, below: str, title: str) -> None:
    """Draw the legend and the title above the panels, and the text `below` them. marks: whether lines have markers."""
    from matplotlib.lines import Line2D

    handles = []
    for name, look in looks.items():
        line = Line2D([], [], color=look.colour, linestyle=look.dash, linewidth=1.4, label=wrapped(name, 40))
        if marks:
            line.set(marker=look.marker, markersize=5, markerfacecolor=_face(look))
        handles.append(line)
    figure.supxlabel(below, fontsize=8)
    wide = figure.get_figwidth() > 4
    legend = figure.legend(handles=handles, loc="outside upper left", ncols=_ACROSS if wide else 1, fontsize=7.5)
    legend.set_title(wrapped(title, 90 if wide else 44))
    legend.get_title().set_fontsize(8.5)
    legend.set_alignment("left")


_DARK = 0.55


@styled()
def confusion_map(counts: Sequence[Sequence[int]], levels: Sequence[str], name: str = "") -> Figure:
    """Draw a confusion matrix: rows are human levels, columns decisions; a cell is as dark as its share of the row.

    counts: a square of numbers of pairs; levels: the names of both sides. Raises `UserError` for another shape.
    """
    size = len(levels)
    if len(counts) != size or any(len(row) != size for row in counts):
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
    plot.set(xlabel="metric", ylabel="labelled level")
    if name:
        plot.set_title(literal(name), loc="left", fontsize=9)
    return figure
