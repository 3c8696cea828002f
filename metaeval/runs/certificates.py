"""Certificates: simulated coverage of a table's intervals and rejection rate of its tests, on data like its own."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.errors import UserError
from metaeval.report import result as results
from metaeval.report.interval_texts import effective_class, share_with_error
from metaeval.report.ranking_measures import listed
from metaeval.report.result import Certificate, Result
from metaeval.report.table import UNDEFINED, Note, Table, TableRow, format_value, known, plain
from metaeval.runs.evaluation import ProtocolSetup, column_of, resampling_of
from metaeval.runs.prepared_run import Frame, Job, RatedSet, kind_of_data, prepare, prepare_ratings
from metaeval.runs.score_columns import AlignedColumn
from metaeval.runs.score_panel import Panel, judged, make_sheet
from metaeval.scoring.contract import Status
from metaeval.stats.influence import Influence, t_interval
from metaeval.stats.score_model import ScoreModel, fit_scores, planned_scores
from protocols.comparison import both_scored
from protocols.contract import Judgements, Measure, Protocol, Resampling
from protocols.simulation import (
    RUNS,
    Coverage,
    ModelledRows,
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
    "groups are drawn from those of the rows, with replacement; scores have a mean and a spread for each level, parts "
    "that a group, and a level in a group, share, t errors where the kurtosis is above a normal one's, and the rows' "
    "ties (docs/explanation/inference.md)"
)


def check_certificate(config: RunConfig, runs: int = RUNS) -> None:
    """Raise `UserError` for intervals that cannot be simulated, and for a number of samples (`runs`) out of range."""
    interval = config.interval
    if interval.method != "t":
        raise UserError(
            f"A certificate simulates intervals of method t, and interval.method is {interval.method}: set "
            "interval.method=t."
        )
    if interval.cluster != "group":
        raise UserError("A certificate takes groups alone as sampled: leave interval.cluster out.")
    if not interval.resamples:
        raise UserError(
            "A certificate simulates intervals, and interval.resamples is 0, so that there are none: set it to "
            "1000, for example."
        )
    if not 50 <= runs <= 100_000:
        raise UserError(f"runs is {runs}; allowed: 50 to 100,000 simulated samples, for example {RUNS}.")


def certificate(task: Task, config: RunConfig, rows: Mapping[str, Judgements], runs: int = RUNS) -> Certificate:
    """Simulate how often the first metric's intervals hold the true value, and how often tests of equal metrics reject.

    task: measure and protocol. rows: the judgements of one metric or two, by name, with NaN for unscored rows. runs:
    number of samples. In the tests both metrics have the mean of the two values; without a second, both are modelled on
    the first. Raises ValueError where the measure is undefined or does not vary, or the model cannot have its value.
    """
    (name, judgements), *others = rows.items()
    scored = judgements.rows(~np.isnan(judgements.score))
    groups = np.unique(scored.group)
    influence = influence_of_one(task, scored, groups)
    if influence is None or not influence.standard_error > 0:
        raise ValueError("the measure is the same, or undefined, whichever group is left out")
    fitted = fit_scores(scored.score, scored.gold, scored.group)
    model = calibrated(task, scored, fitted, task.value(scored))
    resampling = resampling_of(config)
    simulated = coverage(task, scored, model, resampling, influence.effective_groups, runs)
    worst = min((simulated, *_at_ends(task, scored, fitted, influence, resampling, runs)), key=_share_held)
    twin, other = ModelledRows(scored, (model, model)), ""
    if others:
        ((other, theirs),) = others
        both = both_scored(judgements, theirs)
        twin = paired(task, judgements.rows(both), theirs.rows(both))
    return _certificate_of(task, config, name, other, groups.size, simulated, twin, runs).model_copy(
        update={"worst": worst.true, "given_worst": worst.all_samples.of, "held_worst": worst.all_samples.hits}
    )


def _at_ends(
    task: Task, rows: Judgements, fitted: ScoreModel, influence: Influence, resampling: Resampling, runs: int
) -> Iterator[Coverage]:
    """Yield the simulated coverage with each end of the metric's interval as the true value; nothing without interval.

    An end that scores on these rows cannot have is left out. rows: all scored. fitted: the model of their scores.
    influence: of the groups on the measure. runs: number of samples.
    """
    for end in t_interval(influence, resampling.level) or ():
        with suppress(ValueError):
            model = calibrated(task, rows, fitted, end)
            yield coverage(task, rows, model, resampling, influence.effective_groups, runs, extended=False)


def _share_held(simulated: Coverage) -> float:
    """Return the share of the samples' intervals that contain the true value; 1 without any interval."""
    return simulated.all_samples.value if simulated.all_samples.of else 1.0


