"""The significance tests of a table: each pair of metrics, and each metric against each control.

Two metrics are compared by a paired permutation test that exchanges their scores group by group. Every metric is also
compared with every control; there permutations would be most of the work, so the difference is divided by its cluster
standard error, as for its interval. Pairs of metrics are one family of tests, and comparisons with controls another, so
that which metrics differ does not depend on the controls. Each family is adjusted by Holm's method.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from math import ceil

import numpy as np

from metaeval.config import ComparisonConfig
from metaeval.report.result import Comparison, Result, Row, Significance, Value
from metaeval.report.table import known
from metaeval.report.verdicts import above
from metaeval.stats.arrays import Floats
from metaeval.stats.crossed_clusters import CrossedInfluence
from metaeval.stats.significance import benjamini_hochberg, holm, holm_against, significance_clusters
from protocols.comparison import Difference, Tested, compare, tested_against
from protocols.contract import Protocol, Resampling


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
    """Compare each pair of metrics (by name, with their judgements and outcomes) under the measures `keys`.

    against: for each metric, the controls that it is compared with; None in place of a control stands for the expected
    value of random scores. tables: number of tables of the suite. Returns None without anything to compare, or without
    permutations. More permutations are made where Holm's adjustment could not reach `alpha` otherwise.
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
    normal = [key for key in keys if protocol.measure(key).normal]
    differences = {}
    for pair in pairs:
        (first, first_outcome), (second, second_outcome) = (tested[name] for name in pair)
        outcomes = first_outcome, second_outcome
        differences[pair] = compare(protocol, (first, second), outcomes, resampling, permutations, options, normal)
    comparisons = [_comparison(key, pair, differences[pair][key]) for key in normal for pair in pairs]
    by_control = tested_against(protocol, options, resampling, tested, against or {}, keys, resamples)
    controls = [
        _comparison(key, pair, by_key[key]) for key in keys for pair, by_key in by_control.items() if key in by_key
    ]
    influences = (outcome.influence.get(key) for _, outcome in tested.values() for key in normal)
    by_t = any(isinstance(influence, CrossedInfluence) for influence in influences)
    table = Significance(
        permutations=0 if by_t else permutations,
        seed=resampling.seed,
        alpha=settings.alpha,
        comparisons=comparisons,
        controls=controls,
        family=settings.family,
        separate_controls=True,
    )
    return adjusted([table], None if settings.family == "table" else lambda test: test.measure)[0]


def _comparison(key: str, pair: tuple[str, str], difference: Difference) -> Comparison:
    copied = {name: getattr(difference, name) for name in ("rows", "low", "high", "p", "note")}
    return Comparison(measure=key, one=pair[0], other=pair[1], difference=difference.value, **copied)


def as_one_family(tables: Sequence[Result]) -> list[Result]:
    """Return the results of a suite with the p-values of all their tests adjusted as one family."""
    together = iter(adjusted([result.significance for result in tables if result.significance], None))
    significances = [next(together) if result.significance else None for result in tables]
    return [
        result.model_copy(update={"significance": tests, "rows": marked(result.rows, tests)})
        for result, tests in zip(tables, significances, strict=True)
    ]


def adjusted(tables: Sequence[Significance], family: Callable[[Comparison], Hashable] | None) -> list[Significance]:
    """Adjust the p-values within each family of pairs, and of comparisons with controls; None: one family each."""
    pairs, most = _in_families([table.comparisons for table in tables], family, lambda _, p: holm(p))
    controls, _ = _in_families([table.controls or [] for table in tables], family, _against_controls)
    return [
        table.model_copy(update={"comparisons": of_pairs, "controls": of_controls, "tests": most})
        for table, of_pairs, of_controls in zip(tables, pairs, controls, strict=True)
    ]


Tests = Sequence[tuple[int, Comparison]]
"""Tests with the number of their table."""


def _in_families(
    tables: Sequence[Sequence[Comparison]],
    family: Callable[[Comparison], Hashable] | None,
    adjust: Callable[[Tests, Floats], Floats],
) -> tuple[list[list[Comparison]], int]:
    """Return the tests of each table, adjusted within each family, and the size of the largest family."""
    tests = [(number, test) for number, table in enumerate(tables) for test in table]
    names = [family(test) if family else None for _, test in tests]
    p = np.array([np.nan if test.p is None else test.p for _, test in tests])
    by_holm, by_bh, most = p.copy(), p.copy(), 0
    for name in dict.fromkeys(names):
        places = [place for place, other in enumerate(names) if other == name]
        by_holm[places] = adjust([tests[place] for place in places], p[places])
        by_bh[places] = benjamini_hochberg(p[places])
        most = max(most, int(np.count_nonzero(~np.isnan(p[places]))))
    in_order = (
        test.model_copy(update={"holm": known(holm_p), "bh": known(bh_p)})
        for (_, test), holm_p, bh_p in zip(tests, by_holm, by_bh, strict=True)
    )
    return [[next(in_order) for _ in table] for table in tables], most


def _against_controls(tests: Tests, p: Floats) -> Floats:
    """Adjust the p-values of comparisons with controls; a metric counts once per measure and table."""
    metrics = [(number, test.measure, test.one) for number, test in tests]
    controls = [test.other for _, test in tests]
    rows, columns = ({name: at for at, name in enumerate(dict.fromkeys(names))} for names in (metrics, controls))
    places = [rows[name] for name in metrics], [columns[name] for name in controls]
    whole, difference = np.full((2, len(rows), len(columns)), np.nan)
    whole[places], difference[places] = p, [test.difference or 0.0 for _, test in tests]
    return np.asarray(holm_against(whole, difference)[places])


def clusters(tests: Significance, values: Mapping[str, Mapping[str, Value]]) -> dict[str, dict[str, int]]:
    """Return the significance cluster of each metric by measure, 1 the best. values: by metric and measure."""
    names = list(values)
    placed: dict[str, dict[str, int]] = {name: {} for name in names}
    for key in dict.fromkeys(test.measure for test in tests.comparisons if test.p is not None):
        differ = np.zeros((len(names), len(names)), dtype=np.bool_)
        for test in tests.comparisons:
            if test.measure == key and test.holm is not None and test.holm <= tests.alpha:
                a, b = names.index(test.one), names.index(test.other)
                differ[a, b] = differ[b, a] = True
        value = np.array([values[name][key].value for name in names], dtype=np.float64)  # None is NaN
        for name, cluster in zip(names, significance_clusters(value, differ).tolist(), strict=True):
            if cluster:
                placed[name][key] = cluster
    return placed


def marked(rows: Sequence[Row], tests: Significance | None) -> list[Row]:
    """Return the rows with each metric's clusters and the controls that it is not significantly better than."""
    if tests is None:
        return list(rows)
    compared = {name for test in tests.comparisons for name in (test.one, test.other)}
    placed = clusters(
        tests, {row.metric: row.values for row in rows if row.metric in compared and row.kind == "metric"}
    )
    not_above: dict[str, dict[str, list[str]]] = {}
    for test in tests.controls or []:
        if test.p is not None and not above(test, tests.alpha):
            not_above.setdefault(test.one, {}).setdefault(test.measure, []).append(test.other)
    return [
        row
        if row.kind == "control"
        else row.model_copy(update={"clusters": placed.get(row.metric, {}), "not_above": not_above.get(row.metric, {})})
        for row in rows
    ]
