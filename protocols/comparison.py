"""Two metrics on the same rows: their difference, its interval, and a paired permutation test."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from metaeval.stats.resampling import bootstrap, swaps
from protocols.contract import Judgements, Outcome, Protocol, Resampling
from protocols.estimation import ONE_GROUP, interval_of, regroup

Floats = NDArray[np.float64]

NOT_BOTH = "no rows that both metrics scored"


@dataclass(frozen=True)
class Difference:
    """One measure of one metric less that of the other, over the `rows` that both scored.

    low, high: the interval of the difference over the resamples that both tables rest on. p: two-sided. None where
    undefined, and `note` says why.
    """

    rows: int
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    note: str = ""


def compare(
    protocol: Protocol,
    given: tuple[Judgements, Judgements],
    outcomes: tuple[Outcome, Outcome],
    resampling: Resampling,
    permutations: int,
    options: Mapping[str, str],
    keys: Collection[str],
) -> dict[str, Difference]:
    """Hold one metric against another under the measures `keys` of a protocol.

    given: the two metrics' scores on the same rows. outcomes: what the protocol's `evaluate` made of each, whose
    replicates are used again when both scored the same rows. The interval is that of the paired differences, always
    by percentiles. The test exchanges the two metrics' scores group by group: scores brought to one scale first, as
    ranks over all rows for measures that read order only, as z-scores for Pearson's r;
    p = (1 + exchanges at least as far apart as the input) / (1 + permutations), so never 0. Measures that are not
    tested (`Measure.normal`) have no p.
    """
    one, other = given
    both = ~np.isnan(one.score) & ~np.isnan(other.score)
    if not both.any():
        return {key: Difference(0, None, note=NOT_BOTH) for key in keys}
    pair = one.rows(both), other.rows(both)
    if protocol.judge:
        pair = protocol.judge(pair[0], options), protocol.judge(pair[1], options)
    if (np.isnan(one.score) ^ np.isnan(other.score)).any():
        # Resampled are the groups of the whole input, as in the table of each metric.
        codes = np.unique(one.group)
        draws = bootstrap(codes.size, resampling.n, resampling.seed)
        regrouped = (rows.with_group(np.searchsorted(codes, rows.group)) for rows in pair)
        mine, theirs = (protocol.replicate(rows, codes.size, draws, options, keys) for rows in regrouped)
    else:
        mine, theirs = (outcome.replicates for outcome in outcomes)
    p_values = _permute(protocol, pair, permutations, resampling.seed, options, keys)
    groups = np.unique(one.group[both]).size
    # Rows of a measure may come from one group where those of others do not.
    lone = {key for outcome in outcomes for key, estimate in outcome.estimates.items() if estimate.note == ONE_GROUP}
    rows, level = int(both.sum()), resampling.level
    return {
        key: _difference(mine[key] - theirs[key], p_values.get(key, np.nan), rows, 1 if key in lone else groups, level)
        for key in keys
    }


def _permute(
    protocol: Protocol,
    pair: tuple[Judgements, Judgements],
    permutations: int,
    seed: int,
    options: Mapping[str, str],
    keys: Collection[str],
) -> dict[str, float]:
    """Two-sided p of each measure; NaN where the measure is undefined or there is nothing to exchange."""
    normal = {measure.key: measure.normal for measure in protocol.measures}
    one, n_groups = regroup(pair[0])
    pools = int(one.pool.max(initial=-1)) + 1
    # The rows of both metrics, one below the other, the second with groups and pools of its own.
    stacked = Judgements(
        gold=np.tile(one.gold, 2),
        score=np.concatenate([rows.score for rows in pair]),
        group=np.concatenate((one.group, one.group + n_groups)),
        pool=np.concatenate((one.pool, one.pool + pools)),
        system=None if one.system is None else np.tile(one.system, 2),
        levels=one.levels,
    )
    found: dict[str, float] = {}
    for form in ("ranks", "z"):
        wanted = [key for key in keys if normal[key] == form]
        if wanted:
            # What a protocol's `judge` gives, decisions, is on one scale already.
            scaled = [_scaled(rows.score, "" if protocol.judge else form) for rows in pair]
            rows = stacked.with_score(np.concatenate(scaled))
            values = protocol.replicate(rows, 2 * n_groups, swaps(n_groups, permutations, seed), options, wanted)
            found |= {key: _p_value(values[key]) for key in wanted}
    return found


def _scaled(score: Floats, form: str) -> Floats:
    """Scores as ranks, as z-scores, or as they are."""
    if form == "ranks":
        return np.asarray(rankdata(score), dtype=np.float64)
    if form != "z":
        return score
    # Scaling by a power of two is exact and keeps the squares from overflowing, or from vanishing.
    unit = np.ldexp(score, -int(np.frexp(np.abs(score).max())[1]))
    spread = unit.std()
    return np.asarray((unit - unit.mean()) / spread) if spread > 0 else np.zeros(score.size)


def _p_value(values: Floats) -> float:
    """values: (2 + 2 permutations,), one metric's side and the other's in turn."""
    differences = values[0::2] - values[1::2]
    observed, permuted = differences[0], differences[1:]
    if np.isnan(observed) or not permuted.size:
        return float("nan")
    # An exchange without effect may differ in the last bit; an undefined one counts against the difference.
    hits = np.abs(permuted) >= abs(observed) - 1e-12
    hits |= np.isnan(permuted)
    return float((1 + hits.sum()) / (1 + permuted.size))


def _difference(differences: Floats, p: float, rows: int, groups: int, level: float) -> Difference:
    if np.isnan(differences[0]):
        return Difference(rows, None, note="undefined for one of the two")
    interval, note = interval_of(differences, None, groups, level)
    low, high = interval or (None, None)
    return Difference(rows, float(differences[0]), low, high, None if np.isnan(p) else p, note)
