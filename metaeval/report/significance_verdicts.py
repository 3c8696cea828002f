"""Verdicts of the adjusted tests of a result: significant differences, leading metrics, and better than controls."""

from __future__ import annotations

from collections.abc import Collection

from metaeval.report.ranking_measures import Headline
from metaeval.report.result import Column, Comparison, Result, Row


def differs(comparison: Comparison, alpha: float) -> bool:
    """Return whether the two sides of a comparison differ significantly; False if p is undefined."""
    return comparison.holm is not None and comparison.holm <= alpha


def above(comparison: Comparison, alpha: float) -> bool:
    """Return whether the first side of a comparison is significantly better; marks and sentences both use this."""
    return differs(comparison, alpha) and (comparison.difference or 0.0) > 0


def alpha_of(result: Result) -> float:
    """Return the alpha of the result's tests; 0 where nothing was tested."""
    return result.significance.alpha if result.significance else 0.0


def pairs_of(headline: Headline) -> list[Comparison]:
    """Return the comparisons of pairs of metrics under the headline's measure, also those without p."""
    pairs = headline.result.significance.comparisons if headline.result.significance else []
    return [pair for pair in pairs if pair.measure == headline.column.key]


def better_pairs(headline: Headline) -> set[tuple[str, str]]:
    """Return the pairs of metrics of which the first is significantly better than the second."""
    alpha = alpha_of(headline.result)
    differing = (pair for pair in pairs_of(headline) if differs(pair, alpha))
    return {(pair.one, pair.other) if (pair.difference or 0.0) > 0 else (pair.other, pair.one) for pair in differing}


def ordered(headline: Headline) -> list[Row]:
    """Return the metrics with a value, the highest value first."""
    return sorted(headline.metrics, key=lambda row: -(headline.value(row).value or 0.0))


def top(headline: Headline) -> list[str]:
    """Return the metric with the highest value and those not significantly worse, the highest value first.

    Metrics without a decided test against the highest are left out, and none that has no decided test at all counts as
    the highest: its value may rest on other rows. Without any such test all metrics are returned. Where every pair was
    tested, a metric that is alone in the list, and no control, has the rank interval 1 to 1.
    """
    names, better = [row.metric for row in ordered(headline)], better_pairs(headline)
    decided = {frozenset((pair.one, pair.other)) for pair in pairs_of(headline) if pair.holm is not None}
    highest = next((name for name in names if any(name in pair for pair in decided)), None)
    if highest is None:
        return names
    alike = {name for name in names if {highest, name} in decided and (highest, name) not in better}
    return [name for name in names if name in {highest, *alike}]


def control_tests(result: Result, column: Column, row: Row) -> dict[str, Comparison]:
    """Return the tests of a metric under a measure, by the control; without those that have no p."""
    tests = result.significance.controls if result.significance else []
    of_row = (test for test in tests if (test.measure, test.one) == (column.key, row.metric))
    return {test.other: test for test in of_row if test.p is not None}


def above_chance(headline: Headline, row: Row, chance: Collection[str]) -> bool | None:
    """Return whether a metric is significantly better than each control in `chance` that it was tested against.

    chance: the names of controls without information. None without such a test.
    """
    by_control = control_tests(headline.result, headline.column, row)
    tests = [test for name, test in by_control.items() if name in chance]
    return all(above(test, alpha_of(headline.result)) for test in tests) if tests else None


def above_every_control(headline: Headline, row: Row, oracles: Collection[str]) -> bool | None:
    """Return whether a metric is significantly better than every control; None where tests do not say.

    They do not say it of a control, nor of a metric that is better than those it was tested against and was not tested
    against all. oracles: controls that know the gold labels, which are left out.
    """
    if row.control:
        return None
    alpha, tests = alpha_of(headline.result), control_tests(headline.result, headline.column, row)
    tests = {name: test for name, test in tests.items() if name not in oracles}
    if not all(above(test, alpha) for test in tests.values()):
        return False
    return True if tests and {control.metric for control in controls_of(headline, oracles)} <= tests.keys() else None


def below_control(headline: Headline, row: Row, control: Row) -> bool:
    """Return whether a metric is significantly worse than a control; False without a test."""
    test = control_tests(headline.result, headline.column, row).get(control.metric)
    return test is not None and differs(test, alpha_of(headline.result)) and (test.difference or 0.0) < 0


def best_control(headline: Headline, oracles: Collection[str]) -> Row | None:
    """Return the control with the highest value, without those in `oracles`; None if no control has a value."""
    return max(controls_of(headline, oracles), key=lambda row: headline.value(row).value or 0.0, default=None)


def controls_of(headline: Headline, oracles: Collection[str]) -> list[Row]:
    """Return the controls with a value, including metrics that are controls, without those in `oracles`."""
    rows = (row for row in headline.result.rows if (row.kind == "control" or row.control) and row.metric not in oracles)
    return [row for row in rows if headline.value(row).value is not None]
