"""Cross-validated decisions of each metric between levels of support, as tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from metaeval.analyses.panel import Panel, judged, make_sheet
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.core.files import safe_name
from metaeval.report.result import Result
from metaeval.report.result_tables import cell
from metaeval.report.table import UNDEFINED, Cell, ColumnGroup, Note, Record, Table, TableRow, known, plain
from metaeval.runs.data import Frame, Job, RatedSet
from metaeval.runs.evaluate import ProtocolSetup, evaluate, find_protocols, with_controls
from metaeval.runs.score import AlignedColumn
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.classification import decision_counts, level_f1, level_precision, level_recall
from metaeval.stats.decisions import Calibration, Objective, calibration, level_count, nested_decisions
from protocols.contract import Judgements

LEVELS = ("none", "partial", "full")
"""The names of the levels, at the index of their gold value."""

TARGETS: Mapping[str, int] = {"full": 2, "full or partial": 1}
"""Outcomes of which calibrated scores are probabilities, with the lowest level that counts."""

SEED = 0
"""Seed of the folds, the same as the decision protocol's."""


@dataclass(frozen=True)
class MetricDecisions:
    """One metric's cross-validated decisions on its scored rows.

    levels: (K,), the levels of the gold, three or two, ascending. thresholds: (folds, K - 1), lowest scores at which
    each level but the lowest is decided. counts: (K, K) numbers of rows, gold levels by decided levels, ascending.
    calibrations: by the key in `TARGETS` of each level but the lowest.
    """

    metric: str
    levels: Ints
    thresholds: Floats
    counts: Ints
    calibrations: Mapping[str, Calibration]


def prepare_decisions(config: RunConfig, source: Job | RatedSet) -> tuple[Frame, ProtocolSetup]:
    """Return the rows on which levels are decided, and the decision protocol with the run's options.

    Raises `UserError` for ratings that are no levels, and for data of fewer than two levels.
    """
    ((protocol, options),) = find_protocols(config)
    frame = source.frame(protocol)
    if not (frame.levels and np.isin(frame.gold, (0, 1, 2)).all()):
        raise UserError(
            f"Decisions need levels, and {frame.name} holds ratings: choose data with levels, or -p verdicts."
        )
    present = levels_of(frame)
    if present.size < 2:
        only = LEVELS[present[0]]
        raise UserError(f"Every row of {frame.name} is {only}: decisions need two levels.{frame.unknown_levels()}")
    return frame, (protocol, options)


def levels_of(frame: Frame) -> Ints:
    """Return the distinct levels of the gold, ascending."""
    return np.unique(frame.gold).astype(np.int64)


def decision_table(panel: Panel, frame: Frame, protocol_setup: ProtocolSetup) -> Result:
    """Evaluate the panel's metrics, and the run's controls, under the decision protocol."""
    columns = with_controls(panel.source, panel.columns) if panel.config.controls else panel.columns
    protocol, options = protocol_setup
    return evaluate(frame, columns, protocol, options, panel.config)


def cross_validated_decisions(frame: Frame, column: AlignedColumn, options: Mapping[str, str]) -> MetricDecisions:
    """Return a metric's decisions and calibrated probabilities, with the decision protocol's folds and thresholds.

    column: its scores. options: of the protocol. Raises `UserError` where a level has no scored row, and for fewer
    groups than folds.
    """
    folds, objective = int(options["folds"]), cast(Objective, options["objective"])
    rows, levels = scored_rows(frame, column, folds), levels_of(frame)
    gold = np.searchsorted(levels, rows.gold)
    predicted, thresholds = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective, level_count(levels))
    counts = decision_counts(predicted, gold, np.zeros(gold.size, dtype=np.int64), 1, levels.size)[0]
    calibrations = {
        target: calibration(rows.score, rows.gold >= least, rows.group, folds, SEED)
        for target, least in TARGETS.items()
        if least in levels[1:]
    }
    return MetricDecisions(column.name, levels, thresholds, counts.astype(np.int64), calibrations)


def scored_rows(frame: Frame, column: AlignedColumn, folds: int) -> Judgements:
    """Return the rows that a metric scored; `UserError` if a gold level has none, or for fewer groups than `folds`."""
    rows = judged(frame, column)
    rows = rows.rows(~np.isnan(rows.score))
    absent = [LEVELS[level] for level in levels_of(frame) if not (rows.gold == level).any()]
    if absent:
        raise UserError(f"Metric {column.name!r} scored no row of {frame.name} of level {' or '.join(absent)}.")
    groups = np.unique(rows.group).size
    if groups < folds:
        raise UserError(
            f"{column.name} scored {groups} groups of {frame.name}, fewer than {folds} folds: set folds lower."
        )
    return rows


def decision_sheets(
    panel: Panel, frame: Frame, options: Mapping[str, str], decisions: Sequence[MetricDecisions]
) -> list[Table]:
    """Return four tables: thresholds by fold, levels (confusion, precision, recall, F1), calibration, reliability."""
    sheet = partial(make_sheet, panel, frame, intervals=False)
    chosen = {"protocol": "decision", **options}
    return [make(sheet, chosen, decisions) for make in (_thresholds, _levels, _calibrations, _bins)]


