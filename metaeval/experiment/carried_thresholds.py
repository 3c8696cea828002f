"""Thresholds that were learnt on one data set, carried over to another: what they do there, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np

from metaeval.errors import UserError
from metaeval.experiment.columns import Column
from metaeval.experiment.deciding import (
    LEVELS,
    MEASURES,
    SEED,
    finite,
    held_apart,
    levels_of,
    prepare_decisions,
    scored_rows,
)
from metaeval.experiment.metric_scores import Panel, make_sheet
from metaeval.experiment.prepared_run import Frame
from metaeval.files import safe_name
from metaeval.report.cells import cell, units
from metaeval.report.grid import Block, Line, Note, plain
from metaeval.report.sheet import Sheet
from metaeval.stats.arrays import Ints
from metaeval.stats.decisions import Objective, best_thresholds, decide, nested_decisions, number_of
from protocols.contract import Resampling


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

    The interval takes the learnt thresholds as given: it is of the target's groups alone. Raises `UserError` where the
    two have other levels, a level has no scored row in either, or the target has fewer groups than folds.
    """
    levels = levels_of(source[0])
    if not np.array_equal(levels, levels_of(target[0])):
        held = [f"{frame.name} has {_listed(levels_of(frame))}" for frame, _ in (source, target)]
        raise UserError(f"Thresholds cannot be carried over between other levels: {', and '.join(held)}.")
    folds, objective = int(options["folds"]), cast(Objective, options["objective"])
    learnt, rows = scored_rows(*source, folds=1), scored_rows(*target, folds=folds)
    gold, learnt_gold = (np.searchsorted(levels, one.gold) for one in (rows, learnt))
    thresholds = best_thresholds(learnt.score, learnt_gold, None, objective, number_of(levels))
    own, _ = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective, number_of(levels))
    codes, group = np.unique(rows.group, return_inverse=True)
    given = gold, group.astype(np.int64), int(codes.size)
    found = []
    carried = decide(rows.score, thresholds)
    begins = dict(zip(levels[1:].tolist(), map(finite, thresholds), strict=True))
    for key in MEASURES:
        numbers = held_apart(key, own, carried, given, resampling)
        found.append(Transfer(target[1].name, key, *numbers, begins.get(1), begins.get(2), int(gold.size)))
    return found


def _listed(levels: Ints) -> str:
    names = [LEVELS[level] for level in reversed(levels.tolist())]
    return f"{', '.join(names[:-1])} and {names[-1]}"


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
    lines: dict[str, list[Line]] = {key: [] for key in MEASURES}
    for one in found:
        cells = cell(one.own), cell(one.transferred), cell(one.loss, one.low, one.high, signed=True)
        lines[one.measure].append(Line(plain(one.metric), cells))
    blocks = [Block(MEASURES[key][0], tuple(own)) for key, own in lines.items()]
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
