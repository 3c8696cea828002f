"""Out-of-fold decisions of each metric, as sheets and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.cells import cell
from metaeval.report.result import Result
from metaeval.report.table import UNDEFINED, Cell, ColumnGroup, Note, Record, Table, TableRow, known, plain
from metaeval.runs.columns import Column, control_columns
from metaeval.runs.evaluation import Asked, evaluate, find_protocols
from metaeval.runs.metric_scores import Panel, judged, make_sheet
from metaeval.runs.prepared_run import Frame, RatedSet
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.classification import (
    balanced_accuracy,
    decision_counts,
    level_f1,
    level_precision,
    level_recall,
    macro_f1,
    quadratic_kappa,
    resampled,
)
from metaeval.stats.decisions import Calibration, Objective, calibration, nested_decisions, number_of
from metaeval.stats.intervals import intervals
from metaeval.stats.resampling import Draws, replicate
from protocols.contract import Judgements, Resampling

LEVELS = ("none", "partial", "full")
"""The levels by their gold value."""

TARGETS: Mapping[str, int] = {"full": 2, "full or partial": 1}
"""What a calibrated score is the chance of, with the lowest level that counts."""

SEED = 0
"""Of the folds; the decision protocol's."""


@dataclass(frozen=True)
class Decided:
    """One metric's out-of-fold decisions on its scored rows.

    levels: (K,), those of the gold, three or two, ascending. thresholds: (folds, K - 1), the scores from which all but
    the lowest are decided. counts: (K, K), gold down, decided across, in the levels' order. calibrations: by target.
    """

    metric: str
    levels: Ints
    thresholds: Floats
    counts: Ints
    calibrations: Mapping[str, Calibration]


def prepare_decisions(panel: Panel) -> tuple[Frame, Asked]:
    """The rows to decide, and the decision protocol with the run's options.

    Raises `UserError` for data of fewer than two levels.
    """
    ((protocol, options),) = find_protocols(panel.config)
    if isinstance(panel.source, RatedSet):
        raise UserError(
            f"Decisions are between full, partial and none, and {panel.source.name} holds ratings: take a data set "
            "with levels ('metaeval data list'), or type 'metaeval evaluate -p verdicts' for verdicts as they stand."
        )
    frame = panel.source.frame(protocol)
    present = levels_of(frame)
    if present.size < 2:
        raise UserError(
            f"Decisions are between two or three of full, partial and none; every row of {frame.name} is "
            f"{LEVELS[present[0]]}.{frame.unknown_levels()}"
        )
    return frame, (protocol, options)


def levels_of(frame: Frame) -> Ints:
    """The levels that the gold of the rows has, ascending."""
    return np.unique(frame.gold).astype(np.int64)


def decision_table(panel: Panel, frame: Frame, asked: Asked) -> Result:
    """The decision protocol's table of the panel's metrics, above the controls where the run wants them."""
    columns = list(panel.columns)
    if panel.config.controls and not isinstance(panel.source, RatedSet):
        columns += control_columns(panel.source, columns)
    protocol, options = asked
    return evaluate(frame, columns, protocol, options, panel.config)


def decided(frame: Frame, column: Column, options: Mapping[str, str]) -> Decided:
    """A metric's decisions and calibrated probabilities, with the folds and thresholds of the decision protocol.

    Raises `UserError` where a level has no scored row, or there are fewer groups than folds.
    """
    folds, objective = int(options["folds"]), cast(Objective, options["objective"])
    rows, levels = scored_rows(frame, column, folds), levels_of(frame)
    gold = np.searchsorted(levels, rows.gold)
    predicted, thresholds = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective, number_of(levels))
    counts = decision_counts(predicted, gold, np.zeros(gold.size, dtype=np.int64), 1, levels.size)[0]
    calibrations = {
        target: calibration(rows.score, rows.gold >= least, rows.group, folds, SEED)
        for target, least in TARGETS.items()
        if least in levels[1:]
    }
    return Decided(column.name, levels, thresholds, counts.astype(np.int64), calibrations)


