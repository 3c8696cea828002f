"""The certificate of a table: how often its intervals hold and its tests reject on data built like its own."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.errors import UserError
from metaeval.report import result as results
from metaeval.report.measures import listed
from metaeval.report.notes import effective_class, within
from metaeval.report.result import Certificate, Result
from metaeval.report.table import UNDEFINED, Note, Table, TableRow, known, numeral, plain
from metaeval.runs.columns import Column
from metaeval.runs.evaluation import Asked, column_of, resampling_of
from metaeval.runs.metric_scores import Panel, judged, make_sheet
from metaeval.runs.prepared_run import Frame, Job, RatedSet, find_dataset, prepare, prepare_ratings
from metaeval.scoring.contract import Status
from metaeval.stats.score_model import fit_scores, planned_scores
from protocols.comparison import both_scored
from protocols.contract import Judgements, Measure, Protocol
from protocols.simulation import (
    RUNS,
    Coverage,
    Pair,
    Share,
    Task,
    calibrated,
    coverage,
    influence_of_one,
    p_values,
    paired,
    permutations_for,
    rejected,
)

_log = logging.getLogger("metaeval")

MODEL = (
    "groups, sizes, levels and ties are those of the rows; scores are normal before the ties: a mean and a spread for "
    "each level, and parts that a group, and a level in a group, share (docs/inference.md)"
)


def check_certificate(config: RunConfig, runs: int = RUNS) -> None:
    """Refuse, before anything is scored, intervals that the simulation does not make, and a wrong number of samples."""
    interval = config.interval
    if interval.method != "t":
        raise UserError(f"A certificate is of intervals of method t; interval.method is {interval.method}.")
    if not interval.resamples:
        raise UserError("A certificate is of intervals, and interval.resamples is 0: there are none.")
    if not 50 <= runs <= 100_000:
        raise UserError(f"runs is {runs}; a simulation takes 50 to 100,000 samples, for example {RUNS}.")


def certificate(task: Task, config: RunConfig, rows: Mapping[str, Judgements], runs: int = RUNS) -> Certificate:
    """Simulate intervals of the first metric (by name, rows with NaN where it has no score), and tests against the
    second one, both brought to one value; with one metric, against a second like it.

    Raises ValueError where the measure is undefined, or does not vary.
    """
    (name, own), *others = rows.items()
    scored = own.rows(~np.isnan(own.score))
    groups = np.unique(scored.group)
    influence = influence_of_one(task, scored, groups)
    if influence is None or not influence.standard_error > 0:
        raise ValueError("no group moves the measure, or it is undefined without one")
    model = calibrated(task, scored, fit_scores(scored.score, scored.gold, scored.group), task.value(scored))
    found = coverage(task, scored, model, resampling_of(config), influence.effective_groups, runs)
    twin, other = Pair(scored, (model, model)), ""
    if others:
        ((other, theirs),) = others
        both = both_scored(own, theirs)
        twin = paired(task, own.rows(both), theirs.rows(both))
    return _written(task, config, name, other, groups.size, found, twin, runs)


def planned(
    task: Task, config: RunConfig, rows: Judgements, value: float, alike: float, runs: int = RUNS
) -> Certificate:
    """The certificate of a metric that has this value (raw), and whose errors correlate so inside a group.

    Raises ValueError where the rows cannot have that value.
    """
    model = calibrated(task, rows, planned_scores(rows.gold, rows.group, alike), value)
    found = coverage(task, rows, model, resampling_of(config), None, runs)
    pair = Pair(rows, (model, model))
    return _written(task, config, "", "", np.unique(rows.group).size, found, pair, runs)


def _written(
    task: Task, config: RunConfig, metric: str, other: str, groups: int, found: Coverage, pair: Pair, runs: int
) -> Certificate:
    """The certificate; pair: equal metrics, which are tested where the measure has a test."""
    alpha, tests = config.comparison.alpha, Share(0, 0)
    if config.comparison.permutations and task.protocol.measure(task.key).normal:
        tests = rejected(p_values(task, pair, permutations_for(alpha), runs), alpha)
    same = ("true", "alike", "effective", "below", "above", "without")
    return Certificate.model_validate(
        {
            **{"measure": task.key, "metric": metric, "other": other, "groups": groups},
            **{"seed": task.seed, "level": config.interval.level, "alpha": alpha, "usual": known(found.usual)},
            **{name: getattr(found, name) for name in same},
            **{"given": found.every.of, "held": found.every.hits},
            **{"given_likewise": found.likewise.of, "held_likewise": found.likewise.hits},
            **{"tested": tests.of, "rejected": tests.hits},
        }
    )


def certified(result: Result, asked: Asked, frame: Frame, columns: Sequence[Column], config: RunConfig) -> Result:
    """The result with the certificate of its leading metric under its headline; as it is where there is none."""
    protocol, options = asked
    key = protocol.ranked_by([column.key for column in result.columns])
    values = {row.metric: row.values[key].value for row in result.rows if row.kind == "metric" and key in row.values}
    leading = sorted((name for name, one in values.items() if one is not None), key=lambda name: -(values[name] or 0.0))
    scores = {column.name: column for column in columns if column.kind == "metric"}
    if protocol.no_plan or not leading:
        return result
    rows = {name: judged(frame, scores[name]) for name in leading[:2]}
    try:
        found = certificate(Task(protocol, options, key, config.interval.seed), config, rows)
    except ValueError as error:
        _log.warning("No certificate of %s: %s.", protocol.name, error)
        return result
    return result.model_copy(update={"certificate": found})


MOST_ROWS = 2_000_000
"""Rows of a plan: more take hours."""


def designed_rows(config: RunConfig, groups: int, sizes: Sequence[float], levels: Sequence[float]) -> RatedSet:
    """Rows that nobody has yet, as a rated set; `UserError` for rows that cannot be.

    sizes: of the groups, repeated in turn. levels: the share of each level, the highest first. Levels are dealt to the
    rows at random, from the run's seed.
    """
    if not 2 <= groups <= 1_000_000:
        raise UserError(f"--groups is {groups}; a plan takes 2 to 1,000,000 groups.")
    if not all(size >= 1 and size == int(size) for size in sizes):
        raise UserError(f"--sizes is {_listed(sizes)}; it takes whole numbers of rows, 1 or more each.")
    if groups * sum(sizes) / len(sizes) > MOST_ROWS:
        raise UserError(f"A plan has at most {MOST_ROWS:,} rows: take fewer groups, or smaller ones.")
    if len(levels) not in (2, 3) or min(levels) <= 0:
        raise UserError(
            f"--levels is {_listed(levels)}; it takes two or three shares above 0, the highest level first: 50,50."
        )
    group = np.repeat(np.arange(groups), [int(sizes[number % len(sizes)]) for number in range(groups)])
    ends = np.rint(np.cumsum(levels[::-1]) / sum(levels[::-1]) * group.size)
    gold = np.searchsorted(ends, np.arange(group.size), side="right")
    gold = np.random.default_rng(config.interval.seed).permutation(gold)
    rows = [
        Rating(id=f"r{number:07}", group=f"g{of:07}", gold=float(level))
        for number, (of, level) in enumerate(zip(group.tolist(), gold.tolist(), strict=True))
    ]
    return prepare_ratings(config, Ratings("plan", tuple(rows), levels=len(levels) == 3))


def _listed(numbers: Sequence[float]) -> str:
    return ",".join(f"{number:g}" for number in numbers)


def planned_panel(
    config: RunConfig, rows: RatedSet | None, task: Asked, key: str, values: Sequence[float], alike: Sequence[float]
) -> Panel:
    """Metrics without scores on designed rows, or on those of the run's data, as columns.

    values: of the measure, in its table's units. alike: correlations of the errors inside a group.
    """
    source: Job | RatedSet
    if rows is not None:
        source = rows
    elif find_dataset(config.dataset, config)[0].kind == "corpus":
        source = prepare(config)
    else:
        source = prepare_ratings(config)
    columns: list[Column] = []
    panel = Panel(config, source, columns, [task])
    frame = panel.source.frame(task[0])
    measure = _measure(task[0], frame, key)
    numbers = source.ratings.rows if isinstance(source, RatedSet) else source.rows
    for value, share in product(values, alike):
        raw_value(value, measure)
        if not 0 <= share < 1:
            raise UserError(f"--icc is {share:g}; a correlation inside a group lies from 0 to below 1.")
        name = f"{measure.label} {numeral(value / measure.scale, column_of(measure))}, alike {share:g}"
        scores, absent = np.full(len(numbers), np.nan), [Status.ABSENT] * len(numbers)
        columns.append(Column(name, "metric", scores, absent, {PLANNED: f"{value:.15g},{share:.15g}"}))
    return panel


PLANNED = "planned"
"""Field of a column without scores: its value, in the measure's units, and how alike rows of a group err."""