def planned(task: Task, config: RunConfig, rows: Judgements, value: float, icc: float, runs: int = RUNS) -> Certificate:
    """Simulate the certificate of a planned metric, whose scores are drawn. value: its raw value of the measure.

    rows: of the planned data; their scores are not used. icc: correlation of the metric's errors within a group. runs:
    number of samples. Raises ValueError where scores on these rows cannot have that value.
    """
    model = calibrated(task, rows, planned_scores(rows.gold, rows.group, icc), value)
    simulated = coverage(task, rows, model, resampling_of(config), None, runs)
    pair = ModelledRows(rows, (model, model))
    return _certificate_of(task, config, "", "", np.unique(rows.group).size, simulated, pair, runs)


def _certificate_of(
    task: Task,
    config: RunConfig,
    metric: str,
    other: str,
    groups: int,
    simulated: Coverage,
    pair: ModelledRows,
    runs: int,
) -> Certificate:
    """Return the certificate of a simulated coverage, with simulated tests of equal metrics (`pair`) if it has tests.

    metric, other: their names; "" where there is none. groups: their number in the input. runs: number of samples.
    """
    alpha, tests = config.comparison.alpha, Share(0, 0)
    if config.comparison.permutations and task.protocol.measure(task.key).normal:
        tests = rejected(p_values(task, pair, permutations_for(alpha), runs), alpha)
    same = ("true", "effective", "below", "above", "without")
    return Certificate.model_validate(
        {
            **{"measure": task.key, "metric": metric, "other": other, "groups": groups},
            **{"seed": task.seed, "level": config.interval.level, "alpha": alpha},
            **{"alike": simulated.icc, "usual": known(simulated.median_effective)},
            **{name: getattr(simulated, name) for name in same},
            **{"given": simulated.all_samples.of, "held": simulated.all_samples.hits},
            **{"given_likewise": simulated.same_class.of, "held_likewise": simulated.same_class.hits},
            **{"tested": tests.of, "rejected": tests.hits},
        }
    )


def certified(
    result: Result, choice: ProtocolSetup, frame: Frame, columns: Sequence[AlignedColumn], config: RunConfig
) -> Result:
    """Return the result with a certificate, simulated here, of the metric that leads by the headline measure.

    It has the coverage of that metric's intervals and the rejection rate of tests of equal metrics. The result is
    unchanged where the protocol cannot be simulated, no metric has a value, or (with a warning) the simulation fails.
    """
    protocol, options = choice
    key = protocol.ranked_by([column.key for column in result.columns])
    values = {row.metric: row.values[key].value for row in result.rows if row.kind == "metric" and key in row.values}
    defined = {name: value for name, value in values.items() if value is not None}
    leading = sorted(defined, key=lambda name: -defined[name])
    scores = {column.name: column for column in columns if column.kind == "metric"}
    if protocol.no_plan or not leading:
        return result
    rows = {name: judged(frame, scores[name]) for name in leading[:2]}
    try:
        task = Task(protocol, options, key, config.interval.seed, config.comparison.test)
        leading_certificate = certificate(task, config, rows)
    except ValueError as error:
        _log.warning("No certificate of %s: %s.", protocol.name, error)
        return result
    return result.model_copy(update={"certificate": leading_certificate})


MOST_ROWS = 2_000_000
"""Largest number of rows of a plan; more take hours."""


