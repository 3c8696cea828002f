"""Table 1: how many pairs of each human level a data set holds."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.report.grid import Block, Cell, Grid, Line
from metaeval.report.number_format import UNDEFINED, plain
from metaeval.report.paper.sources import named
from metaeval.report.result import Data, Result

LEVELS = ("full", "partial", "none")


def level_counts(results: Sequence[Result]) -> Grid | None:
    """One row for each data set, split and unit; None when no data set has three-level gold.

    Protocols see different rows of one data set (retrieval adds its pools): counted are the fewest, the cited ones.
    """
    least: dict[tuple[str, str, str], Result] = {}
    for result in results:
        key = (result.data.name, result.data.split, result.unit)
        fewer = key not in least or _total(result.data) < _total(least[key].data)
        if fewer and set(LEVELS) & set(result.data.levels):
            least[key] = result
    if not least:
        return None
    return Grid(
        key=("levels",),
        title="Pairs by human level",
        subtitle=", ".join(dict.fromkeys(f"{result.unit} pairs" for result in least.values())),
        headings=(*LEVELS, "total"),
        blocks=(Block("", tuple(_line(name, result.data) for name, result in named(list(least.values())).items())),),
        legend="",
        footnotes=(),
        footer=(),
        signatures=tuple(_hash(result.data) for result in least.values()),
        stub="data set",
    )


def _total(data: Data) -> int:
    return sum(data.levels.values())


def _line(name: str, data: Data) -> Line:
    counts = [*(data.levels.get(level) for level in LEVELS), _total(data)]
    return Line(name, tuple(Cell(UNDEFINED if count is None else f"{count:,}") for count in counts))


def _hash(data: Data) -> str:
    return f"data:{plain(data.name)}/{plain(data.split)}@{data.fingerprint[:12]}"