def raw_value(value: float, measure: Measure) -> float:
    """A value in the units of the measure's table as the measure has it; `UserError` at or below chance, and off it."""
    raw, chance = value / measure.scale, measure.chance or 0.0
    if not chance < raw < measure.span:
        most = f" and below {measure.span * measure.scale:g}" if math.isfinite(measure.span) else ""
        example = (chance + min(measure.span, 1.0)) / 2 * measure.scale
        raise UserError(
            f"--value is {value:g}; {measure.label} is given in its table's units, above {chance * measure.scale:g}"
            f"{most}, for example {example:g}."
        )
    return raw


def certificate_sheet(panel: Panel, asked: Asked, key: str, runs: int) -> Table:
    """Certificates of a panel's metrics, with scores or planned, under one measure.

    key: the measure, or "" for the protocol's headline. Raises `UserError` where none can be given.
    """
    protocol, options = asked
    frame = panel.source.frame(protocol)
    measure = _measure(protocol, frame, key)
    column = column_of(measure)
    task = Task(protocol, options, measure.key, panel.config.interval.seed)
    found: dict[str, Certificate] = {}
    values: dict[str, float] = {}
    lacking: dict[str, str] = {}
    order = _by_value(task, panel, frame)
    for one in panel.columns:
        try:
            if PLANNED in one.fields:
                value, alike = map(float, str(one.fields[PLANNED]).split(","))
                values[one.name] = raw_value(value, measure)
                rows = frame.judgements(np.zeros(frame.gold.size))
                found[one.name] = planned(task, panel.config, rows, values[one.name], alike, runs)
            else:
                # Held against the best of the others: who leads is what a test is asked for.
                others = [other for other in order if other is not one][:1]
                rows_of = {each.name: judged(frame, each) for each in (one, *others)}
                values[one.name] = order.get(one, math.nan)
                found[one.name] = certificate(task, panel.config, rows_of, runs)
        except ValueError as error:
            lacking[one.name] = str(error)
    if not found:
        raise UserError(f"No certificate of {measure.label}: {'; '.join(f'{a}: {b}' for a, b in lacking.items())}.")
    level = f"{100 * panel.config.interval.level:g} %"
    headings = (measure.label, "alike", "effective groups", f"{level} holds", "as here", "ends below", "begins above")
    return make_sheet(
        panel,
        frame,
        f"certificate-{measure.key}",
        f"How far {level} intervals and tests hold on data built like these: {plain(measure.label)}",
        {"protocol": protocol.name, **options, "alpha": panel.config.comparison.alpha, "samples": runs},
        ("metric", (*headings, "equal told apart"), _rows(found, values, column)),
        [{"metric": name, "value": values[name], **one.model_dump(exclude={"metric"})} for name, one in found.items()],
        notes=_notes(found, lacking, panel.config),
        method=panel.config.interval.method,
    )