def designed_rows(config: RunConfig, groups: int, sizes: Sequence[float], levels: Sequence[float]) -> RatedSet:
    """Return the rows of a planned data set as a rated set without texts; raises `UserError` for impossible rows.

    groups: number of groups. sizes: numbers of rows of the first, second ... group, repeated until all have one.
    levels: share of each of two or three levels, the highest first, in any unit. The run's seed assigns levels to rows
    at random.
    """
    if not 2 <= groups <= 1_000_000:
        raise UserError(f"groups is {groups}; a plan takes 2 to 1,000,000 groups.")
    if not all(size >= 1 and size == int(size) for size in sizes):
        raise UserError(f"sizes is {_listed(sizes)}; allowed: whole numbers of rows, 1 or more each.")
    if groups * sum(sizes) / len(sizes) > MOST_ROWS:
        raise UserError(f"A plan has at most {MOST_ROWS:,} rows: give fewer groups, or fewer rows in each.")
    if len(levels) not in (2, 3) or min(levels) <= 0:
        raise UserError(
            f"levels is {_listed(levels)}; allowed: two or three shares above 0, the highest level first, for "
            "example 50,50."
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
    config: RunConfig,
    rows: RatedSet | None,
    task: ProtocolSetup,
    key: str,
    values: Sequence[float],
    icc: Sequence[float],
) -> Panel:
    """Return a panel of planned metrics, one for each value and ICC; their columns have no scores.

    rows: the planned data; None: the run's data. task: the protocol and its options. key: of the measure; "": the
    headline measure. values: of the measure, in its table's units. icc: correlations of errors within a group. Raises
    `UserError` for a value or a correlation out of range.
    """
    source: Job | RatedSet
    if rows is not None:
        source = rows
    elif kind_of_data(config) == "corpus":
        source = prepare(config)
    else:
        source = prepare_ratings(config)
    columns: list[AlignedColumn] = []
    panel = Panel(config, source, columns, [task])
    frame = panel.source.frame(task[0])
    measure = _measure(task[0], frame, key)
    numbers = source.ratings.rows if isinstance(source, RatedSet) else source.rows
    for value, share in product(values, icc):
        raw_value(value, measure)
        if not 0 <= share < 1:
            raise UserError(f"icc is {share:g}; allowed: a correlation within a group, from 0 to below 1.")
        name = f"{measure.label} {format_value(value / measure.scale, column_of(measure))}, ICC {share:g}"
        scores, absent = np.full(len(numbers), np.nan), [Status.ABSENT] * len(numbers)
        columns.append(AlignedColumn(name, "metric", scores, absent, {PLANNED: f"{value:.15g},{share:.15g}"}))
    return panel


PLANNED = "planned"
"""Signature field of a planned metric: its value in the table's units, and the correlation within a group."""


def raw_value(value: float, measure: Measure) -> float:
    """Return a value, given in table units, as a raw one; raises `UserError` unless it is above chance and in range."""
    raw, chance = value / measure.scale, measure.chance or 0.0
    if not chance < raw < measure.span:
        most = f" and below {measure.span * measure.scale:g}" if math.isfinite(measure.span) else ""
        example = (chance + min(measure.span, 1.0)) / 2 * measure.scale
        raise UserError(
            f"--value is {value:g}; {measure.label} is given in its table's units, above {chance * measure.scale:g}"
            f"{most}, for example {example:g}."
        )
    return raw


def certificate_sheet(panel: Panel, choice: ProtocolSetup, key: str, runs: int) -> Table:
    """Return the table of certificates of a panel's metrics, scored or planned, under one measure.

    choice: the protocol and its options. key: of the measure; "": the protocol's headline measure. runs: number of
    samples. Metrics without a certificate are named in a note; raises `UserError` where no metric has one.
    """
    protocol, options = choice
    frame = panel.source.frame(protocol)
    measure = _measure(protocol, frame, key)
    task = Task(protocol, options, measure.key, panel.config.interval.seed, panel.config.comparison.test)
    certificates: dict[str, Certificate] = {}
    values: dict[str, float] = {}
    lacking: dict[str, str] = {}
    order = _by_value(task, panel, frame)
    for column in panel.columns:
        try:
            if PLANNED in column.fields:
                value, icc = map(float, str(column.fields[PLANNED]).split(","))
                values[column.name] = raw_value(value, measure)
                rows = frame.judgements(np.zeros(frame.gold.size))
                certificates[column.name] = planned(task, panel.config, rows, values[column.name], icc, runs)
            else:
                # Each metric is compared with the best of the others, for a test should show which metric leads.
                rival = [other for other in order if other is not column][:1]
                rows_of = {scored.name: judged(frame, scored) for scored in (column, *rival)}
                values[column.name] = order.get(column, math.nan)
                certificates[column.name] = certificate(task, panel.config, rows_of, runs)
        except ValueError as error:
            lacking[column.name] = str(error)
    if not certificates:
        raise UserError(f"No certificate of {measure.label}: {'; '.join(f'{a}: {b}' for a, b in lacking.items())}.")
    level = f"{100 * panel.config.interval.level:g} %"
    headings = (measure.label, "ICC", "effective groups", f"{level} covers", "same class", "at worst")
    tails = ("ends below", "begins above", "equal metrics rejected")
    return make_sheet(
        panel,
        frame,
        f"certificate-{measure.key}",
        f"Simulated {level} intervals and tests on data built like these: {plain(measure.label)}",
        {"protocol": protocol.name, **options, "alpha": panel.config.comparison.alpha, "samples": runs},
        ("metric", (*headings, *tails), _rows(certificates, values, column_of(measure))),
        [
            {"metric": name, "value": values[name], **simulated.model_dump(exclude={"metric"})}
            for name, simulated in certificates.items()
        ],
        notes=_notes(certificates, lacking, panel.config),
    )


