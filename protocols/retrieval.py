"""The protocol of rankings of the candidates of a statement (base paper, section 3.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from metaeval.stats import pools
from metaeval.stats.arrays import Bools, Floats, Ints, distinct, group_ends, numbered
from metaeval.stats.bounds import extreme_ranks
from metaeval.stats.resampling import Draws, replicate
from protocols.contract import Influences, Judgements, Measure, Option, Outcome, Protocol, Replicates, Resampling
from protocols.measure_estimates import NO_SCORES, Qualities, jackknifed, opened, outcome, pair_of_bounds
from protocols.two_way_clusters import by_clusters

NO_SUPPORT = "pool without a supporting candidate"
SUPPORT_UNSCORED = "pool whose supporting candidates are all unscored"
CUTOFFS = {"ndcg@5": 5, "ndcg@10": 10, "ndcg@20": 20}
BINARY: Mapping[str, Callable[[pools.RankedPools], Floats]] = {
    "mrr": pools.reciprocal_rank,
    "map": pools.average_precision_of_pools,
    "p@1": pools.precision_at_1,
    "recall@5": partial(pools.recall_at, k=5),
}
MEASURES = (*CUTOFFS, *BINARY)

Order = Literal["expected", "worst", "best"]
ORDERS: tuple[Order, ...] = ("expected", "worst", "best")


class _Candidates(NamedTuple):
    """The rows of the pools that count, with the group of each pool in ascending order of the pool's code."""

    rows: Judgements
    pool_group: Ints


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Return NDCG@5, @10, @20, MRR, MAP, P@1 and recall@5, as means over pools; supporting means level >= 1.

    Means are over the pools with a scored supporting row. Rows of other pools are counted in `excluded`, but as
    `unscored` those that lack a score in a pool with a supporting row. Values are exact expectations over random orders
    of tied scores, or with the option `ties` those of the worst or best order by gold; `Estimate.ties` holds the worst
    and the best. Unscored rows are left out of their pool. `bounds` are exact: the lowest and highest mean over all
    scores that the unscored rows could have, over all pools with a supporting row; the value itself, which leaves those
    rows out, may lie outside. options: gains "linear" or "exponential", for NDCG. Raises ValueError on an infinite
    score, a level not finite or negative, or a pool that lies in two groups.
    """
    judgements, n_groups = opened(judgements, resampling)
    gains = _gains(options)
    supports, missing = judgements.gold >= 1, np.isnan(judgements.score)
    answerable = _pool_has(judgements.pool, supports)
    ranked = _pool_has(judgements.pool, supports & ~missing)
    used = _candidates(judgements, ranked & ~missing)
    why = NO_SCORES if missing.all() else "no pool with a scored supporting candidate"
    has_bounds = answerable.any() and not missing.all()
    bounds = _bounds(_candidates(judgements, answerable), n_groups, gains) if has_bounds else {}
    # Without ties all orders are one.
    by_score = pools.rank_pools(used.rows.score, used.rows.gold, used.rows.pool)
    tied = not np.array_equal(by_score.first, by_score.last)
    expected = _measured(by_score.in_order("expected"), gains, MEASURES)
    values = {order: _measured(by_score.in_order(order), gains, MEASURES) if tied else expected for order in ORDERS}
    ties = _ends({key: (values["worst"][key], values["best"][key]) for key in MEASURES}, used, n_groups)
    groups = distinct(used.pool_group).size
    qualities = {key: Qualities(groups, why, ties=ties[key], bounds=bounds.get(key)) for key in MEASURES}
    run = _means(values[_ties(options)], used, n_groups)
    left = {NO_SUPPORT: int((~answerable).sum()), SUPPORT_UNSCORED: int((answerable & ~ranked & ~missing).sum())}
    return outcome(
        *(judgements, used.rows, answerable & missing, run, qualities, n_groups, resampling),
        excluded=left,
        warnings=_one_level_warning(used),
        influence=partial(jackknifed, run, used.pool_group, n_groups, lambda _: (0.0, 1.0))
        if judgements.crossed is None
        else partial(influence, used.rows, n_groups, options, MEASURES),
    )


@partial(by_clusters, pooled=True)
def influence(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
    """Return the groups' influence values on means over pools with a supporting row; every row must have a score."""
    run = partial(replicates, rows, n_groups, options=options, keys=keys)
    return jackknifed(run, _answerable(rows).pool_group, n_groups, lambda _: (0.0, 1.0))