def _measure(protocol: Protocol, frame: Frame, key: str) -> Measure:
    unscored = frame.judgements(np.zeros(frame.gold.size))
    shown = protocol.shown(unscored)
    measure = protocol.measure(key or protocol.ranked_by(shown))
    if why := measure.blind(unscored):
        raise UserError(f"{measure.label} cannot tell metrics apart on {frame.name}: {why}.")
    return measure


def _by_value(task: Task, panel: Panel, frame: Frame) -> dict[Column, float]:
    """The metrics that have scores and a value, the best first."""
    found = {}
    for column in panel.columns:
        rows = judged(frame, column)
        scored = rows.rows(~np.isnan(rows.score))
        if scored.score.size and not math.isnan(value := task.value(scored)):
            found[column] = value
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _rows(found: Mapping[str, Certificate], values: Mapping[str, float], column: results.Column) -> Iterator[TableRow]:
    for name, one in found.items():
        behind = one.usual if one.effective is None else one.effective
        some = one.given_likewise if one.effective is not None else 0
        cells = (
            numeral(values[name], column),
            f"{one.alike:.2f}",
            UNDEFINED if behind is None else f"{behind:,.0f} of {one.groups:,}",
            within(one.held, one.given),
            within(one.held_likewise, some) if some else UNDEFINED,
            within(one.below, one.given),
            within(one.above, one.given),
            within(one.rejected, one.tested) if one.tested else UNDEFINED,
        )
        yield "", name, cells


def _notes(found: Mapping[str, Certificate], lacking: Mapping[str, str], config: RunConfig) -> list[Note]:
    planned_only = all(one.effective is None for one in found.values())
    without = [f"{plain(name)} {one.without:,}" for name, one in found.items() if one.without]
    classes = {
        effective_class(one.effective): None
        for one in found.values()
        if one.effective is not None and one.given_likewise < one.given
    }
    alone = all(not one.other for one in found.values())
    beside = f"each metric beside {'one like it' if alone else 'the best of the others'}, both brought to one value; "
    return [
        Note("model", MODEL),
        Note(
            "alike",
            "correlation of the scores of two rows of one group and level; 0: rows tell as much as if drawn alone",
        ),
        Note(
            "holds",
            f"share of simulated intervals that hold the mean of all samples, aimed at {config.interval.level:g}"
            "; ± one Monte Carlo error",
        ),
        Note(
            "as here",
            f"of samples with {listed(list(classes), 'or')} effective groups, as the metric has" if classes else "",
        ),
        Note(
            "equal told apart", f"{beside}share of paired permutation tests with p at most {config.comparison.alpha:g}"
        ),
        Note(
            "no interval",
            f"in some samples, below {config.interval.fewest:g} effective groups: {', '.join(without)}"
            if without
            else "",
        ),
        Note("effective groups", "median of the samples" if planned_only else ""),
        Note("left out", "", tuple((plain(name), plain(why)) for name, why in lacking.items())),
    ]
