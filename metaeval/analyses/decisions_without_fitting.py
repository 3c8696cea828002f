"""Three-way decisions that are not learnt on the evaluated data: native probabilities, transferred thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from metaeval.analyses.cross_validated_decisions import (
    LEVELS,
    MEASURES,
    SEED,
    TARGETS,
    DecisionComparison,
    compare_decisions,
    finite_or_none,
    levels_of,
    prepare_decisions,
    scored_rows,
)
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.result_tables import units
from metaeval.report.table import Note, Record, Table, TableRow, plain
from metaeval.runs.loaded_metrics import MetricProgress, load_metrics
from metaeval.runs.prepared_run import Frame, RatedSet
from metaeval.runs.score_columns import FILE_PREFIX, AlignedColumn, scored_columns
from metaeval.runs.score_panel import Panel, judged, make_sheet
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.decisions import (
    Objective,
    best_thresholds,
    brier,
    calibrated,
    decide,
    level_count,
    nested_decisions,
)
from protocols.contract import Resampling


@dataclass(frozen=True)
class LevelProbabilities:
    """A metric's scores (`metric`), and its probabilities of at least partial (`some`) and of full support, by row."""

    metric: AlignedColumn
    some: AlignedColumn
    full: AlignedColumn


def level_probabilities(panel: Panel, frame: Frame, progress: MetricProgress | None = None) -> list[LevelProbabilities]:
    """Compute level probabilities of each metric with options for them; empty where the gold lacks one of 3 levels."""
    source, config = panel.source, panel.config
    if isinstance(source, RatedSet) or levels_of(frame).size < len(LEVELS):
        return []
    metrics = load_metrics((name for name in config.metrics if not name.startswith(FILE_PREFIX)), config)
    declared = {name: options for name in metrics.names if (options := metrics[name].card.level_options)}
    if not declared:
        return []
    sides = []
    for side in (0, 1):  # a run of these metrics with their options for this side
        above = {name: {**config.metric_options.get(name, {}), **pair[side]} for name, pair in declared.items()}
        settings = {"metrics": tuple(declared), "metric_options": {**config.metric_options, **above}}
        run = config.model_copy(update=settings)
        sides.append(scored_columns(replace(source, config=run), load_metrics(declared, run), progress))
    column_by_name = {column.name: column for column in panel.columns}
    return [LevelProbabilities(column_by_name[some.name], some, full) for some, full in zip(*sides, strict=True)]


def most_likely(some: Floats, full: Floats) -> Ints:
    """Return the most likely level, 0 to 2, from P(at least partial) and P(full), (n,) each; ties give the lowest."""
    levels: Ints = np.argmax([1 - some, some - full, full], axis=0).astype(np.int64)
    return levels


def native_decisions(
    frame: Frame, chances: LevelProbabilities, options: Mapping[str, str], resampling: Resampling
) -> dict[str, DecisionComparison]:
    """Compare a metric's own decisions and probabilities (first) with those learnt from its scores on other folds.

    options: of the decision protocol. Returns the comparison by measure; Brier scores have no interval. Raises
    `UserError` where a level has no scored row, and for fewer groups than folds.
    """
    folds, objective = int(options["folds"]), cast(Objective, options["objective"])
    rows = scored_rows(frame, chances.metric, folds)
    kept = frame.numbers[~np.isnan(judged(frame, chances.metric).score)]
    some, full = chances.some.score[kept], chances.full.score[kept]
    gold = rows.gold.astype(np.int64)
    learnt, _ = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective)
    likely = most_likely(some, full)
    comparisons = {key: compare_decisions(key, likely, learnt, gold, rows.group, resampling) for key in MEASURES}
    for (target, least), chance in zip(TARGETS.items(), (full, some), strict=True):
        outcome = gold >= least
        native = brier(chance, outcome)
        isotonic = brier(calibrated(rows.score, outcome, rows.group, "isotonic", folds, SEED), outcome)
        comparisons[f"brier, {target}"] = DecisionComparison(native, isotonic, native - isotonic)
    return comparisons