def scored_rows(frame: Frame, column: Column, folds: int) -> Judgements:
    """The rows that a metric scored; `UserError` where there is none at some level, or in fewer groups than folds."""
    rows = judged(frame, column)
    rows = rows.rows(~np.isnan(rows.score))
    absent = [LEVELS[level] for level in levels_of(frame) if not (rows.gold == level).any()]
    if absent:
        raise UserError(f"Metric {column.name!r} scored no row of {frame.name} that is {' or '.join(absent)}.")
    groups = np.unique(rows.group).size
    if groups < folds:
        raise UserError(
            f"{folds} folds need {folds} groups, and {frame.name} has {groups} that {column.name} scored: "
            "try --set protocol_options.decision.folds=3."
        )
    return rows


MEASURES = {
    "macro_f1": ("Macro-F1", macro_f1),
    "balanced_accuracy": ("Balanced accuracy", balanced_accuracy),
    "kappa": ("Quadratic kappa", quadratic_kappa),
}


def held_apart(
    key: str, one: Ints, other: Ints, gold: Ints, groups: Ints, resampling: Resampling
) -> tuple[float | None, float | None, float | None, float | None, float | None]:
    """A measure of two ways to decide the same rows, (n,): of one, of the other, one less the other, and its interval.

    key: of `MEASURES`. one, other: decided levels. gold: levels from 0, none without a row. groups: of the rows.
    """
    _, measure = MEASURES[key]
    codes, group = np.unique(groups, return_inverse=True)
    rows = gold, group.astype(np.int64), codes.size, int(gold.max()) + 1
    both = [resampled(decision_counts(levels, *rows), measure) for levels in (one, other)]

    def run(draws: Draws) -> Floats:
        first, second = (replicate(prepared, draws) for prepared in both)
        return np.stack((first, second, first - second))

    least = -2.0 if key == "kappa" else -1.0
    first, second, apart = intervals(run, np.bincount(group), resampling, (least, -least))
    return first.value, second.value, apart.value, apart.low, apart.high


def finite(value: float) -> float | None:
    """The value; None where it is not finite."""
    return float(value) if np.isfinite(value) else None


Make = Callable[..., Table]
"""`make_sheet` about a panel's decisions."""


def decision_sheets(panel: Panel, frame: Frame, options: Mapping[str, str], found: Sequence[Decided]) -> list[Table]:
    """Thresholds by fold, levels (confusion, precision, recall, F1), calibration, and its bins."""
    sheet = partial(make_sheet, panel, frame, intervals=False)
    chosen = {"protocol": "decision", **options}
    return [make(sheet, chosen, found) for make in (_thresholds, _levels, _calibrations, _bins)]


def _thresholds(sheet: Make, chosen: Mapping[str, str], found: Sequence[Decided]) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    never = []
    names = [LEVELS[level] for level in found[0].levels[1:]]
    for one in found:
        said = [_never(cuts, one.levels) for cuts in one.thresholds]
        for fold, (cuts, note) in enumerate(zip(one.thresholds, said, strict=True), start=1):
            begins = {f"{name}_from": finite(cut) for name, cut in zip(names, cuts, strict=True)}
            records.append({"metric": one.metric, "fold": fold, **begins, "note": note})
        rows.append(("", one.metric, [_mean_of(cuts) for cuts in one.thresholds.T]))
        if some := [text for text in said if text]:
            never.append((plain(one.metric), f"{'; '.join(dict.fromkeys(some))} ({len(some)} folds)"))
    reading = "score from which a level is decided: mean over the folds, least to most"
    return sheet(
        "decision-thresholds",
        "Thresholds, learnt on the other folds",
        chosen,
        ("metric", [f"{name} from" for name in names], rows),
        records,
        notes=[Note("reading", reading), Note("never decided", "", tuple(never))],
    )


def _never(cuts: Floats, levels: Ints) -> str:
    """The levels that thresholds never decide, as words."""
    ends = np.concatenate(([-np.inf], cuts, [np.inf]))
    missing = [LEVELS[level] for level in levels[ends[:-1] == ends[1:]]]
    return f"never {', '.join(missing)}" if missing else ""


def _mean_of(cuts: Floats) -> Cell:
    if not np.isfinite(cuts).all():
        return Cell(UNDEFINED)
    mean, least, most = float(cuts.mean()), float(cuts.min()), float(cuts.max())
    return cell(mean, least, most, spelt=least < 0)


