"""Three-way decisions by what was not learnt on the data judged: own probabilities, thresholds carried over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

import numpy as np

from metaeval.analyses.deciding import (
    LEVELS,
    MEASURES,
    SEED,
    TARGETS,
    finite,
    held_apart,
    levels_of,
    prepare_decisions,
    scored_rows,
)
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.cells import cell, units
from metaeval.report.table import Note, Table, TableRow, plain
from metaeval.runs.columns import FILE_PREFIX, AlignedColumn, scored_columns
from metaeval.runs.metric_scores import Panel, judged, make_sheet
from metaeval.runs.metrics import MetricProgress, load_metrics
from metaeval.runs.prepared_run import Frame, RatedSet
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.decisions import Objective, best_thresholds, brier, calibrated, decide, nested_decisions, number_of
from protocols.contract import Resampling


@dataclass(frozen=True)
class Chances:
    """A metric's scores, and its probabilities of some support and of full support on the same rows."""

    metric: AlignedColumn
    some: AlignedColumn
    full: AlignedColumn


def own_level_columns(panel: Panel, frame: Frame, progress: MetricProgress | None = None) -> list[Chances]:
    """The probabilities of those metrics that declare them, scored as any metric with these options is.

    None where the gold has not all of their three levels.
    """
    source, config = panel.source, panel.config
    if isinstance(source, RatedSet) or levels_of(frame).size < len(LEVELS):
        return []
    metrics = load_metrics((name for name in config.metrics if not name.startswith(FILE_PREFIX)), config)
    declared = {name: options for name in metrics.names if (options := metrics[name].card.level_options)}
    if not declared:
        return []
    sides = []
    for side in (0, 1):  # a run of these metrics with the options above their own
        above = {name: {**config.metric_options.get(name, {}), **pair[side]} for name, pair in declared.items()}
        asked = {"metrics": tuple(declared), "metric_options": {**config.metric_options, **above}}
        run = config.model_copy(update=asked)
        sides.append(scored_columns(replace(source, config=run), load_metrics(declared, run), progress))
    own = {column.name: column for column in panel.columns}
    return [Chances(own[one.name], one, other) for one, other in zip(*sides, strict=True)]


def most_likely(some: Floats, full: Floats) -> Ints:
    """The most likely level, (n,), from P(some support) and P(full support), (n,) each; of equals the lowest."""
    levels: Ints = np.argmax([1 - some, some - full, full], axis=0).astype(np.int64)
    return levels


@dataclass(frozen=True)
class OwnLevels:
    """One metric under one measure. own: by its own probabilities; learnt: by what is learnt on the other folds here.

    gain: own less learnt, with its cluster interval where the measure is one of decisions.
    """

    metric: str
    measure: str
    own: float | None
    learnt: float | None
    gain: float | None
    low: float | None
    high: float | None


def own_levels(frame: Frame, one: Chances, options: Mapping[str, str], resampling: Resampling) -> list[OwnLevels]:
    """Decisions and probabilities of a metric's own, beside thresholds and isotonic probabilities learnt here.

    Raises `UserError` where a level has no scored row, or there are fewer groups than folds.
    """
    folds, objective = int(options["folds"]), cast(Objective, options["objective"])
    rows = scored_rows(frame, one.metric, folds)
    kept = frame.numbers[~np.isnan(judged(frame, one.metric).score)]
    some, full = one.some.score[kept], one.full.score[kept]
    gold = rows.gold.astype(np.int64)
    learnt, _ = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective)
    likely = most_likely(some, full)
    found = [
        OwnLevels(one.metric.name, key, *held_apart(key, likely, learnt, gold, rows.group, resampling))
        for key in MEASURES
    ]
    for (target, least), chance in zip(TARGETS.items(), (full, some), strict=True):
        own, other = (
            brier(values, gold >= least)
            for values in (chance, calibrated(rows.score, gold >= least, rows.group, "isotonic", folds, SEED))
        )
        found.append(OwnLevels(one.metric.name, f"brier, {target}", own, other, own - other, None, None))
    return found


