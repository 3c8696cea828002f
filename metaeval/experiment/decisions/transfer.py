"""Do thresholds travel? Those learnt on one data set, held against those cross-validated on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from metaeval.experiment.columns import Column
from metaeval.experiment.decisions.deciding import (
    SEED,
    check_scored,
    folds_of,
    objective_of,
    prepare_decisions,
    scored_rows,
)
from metaeval.experiment.frame import Frame
from metaeval.experiment.metric_scores import Panel
from metaeval.experiment.provenance import cell, make_sheet
from metaeval.experiment.sheet import Sheet, known
from metaeval.files import safe_name
from metaeval.report.cells import units
from metaeval.report.grid import Block, Line, Note, plain
from metaeval.stats.classification import balanced_accuracy, decision_counts, macro_f1, quadratic_kappa, resampled
from metaeval.stats.decisions import best_thresholds, decide, nested_decisions
from metaeval.stats.resampling import bootstrap, percentile_interval, replicate
from protocols.contract import Resampling

MEASURES = {"macro_f1": macro_f1, "balanced_accuracy": balanced_accuracy, "kappa": quadratic_kappa}
_LABELS = {"macro_f1": "Macro-F1", "balanced_accuracy": "Balanced accuracy", "kappa": "Quadratic kappa"}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Transfer:
    """One metric under one measure on the other data set.

    own: by thresholds cross-validated there. transferred: by thresholds learnt on all rows of the first. loss: own
    less transferred, with its cluster interval over the other data set's groups. partial_from, full_from: the learnt
    thresholds; None where the level below (or full) is never decided.
    """

    metric: str
    measure: str
    own: float | None
    transferred: float | None
    loss: float | None
    low: float | None
    high: float | None
    partial_from: float | None
    full_from: float | None
    rows: int


def transfers(
    source: tuple[Frame, Column], target: tuple[Frame, Column], options: Mapping[str, str], resampling: Resampling
) -> list[Transfer]:
    """One metric's thresholds from the source's rows, applied to the target's.

    The interval takes the learnt thresholds as given: it is of the target's groups alone. Raises `UserError` where a
    level has no scored row in either, or the target has fewer groups than folds.
    """
    folds, objective = folds_of(options), objective_of(options)
    check_scored(*source, folds=1)
    check_scored(*target, folds=folds)
    learnt, rows = scored_rows(*source), scored_rows(*target)
    thresholds = best_thresholds(learnt.score, learnt.gold.astype(np.int64), None, objective)
    gold = rows.gold.astype(np.int64)
    own, _ = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective)
    codes, group = np.unique(rows.group, return_inverse=True)
    given = gold, group.astype(np.int64), int(codes.size)
    draws = bootstrap(codes.size, resampling.n, resampling.seed)
    found = []
    for key, measure in MEASURES.items():
        at_home, abroad = (
            replicate(resampled(decision_counts(decisions, *given), measure), draws)
            for decisions in (own, decide(rows.score, thresholds))
        )
        loss = at_home - abroad
        low, high = percentile_interval(loss[1:], resampling.level) or (None, None)
        numbers = (known(at_home[0]), known(abroad[0]), known(loss[0]), low, high)
        cuts = (_finite(thresholds[0]), _finite(thresholds[1]))
        found.append(Transfer(target[1].name, key, *numbers, *cuts, int(gold.size)))
    return found


def carried_over(panel: Panel, other: Panel) -> Sheet:
    """The thresholds of one panel's data on another's, with the same metrics; `UserError` as `transfers`."""
    (source, (_, options)), (target, _) = prepare_decisions(panel), prepare_decisions(other)
    found = [
        one
        for here, there in zip(panel.columns, other.columns, strict=True)
        for one in transfers((source, here), (target, there), options, panel.resampling)
    ]
    return _sheet(other, source, target, found, options)


def _sheet(panel: Panel, source: Frame, target: Frame, found: Sequence[Transfer], options: Mapping[str, str]) -> Sheet:
    blocks = []
    for key, label in _LABELS.items():
        lines = [
            Line(
                plain(one.metric),
                (cell(one.own), cell(one.transferred), cell(one.loss, one.low, one.high, signed=True)),
            )
            for one in found
            if one.measure == key
        ]
        blocks.append(Block(label, tuple(lines)))
    here, there = (f"{plain(one.name)} {plain(one.split)}" for one in (source, target))
    reading = (
        f"own: thresholds cross-validated on {there}; carried over: thresholds learnt on all {source.gold.size:,} "
        f"{units(source.unit)} of {here}; loss: own less carried over, below 0 where the foreign thresholds do better"
    )
    return make_sheet(
        panel,
        target,
        safe_name(f"transfer-to-{target.name}-{target.split}-{target.unit}"),
        f"Thresholds of {here} on {there}",
        {"protocol": "decision", **options, "thresholds-from": str(source.fields["data"])},
        ("metric", ("own", "carried over", "loss"), blocks),
        [asdict(one) for one in found],
        notes=[
            Note("reading", reading),
            Note("interval", f"over the groups of {there}, the learnt thresholds taken as given"),
        ],
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
