"""Two metrics on the same rows, or a metric and a control: their difference, its interval and its test."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from metaeval.stats.arrays import Bools, Floats, Ints, distinct
from metaeval.stats.influence import Influence, minus_known, t_test
from metaeval.stats.intervals import LOST_WITHOUT_A_GROUP, ONE_GROUP, studentised
from metaeval.stats.resampling import itself, percentile_interval
from metaeval.stats.significance import bootstrap_p
from protocols.contract import Estimate, Influences, Judgements, Outcome, Protocol, Replicates, Resampling
from protocols.measure_estimates import jackknifed

Tested = tuple[Judgements, Outcome]
"""The judgements of a metric or a control, and its protocol's outcome on them."""

NOT_BOTH = "no rows that both metrics scored"
UNDEFINED = "undefined for one of the two"


def compare(
    protocol: Protocol,
    tested: tuple[Judgements, Judgements],
    outcomes: tuple[Outcome, Outcome],
    resampling: Resampling,
    permutations: int,
    options: Mapping[str, str],
    keys: Collection[str],
) -> dict[str, Estimate]:
    """Return the difference of two metrics (first less other) by measure of `keys`, which have no influence values.

    `n` is the number of rows that both scored, and p is two-sided, None where the interval is withheld.

    tested: the two metrics' scores on the same rows. outcomes: results of the protocol's `evaluate` for each, which are
    used again when both scored the same rows.

    Measures that the protocol resamples have the percentile interval of the paired differences, and the p of
    `Protocol.exchanged`: (1 + exchanges at least as far apart as the input) / (1 + permutations), so never 0, and none
    where the interval is withheld. Other measures have neither.
    """
    first, other = tested
    both = both_scored(first, other)
    count = int(both.sum())
    if not count:
        return {key: Estimate(None, n=0, note=NOT_BOTH) for key in keys}
    codes = distinct(first.group)
    pair = compared_by(protocol, first, both, options), compared_by(protocol, other, both, options)
    if (np.isnan(first.score) ^ np.isnan(other.score)).any():
        coded = [rows.with_group(np.searchsorted(codes, rows.group)) for rows in pair]
        values = [protocol.replicate(rows, codes.size, itself(codes.size), options, keys) for rows in coded]
        mine, theirs = ({key: float(of[key][0]) for key in keys} for of in values)
        drawn = [resampled_of(protocol, rows, codes, resampling, options) for rows in pair]
    else:
        mine, theirs = (
            {key: np.nan if (value := outcome.estimates[key].value) is None else value for key in keys}
            for outcome in outcomes
        )
        drawn = [outcome.resampled for outcome in outcomes]
    resampled = [key for key in keys if all(key in values for values in drawn)]
    exchanged = protocol.exchanged if resampled else None
    exchanges = exchanged(*pair, permutations, resampling.seed, options) if exchanged else {}
    # Rows of a measure may come from one group where those of others do not.
    lone = {key for outcome in outcomes for key, estimate in outcome.estimates.items() if estimate.note == ONE_GROUP}
    alone = distinct(first.group[both]).size < 2
    differences: dict[str, Estimate] = {}
    for key in keys:
        value = mine[key] - theirs[key]
        if np.isnan(value):
            differences[key] = Estimate(None, n=count, note=UNDEFINED)
        elif alone or key in lone:
            differences[key] = Estimate(value, n=count, note=ONE_GROUP if resampling.n else "")
        elif key not in resampled:
            differences[key] = Estimate(value, n=count, note=LOST_WITHOUT_A_GROUP if resampling.n else "")
        else:
            apart = (drawn[0][key] - drawn[1][key])[1:]
            low, high = percentile_interval(apart, resampling.level) or (None, None)
            lost = int(np.isnan(apart).sum())
            note = f"interval leaves out {lost} of {apart.size} resamples, undefined there" if lost else ""
            if low is None:
                note = f"no interval: undefined in {lost} of {apart.size} resamples"
            p = _exchange_p(exchanges[key]) if key in exchanges else np.nan
            differences[key] = _with_p(Estimate(value, low, high, n=count, note=note), p)
    return differences


def _exchange_p(differences: Floats) -> float:
    """Return the two-sided p of differences (1 + permutations,), the input's first; NaN if that is NaN or alone."""
    observed, permuted = differences[0], differences[1:]
    if np.isnan(observed) or not permuted.size:
        return float("nan")
    # An exchange without effect may differ in the last bit; an undefined one counts against the difference.
    hits = np.abs(permuted) >= abs(observed) - 1e-12
    hits |= np.isnan(permuted)
    return float((1 + hits.sum()) / (1 + permuted.size))


def influence_of(
    protocol: Protocol, rows: Judgements, codes: Ints, options: Mapping[str, str], keys: Collection[str]
) -> Influences:
    """Return the influence values of the groups `codes`, (G,), on the measures `keys`; every row must have a score."""
    rows, n_groups = rows.with_group(np.searchsorted(codes, rows.group)), codes.size
    if protocol.influence:
        return protocol.influence(rows, n_groups, options, keys)
    return jackknifed(lambda draws: protocol.replicate(rows, n_groups, draws, options, keys), rows.group, n_groups)


def minus(first: Influence | None, other: Influence | None) -> Influence | None:
    """Return the influence values of a difference; None where one of the two has none."""
    return first - other if first and other else None


def both_scored(first: Judgements, other: Judgements) -> Bools:
    """Return whether both metrics scored each row, (n,)."""
    return ~(np.isnan(first.score) | np.isnan(other.score))


def compared_by(protocol: Protocol, rows: Judgements, both: Bools, options: Mapping[str, str]) -> Judgements:
    """Return the rows that both metrics scored (`both`), with scores replaced by `Protocol.judge` if there is one."""
    used = rows.rows(both)
    return protocol.judge(used, options) if protocol.judge else used