def native_decisions_sheet(
    panel: Panel, frame: Frame, options: Mapping[str, str], metrics: Sequence[LevelProbabilities]
) -> Table:
    """Return the table of the own decisions of metrics that give probabilities; errors as in `native_decisions`."""
    titles = {key: title for key, (title, _) in MEASURES.items()}
    titles |= {f"brier, {target}": f"Brier score, {target}" for target in TARGETS}
    rows: list[TableRow] = []
    records: list[Record] = []
    for chances in metrics:
        name = chances.metric.name
        for key, comparison in native_decisions(frame, chances, options, panel.resampling).items():
            rows.append((titles[key], name, comparison.cells))
            records.append({"metric": name, "measure": key, **comparison.record("own", "learnt", "gain")})
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
        records,
        notes=[Note("reading", reading)],
    )


@dataclass(frozen=True)
class Transfer:
    """The evaluation of one metric's thresholds on another data set than the one that they were learnt on.

    comparisons: by measure, thresholds cross-validated on the other data set (first) and the transferred ones (second);
    intervals are over the groups of the other data set. partial_from, full_from: the transferred thresholds; None where
    the data lack the level, or the threshold is infinite. rows: number of scored rows of the other data set.
    """

    comparisons: Mapping[str, DecisionComparison]
    partial_from: float | None
    full_from: float | None
    rows: int


def transfer(
    source: tuple[Frame, AlignedColumn],
    target: tuple[Frame, AlignedColumn],
    options: Mapping[str, str],
    resampling: Resampling,
) -> Transfer:
    """Learn one metric's thresholds on the rows of a source data set, and evaluate them on those of a target.

    options: of the decision protocol. The intervals take the learnt thresholds as fixed. Raises `UserError` where
    the two have different levels, a level has no scored row in either, or the target has fewer groups than folds.
    """
    levels = levels_of(source[0])
    if not np.array_equal(levels, levels_of(target[0])):
        level_texts = []
        for frame, _ in (source, target):
            names = [LEVELS[level] for level in reversed(levels_of(frame).tolist())]
            level_texts.append(f"{frame.name} has {', '.join(names[:-1])} and {names[-1]}")
        raise UserError(
            f"Thresholds cannot be transferred between different levels: {', and '.join(level_texts)}. Choose data "
            "sets with the same levels."
        )
    folds, objective = int(options["folds"]), cast(Objective, options["objective"])
    learnt, rows = scored_rows(*source, folds=1), scored_rows(*target, folds=folds)
    gold, learnt_gold = np.searchsorted(levels, rows.gold), np.searchsorted(levels, learnt.gold)
    thresholds = best_thresholds(learnt.score, learnt_gold, None, objective, level_count(levels))
    native, _ = nested_decisions(rows.score, gold, rows.group, folds, SEED, objective, level_count(levels))
    transferred = decide(rows.score, thresholds)
    begins = dict(zip(levels[1:].tolist(), map(finite_or_none, thresholds), strict=True))
    return Transfer(
        {key: compare_decisions(key, native, transferred, gold, rows.group, resampling) for key in MEASURES},
        partial_from=begins.get(1),
        full_from=begins.get(2),
        rows=int(gold.size),
    )


def transfer_sheet(panel: Panel, other: Panel) -> Table:
    """Return the table of thresholds learnt on one panel's data and evaluated on another's; errors as in `transfer`."""
    (source, (_, options)), (target, _) = prepare_decisions(panel), prepare_decisions(other)
    rows: list[TableRow] = []
    records: list[Record] = []
    for column, target_column in zip(panel.columns, other.columns, strict=True):
        outcome = transfer((source, column), (target, target_column), options, panel.resampling)
        thresholds = {"partial_from": outcome.partial_from, "full_from": outcome.full_from, "rows": outcome.rows}
        for key, comparison in outcome.comparisons.items():
            rows.append((MEASURES[key][0], target_column.name, comparison.cells))
            values = comparison.record("own", "transferred", "loss")
            records.append({"metric": target_column.name, "measure": key, **values, **thresholds})
    here, there = (f"{plain(frame.name)} {plain(frame.split)}" for frame in (source, target))
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
        records,
        notes=[
            Note("reading", reading),
            Note("interval", f"over the groups of {there}, the learnt thresholds taken as given"),
        ],
    )
