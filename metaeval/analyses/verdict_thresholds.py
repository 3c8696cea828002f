"""Calibration: the threshold from which a metric's verdict is "supported", learnt from human labels, and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import cast, get_args

import numpy as np

from metaeval.analyses.cross_validated_decisions import prepare_decisions
from metaeval.analyses.panel import Panel, judged, make_sheet
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, unknown
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Cell, Note, Record, Table, TableRow
from metaeval.runs.data import Frame
from metaeval.runs.metrics import SHEET, find_cutoff, identity_of, judge_of, load_run_data
from metaeval.runs.score import AlignedColumn, MetricProgress, scored_columns
from metaeval.scoring.contract import Metric
from metaeval.stats.agreement import cohen_kappa
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.classification import accuracy, balanced_accuracy, decision_counts, level_f1, resampled
from metaeval.stats.decisions import Objective, best_thresholds, decide, nested_decisions
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import intervals
from metaeval.stats.resampling import replicate

_LEVELS: Mapping[str, int] = {"full": 2, "partial": 1}
"""The allowed values of `target`, each with the lowest human level that counts as supported."""

_SEED = 0
MEASURES = {
    "balanced accuracy": balanced_accuracy,
    "F1": lambda counts: level_f1(counts)[..., 1],
    "accuracy": accuracy,
    "kappa": cohen_kappa,
}
"""Measures of two-way decisions, from counts (..., 2, 2) with gold in rows: F1 is of "supported", kappa is Cohen's."""


DecisionMeasures = Mapping[str, Estimate]
"""Agreement of two-way decisions with the human labels, by measure."""


@dataclass(frozen=True)
class MetricThreshold:
    """The threshold learnt for one metric, on the scale of its scores, and its cross-validated measures.

    identity: hash of what can change the metric's scores. folds: thresholds learnt without one fold each, (folds,).
    rows, positives, unscored: numbers of scored rows, of the supported ones among them, and of rows without a score.
    out_of_fold: measures of the decisions of the thresholds in `folds` on the folds left out. declared: the threshold
    that the metric has without a calibration, and its measures on all scored rows; None if it has none.
    """

    metric: str
    identity: str
    threshold: float
    folds: Floats
    rows: int
    positives: int
    unscored: int
    out_of_fold: DecisionMeasures
    declared: tuple[float, DecisionMeasures] | None


def calibrate(
    config: RunConfig,
    target: str = "full",
    objective: str = "macro-f1",
    folds: int = 5,
    progress: MetricProgress | None = None,
) -> tuple[Panel, list[MetricThreshold]]:
    """Learn the threshold of each metric's verdicts on the run's data; return the scored data, and the thresholds.

    target: lowest level that counts as supported, "full" or "partial". objective: measure that the threshold
    maximises. folds: number of folds of the cross-validation.

    Raises `UserError`, for wrong settings before anything is scored, for a metric that cannot judge single claims,
    data without human levels, labels of one kind, fewer groups than folds, and a metric whose best threshold
    decides every row alike.
    """
    if target not in _LEVELS:
        raise unknown("target", target, _LEVELS)
    if objective not in get_args(Objective):
        raise unknown("objective", objective, get_args(Objective))
    if folds < 2:
        raise UserError(f"folds is {folds}; allowed: 2 or more, up to the number of groups.")
    config = config.model_copy(update={"protocols": ("decision",)})
    loaded, source = load_run_data(config)
    metrics = {name: judge_of(name, loaded) for name in dict.fromkeys(config.metrics)}
    frame, protocol = prepare_decisions(config, source)
    panel = Panel(config, source, scored_columns(source, loaded, progress), [protocol])
    how, level = cast(Objective, objective), _LEVELS[target]
    return panel, [_threshold_of(panel, frame, each, metrics[each.name], level, how, folds) for each in panel.columns]


