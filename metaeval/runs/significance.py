"""The significance tests of a table: each pair of metrics, and each metric against each control.

A difference of two metrics, or of a metric and a control, is divided by its cluster standard error, as for its
interval, so that the test and the interval agree. Two metrics' measures that a protocol resamples are tested by its
exchanges of their scores. Pairs of metrics are one family of tests, and comparisons with controls another, so that
which metrics differ does not depend on the controls. A pair with a control that is a metric of the run is a comparison
with that control. Each family is adjusted by Holm's method.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from math import ceil

import numpy as np

from metaeval.core.config import ComparisonConfig
from metaeval.report.ranking_measures import above, differs
from metaeval.report.result import Comparison, Result, Row, Significance, placed
from metaeval.report.table import known
from metaeval.stats.arrays import Floats
from metaeval.stats.significance import holm, holm_against
from protocols.comparison import Tested, compare, tested_against
from protocols.contract import Estimate, Protocol, Resampling


def significance(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    settings: ComparisonConfig,
    tested: Mapping[str, Tested],
    keys: Sequence[str],
    against: Mapping[str, Mapping[str, Tested | None]] | None = None,
    tables: int = 1,
) -> Significance | None:
    """Compare each pair of metrics, and each metric with controls, under the measures `keys`.

    tested: the judgements and outcome of each metric, by name. against: the same for the controls that each metric is
    compared with, by the metric and then by the control; None in place of a control stands for the expected value of
    random scores. tables: number of tables over which the family "suite" adjusts p. Returns None without anything to
    compare, or where `permutations` is 0, which turns off both kinds of tests. More permutations are made where Holm's
    adjustment could not reach `alpha`.
    """
    pairs = list(combinations(tested, 2))
    against_controls = sum(map(len, (against or {}).values()))
    if not (pairs or against_controls) or not settings.permutations:
        return None
    within = {"column": 1, "table": len(keys), "suite": len(keys) * tables}[settings.family]
    permutations, resamples = (
        max(settings.permutations, ceil(2 * tests * within / settings.alpha))
        for tests in (len(pairs), against_controls)
    )
    of_pairs = [key for key in keys if protocol.measure(key).tested]
    rivals: dict[str, dict[str, Tested | None]] = {name: {**(against or {}).get(name, {})} for name in tested}
    for name, other in pairs:
        rivals[name].setdefault(other, tested[other])
    wanted = keys if against_controls else of_pairs
    by_t = tested_against(protocol, options, resampling, tested, rivals, wanted, resamples)
    differences = {}
    for pair in pairs:
        # Measures that the protocol resamples have exchanges of their own.
        exchanged = tested[pair[0]][1].resampled.keys()
        differences[pair] = {key: test for key, test in by_t.get(pair, {}).items() if key not in exchanged}
        if rest := [key for key in of_pairs if key not in differences[pair]]:
            (first, first_outcome), (second, second_outcome) = (tested[name] for name in pair)
            both = (first, second), (first_outcome, second_outcome)
            differences[pair] |= compare(protocol, *both, resampling, permutations, options, rest)
    comparisons = [_comparison(key, pair, differences[pair][key]) for key in of_pairs for pair in pairs]
    controls = [
        _comparison(key, (name, other), by_t[name, other][key])
        for key in keys
        for name, of_metric in (against or {}).items()
        for other in of_metric
        if key in by_t.get((name, other), {})
    ]
    table = Significance(
        permutations=permutations,
        seed=resampling.seed,
        alpha=settings.alpha,
        comparisons=comparisons,
        controls=controls,
        family=settings.family,
    )
    return adjusted([table], None if settings.family == "table" else lambda test: test.measure)[0]


def _comparison(key: str, pair: tuple[str, str], difference: Estimate) -> Comparison:
    known = {name: getattr(difference, name) for name in ("low", "high", "p", "note")}
    rows, value = difference.n or 0, difference.value
    return Comparison(measure=key, one=pair[0], other=pair[1], rows=rows, difference=value, **known)


def as_one_family(tables: Sequence[Result]) -> list[Result]:
    """Return results with p adjusted over all tables: pairs as one family, comparisons with controls as another."""
    together = iter(adjusted([result.significance for result in tables if result.significance], None))
    significances = [withheld(next(together), result.rows) if result.significance else None for result in tables]
    return [
        result.model_copy(update={"significance": tests, "rows": marked(result.rows, tests)})
        for result, tests in zip(tables, significances, strict=True)
    ]


def adjusted(tables: Sequence[Significance], family: Callable[[Comparison], Hashable] | None) -> list[Significance]:
    """Return the tests with p-values adjusted within each family of pairs, and of comparisons with controls.

    A pair of metrics of which one is a control has the test and the adjusted p of its comparison with the control; of
    two controls that are both metrics, each compared with the other, it is the larger p.
    family: returns what names the family of a comparison; None: all are one family.
    """
    against, _ = _in_families([table.controls for table in tables], family, _against_controls)
    by_pair = [{_both(test): test for test in sorted(tests, key=lambda test: test.holm or 0.0)} for tests in against]
    apart = [
        [pair for pair in table.comparisons if _both(pair) not in of_pair]
        for table, of_pair in zip(tables, by_pair, strict=True)
    ]
    pairs, most = _in_families(apart, family, lambda _, p: holm(p))
    whole = []
    for table, of_pair, of_metrics in zip(tables, by_pair, pairs, strict=True):
        of_pair |= {_both(pair): pair for pair in of_metrics}
        update = {}
        for name, tests in (("comparisons", table.comparisons), ("controls", table.controls)):
            same = ((test, of_pair[_both(test)]) for test in tests)
            update[name] = [test.model_copy(update={"p": of.p, "holm": of.holm}) for test, of in same]
        whole.append(table.model_copy(update={**update, "tests": most}))
    return whole


def _both(test: Comparison) -> object:
    return test.measure, frozenset((test.one, test.other))


REVERSIBLE = "rows without a score could reverse it"


def withheld(tests: Significance, rows: Iterable[Row]) -> Significance:
    """Return the tests without an adjusted p where rows without a score could reverse a significant difference.

    rows: those of the table. A difference is kept where the worst value of its better side, over the scores that its
    unscored rows could have, is above the best value of the other.
    """
    values, alpha = {row.metric: row.values for row in rows}, tests.alpha

    def kept(test: Comparison) -> Comparison:
        sides = [values[name][test.measure] for name in (test.one, test.other)]
        spans = [side.bounds or (side.value or 0.0, side.value or 0.0) for side in sides]
        (worst, _), (_, best) = spans if (test.difference or 0.0) > 0 else spans[::-1]
        if any(side.bounds for side in sides) and differs(test, alpha) and worst <= best:
            return test.model_copy(update={"holm": None, "note": REVERSIBLE})
        return test

    of_controls = [*map(kept, tests.controls)]
    return tests.model_copy(update={"comparisons": [*map(kept, tests.comparisons)], "controls": of_controls})


Tests = Sequence[tuple[int, Comparison]]
"""Tests with the number of their table."""


def _in_families(
    tables: Sequence[Sequence[Comparison]],
    family: Callable[[Comparison], Hashable] | None,
    adjust: Callable[[Tests, Floats], Floats],
) -> tuple[list[list[Comparison]], int]:
    """Return the comparisons of each table with p adjusted within each family, and the size of the largest family.

    family: returns what names the family of a comparison; None: all are one family. adjust: from the comparisons of one
    family and their p-values, (m,), returns Holm's. A comparison without p has none adjusted, and is not counted.
    """
    tests = [(number, test) for number, table in enumerate(tables) for test in table]
    names = [family(test) if family else None for _, test in tests]
    p = np.array([np.nan if test.p is None else test.p for _, test in tests])
    by_holm, most = p.copy(), 0
    for name in dict.fromkeys(names):
        places = [place for place, other in enumerate(names) if other == name]
        by_holm[places] = adjust([tests[place] for place in places], p[places])
        most = max(most, int(np.count_nonzero(~np.isnan(p[places]))))
    in_order = (
        test.model_copy(update={"holm": known(holm_p)}) for (_, test), holm_p in zip(tests, by_holm, strict=True)
    )
    return [[next(in_order) for _ in table] for table in tables], most


def _against_controls(tests: Tests, p: Floats) -> Floats:
    """Return adjusted p, (m,), of m comparisons with controls (p: raw); a metric counts once per measure and table."""
    metrics = [(number, test.measure, test.one) for number, test in tests]
    controls = [test.other for _, test in tests]
    rows, columns = ({name: at for at, name in enumerate(dict.fromkeys(names))} for names in (metrics, controls))
    places = [rows[name] for name in metrics], [columns[name] for name in controls]
    whole, difference = np.full((2, len(rows), len(columns)), np.nan)
    whole[places], difference[places] = p, [test.difference or 0.0 for _, test in tests]
    return np.asarray(holm_against(whole, difference)[places])


def marked(rows: Sequence[Row], tests: Significance | None) -> list[Row]:
    """Return rows with letters, rank intervals, and controls that a metric is not better than; as given if untested."""
    if tests is None:
        return list(rows)
    not_above: dict[str, dict[str, list[str]]] = {}
    for test in tests.controls:
        if test.p is not None and not above(test, tests.alpha):
            not_above.setdefault(test.one, {}).setdefault(test.measure, []).append(test.other)
    return [
        row if row.kind == "control" else row.model_copy(update={"not_above": not_above.get(row.metric, {})})
        for row in placed(rows, tests)
    ]
