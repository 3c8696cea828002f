"""Which metrics of a table can be told apart: every pair tested, p adjusted over the pairs of a measure, clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import ceil

import numpy as np

from metaeval.config import ComparisonConfig
from metaeval.report import result as results
from metaeval.stats.significance import benjamini_hochberg, holm, significance_clusters
from protocols.comparison import Difference, compare
from protocols.contract import Judgements, Outcome, Protocol, Resampling

Tested = tuple[Judgements, Outcome]


def significance(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    settings: ComparisonConfig,
    tested: Mapping[str, Tested],
    keys: Sequence[str],
) -> results.Significance | None:
    """Compare every two metrics (by name, with their judgements and outcomes) under the measures `keys`.

    None with fewer than two metrics, or without permutations. Where Holm's adjustment over so many pairs could not
    reach `alpha` with the smallest p that the permutations allow, more of them are made.
    """
    if len(tested) < 2 or not settings.permutations:
        return None
    pairs = list(combinations(tested, 2))
    permutations = max(settings.permutations, ceil(2 * len(pairs) / settings.alpha))
    found = {
        pair: compare(
            protocol,
            (tested[pair[0]][0], tested[pair[1]][0]),
            (tested[pair[0]][1], tested[pair[1]][1]),
            resampling,
            permutations,
            options,
            keys,
        )
        for pair in pairs
    }
    comparisons: list[results.Comparison] = []
    for key in keys:
        differences = [found[pair][key] for pair in pairs]
        p = np.array([np.nan if one.p is None else one.p for one in differences])
        adjusted = zip(pairs, differences, holm(p), benjamini_hochberg(p), strict=True)
        comparisons += [_comparison(key, pair, one, h, b) for pair, one, h, b in adjusted]
    return results.Significance(
        permutations=permutations, seed=resampling.seed, alpha=settings.alpha, comparisons=comparisons
    )


def clusters(
    found: results.Significance, values: Mapping[str, Mapping[str, results.Value]]
) -> dict[str, dict[str, int]]:
    """Significance cluster of each metric under each measure, 1 the best; values: metric -> measure -> value."""
    names = list(values)
    number = {name: place for place, name in enumerate(names)}
    placed: dict[str, dict[str, int]] = {name: {} for name in names}
    for key in dict.fromkeys(one.measure for one in found.comparisons if one.p is not None):
        differ = np.zeros((len(names), len(names)), dtype=np.bool_)
        for one in found.comparisons:
            if one.measure == key and one.holm is not None and one.holm <= found.alpha:
                a, b = number[one.one], number[one.other]
                differ[a, b] = differ[b, a] = True
        known = [values[name][key].value for name in names]
        value = np.array([np.nan if number is None else number for number in known])
        for name, cluster in zip(names, significance_clusters(value, differ).tolist(), strict=True):
            if cluster:
                placed[name][key] = cluster
    return placed


def _comparison(key: str, pair: tuple[str, str], one: Difference, holm_p: float, bh_p: float) -> results.Comparison:
    tested = one.p is not None
    return results.Comparison(
        measure=key,
        one=pair[0],
        other=pair[1],
        rows=one.rows,
        difference=one.value,
        low=one.low,
        high=one.high,
        p=one.p,
        holm=float(holm_p) if tested else None,
        bh=float(bh_p) if tested else None,
        note=one.note,
    )