def chance(rows: Judgements, options: Mapping[str, str]) -> Mapping[str, float]:
    """Return the expected mean over pools with a supporting row for random scores, by measure; {} without a pool."""
    candidates = _answerable(rows).rows
    if not candidates.score.size:
        return {}
    tied = candidates.with_score(np.zeros(candidates.score.size))
    return {
        key: float(values.mean()) for key, values in _pool_values(tied, _gains(options), "expected", MEASURES).items()
    }


def _answerable(rows: Judgements) -> _Candidates:
    return _candidates(rows, _pool_has(rows.pool, rows.gold >= 1))


def _pool_has(pool: Ints, wanted: Bools) -> Bools:
    """Return for each row, (n,), whether its pool has any row where `wanted`, (n,), is true."""
    has = np.zeros(pool.max(initial=-1) + 1, dtype=np.bool_)
    has[pool[wanted]] = True
    return np.asarray(has[pool])


def replicates(
    rows: Judgements, n_groups: int, draws: Draws, options: Mapping[str, str], keys: Collection[str]
) -> Replicates:
    """Return each mean of `keys` over pools with a supporting row under each weighting of the groups, (draws.n,).

    Every row must have a score.
    """
    candidates = _answerable(rows)
    values = _pool_values(candidates.rows, _gains(options), _ties(options), keys)
    return _means(values, candidates, n_groups)(draws)


def _means(values: Mapping[str, Floats], candidates: _Candidates, n_groups: int) -> Callable[[Draws], Replicates]:
    """Return a function from weightings to means over pools, (draws.n,) each. values: (P,) of pools, by measure."""
    prepared = pools.pool_mean(np.stack([*values.values()]), candidates.pool_group, n_groups)
    return lambda draws: dict(zip(values, replicate(prepared, draws), strict=True))


def _ties(options: Mapping[str, str]) -> Order:
    return next((order for order in ORDERS if order == options.get("ties")), "expected")


def _gains(options: Mapping[str, str]) -> pools.Gains:
    return "exponential" if options.get("gains") == "exponential" else "linear"


def _range(value: Floats, pool: Ints) -> tuple[Floats, Floats, Ints]:
    """Return the lowest value, the highest value and the number of rows of each pool, (P,) each. value, pool: (n,)."""
    index, n_pools = numbered(pool)
    return *group_ends(value, index, n_pools), np.bincount(index, minlength=n_pools)


def _blind(judgements: Judgements, support: bool = False, most: int = 0) -> str:
    """Return why every order of the candidates has the same value; "" if orders differ.

    support: only whether a candidate supports counts, not its level. most: number of first candidates that the measure
    reads; 0: all.
    """
    answerable = judgements.rows(_pool_has(judgements.pool, judgements.gold >= 1))
    value = np.minimum(answerable.gold, 1.0) if support else answerable.gold
    lowest, highest, sizes = _range(value, answerable.pool)
    if not sizes.size:
        return "no statement has a supporting candidate"
    if (lowest == highest).all():
        return f"the candidates of each statement {'all support it' if support else 'are of one level'}"
    if ((sizes <= most) | (lowest == highest)).all():
        return f"no statement has more than {most} candidates"
    return ""


def _one_level_warning(used: _Candidates) -> tuple[str, ...]:
    """Return a warning about pools whose rows have one level only, where every order has NDCG 1; () without any."""
    lowest, highest, _ = _range(used.rows.gold, used.rows.pool)
    same = int((highest == lowest).sum())
    if not same:
        return ()
    return (
        f"{same:,} of {used.pool_group.size:,} pools hold{'s' if same == 1 else ''} candidates of one level only, "
        "most often a single one: any metric gets NDCG 1 there.",
    )


