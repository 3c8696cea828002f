"""The tests of a table: every two metrics, and every metric against each control; families, clusters and flags.

Two metrics are compared by exchanging their scores group by group. A control costs nothing and is met by every metric,
so that exchanges would be most of the work: there the difference is held against its own cluster standard error, as
its interval is. Pairs of metrics are a family, and tests against controls another: which metrics differ does not depend
on which controls there are. Each is adjusted by Holm's method.
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
    """Compare every two metrics (by name, with their judgements and outcomes) under the measures `keys`.

    against: of each metric, the controls that it is held against under every measure of the table; None in the place
    of a control: what random scores are expected to have. tables: of the suite.

    None without anything to compare, or without permutations. Where Holm's adjustment over a family could not reach
    `alpha` with the smallest p that the permutations allow, more of them are made.
    """
    pairs = list(combinations(tested, 2))
    held = sum(map(len, (against or {}).values()))
    if (not pairs and not held) or not settings.permutations:
        return None
    within = {"column": 1, "table": len(keys), "suite": len(keys) * tables}[settings.family]
    permutations, resamples = (
        max(settings.permutations, ceil(2 * tests * within / settings.alpha)) for tests in (len(pairs), held)
    )
    normal = [key for key in keys if protocol.measure(key).normal]
    found = {}
    for pair in pairs:
        (one, of_one), (other, of_other) = (tested[name] for name in pair)
        found[pair] = compare(protocol, (one, other), (of_one, of_other), resampling, permutations, options, normal)
    comparisons = [_comparison(key, pair, found[pair][key]) for key in normal for pair in pairs]
    beaten = tested_against(protocol, options, resampling, tested, against or {}, keys, resamples)
    controls = [_comparison(key, pair, told[key]) for key in keys for pair, told in beaten.items() if key in told]
    whole = Significance(
        permutations=permutations,
        seed=resampling.seed,
        alpha=settings.alpha,
        comparisons=comparisons,
        controls=controls,
        family=settings.family,
        separate_controls=True,
    )
    return adjusted([whole], None if settings.family == "table" else lambda one: one.measure)[0]


def _comparison(key: str, pair: tuple[str, str], told: Difference) -> Comparison:
    return Comparison(
        measure=key,
        one=pair[0],
        other=pair[1],
        rows=told.rows,
        difference=told.value,
        low=told.low,
        high=told.high,
        p=told.p,
        note=told.note,
    )


def as_one_family(tables: Sequence[Result]) -> list[Result]:
    """The results of a suite, with the p-values of all their tests adjusted together."""
    tested = [result.significance for result in tables if result.significance]
    of_tables = iter(adjusted(tested, None))
    found = [next(of_tables) if result.significance else None for result in tables]
    return [
        result.model_copy(update={"significance": own, "rows": marked(result.rows, own)})
        for result, own in zip(tables, found, strict=True)
    ]


def adjusted(tables: Sequence[Significance], family: Callable[[Comparison], Hashable] | None) -> list[Significance]:
    """Adjust p within each family of pairs, and of tests against controls; one family where no function says which."""
    pairs, most = _in_families([table.comparisons for table in tables], family, lambda _, p: holm(p))
    controls, _ = _in_families([table.controls or [] for table in tables], family, _against_controls)
    return [
        table.model_copy(update={"comparisons": of_pairs, "controls": of_controls, "tests": most})
        for table, of_pairs, of_controls in zip(tables, pairs, controls, strict=True)
    ]


Tests = Sequence[tuple[int, Comparison]]
"""Tests, each with the number of its table."""


def _in_families(
    tables: Sequence[Sequence[Comparison]],
    family: Callable[[Comparison], Hashable] | None,
    adjust: Callable[[Tests, Floats], Floats],
) -> tuple[list[list[Comparison]], int]:
    """The tests of each table, adjusted within each family, and how many tests the largest family has."""
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
        test.model_copy(update={"holm": known(one), "bh": known(other)})
        for (_, test), one, other in zip(tests, by_holm, by_bh, strict=True)
    )
    return [[next(in_order) for _ in table] for table in tables], most


def _against_controls(tests: Tests, p: Floats) -> Floats:
    """Adjusted p of tests against controls; a metric under another measure or in another table counts as another."""
    metrics = [(number, test.measure, test.one) for number, test in tests]
    controls = [test.other for _, test in tests]
    rows, columns = ({name: at for at, name in enumerate(dict.fromkeys(names))} for names in (metrics, controls))
    places = [rows[name] for name in metrics], [columns[name] for name in controls]
    whole, difference = np.full((2, len(rows), len(columns)), np.nan)
    whole[places], difference[places] = p, [test.difference or 0.0 for _, test in tests]
    return np.asarray(holm_against(whole, difference)[places])


def clusters(found: Significance, values: Mapping[str, Mapping[str, Value]]) -> dict[str, dict[str, int]]:
    """Significance cluster of each metric under each measure, 1 the best; values: metric -> measure -> value."""
    names = list(values)
    placed: dict[str, dict[str, int]] = {name: {} for name in names}
    for key in dict.fromkeys(one.measure for one in found.comparisons if one.p is not None):
        differ = np.zeros((len(names), len(names)), dtype=np.bool_)
        for one in found.comparisons:
            if one.measure == key and one.holm is not None and one.holm <= found.alpha:
                a, b = names.index(one.one), names.index(one.other)
                differ[a, b] = differ[b, a] = True
        given = [values[name][key].value for name in names]
        value = np.array([np.nan if one is None else one for one in given])
        for name, cluster in zip(names, significance_clusters(value, differ).tolist(), strict=True):
            if cluster:
                placed[name][key] = cluster
    return placed


def marked(rows: Sequence[Row], found: Significance | None) -> list[Row]:
    """The rows with each metric's clusters, and for each measure the controls that it was not shown to be above."""
    if found is None:
        return list(rows)
    compared = {name for one in found.comparisons for name in (one.one, one.other)}
    placed = clusters(
        found, {row.metric: row.values for row in rows if row.metric in compared and row.kind == "metric"}
    )
    not_above: dict[str, dict[str, list[str]]] = {}
    for one in found.controls or []:
        if one.p is not None and not above(one, found.alpha):
            not_above.setdefault(one.one, {}).setdefault(one.measure, []).append(one.other)
    return [
        row
        if row.kind == "control"
        else row.model_copy(update={"clusters": placed.get(row.metric, {}), "not_above": not_above.get(row.metric, {})})
        for row in rows
    ]
