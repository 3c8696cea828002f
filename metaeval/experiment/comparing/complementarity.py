"""How alike metrics rank the rows, and what a stack of them gains over the best one on groups held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import get_args

import numpy as np

from metaeval.errors import UserError
from metaeval.experiment.evaluation import Asked
from metaeval.experiment.metric_scores import Panel, frame_of, make_sheet
from metaeval.report.cells import cell
from metaeval.report.grid import Block, Cell, Line, Note, count, plain
from metaeval.report.sheet import Sheet, known
from metaeval.stats.agreement import rank_correlation_matrix
from metaeval.stats.complementarity import Kind, Objective, StackGain, resampled_gains, stack_gain
from metaeval.stats.resampling import percentile_interval


def agreement_sheet(panel: Panel, asked: Asked) -> Sheet:
    """The Spearman correlation of each two metrics' scores, on the rows that a protocol sees and both scored."""
    frame = frame_of(panel, asked[0])
    scores = np.array([column.score[frame.numbers] for column in panel.columns])
    matrix = rank_correlation_matrix(scores)
    names = [plain(column.name) for column in panel.columns]
    scored = ~np.isnan(scores)
    lines = [
        Line(name, tuple(cell(known(matrix[i, j])) if j < i else Cell("") for j in range(len(names) - 1)))
        for i, name in enumerate(names)
        if i
    ]
    records = [
        {
            "one": one.name,
            "other": other.name,
            "spearman": known(matrix[i, j]),
            "rows": int((scored[i] & scored[j]).sum()),
        }
        for (i, one), (j, other) in combinations(enumerate(panel.columns), 2)
    ]
    return make_sheet(
        panel,
        frame,
        "agreement",
        "How alike the metrics rank the rows: Spearman correlation of their scores",
        {"analysis": "agreement"},
        ("metric", names[:-1], [Block("", tuple(lines))]),
        records,
        intervals=False,
        notes=[Note("reading", "near 1: two metrics that say the same thing, right or wrong")],
    )


FOLDS = 5

RESAMPLES = 100
"""Resamples of the gain at most: each learns every stack anew in every fold."""

PARTITIONS = 10
"""Ways of cutting the groups into folds."""

_OBJECTIVES = {"spearman": "Spearman", "auc": "ROC-AUC, top level v. rest"}
_KINDS: Mapping[Kind, str] = {"pair": "best pair", "everything": "all metrics"}
_OF_TWO: Mapping[Kind, str] = {"pair": "both metrics"}


@dataclass(frozen=True)
class Gain:
    """What one kind of stack gains under one objective, held out.

    single, stack, gain: of the best single metric and of the stack, and their difference; means over `PARTITIONS`
    ways of cutting the folds. low, high: the gain's cluster interval. least, most: the gain over the partitions.
    best_single, best_stack: what the folds chose most often, with the share of the folds.
    """

    objective: str
    kind: Kind
    single: float | None
    stack: float | None
    gain: float | None
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    best_single: str
    best_single_share: float
    best_stack: str
    best_stack_share: float


def complementarity_sheet(panel: Panel, asked: Asked) -> Sheet:
    """What the best pair and all metrics gain over the best single one, on the rows that all of them scored.

    Raises `UserError` with fewer groups than folds.
    """
    frame = frame_of(panel, asked[0])
    scores = np.array([column.score[frame.numbers] for column in panel.columns])
    whole = ~np.isnan(scores).any(axis=0)
    groups = int(np.unique(frame.group[whole]).size)
    if groups < FOLDS:
        raise UserError(
            f"Complementarity takes {FOLDS} groups or more in which every metric scored a row, one for each fold; "
            f"{frame.name} has {groups}."
        )
    names = [plain(column.name) for column in panel.columns]
    interval = panel.config.interval
    resamples = min(RESAMPLES, interval.resamples)
    called = _KINDS if len(names) > 2 else _OF_TWO
    gains: list[Gain] = []
    for objective in get_args(Objective):
        given = scores[:, whole], frame.gold[whole], frame.group[whole]
        cut = [stack_gain(*given, FOLDS, interval.seed + number, objective) for number in range(PARTITIONS)]
        drawn = resampled_gains(*given, FOLDS, resamples, interval.seed, objective)
        gains += [_gain(objective, kind, cut, drawn, names, interval.level) for kind in called]
    return make_sheet(
        panel,
        frame,
        "complementarity",
        "What a stack of metrics gains over the best one alone, on groups that it did not see",
        {"analysis": "complementarity", "folds": FOLDS, "partitions": PARTITIONS, "gain-resamples": resamples},
        ("stack", ("best single", "stack", "gain"), _blocks(gains, called)),
        [asdict(gain) for gain in gains],
        notes=_notes(gains, called, resamples, int(whole.sum())),
        method="percentile",
    )