def _measure(protocol: Protocol, frame: Frame, key: str) -> Measure:
    unscored = frame.judgements(np.zeros(frame.gold.size))
    shown = protocol.shown(unscored)
    measure = protocol.measure(key or protocol.ranked_by(shown))
    if why := measure.blind(unscored):
        raise UserError(
            f"{measure.label} does not distinguish metrics on {frame.name}: {why}. Choose another --measure."
        )
    return measure


def _by_value(task: Task, panel: Panel, frame: Frame) -> dict[AlignedColumn, float]:
    """Return the raw value of each column with a defined one, the highest value first."""
    value_by_column = {}
    for column in panel.columns:
        rows = judged(frame, column)
        scored = rows.rows(~np.isnan(rows.score))
        if scored.score.size and not math.isnan(value := task.value(scored)):
            value_by_column[column] = value
    return dict(sorted(value_by_column.items(), key=lambda item: -item[1]))


def _rows(
    certificates: Mapping[str, Certificate], values: Mapping[str, float], column: results.Column
) -> Iterator[TableRow]:
    for name, certificate in certificates.items():
        behind = certificate.usual if certificate.effective is None else certificate.effective
        some = certificate.given_likewise if certificate.effective is not None else 0
        cells = (
            format_value(values[name], column),
            f"{certificate.alike:.2f}",
            UNDEFINED if behind is None else f"{behind:,.0f} of {certificate.groups:,}",
            share_with_error(certificate.held, certificate.given),
            share_with_error(certificate.held_likewise, some) if some else UNDEFINED,
            _worst(certificate, column),
            share_with_error(certificate.below, certificate.given),
            share_with_error(certificate.above, certificate.given),
            share_with_error(certificate.rejected, certificate.tested) if certificate.tested else UNDEFINED,
        )
        yield "", name, cells


def _worst(certificate: Certificate, column: results.Column) -> str:
    """Return, as text, the least simulated coverage, and the true value that it was simulated with."""
    if certificate.worst is None:
        return UNDEFINED
    share = share_with_error(certificate.held_worst, certificate.given_worst)
    return f"{share} at {format_value(certificate.worst, column)}"


def _notes(certificates: Mapping[str, Certificate], lacking: Mapping[str, str], config: RunConfig) -> list[Note]:
    planned_only = all(certificate.effective is None for certificate in certificates.values())
    without = [
        f"{plain(name)} {certificate.without:,}" for name, certificate in certificates.items() if certificate.without
    ]
    classes = {
        effective_class(certificate.effective): None
        for certificate in certificates.values()
        if certificate.effective is not None and certificate.given_likewise < certificate.given
    }
    alone = all(not certificate.other for certificate in certificates.values())
    beside = f"each metric beside {'one like it' if alone else 'the best of the others'}, both brought to one value; "
    return [
        Note("model", MODEL),
        Note(
            "ICC",
            "within-group correlation of the scores of two rows of one level; 0: the rows are independent",
        ),
        Note(
            "covers",
            f"share of simulated intervals that hold the mean of all samples, nominally {config.interval.level:g}"
            "; ± one Monte Carlo error",
        ),
        Note(
            "same class",
            f"of samples with {listed(list(classes), 'or')} effective groups, as the metric has" if classes else "",
        ),
        Note(
            "at worst",
            ""
            if planned_only
            else "least coverage where the true value is that of the metric or an end of its interval",
        ),
        Note(
            "equal metrics rejected",
            f"{beside}share of paired tests with p at most {config.comparison.alpha:g}",
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
