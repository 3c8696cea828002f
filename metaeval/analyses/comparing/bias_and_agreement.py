"""Further analyses of `compare`: dependence of scores on length and position, agreement, and the gain of stacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations, product
from typing import get_args

import numpy as np

from metaeval.analyses.comparing.subgroups import by_part, check_division, statement_words
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.report.result_tables import cell
from metaeval.report.table import Note, Table, TableRow, known, plain
from metaeval.runs.evaluation import ProtocolSetup
from metaeval.runs.prepared_run import Frame, RatedSet
from metaeval.runs.score_panel import Panel, judged, make_sheet
from metaeval.stats.agreement import rank_correlation_matrix
from metaeval.stats.arrays import Floats, Ints, ratio, weighted_sums
from metaeval.stats.correlations import rank_correlations
from metaeval.stats.intervals import intervals
from metaeval.stats.resampling import Draws, percentile_interval, replicate
from metaeval.stats.stacking_gain import Kind, Objective, StackGain, resampled_gains, stack_gain
from protocols.contract import Judgements, Resampling

WITHIN = "within levels"
"""Name of the mean over levels, weighted by their rows."""

# Gold values beyond this many are cut into as many bins of equal size.
_MOST_VALUES = 10
_BINS = 5

# With more metrics the levels are in the files alone.
_SHOWN = 6

_NAMES = {2.0: "full", 1.0: "partial", 0.0: "none"}


@dataclass(frozen=True)
class ScoreBias:
    """Spearman correlation of a metric's score with a property of a row, at one level or as their mean (`WITHIN`).

    of: name of the property. value: None where the score or the property is constant. low, high: its interval. rows,
    groups: numbers of rows and groups with a score.
    """

    metric: str
    of: str
    level: str
    value: float | None
    low: float | None
    high: float | None
    rows: int
    groups: int


def score_biases(
    metric: str, rows: Judgements, of: str, values: Floats, stratum: Ints, names: Sequence[str], resampling: Resampling
) -> list[ScoreBias]:
    """Correlate one metric's scores with a property of the rows in each stratum, and average these correlations.

    of: name of the property. values: the property, (n,). stratum: codes (n,), which are indices into `names`. The
    mean, which comes first, weights a stratum by its rows in the resample, and leaves out strata where the correlation
    is undefined. Strata without a scored row are left out; without any scored row the list is empty.
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
        for name, correlation in prepared.items():
            coefficient = replicate(correlation, draws)[0]
            size = sizes[name].astype(np.float64)[:, None]
            weight = np.concatenate([weighted_sums(size, tile)[0] for tile in draws])
            weights.append(np.where(np.isnan(coefficient), 0.0, weight))
            coefficients.append(np.nan_to_num(coefficient))
        return ratio(np.sum(np.multiply(weights, coefficients), axis=0), np.sum(weights, axis=0))

    def of_level(name: str, draws: Draws) -> Floats:
        return np.asarray(replicate(prepared[name], draws)[0])

    runs: dict[str, Callable[[Draws], Floats]] = {WITHIN: mean, **{name: partial(of_level, name) for name in inside}}
    sizes = {WITHIN: np.bincount(compact[scored], minlength=codes.size), **sizes}
    estimates = {name: intervals(run, sizes[name], resampling, (-1.0, 1.0))[0] for name, run in runs.items()}
    return [
        ScoreBias(
            *(metric, of, name, estimate.value, estimate.low, estimate.high),
            rows=int(sizes[name].sum()),
            groups=int(np.count_nonzero(sizes[name])),
        )
        for name, estimate in estimates.items()
    ]


def bias_sheet(panel: Panel, protocol_setup: ProtocolSetup) -> Table:
    """Return the dependence of each metric's scores on length and position, given the label, with cluster intervals.

    Raises `UserError` where the rated texts are not in the data.
    """
    frame = panel.source.frame(protocol_setup[0])
    stratum, names = _strata(frame)
    properties = _properties(panel, frame)
    biases = [
        bias
        for column in panel.columns
        for of, values in properties.items()
        for bias in score_biases(column.name, judged(frame, column), of, values, stratum, names, panel.resampling)
    ]
    shown = [WITHIN, *names] if len(panel.columns) <= _SHOWN else [WITHIN]
    placed = {(bias.metric, bias.level, bias.of): cell(bias.value, bias.low, bias.high, signed=True) for bias in biases}
    rows: list[TableRow] = []
    for level, column in product(shown, panel.columns):
        cells = [placed.get((column.name, level, of), cell(None)) for of in properties]
        rows.append(("mean over the levels" if level == WITHIN else level, column.name, cells))
    return make_sheet(
        panel,
        frame,
        "bias",
        "Dependence on length and place: Spearman correlation with the score at one labelled level",
        {"analysis": "bias"},
        ("metric", list(properties), rows),
        [asdict(bias) for bias in biases],
        notes=_notes(list(properties), names),
    )