def own_levels_sheet(panel: Panel, frame: Frame, options: Mapping[str, str], chances: Sequence[Chances]) -> Table:
    """The own levels of each metric that has probabilities; `UserError` as `own_levels`."""
    found = [line for one in chances for line in own_levels(frame, one, options, panel.resampling)]
    titles = {key: title for key, (title, _) in MEASURES.items()}
    titles |= {f"brier, {target}": f"Brier score, {target}" for target in TARGETS}
    rows: list[TableRow] = []
    for one in found:
        cells = cell(one.own), cell(one.learnt), cell(one.gain, one.low, one.high, signed=True)
        rows.append((titles[one.measure], one.metric, cells))
    reading = (
        "own: the most likely level, and the probabilities as the metric gives them; learnt here: thresholds and "
        "isotonic probabilities from the other folds of these data; gain: own less learnt (a lower "
        "Brier score is better)"
    )
    return make_sheet(
        panel,
        frame,
        "own-levels",
        "Levels by the metric's own probabilities",
        {"protocol": "decision", **options},
        ("metric", ("own", "learnt here", "gain"), rows),
        [asdict(one) for one in found],
        notes=[Note("reading", reading)],
    )


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
    source: tuple[Frame, AlignedColumn],
    target: tuple[Frame, AlignedColumn],
    options: Mapping[str, str],
    resampling: Resampling,
) -> list[Transfer]:
    """One metric's thresholds from the source's rows, applied to the target's.

    The interval takes the learnt thresholds as given: it is of the target's groups alone. Raises `UserError` where the
    two have other levels, a level has no scored row in either, or the target has fewer groups than folds.
    """
    levels = levels_of(source[0])
    if not np.array_equal(levels, levels_of(target[0])):
        held = []
        for frame, _ in (source, target):
            names = [LEVELS[level] for level in reversed(levels_of(frame).tolist())]
            held.append(f"{frame.name} has {', '.join(names[:-1])} and {names[-1]}")
        raise UserError(f"Thresholds cannot be carried over between other levels: {', and '.join(held)}.")
    folds, objective = int(options["folds"]), cast(Objective, options["objective"])
    learnt, rows = scored_rows(*source, folds=1), scored_rows(*target, folds=folds)
    gold, learnt_gold = (np.searchsorted(levels, one.gold) for one in (rows, learnt))
    thresholds = best_thresholds(learnt.score, learnt_gold, None, objective, number_of(levels))
    own, _ = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective, number_of(levels))
    carried = decide(rows.score, thresholds)
    begins = dict(zip(levels[1:].tolist(), map(finite, thresholds), strict=True))
    ends = begins.get(1), begins.get(2), int(gold.size)
    return [
        Transfer(target[1].name, key, *held_apart(key, own, carried, gold, rows.group, resampling), *ends)
        for key in MEASURES
    ]


def carried_over(panel: Panel, other: Panel) -> Table:
    """The thresholds of one panel's data on another's, with the same metrics; `UserError` as `transfers`."""
    (source, (_, options)), (target, _) = prepare_decisions(panel), prepare_decisions(other)
    found = [
        one
        for here, there in zip(panel.columns, other.columns, strict=True)
        for one in transfers((source, here), (target, there), options, panel.resampling)
    ]
    rows: list[TableRow] = []
    for one in found:
        cells = cell(one.own), cell(one.transferred), cell(one.loss, one.low, one.high, signed=True)
        rows.append((MEASURES[one.measure][0], one.metric, cells))
    here, there = (f"{plain(one.name)} {plain(one.split)}" for one in (source, target))
    reading = (
        f"own: thresholds cross-validated on {there}; carried over: thresholds learnt on all {source.gold.size:,} "
        f"{units(source.unit)} of {here}; loss: own less carried over, below 0 where the foreign thresholds do better"
    )
    return make_sheet(
        other,
        target,
        safe_name(f"transfer-to-{target.name}-{target.split}-{target.unit}"),
        f"Thresholds of {here} on {there}",
        {"protocol": "decision", **options, "thresholds-from": str(source.fields["data"])},
        ("metric", ("own", "carried over", "loss"), rows),
        [asdict(one) for one in found],
        notes=[
            Note("reading", reading),
            Note("interval", f"over the groups of {there}, the learnt thresholds taken as given"),
        ],
    )