def _thresholds(sheet: Callable[..., Table], chosen: Mapping[str, str], decisions: Sequence[MetricDecisions]) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    never = []
    names = [LEVELS[level] for level in decisions[0].levels[1:]]
    for decision in decisions:
        ends = [np.concatenate(([-np.inf], cuts, [np.inf])) for cuts in decision.thresholds]
        absent = [[LEVELS[level] for level in decision.levels[of[:-1] == of[1:]]] for of in ends]
        never_notes = [f"never {', '.join(of)}" if of else "" for of in absent]
        for fold, (cuts, note) in enumerate(zip(decision.thresholds, never_notes, strict=True), start=1):
            known_cuts = [float(cut) if np.isfinite(cut) else None for cut in cuts]
            begins = {f"{name}_from": cut for name, cut in zip(names, known_cuts, strict=True)}
            records.append({"metric": decision.metric, "fold": fold, **begins, "note": note})
        means = [
            cell(float(cuts.mean()), float(cuts.min()), float(cuts.max()))
            if np.isfinite(cuts).all()
            else Cell(UNDEFINED)
            for cuts in decision.thresholds.T
        ]
        rows.append(("", decision.metric, means))
        if some := [text for text in never_notes if text]:
            never.append((plain(decision.metric), f"{'; '.join(dict.fromkeys(some))} ({len(some)} folds)"))
    reading = "score from which a level is decided: mean over the folds, least to most"
    return sheet(
        "decision-thresholds",
        "Thresholds, learnt on the other folds",
        chosen,
        ("metric", [f"{name} from" for name in names], rows),
        records,
        notes=[Note("reading", reading), Note("never decided", "", tuple(never))],
    )


_RATES = {"precision": level_precision, "recall": level_recall, "f1": level_f1}


def _levels(sheet: Callable[..., Table], chosen: Mapping[str, str], decisions: Sequence[MetricDecisions]) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    across = [LEVELS[level] for level in reversed(decisions[0].levels)]
    for decision in decisions:
        scored = [rates(decision.counts.astype(np.float64)) for rates in _RATES.values()]
        for place, name in zip(reversed(range(len(across))), across, strict=True):
            counts = decision.counts[place][::-1].tolist()
            total = sum(counts)
            rates = [known(values[place]) for values in scored]
            shares = [f"{100 * count / total:.1f}" for count in counts]
            rows.append(
                (plain(decision.metric), name, [*(f"{count:,}" for count in counts), *shares, *map(cell, rates)])
            )
            decided = dict(zip((f"decided_{each}" for each in across), counts, strict=True))
            rated = dict(zip(_RATES, rates, strict=True))
            records.append({"metric": decision.metric, "level": name, **decided, "rows": total, **rated})
    undecided = any(not decision.counts.sum(axis=0).all() for decision in decisions)
    return sheet(
        "decision-levels",
        "What was decided at each labelled level",
        chosen,
        ("labelled", (*across, *across, "precision", "recall", "F1"), rows),
        records,
        notes=[Note("precision", "undefined (–) for a level that is never decided" if undecided else "")],
        groups=[ColumnGroup("decided", len(across)), ColumnGroup("% of level", len(across)), ColumnGroup("", 3)],
    )


def _calibrations(
    sheet: Callable[..., Table], chosen: Mapping[str, str], decisions: Sequence[MetricDecisions]
) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    for target in decisions[0].calibrations:
        for decision in decisions:
            of = decision.calibrations[target]
            rows.append(
                (f"chance of {target}", decision.metric, [cell(of.brier), cell(of.brier_of_rate), cell(of.error)])
            )
            numbers = {"brier": of.brier, "brier_of_rate": of.brier_of_rate, "ece": of.error}
            records.append({"metric": decision.metric, "target": target, **numbers, "rows": int(of.rows.sum())})
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


def _bins(sheet: Callable[..., Table], chosen: Mapping[str, str], decisions: Sequence[MetricDecisions]) -> Table:
    records: list[Record] = []
    rows: list[TableRow] = []
    for decision in decisions:
        for target, of in decision.calibrations.items():
            for number, size in enumerate(of.rows.tolist()):
                low, high = number / of.rows.size, (number + 1) / of.rows.size
                stated, true = known(of.stated[number]), known(of.found[number])
                shares = {"stated": stated, "found": true, "rows": size}
                bins = {"bin_low": low, "bin_high": high}
                records.append({"metric": decision.metric, "target": target, **bins, **shares})
                if size:
                    title = f"{plain(decision.metric)}: chance of {target}"
                    rows.append((title, f"{low:.1f} to {high:.1f}", [cell(stated), cell(true), f"{size:,}"]))
    return sheet(
        "reliability",
        "Reliability of calibrated scores (isotonic, out of fold)",
        {**chosen, "calibration": "isotonic"},
        ("probability", ("stated", "found", "rows"), rows),
        records,
    )


def write_pictures(decisions: Sequence[MetricDecisions], folder: Path) -> list[Path]:
    """Draw each metric's confusion matrix and reliability curves; return the paths. `UserError` without matplotlib."""
    from metaeval.report.figures.drawing import save_figure
    from metaeval.report.figures.score_figures import Bins, confusion_map, reliability

    written: list[Path] = []
    for decision in decisions:
        name = safe_name(decision.metric)
        levels = [LEVELS[level] for level in decision.levels]
        confusion = confusion_map(decision.counts.tolist(), levels, decision.metric)
        written += save_figure(confusion, folder / f"confusion-{name}")
        for target, of in decision.calibrations.items():
            bins = Bins(f"chance of {target}", of.stated.tolist(), of.found.tolist(), of.rows.tolist())
            figure = reliability({decision.metric: [bins]}, f"expected calibration error {of.error:.3f}")
            written += save_figure(figure, folder / f"reliability-{safe_name(target)}-{name}")
    return written