def _properties(panel: Panel, frame: Frame) -> dict[str, Floats]:
    properties = {"statement length": statement_words(panel, frame).astype(np.float64)}
    source = panel.source
    if not isinstance(source, RatedSet):
        rows = [source.rows[number] for number in frame.numbers]
        read = frame.unit if frame.unit in ("chunk", "evidence") else "document"
        properties[f"{read} length"] = np.array([float(row.words) for row in rows])
        if frame.unit == "chunk":
            properties["chunk position"] = np.array([float(row.position) for row in rows])
    return properties


def _strata(frame: Frame) -> tuple[Ints, list[str]]:
    """Return the code of each row's gold level, (n,), and the levels' names by code; code 0 is the highest level.

    More than `_MOST_VALUES` gold values are cut into up to `_BINS` bins, which are the levels then.
    """
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
    later = "; of position, late chunks score higher" if "chunk position" in properties else ""
    binned = any(" to " in name for name in names)
    inside = "bins of about equal size, inside which the ratings still differ," if binned else "the levels,"
    return [
        Note("reading", f"above 0: at one level, longer scores higher{later}; an interval around 0: no bias found"),
        Note("mean", f"over {inside} weighted by their rows; left out where score or property is constant"),
    ]


def agreement_sheet(panel: Panel, protocol_setup: ProtocolSetup) -> Table:
    """Return the Spearman correlations of the scores of every two metrics, on the rows that both scored."""
    frame = panel.source.frame(protocol_setup[0])
    scores = np.array([column.score[frame.numbers] for column in panel.columns])
    matrix = rank_correlation_matrix(scores)
    names = [plain(column.name) for column in panel.columns]
    scored = ~np.isnan(scores)
    rows: list[TableRow] = []
    for i, name in list(enumerate(names))[1:]:
        rows.append(("", name, [cell(known(matrix[i, j])) if j < i else "" for j in range(len(names) - 1)]))
    records = [
        {
            "one": first.name,
            "other": second.name,
            "spearman": known(matrix[i, j]),
            "rows": int((scored[i] & scored[j]).sum()),
        }
        for (i, first), (j, second) in combinations(enumerate(panel.columns), 2)
    ]
    return make_sheet(
        panel,
        frame,
        "agreement",
        "How alike the metrics rank the rows: Spearman correlation of their scores",
        {"analysis": "agreement"},
        ("metric", names[:-1], rows),
        records,
        intervals=False,
        notes=[Note("reading", "near 1: two metrics that say the same thing, right or wrong")],
    )


FOLDS = 5

RESAMPLES = 100
"""Most resamples of the gain: in each, every stack is learnt again in every fold."""

PARTITIONS = 10
"""Number of partitions of the groups into folds."""

_OBJECTIVES = {"spearman": "Spearman", "auc": "ROC-AUC, top level v. rest"}
_KINDS: Mapping[Kind, str] = {"pair": "best pair", "everything": "all metrics"}
_OF_TWO: Mapping[Kind, str] = {"pair": "both metrics"}