def resampled_of(
    protocol: Protocol, rows: Judgements, codes: Ints, resampling: Resampling, options: Mapping[str, str]
) -> Replicates:
    """Return the values (1 + R,) of measures that the protocol resamples itself; else {}. codes: all groups' codes."""
    if not protocol.resampled or not resampling.n:
        return {}
    return protocol.resampled(rows.with_group(np.searchsorted(codes, rows.group)), codes.size, resampling, options)


CHANCE_DRAWS = 40
"""Draws of random scores whose mean stands for their expectation, where a measure has no closed form."""


def chance(
    protocol: Protocol, rows: Judgements, options: Mapping[str, str], keys: Collection[str]
) -> Mapping[str, tuple[float, float]]:
    """Return (expected value, error) of random scores on these rows by measure of `keys`, without undefined ones.

    A measure that `Protocol.chance` and `Measure.chance` do not give is the mean over `CHANCE_DRAWS` draws, with its
    Monte Carlo error; the error of others is 0.
    """
    known = {measure.key: measure.chance for measure in protocol.measures if measure.chance is not None}
    known |= protocol.chance(rows, options) if protocol.chance else {}
    expected = {key: (known[key], 0.0) for key in keys if key in known}
    generator = np.random.default_rng(0)
    drawn: dict[str, list[float]] = {key: [] for key in keys if key not in expected}
    for _ in range(CHANCE_DRAWS if drawn else 0):
        scores = rows.with_score(generator.random(rows.score.size))
        estimates = protocol.evaluate(scores, Resampling(n=0), options).estimates
        for key, values in drawn.items():
            if (value := estimates[key].value) is not None:
                values.append(value)
    of_draws = {key: values for key, values in drawn.items() if len(values) > 1}
    return expected | {
        key: (float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5)
        for key, values in of_draws.items()
    }


def tested_against(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    metrics: Mapping[str, Tested],
    against: Mapping[str, Mapping[str, Tested | None]],
    keys: Collection[str],
    resamples: int,
) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Return the differences of metrics from other metrics or controls, by (name, other's name) and measure.

    They are over the rows that both scored; pairs without such rows are left out. against: by a metric's name, what it
    is compared with; None stands for the expected value of random scores. The influence values of an outcome are used
    again where all the rows that it scored count.

    The test of a difference is Student's with its cluster standard error, at the effective number of groups, as its
    interval, so that the two agree; of measures that the protocol resamples itself it is read off paired resamples,
    at least `resamples` of them. Measures with neither are left out. An expectation that is the mean of draws
    counts with its Monte Carlo error.
    """
    kept: dict[tuple[int, bytes], tuple[Influences, Replicates]] = {}
    expected: dict[bytes, Mapping[str, tuple[float, float]]] = {}
    more = replace(resampling, n=max(resampling.n, resamples))

    def values(tested: Tested, both: Bools) -> tuple[Influences, Replicates]:
        judgements, outcome = tested
        known = np.array_equal(both, ~np.isnan(judgements.score)) and set(keys) <= outcome.influence.keys()
        if known and not protocol.resampled:
            return outcome.influence, {}
        place = id(judgements), both.tobytes()
        if place not in kept:
            codes, used = distinct(judgements.group), compared_by(protocol, judgements, both, options)
            moved = outcome.influence if known else influence_of(protocol, used, codes, options, keys)
            kept[place] = moved, resampled_of(protocol, used, codes, more, options)
        return kept[place]

    differences: dict[tuple[str, str], dict[str, Estimate]] = {}
    for name, controls in against.items():
        metric = metrics[name]
        rows = metric[0]
        for other, control in controls.items():
            both = ~np.isnan(rows.score) if control is None else both_scored(rows, control[0])
            if not both.any():
                continue
            influences, mine = values(metric, both)
            if control is None:
                rows_of = both.tobytes()
                if rows_of not in expected:
                    expected[rows_of] = chance(protocol, rows.rows(both), options, keys)
                known = expected[rows_of]
                apart = {
                    key: minus_known(moved, *known[key])
                    for key in keys
                    if (moved := influences.get(key)) and key in known
                }
                by_draw = {key: _less(values, *known[key]) for key, values in mine.items() if key in known}
            else:
                theirs, beside = values(control, both)
                apart = {key: influence for key in keys if (influence := minus(influences.get(key), theirs.get(key)))}
                by_draw = {key: difference - beside[key] for key, difference in mine.items() if key in beside}
            count = int(both.sum())
            tests = {
                key: _with_p(studentised(less_.value, less_, less_.groups, resampling), t_test(less_))
                for key, less_ in apart.items()
            }
            for key in [key for key in keys if key in by_draw]:
                value = float(by_draw[key][0])
                low, high = percentile_interval(by_draw[key][1:], resampling.level) or (None, None)
                difference = Estimate(None, note=UNDEFINED) if np.isnan(value) else Estimate(value, low, high)
                tests[key] = _with_p(difference, bootstrap_p(by_draw[key]))
            differences[name, other] = {key: replace(test, n=count) for key, test in tests.items()}
    return differences


def _less(values: Floats, expected: float, error: float) -> Floats:
    """Return values (1 + R,) of input and R resamples less the expected one, whose error is noise on them."""
    noise = np.random.default_rng(1).normal(0.0, error, values.size)
    return np.asarray(values - expected - np.where(np.arange(values.size) > 0, noise, 0.0))


def _with_p(difference: Estimate, p: float) -> Estimate:
    """Return a difference with its p. Where its interval is withheld, for the reason in its note, the test is too."""
    withheld = np.isnan(p) or (difference.low is None and difference.note)
    return difference if withheld else replace(difference, p=p)
