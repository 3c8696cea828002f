"""Does a metric prefer long statements, long sources or early chunks, at the same human level?

Inside one level nothing is left for a score to find but differences within the level, so that a correlation with
length there is a preference of the metric's and no signal. Rows of one level may still differ in how far they are
supported: a finer gold could explain a small coefficient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from metaeval.experiment.comparing.subgroups import statement_words
from metaeval.experiment.evaluation import Asked
from metaeval.experiment.metric_scores import Panel, frame_of, judged, make_sheet
from metaeval.experiment.prepared_run import Frame, RatedSet
from metaeval.report.cells import cell
from metaeval.report.grid import Block, Line, Note, plain
from metaeval.report.sheet import Sheet
from metaeval.stats.arrays import Floats, Ints, ratio, weighted_sums
from metaeval.stats.correlations import rank_correlations
from metaeval.stats.intervals import intervals
from metaeval.stats.resampling import Draws, replicate
from protocols.contract import Judgements, Resampling

WITHIN = "within levels"
"""The mean over levels, weighted by their rows."""

# Gold values beyond this many are cut into as many bins of equal size.
_MOST_VALUES = 10
_BINS = 5

# With more metrics the levels are in the files alone.
_SHOWN = 6

_NAMES = {2.0: "full", 1.0: "partial", 0.0: "none"}


@dataclass(frozen=True)
class Preference:
    """Spearman correlation of a metric's score with one property of a row, inside one level or over them (`WITHIN`).

    None where undefined: a constant score or property. rows, groups: that it rests on.
    """

    metric: str
    of: str
    level: str
    value: float | None
    low: float | None
    high: float | None
    rows: int
    groups: int


def preferences(
    metric: str, rows: Judgements, of: str, values: Floats, stratum: Ints, names: Sequence[str], resampling: Resampling
) -> list[Preference]:
    """How one metric's scores go with `values` (n,) inside each stratum, codes (n,) into `names`, and over them all.

    The mean weights a stratum by its rows in the resample, and leaves out strata where the correlation is undefined.
    """
    codes, compact = np.unique(rows.group, return_inverse=True)
    scored = ~np.isnan(rows.score)
    inside = {name: scored & (stratum == number) for number, name in enumerate(names)}
    inside = {name: keep for name, keep in inside.items() if keep.any()}
    if not inside:
        return []
    sizes = {name: np.bincount(compact[keep], minlength=codes.size) for name, keep in inside.items()}
    prepared = {
        name: rank_correlations(rows.score[keep], values[keep], compact[keep].astype(np.int64), codes.size)
        for name, keep in inside.items()
    }

    def mean(draws: Draws) -> Floats:
        weights, coefficients = [], []
        for name, one in prepared.items():
            coefficient = replicate(one, draws)[0]
            size = sizes[name].astype(np.float64)[:, None]
            weight = np.concatenate([weighted_sums(size, tile)[0] for tile in draws])
            weights.append(np.where(np.isnan(coefficient), 0.0, weight))
            coefficients.append(np.nan_to_num(coefficient))
        return ratio(np.sum(np.multiply(weights, coefficients), axis=0), np.sum(weights, axis=0))

    def of_level(name: str, draws: Draws) -> Floats:
        return np.asarray(replicate(prepared[name], draws)[0])

    runs: dict[str, Callable[[Draws], Floats]] = {WITHIN: mean, **{name: partial(of_level, name) for name in inside}}
    sizes = {WITHIN: np.bincount(compact[scored], minlength=codes.size), **sizes}
    found = {name: intervals(run, sizes[name], resampling, (-1.0, 1.0))[0] for name, run in runs.items()}
    return [
        Preference(
            *(metric, of, name, one.value, one.low, one.high),
            rows=int(sizes[name].sum()),
            groups=int(np.count_nonzero(sizes[name])),
        )
        for name, one in found.items()
    ]


def bias_sheet(panel: Panel, asked: Asked) -> Sheet:
    """Every metric's preference for length and place, with cluster intervals, on the rows that a protocol sees.

    Raises `UserError` for rated texts that are not in the data.
    """
    frame = frame_of(panel, asked[0])
    stratum, names = _strata(frame)
    properties = _properties(panel, frame)
    found = [
        one
        for column in panel.columns
        for of, values in properties.items()
        for one in preferences(column.name, judged(frame, column), of, values, stratum, names, panel.resampling)
    ]
    shown = [WITHIN, *names] if len(panel.columns) <= _SHOWN else [WITHIN]
    placed = {(one.metric, one.level, one.of): cell(one.value, one.low, one.high, signed=True) for one in found}
    blocks = []
    for level in shown:
        lines = [
            Line(plain(column.name), tuple(placed.get((column.name, level, of), cell(None)) for of in properties))
            for column in panel.columns
        ]
        blocks.append(Block("mean over the levels" if level == WITHIN else level, tuple(lines)))
    return make_sheet(
        panel,
        frame,
        "bias",
        "Preference for length and place: Spearman correlation with the score at one human level",
        {"analysis": "bias"},
        ("metric", list(properties), blocks),
        [asdict(one) for one in found],
        notes=_notes(list(properties), names),
    )


def _properties(panel: Panel, frame: Frame) -> dict[str, Floats]:
    found = {"statement length": statement_words(panel, frame).astype(np.float64)}
    source = panel.source
    if not isinstance(source, RatedSet):
        rows = [source.rows[number] for number in frame.numbers]
        read = frame.unit if frame.unit in ("chunk", "evidence") else "document"
        found[f"{read} length"] = np.array([float(row.words) for row in rows])
        if frame.unit == "chunk":
            found["chunk position"] = np.array([float(row.position) for row in rows])
    return found


def _strata(frame: Frame) -> tuple[Ints, list[str]]:
    """The gold level of each row, (n,), and the levels' names from the highest; many values go into bins."""
    values, code = np.unique(-frame.gold, return_inverse=True)
    if values.size > _MOST_VALUES:
        ends = np.unique(np.quantile(-frame.gold, np.arange(1, _BINS) / _BINS))
        code = np.searchsorted(ends, -frame.gold)
        present, code = np.unique(code, return_inverse=True)
        inside = [frame.gold[code == number] for number in range(present.size)]
        return code.astype(np.int64), [f"gold {gold.min():.3g} to {gold.max():.3g}" for gold in inside]
    known = frame.unit != "rating"
    return code.astype(np.int64), [_NAMES[-value] if known else f"gold {-value:g}" for value in values.tolist()]


def _notes(properties: Sequence[str], names: Sequence[str]) -> list[Note]:
    later = "; of position, a preference for late chunks" if "chunk position" in properties else ""
    binned = any(" to " in name for name in names)
    inside = "bins of about equal size, inside which the ratings still differ," if binned else "the levels,"
    return [
        Note("reading", f"above 0: at one level, longer scores higher{later}; an interval around 0: no bias found"),
        Note("mean", f"over {inside} weighted by their rows; left out where score or property is constant"),
    ]