@dataclass(frozen=True)
class Gain:
    """The cross-validated gain of one kind of stack under one objective.

    single, stack, gain: values of the best single metric and of the stack, and stack minus single; means over
    `PARTITIONS` partitions into folds. low, high: cluster interval of the gain. least, most: range of the gain over
    the partitions. best_single, best_stack: the metric, and the stack, chosen in most folds, with the share of folds.
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


def complementarity_sheet(panel: Panel, protocol_setup: ProtocolSetup) -> Table:
    """Return a table of the gains of stacks over the best single metric, on the rows that all metrics scored.

    One stack is of the best pair and, with more than two metrics, one of all. Raises `UserError` with fewer groups than
    folds, or than an interval needs.
    """
    frame = panel.source.frame(protocol_setup[0])
    scores = np.array([column.score[frame.numbers] for column in panel.columns])
    whole = ~np.isnan(scores).any(axis=0)
    groups = int(np.unique(frame.group[whole]).size)
    interval = panel.config.interval
    if groups < (least := max(FOLDS, interval.fewest)):
        raise UserError(
            f"Complementarity takes {least:g} groups or more in which every metric scored a row, and {frame.name} has "
            f"{groups}: choose a larger data set."
        )
    names = [plain(column.name) for column in panel.columns]
    resamples = min(RESAMPLES, interval.resamples)
    called = _KINDS if len(names) > 2 else _OF_TWO
    gains: list[Gain] = []
    for objective in get_args(Objective):
        arrays = scores[:, whole], frame.gold[whole], frame.group[whole]
        cut = [stack_gain(*arrays, FOLDS, interval.seed + number, objective) for number in range(PARTITIONS)]
        drawn = resampled_gains(*arrays, FOLDS, resamples, interval.seed, objective)
        gains += [_gain(objective, kind, cut, drawn, names, interval.level) for kind in called]
    rows: list[TableRow] = []
    for gain in gains:
        cells = cell(gain.single), cell(gain.stack), cell(gain.gain, gain.low, gain.high, signed=True)
        rows.append((_OBJECTIVES[gain.objective], called[gain.kind], cells))
    return make_sheet(
        panel,
        frame,
        "complementarity",
        "What a stack of metrics gains over the best one alone, on groups that it did not see",
        {"analysis": "complementarity", "folds": FOLDS, "partitions": PARTITIONS, "gain-resamples": resamples},
        ("stack", ("best single", "stack", "gain"), rows),
        [asdict(gain) for gain in gains],
        notes=_gain_notes(gains, called, resamples, int(whole.sum())),
        method="percentile",
    )


def _gain(
    objective: str, kind: Kind, cut: Sequence[StackGain], drawn: Sequence[StackGain], names: Sequence[str], level: float
) -> Gain:
    gains = np.array([partition.of(kind)[1] for partition in cut])
    resampled = np.array([resample.of(kind)[1] for resample in drawn])
    low, high = (percentile_interval(resampled, level) if drawn else None) or (None, None)
    singles = Counter(names[chosen] for partition in cut for chosen in partition.singles)
    pairs = Counter(" + ".join(names[chosen] for chosen in both) for partition in cut for both in partition.pairs)
    (single, times), (pair, pair_times) = singles.most_common(1)[0], pairs.most_common(1)[0]
    folds = FOLDS * len(cut)
    return Gain(
        objective=objective,
        kind=kind,
        single=known(float(np.mean([partition.single for partition in cut]))),
        stack=known(float(np.mean([partition.of(kind)[0] for partition in cut]))),
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


def _gain_notes(gains: Sequence[Gain], called: Mapping[Kind, str], resamples: int, rows: int) -> list[Note]:
    chosen, spread = [], []
    for gain in gains:
        objective = _OBJECTIVES[gain.objective]
        if gain.kind == "pair":
            single = f"alone {gain.best_single} ({100 * gain.best_single_share:.0f} % of the folds)"
            stack = f"; pair {gain.best_stack} ({100 * gain.best_stack_share:.0f} %)" if len(called) > 1 else ""
            chosen.append((objective, single + stack))
        least, most = (cell(end, signed=True).number for end in (gain.least, gain.most))
        spread.append((f"{objective}, {called[gain.kind]}", f"{least} to {most}"))
    interval = (
        f"{count(resamples, 'resample')} of groups, everything learnt again in each; percentiles; a "
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


def further_sheets(
    panels: Sequence[Panel], by: str | None, bias: bool, agreement: bool, gain: bool
) -> tuple[list[Table], list[str]]:
    """Return the tables of the requested analyses of each panel, and sentences about those that could not be made.

    by: division into subgroups. bias: dependence of scores on length and position. agreement: correlations of scores.
    gain: gain of stacks. Without a request the agreement is computed, and the gain unless there are too few groups, of
    which a sentence is returned. Raises `UserError` where a requested analysis cannot be made.
    """
    plain = not (by or bias or agreement or gain)
    sheets = by_part(list(panels), check_division(by, panels[0].config)) if by else []
    left_out = []
    for panel in panels:
        # Cited rows are preferred: the others of a pool are candidates that nobody judged.
        protocol_setup = min(panel.readable.protocols, key=lambda setup: setup[0].uses_pool)
        sheets += [bias_sheet(panel, protocol_setup)] if bias else []
        sheets += [agreement_sheet(panel, protocol_setup)] if agreement or plain else []
        try:
            sheets += [complementarity_sheet(panel, protocol_setup)] if gain or plain else []
        except UserError as error:
            if not plain:
                raise
            left_out.append(f"No gain of stacks: {error}")
    return sheets, left_out
