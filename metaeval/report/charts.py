"""The figures: NDCG bars, rank stability, shares, cost against quality, a confusion matrix, a reliability curve.

They share a drawing surface, colours, names, and files that are reproducible byte for byte. They need matplotlib:
pip install 'metaeval[report]'.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from metaeval.errors import UserError
from metaeval.files import atomic_write
from metaeval.report.column_layout import broken
from metaeval.report.grid import plain, value_of
from metaeval.report.result import Column, Result, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, from dark to light: told apart with any colour vision, and in print without colour.
COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK = "#222222"
FAINT = "#BBBBBB"

FORMATS = ("png", "pdf", "svg")

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "legend.frameon": False,
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": INK,
    "ytick.color": INK,
    # Glyphs are outlines: no font of the reader's is asked for.
    "svg.hashsalt": "metaeval",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "path.simplify": False,
}


def axes(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of `width` by `height` inches with one set of axes, apart from any that the caller's program draws."""
    # Only these modules: `pyplot` would choose a backend for the whole program.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def panels(across: int, down: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of `down` rows of `across` axes, `width` inches wide; height: of one row."""
    figure, plot = axes(width, height * down)
    plot.remove()
    grid = figure.subplots(down, across, squeeze=False)
    return figure, [one for row in grid for one in row]


def image(figure: Figure, kind: str) -> bytes:
    """The figure as the bytes of a png (200 dots an inch), pdf or svg; the same figure gives the same bytes."""
    nameless = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None, "Creator": None}}
    metadata = nameless.get(kind, {"Date": None, "Creator": None})
    file = io.BytesIO()
    with styled():
        if figure.get_layout_engine() is not None:
            # Each drawing would lay out anew from where the last one ended: it is done once.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(file, format=kind, dpi=200, metadata=metadata, facecolor="white")
    drawn = file.getvalue()
    if kind != "svg":
        return drawn
    # Hashed ids are numbered as they come: those of clip paths are hashes of memory addresses.
    found = dict.fromkeys(re.findall(rb'id="([a-z][0-9a-f]{10})"', drawn))
    names = {name: b"n%d" % number for number, name in enumerate(found, start=1)}
    return re.sub(rb'(?<=[#"])[a-z][0-9a-f]{10}(?=[)"])', lambda match: names.get(match[0], match[0]), drawn)


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.png, .pdf and .svg and return the paths."""
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in FORMATS]
    for kind, path in zip(FORMATS, paths, strict=True):
        with atomic_write(path) as file:
            file.write(image(figure, kind))
    return paths


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Use the project's style while a figure is made or drawn; the program's own settings are restored afterwards.

    Raises `UserError` when matplotlib is not installed.
    """
    try:
        matplotlib = importlib.import_module("matplotlib")
    except ImportError as error:
        raise UserError("Figures need matplotlib, which is not installed: pip install 'metaeval[report]'.") from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def wrapped(name: str, width: int = 24) -> str:
    """A name in lines of at most `width` characters, with no character that matplotlib would read as mathematics."""
    return "\n".join(literal(line) for line in broken(plain(name), width))


def literal(name: str) -> str:
    """One line of text in which a dollar sign is a dollar sign."""
    return plain(name).replace("$", r"\$")


_FILLS = ("#0B3C5D", "#328CC1", "#A9D6E5", "#DCEAF2")
_LINES = ((0, (4, 2)), (0, (1, 2)), (0, (6, 2, 1, 2)), (0, ()), (0, (8, 3)))  # dashes: points on, points off
_SHOWN = ("random", "constant", "lexical overlap", "learnt coverage", "chunk position")
_BAND = 0.8
_TIES = "#D55E00"


@styled()
def ndcg_bars(result: Result) -> Figure:
    """Bars of every shown measure for every metric, in the table's order; whiskers are intervals.

    A tick to either side of a bar marks the worst and the best order of tied scores; the bar is their expectation.
    Vertical lines are controls under the first measure. Raises `UserError` for a result without metrics.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    metrics = [row for row in result.rows if row.kind == "metric"]
    if not metrics:
        raise UserError(f"The {result.protocol} result of {result.data.name!r} has no metric to draw.")
    columns = result.columns[: len(_FILLS)]
    # Names lie flat below each other: they never meet, however many and long they are.
    figure, plot = axes(7.0, 1.3 + len(metrics) * (0.17 * len(columns) + 0.12))
    for place, row in enumerate(metrics):
        for number, column in enumerate(columns):
            _bar(plot, row, column, place, number, len(columns))
    handles: list[object] = [
        Patch(facecolor=fill, edgecolor=INK, linewidth=0.5, label=literal(column.label))
        for fill, column in zip(_FILLS, columns, strict=False)
    ]
    handles += _controls(plot, result, columns[0])
    if any(value_of(row, column).ties for row in metrics for column in columns):
        label = "ties in the worst and best order"
        mark = Line2D([], [], color=_TIES, marker="|", linestyle="", markersize=6, markeredgewidth=1.4, label=label)
        handles.append(mark)
    plot.set_yticks(range(len(metrics)), [wrapped(row.metric) for row in metrics])
    plot.set_ylim(len(metrics) - 0.5, -0.5)
    plot.set_xlim(left=min(0.0, plot.get_xlim()[0]))
    plot.tick_params(axis="y", length=0)
    plot.set_xlabel(
        f"{literal(result.title)} ({literal(result.data.name)}, {100 * result.interval.level:g} % intervals)"
    )
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
            label = literal(f"{row.metric}, {column.label}")
            handles.append(Line2D([], [], color="#666666", linewidth=1.0, linestyle=style, label=label))
    return handles


@styled()
def rank_stability(ranks: Mapping[str, Sequence[float]], title: str = "") -> Figure:
    """A row of discs for each metric: the area is the share of specifications that give it that rank.

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