def _gain(
    objective: str, kind: Kind, cut: Sequence[StackGain], drawn: Sequence[StackGain], names: Sequence[str], level: float
) -> Gain:
    gains = np.array([one.of(kind)[1] for one in cut])
    resampled = np.array([one.of(kind)[1] for one in drawn])
    low, high = (percentile_interval(resampled, level) if drawn else None) or (None, None)
    singles = Counter(names[chosen] for one in cut for chosen in one.singles)
    pairs = Counter(" + ".join(names[chosen] for chosen in both) for one in cut for both in one.pairs)
    (single, times), (pair, pair_times) = singles.most_common(1)[0], pairs.most_common(1)[0]
    folds = FOLDS * len(cut)
    return Gain(
        objective=objective,
        kind=kind,
        single=known(float(np.mean([one.single for one in cut]))),
        stack=known(float(np.mean([one.of(kind)[0] for one in cut]))),
        gain=known(float(gains.mean())),
        low=low,
        high=high,
        least=known(gains.min()),
        most=known(gains.max()),
        best_single=single,
        best_single_share=times / folds,
        best_stack=pair if kind == "pair" else " + ".join(names),
        best_stack_share=pair_times / folds if kind == "pair" else 1.0,
    )


def _blocks(gains: Sequence[Gain], called: Mapping[Kind, str]) -> list[Block]:
    lines: dict[str, list[Line]] = {objective: [] for objective in _OBJECTIVES}
    for one in gains:
        cells = cell(one.single), cell(one.stack), cell(one.gain, one.low, one.high, signed=True)
        lines[one.objective].append(Line(called[one.kind], cells))
    return [Block(_OBJECTIVES[objective], tuple(own)) for objective, own in lines.items()]


def _notes(gains: Sequence[Gain], called: Mapping[Kind, str], resamples: int, rows: int) -> list[Note]:
    chosen, spread = [], []
    for one in gains:
        objective = _OBJECTIVES[one.objective]
        if one.kind == "pair":
            single = f"alone {one.best_single} ({100 * one.best_single_share:.0f} % of the folds)"
            stack = f"; pair {one.best_stack} ({100 * one.best_stack_share:.0f} %)" if len(called) > 1 else ""
            chosen.append((objective, single + stack))
        least, most = (cell(end, signed=True).number for end in (one.least, one.most))
        spread.append((f"{objective}, {called[one.kind]}", f"{least} to {most}"))
    interval = (
        f"{count(resamples, 'resample')} of groups, everything learnt anew in each; percentiles; a "
        "resample has fewer different groups to learn from, which holds its gains down"
    )
    return [
        Note(
            "held out",
            f"{FOLDS} folds that split no group; metric, pair and weights (least squares on ranks) are chosen on the "
            f"other folds; means over {PARTITIONS} ways of cutting them; {count(rows, 'row')} that all metrics scored",
        ),
        Note("chosen", "", tuple(chosen)),
        Note("gain", interval if resamples else "no interval: resampling is switched off"),
        Note("cutting", "the gain from the least to the most over the ways of cutting:", tuple(spread)),
    ]