def _threshold_of(
    panel: Panel, frame: Frame, column: AlignedColumn, metric: Metric, level: int, objective: Objective, folds: int
) -> MetricThreshold:
    rows = judged(frame, column)
    scored = rows.rows(~np.isnan(rows.score))
    gold, sign = (scored.gold >= level).astype(np.int64), metric.card.direction
    groups = np.unique(scored.group).size
    if np.unique(gold).size < 2:
        raise UserError(f"{frame.name}: all rows that {column.name!r} scored have the same label: choose another.")
    if folds > groups:
        raise UserError(f"folds is {folds}; allowed: 2 to {groups}, the groups of {frame.name}.")
    threshold = float(best_thresholds(scored.score, gold, objective, 2)[0])
    if not np.isfinite(threshold):
        raise UserError(f"{column.name!r} does not separate supported from unsupported rows of {frame.name}.")
    predicted, by_fold = nested_decisions(scored.score, gold, scored.group, folds, _SEED, objective, 2)
    declared = None
    with suppress(UserError):  # a metric without a threshold of its own
        if (value := find_cutoff(column.name, metric, {}).value) is not None:
            decided = decide(scored.score, np.array([sign * value]))
            declared = value, _decision_measures(panel, decided, gold, scored.group)
    return MetricThreshold(
        metric=column.name,
        identity=identity_of(column.name, metric),
        threshold=sign * threshold,
        folds=sign * by_fold[:, 0],
        rows=gold.size,
        positives=int(gold.sum()),
        unscored=rows.score.size - gold.size,
        out_of_fold=_decision_measures(panel, predicted, gold, scored.group),
        declared=declared,
    )


def _decision_measures(panel: Panel, predicted: Ints, gold: Ints, group: Ints) -> DecisionMeasures:
    n_groups = int(group.max()) + 1
    counts, rows = decision_counts(predicted, gold, group, n_groups, 2), np.bincount(group, minlength=n_groups)
    rated = {}
    for name, measure in MEASURES.items():
        ends = (-1.0 if name == "kappa" else 0.0, 1.0)
        rated[name] = intervals(partial(replicate, resampled(counts, measure)), rows, panel.resampling, ends)[0]
    return rated


def calibration_sheet(
    panel: Panel, thresholds: Sequence[MetricThreshold], target: str, objective: str, folds: int
) -> Table:
    """Return the table of learnt thresholds with their out-of-fold measures, and of declared thresholds."""
    frame = panel.source.frame(panel.protocols[0][0])
    records: list[Record] = []
    learnt: list[TableRow] = []
    declared: list[TableRow] = []
    for fit in thresholds:
        least, most = float(fit.folds.min()), float(fit.folds.max())
        ends = (least, most) if np.isfinite([least, most]).all() else (None, None)
        learnt.append(("learnt here (out of fold)", fit.metric, [cell(fit.threshold, *ends), *_cells(fit.out_of_fold)]))
        records.append(
            {
                **{"metric": fit.metric, "identity": fit.identity, "threshold": fit.threshold},
                **{"rows": fit.rows, "positives": fit.positives, "unscored": fit.unscored},
                **_numbers("", fit.out_of_fold),
                "declared": fit.declared[0] if fit.declared else None,
                **_numbers("declared_", fit.declared[1] if fit.declared else None),
            }
        )
        if fit.declared:
            threshold, rated = fit.declared
            declared.append(("declared (all rows)", fit.metric, [cell(threshold), *_cells(rated)]))
    return make_sheet(
        panel,
        frame,
        SHEET,
        f"Thresholds for {target} support",
        {"target": target, "objective": objective, "folds": folds},
        ("metric", ("threshold", *MEASURES), [*learnt, *declared]),
        records,
        notes=[
            Note("reading", "supported from the threshold on; below it, the least and the most over the folds"),
            Note(
                "labels", f"{thresholds[0].positives:,} of {thresholds[0].rows:,} rows are supported ({target} or more)"
            ),
            Note("measures", "F1 of supported; kappa: Cohen's, with the labels"),
        ],
    )


def _cells(rated: DecisionMeasures) -> list[Cell]:
    return [cell(*estimate.ends, THREE) for estimate in rated.values()]


def _numbers(prefix: str, rated: DecisionMeasures | None) -> dict[str, float | None]:
    numbers: dict[str, float | None] = {}
    for name in MEASURES:
        estimate = rated[name] if rated else Estimate(None)
        numbers |= estimate.record(f"{prefix}{name.lower().replace(' ', '_')}")
    return numbers