@styled()
def share_bars(shares: Mapping[str, tuple[int, int]], xlabel: str, ylabel: str, title: str = "") -> Figure:
    """A bar for each name, as high as the share of its (part, whole); both numbers stand above it.

    Raises `UserError` where there is none.
    """
    if not shares:
        raise UserError("There is no share to draw: the data mark no evidence.")
    figure, plot = axes(1.5 + 0.85 * len(shares), 3.0)
    heights = [100 * part / whole if whole else 0.0 for part, whole in shares.values()]
    plot.bar(range(len(shares)), heights, width=0.62, color=COLOURS[0], edgecolor=INK, linewidth=0.5)
    for place, ((part, whole), height) in enumerate(zip(shares.values(), heights, strict=True)):
        plot.annotate(
            f"{part:,}\nof {whole:,}", (place, height), (0, 2), textcoords="offset points", ha="center", fontsize=8
        )
    plot.set_xticks(range(len(shares)), [wrapped(name) for name in shares])
    plot.set_ylim(0, 122)
    plot.set_yticks(range(0, 101, 20))
    plot.tick_params(axis="x", length=0)
    plot.set(xlabel=literal(xlabel), ylabel=literal(ylabel))
    if title:
        plot.set_title(wrapped(title, 60), loc="left", fontsize=9)
    return figure


_ROW = 0.19

# Where a number may stand, in widths and heights of the gap from its mark; the nearest sides first.
_SIDES = (
    *((1.0, 0.3), (-1.0, 0.3), (1.0, -0.6), (-1.0, -0.6), (1.0, 1.2), (-1.0, 1.2)),
    *((2.2, 0.0), (-2.2, 0.0), (0.0, 2.5)),
)

_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class CostPoint:
    """A metric: what it costs (pairs per second, or USD per 1,000 pairs; above 0), its measure and the interval."""

    name: str
    cost: float
    value: float
    low: float | None = None
    high: float | None = None


@styled()
def cost_quality(points: Sequence[CostPoint], cost: str, measure: str) -> Figure:
    """One mark for each metric, cost on a log axis; names stand in a key beside the plot and so never overlap.

    cost, measure: the axes' names. Raises `UserError` for a cost that a log axis cannot show, or no points.
    """
    if not points:
        raise UserError("There is no metric to draw: a figure of cost against quality needs at least one.")
    for point in points:
        if not 0 < point.cost < float("inf"):
            raise UserError(f"{point.name} costs {point.cost}: a log axis shows costs above 0 only.")
    figure, plot = axes(7.0, max(3.6, 1.0 + _ROW * len(points)))
    ranked = sorted(points, key=lambda point: (-point.value, point.name))
    for number, point in enumerate(ranked):
        colour, marker = COLOURS[number % 7], MARKERS[number % len(MARKERS)]
        if point.low is not None and point.high is not None:
            plot.plot([point.cost] * 2, [point.low, point.high], color=colour, linewidth=1.2, zorder=1)
        plot.plot(
            *([point.cost], [point.value]),
            marker=marker,
            markersize=8,
            color=colour,
            markeredgecolor=INK,
            markeredgewidth=0.5,
            linestyle="",
            label=f"{number + 1}  {literal(point.name)}",
            zorder=2,
        )
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
    """Each mark's number beside it, on the first side where it meets no mark, whisker or other number."""
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
        side, box = next((found for found in boxes if not any(_meet(found[1], other) for other in taken)), boxes[0])
        taken.append(box)
        offset = (side[0] * (6 + half), side[1] * 10)
        plot.annotate(
            str(number),
            (points[number - 1].cost, points[number - 1].value),
            offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8,
            zorder=3,
        )


def _box(x: float, y: float, width: float, height: float) -> _Box:
    return x - width, y - height, x + width, y + height


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


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
