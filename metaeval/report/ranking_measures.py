"""The measure by which each result ranks its metrics, and what its adjusted tests say of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from metaeval.report.result import Column, Comparison, Result, Row
from metaeval.report.table import format_value, plain, short, value_of
from metaeval.stats.estimate import Estimate

LEVELS = ("full", "partial", "none")

CONTRAST = "contrast"  # the protocol whose measures rank no metrics

NAMED = 4  # names that a list shows if it has at least two more; the rest are counted


@dataclass(frozen=True)
class ProtocolDeclarations:
    """What a protocol declares about its measures, by their keys (see `protocols.contract.Measure`).

    headline: key of the measure that metrics are ranked by ("": the table's first). about: what it measures.
    chance: value of random scores. ability: what a metric can do that is above chance.
    """

    headline: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    ability: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Declarations:
    """The declarations of protocols about their measures, and the controls that findings treat in a special way.

    protocols: by name. oracles: controls that know the gold labels. chance: controls whose scores carry no
    information; a metric has an ability if it is significantly better.
    """

    protocols: Mapping[str, ProtocolDeclarations] = field(default_factory=dict)
    oracles: Collection[str] = ()
    chance: Collection[str] = ()

    def of(self, result: Result) -> ProtocolDeclarations:
        """Return the declarations of the result's protocol; empty ones for an unknown protocol."""
        return self.protocols.get(result.protocol, ProtocolDeclarations())


class Headline(NamedTuple):
    """A measure of a result, such as the one by which its metrics are ranked."""

    result: Result
    column: Column

    @property
    def metrics(self) -> list[Row]:
        """The metrics that have a value, in the result's order."""
        return [row for row in metrics_of(self.result) if value_of(row, self.column).value is not None]

    @property
    def label(self) -> str:
        """The measure's name."""
        return plain(self.column.label)

    def value(self, row: Row) -> Estimate:
        """Return the row's value."""
        return value_of(row, self.column)

    def number(self, row: Row) -> str:
        """Return the row's value as printed."""
        return format_value(self.value(row).value, self.column)

    def named(self, row: Row) -> str:
        """Return the row's name with its value behind it, as sentences have it."""
        return f"{plain(row.metric)} ({short(self.number(row))})"


def metrics_of(result: Result) -> list[Row]:
    """Return the rows of metrics, without controls, in the result's order."""
    return [row for row in result.rows if row.kind == "metric"]


def headlines(results: Sequence[Result], declarations: Declarations) -> list[Headline]:
    """Return each result's headline measure; if no metric has a value there, its first measure with one, if any.

    A contrast set ranks no metrics, and has none.
    """
    ranked_by = []
    for result in (result for result in results if result.protocol != CONTRAST):
        declared = [column for column in result.columns if column.key == declarations.of(result).headline]
        order = [*declared, *(column for column in result.columns if column not in declared)]
        defined = (column for column in order if Headline(result, column).metrics)
        if order:
            ranked_by.append(Headline(result, next(defined, order[0])))
    return ranked_by


def strips(results: Sequence[Result], declarations: Declarations) -> list[Headline]:
    """Return what forest plots show: headline measures, and of a contrast set the ROC-AUC of each kind, or falls."""
    shown = headlines(results, declarations)
    for result in (result for result in results if result.protocol == CONTRAST):
        kind = "auc" if any(column.key.startswith("auc:") for column in result.columns) else "fall"
        shown += [Headline(result, column) for column in result.columns if column.key.startswith(f"{kind}:")]
    return shown


def abilities(result: Result, declarations: Declarations) -> list[Headline]:
    """Return the measures that show an ability, such as the ROC-AUC of two levels, if a metric has a value there."""
    able = declarations.of(result).ability
    return [shown for column in result.columns if column.key in able and (shown := Headline(result, column)).metrics]


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return the names as text: a, b and c; of six or more, four and how many more there are; "" without names.

    last: the word before the last name.
    """
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def differs(comparison: Comparison, alpha: float) -> bool:
    """Return whether the two sides of a comparison differ significantly; False if p is undefined."""
    return comparison.holm is not None and comparison.holm <= alpha


def above(comparison: Comparison, alpha: float) -> bool:
    """Return whether the first side of a comparison is significantly better; marks and sentences both use this."""
    return differs(comparison, alpha) and (comparison.difference or 0.0) > 0


def alpha_of(result: Result) -> float:
    """Return the alpha of the result's tests; 0 where nothing was tested."""
    return result.significance.alpha if result.significance else 0.0


def top(headline: Headline) -> list[str]:
    """Return the metric with the highest value and those not significantly worse, the highest value first.

    Metrics without a decided test against the highest are left out, and none that has no decided test at all counts as
    the highest: its value may rest on other rows. Without any such test all metrics are returned. Where every pair was
    tested, a metric that is alone in the list, and no control, has the rank interval 1 to 1.
    """
    names = [row.metric for row in sorted(headline.metrics, key=lambda row: -(headline.value(row).value or 0.0))]
    worse = worse_than(headline)
    return names if not worse else [name for name in names if worse.get(name) is False]


def worse_than(headline: Headline) -> dict[str, bool]:
    """Return whether each metric is significantly worse than the highest value, by name; the highest itself is not.

    Metrics without a decided test against it are left out; without any decided test, the answer is empty.
    """
    rows = sorted(headline.metrics, key=lambda row: -(headline.value(row).value or 0.0))
    alpha, decided = alpha_of(headline.result), [pair for pair in pairs_of(headline) if pair.holm is not None]
    tested = {name for pair in decided for name in (pair.one, pair.other)}
    highest = next((row.metric for row in rows if row.metric in tested), None)
    worse = {} if highest is None else {highest: False}
    for pair in decided:
        if highest in (pair.one, pair.other):
            lead = (pair.difference or 0.0) * (1 if pair.one == highest else -1)
            worse[pair.other if pair.one == highest else pair.one] = differs(pair, alpha) and lead > 0
    return worse


def pairs_of(headline: Headline) -> list[Comparison]:
    """Return the comparisons of pairs of metrics under the headline's measure, also those without p."""
    pairs = headline.result.significance.comparisons if headline.result.significance else []
    return [pair for pair in pairs if pair.measure == headline.column.key]


def control_tests(result: Result, column: Column, row: Row) -> dict[str, Comparison]:
    """Return the tests of a metric under a measure, by the control; without those that have no p."""
    tests = (result.significance.controls or []) if result.significance else []
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


def best_control(headline: Headline, oracles: Collection[str]) -> Row | None:
    """Return the control with the highest value, without those in `oracles`; None if no control has a value."""
    return max(controls_of(headline, oracles), key=lambda row: headline.value(row).value or 0.0, default=None)


def controls_of(headline: Headline, oracles: Collection[str]) -> list[Row]:
    """Return the controls with a value, including metrics that are controls, without those in `oracles`."""
    rows = (row for row in headline.result.rows if (row.kind == "control" or row.control) and row.metric not in oracles)
    return [row for row in rows if headline.value(row).value is not None]
