"""Parts of all figures: a drawing surface, looks of metrics, names, and files that are reproducible byte for byte.

They need matplotlib, of the extra 'report'.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.core.errors import UserError, install_extra
from metaeval.core.files import atomic_write
from metaeval.report.table import plain
from metaeval.report.terminal import broken

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours but the yellow, which is lost on paper: distinguishable with any colour vision.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Points on, points off.
DASHES = ((0, ()), (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
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


class Look(NamedTuple):
    """How a metric is drawn in all figures.

    The first 35 looks differ in colour and marker, and in colour and dashes.
    """

    colour: str
    marker: str
    dash: Any


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """Return how each metric is drawn, by name; looks go by the position among the unique names, and repeat."""
    return {
        name: Look(COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)], DASHES[place % len(DASHES)])
        for place, name in enumerate(dict.fromkeys(names))
    }


def axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of `width` by `height` inches with one set of axes, outside the caller's own figures."""
    # Only these modules: `pyplot` would choose a backend for the whole program.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def panels(number: int, across: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure and its `number` panels, in rows of `across`. width: of the figure, height: of a row (inches)."""
    down = -(-number // across)
    figure, plot = axes(width, height * down)
    plot.remove()
    plots = [plot for row in figure.subplots(down, across, squeeze=False) for plot in row]
    for plot in plots[number:]:
        plot.set_visible(False)
    return figure, plots[:number]


def stack(plot: Axes, names: Sequence[str], shown: bool = True, width: int = 24) -> None:
    """Set the vertical axis to the positions 0, 1, ... of the names, the first on top.

    shown: whether the names are printed. width: largest number of characters of a line of a name.
    """
    plot.set_yticks(range(len(names)), [wrapped(name, width) if shown else "" for name in names])
    plot.set_ylim(len(names) - 0.5, -0.5)
    plot.tick_params(axis="y", length=0)


def image(figure: Figure, kind: str) -> bytes:
    """Return the figure as the bytes of a png (200 dots an inch), pdf or svg; the same figure gives the same bytes."""
    nameless = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None, "Creator": None}}
    metadata = nameless.get(kind, {"Date": None, "Creator": None})
    file = io.BytesIO()
    with styled():
        layout = figure.get_layout_engine()
        if layout is not None:
            # Each drawing would lay out anew from where the last one ended, and be drawn twice: it is done once.
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(file, format=kind, dpi=200, metadata=metadata, facecolor="white")
    drawn = file.getvalue()
    if kind != "svg":
        return drawn
    # Hashed ids are numbered as they come: those of clip paths are hashes of memory addresses.
    ids = dict.fromkeys(re.findall(rb'id="([a-z][0-9a-f]{10})"', drawn))
    names = {name: b"n%d" % number for number, name in enumerate(ids, start=1)}
    return re.sub(rb'(?<=[#"])[a-z][0-9a-f]{10}(?=[)"])', lambda match: names.get(match[0], match[0]), drawn)


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write the figure as png, pdf and svg, and return the paths in this order. stem: path without the ending."""
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in FORMATS]
    for kind, path in zip(FORMATS, paths, strict=True):
        with atomic_write(path) as file:
            file.write(image(figure, kind))
    return paths


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Use the project's style while a figure is drawn; the program's own settings are restored afterwards.

    Raises `UserError` when matplotlib is not installed.
    """
    try:
        matplotlib = importlib.import_module("matplotlib")
    except ImportError as error:
        raise UserError(f"Figures need matplotlib, which is not installed: type {install_extra('report')}.") from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def wrapped(name: str, width: int = 24) -> str:
    """Return a name broken into lines of at most `width` characters, with dollar signs escaped for matplotlib."""
    return "\n".join(literal(line) for line in broken(plain(name), width))


def literal(name: str) -> str:
    """Return one line of text in which dollar signs are escaped."""
    return plain(name).replace("$", r"\$")