_RATES = {"precision": level_precision, "recall": level_recall, "f1": level_f1}


def _levels(sheet: Make, chosen: Mapping[str, str], found: Sequence[Decided]) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    across = [LEVELS[level] for level in reversed(found[0].levels)]
    for one in found:
        scored = [rates(one.counts.astype(np.float64)) for rates in _RATES.values()]
        for place, name in zip(reversed(range(len(across))), across, strict=True):
            counts = one.counts[place][::-1].tolist()
            total = sum(counts)
            rates = [known(values[place]) for values in scored]
            shares = [f"{100 * count / total:.1f}" for count in counts]
            rows.append((plain(one.metric), name, [*(f"{count:,}" for count in counts), *shares, *map(cell, rates)]))
            decided = dict(zip((f"decided_{each}" for each in across), counts, strict=True))
            rated = dict(zip(_RATES, rates, strict=True))
            records.append({"metric": one.metric, "level": name, **decided, "rows": total, **rated})
    undecided = any(not one.counts.sum(axis=0).all() for one in found)
    return sheet(
        "decision-levels",
        "What was decided at each labelled level",
        chosen,
        ("labelled", (*across, *across, "precision", "recall", "F1"), rows),
        records,
        notes=[Note("precision", "undefined (–) for a level that is never decided" if undecided else "")],
        groups=[ColumnGroup("decided", len(across)), ColumnGroup("% of level", len(across)), ColumnGroup("", 3)],
    )


def _calibrations(sheet: Make, chosen: Mapping[str, str], found: Sequence[Decided]) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    for target in found[0].calibrations:
        for one in found:
            of = one.calibrations[target]
            rows.append((f"chance of {target}", one.metric, [cell(of.brier), cell(of.brier_of_rate), cell(of.error)]))
            numbers = {"brier": of.brier, "brier_of_rate": of.brier_of_rate, "ece": of.error}
            records.append({"metric": one.metric, "target": target, **numbers, "rows": int(of.rows.sum())})
    reading = (
        "lower is better; of the rate: the Brier score of one probability for all rows, what calibration has to beat; "
        "ECE: expected calibration error over 10 equal bins"
    )
    return sheet(
        "calibration",
        "Scores as probabilities (isotonic, out of fold)",
        {**chosen, "calibration": "isotonic"},
        ("metric", ("Brier", "of the rate", "ECE"), rows),
        records,
        notes=[Note("reading", reading)],
    )


def _bins(sheet: Make, chosen: Mapping[str, str], found: Sequence[Decided]) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    for one in found:
        for target, of in one.calibrations.items():
            for number, held in enumerate(of.rows.tolist()):
                low, high = number / of.rows.size, (number + 1) / of.rows.size
                stated, true = known(of.stated[number]), known(of.found[number])
                shares = {"stated": stated, "found": true, "rows": held}
                records.append({"metric": one.metric, "target": target, "bin_low": low, "bin_high": high, **shares})
                if held:
                    title = f"{plain(one.metric)}: chance of {target}"
                    rows.append((title, f"{low:.1f} to {high:.1f}", [cell(stated), cell(true), f"{held:,}"]))
    return sheet(
        "reliability",
        "Reliability of calibrated scores (isotonic, out of fold)",
        {**chosen, "calibration": "isotonic"},
        ("probability", ("stated", "found", "rows"), rows),
        records,
    )


def write_pictures(found: Sequence[Decided], folder: Path) -> list[Path]:
    """Each metric's confusion and the reliability of its calibrated scores; `UserError` without matplotlib."""
    from metaeval.report.figures.drawing import save_figure
    from metaeval.report.figures.scores import confusion_map, reliability_curve

    written: list[Path] = []
    for one in found:
        name = safe_name(one.metric)
        levels = [LEVELS[level] for level in one.levels]
        written += save_figure(confusion_map(one.counts.tolist(), levels, one.metric), folder / f"confusion-{name}")
        for target, of in one.calibrations.items():
            note = f"chance of {target}; expected calibration error {of.error:.3f}"
            bins = of.stated.tolist(), of.found.tolist(), of.rows.tolist()
            stem = folder / f"reliability-{safe_name(target)}-{name}"
            written += save_figure(reliability_curve(*bins, name=one.metric, note=note), stem)
    return written