def _candidates(judgements: Judgements, keep: Bools) -> _Candidates:
    rows = judgements.rows(keep)
    index, n_pools = numbered(rows.pool)
    pool_group = np.empty(n_pools, dtype=rows.group.dtype)
    pool_group[index[::-1]] = rows.group[::-1]
    astray = np.flatnonzero(pool_group[index] != rows.group)
    if astray.size:
        raise ValueError(f"A pool must lie within one group, but pool {rows.pool[astray[0]]} has rows in two.")
    return _Candidates(rows, pool_group)


def _pool_values(rows: Judgements, gains: pools.Gains, ties: Order, keys: Collection[str]) -> dict[str, Floats]:
    """Return the value of each measure on every pool, in ascending order of the pool's code; (P,) each."""
    return _measured(pools.rank_pools(rows.score, rows.gold, rows.pool, ties), gains, keys)


def _measured(ranked: pools.RankedPools, gains: pools.Gains, keys: Collection[str]) -> dict[str, Floats]:
    return {key: pools.ndcg(ranked, CUTOFFS[key], gains) if key in CUTOFFS else BINARY[key](ranked) for key in keys}


def _bounds(whole: _Candidates, n_groups: int, gains: pools.Gains) -> dict[str, tuple[float, float] | None]:
    """Return (worst, best) mean over pools that the unscored rows allow, by measure; {} if every row has a score."""
    rows = whole.rows
    if not np.isnan(rows.score).any():
        return {}
    worst, best = extreme_ranks(rows.score, rows.gold >= 1)
    of_ndcg = pools.ndcg_ranges(rows.score, rows.gold, rows.pool, tuple(CUTOFFS.values()), gains)
    ranges = dict(zip(CUTOFFS, of_ndcg, strict=True))
    low, high = (pools.rank_pools(ranks, rows.gold, rows.pool) for ranks in (worst, best))
    ranges |= {key: (measure(low), measure(high)) for key, measure in BINARY.items()}
    return _ends(ranges, whole, n_groups)


def _ends(
    ranges: Mapping[str, tuple[Floats, Floats]], candidates: _Candidates, n_groups: int
) -> dict[str, tuple[float, float] | None]:
    """Return (worst, best) mean over pools, by measure. ranges: lowest and highest values, (P,) each, by measure."""
    means = pools.pool_mean(np.concatenate([*zip(*ranges.values(), strict=True)]), candidates.pool_group, n_groups)
    worst, best = means.evaluate(np.ones((n_groups, 1), dtype=np.uint8)).reshape(2, -1)
    return {key: pair_of_bounds(*ends) for key, *ends in zip(ranges, worst, best, strict=True)}


_supports = partial(Measure, blind=partial(_blind, support=True))

PROTOCOL = Protocol(
    name="retrieval",
    title="Ranking the candidates of a statement",
    measures=(
        *(
            Measure(key, f"NDCG@{k}", about=f"NDCG of the first {k} candidates", blind=_blind)
            for key, k in CUTOFFS.items()
        ),
        _supports("mrr", "MRR", about="mean reciprocal rank of the first supporting candidate"),
        _supports("map", "MAP", about="mean average precision of supporting candidates"),
        _supports("p@1", "P@1", about="share of pools whose first candidate supports the statement"),
        Measure(
            "recall@5",
            "Recall@5",
            about="share of a pool's supporting candidates among its first 5",
            blind=partial(_blind, support=True, most=5),
        ),
    ),
    headline="ndcg@5",
    shown=lambda judgements, options: tuple(CUTOFFS),
    evaluate=evaluate,
    replicate=replicates,
    influence=influence,
    chance=chance,
    options={
        "gains": Option(
            "NDCG's gain of a candidate",
            {
                "linear": "NDCG's gain of a candidate is its level: 2, 1, 0",
                "exponential": "NDCG's gain of a candidate is 2^level - 1: 3, 1, 0",
            },
        ),
        "ties": Option(
            "order of candidates with one score",
            {
                "expected": "candidates of one score count with the exact mean over their orders",
                "worst": "candidates of one score stand in the order that is worst for the metric",
                "best": "candidates of one score stand in the order that is best for the metric",
            },
        ),
    },
    uses_pool=True,
    tie_orders=True,
    figure="bars",
    figure_name="figure-3-ndcg",
)
