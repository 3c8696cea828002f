"""The intervals of a whole table: ours against a loop over scipy and scikit-learn, on the same data in the same run.

    python -m benchmarks.resampling            about a minute

Made data of GenSearch's shape: 12,681 statements in 1,450 groups, about 300,000 (statement, chunk) pairs, 9 metrics,
one of them a three-level judge. 9 statistics a metric: Pearson, Spearman, Kendall tau-b, 3 ROC-AUC, NDCG@5, 10, 20,
each with its interval, for which the loop leaves out each group in turn. One pinned thread, CPU seconds. The loop's
time is measured on a few groups and multiplied; NDCG is taken once a statement there too, as anyone would.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.metrics import ndcg_score, roc_auc_score

from metaeval.stats.classification import auc_influence, roc_auc
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.influence import of_left_out, t_interval
from metaeval.stats.pools import ndcg, pool_mean, rank_pools
from metaeval.stats.resampling import jackknife, replicate

STATISTICS = ("pearson", "spearman", "kendall", "fs_ns", "fs_ps", "ps_ns", "ndcg@5", "ndcg@10", "ndcg@20")
CUTOFFS = (5, 10, 20)
PAIRS = ((2, 0), (2, 1), (1, 0))


@dataclass(frozen=True)
class Table:
    """n rows: gold (n,), group and pool codes (n,), group of each pool (P,), scores of each metric (n,)."""

    gold: np.ndarray
    group: np.ndarray
    pool: np.ndarray
    pool_group: np.ndarray
    scores: list[np.ndarray]

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1


def made(statements: int = 12_681, groups: int = 1_450, metrics: int = 9, seed: int = 0) -> Table:
    """Statements with a pool of chunks each, of which the first may carry the citation's level."""
    rng = np.random.default_rng(seed)
    pool_group = np.sort(np.append(np.arange(groups), rng.integers(0, groups, statements - groups)))
    sizes = 1 + rng.poisson(22.65, statements)
    pool = np.repeat(np.arange(statements), sizes)
    gold = np.zeros(pool.size)
    gold[np.cumsum(sizes) - sizes] = rng.choice([2.0, 1.0, 0.0], statements, p=[0.522, 0.114, 0.364])
    group = pool_group[pool]
    effect = rng.normal(size=groups)[group]
    scores = [gold * w + 0.5 * effect + rng.normal(size=gold.size) for w in np.linspace(0.3, 1.5, metrics)]
    scores[0] = np.clip(np.round(scores[0]), 0, 2)
    return Table(gold, group, pool, pool_group, scores)


def by_default(table: Table, metrics: int | None = None) -> np.ndarray:
    """Value and interval of every statistic of every metric, (metrics, 9, 3)."""
    return np.array([_from_influence(table, score) for score in table.scores[:metrics]])


def _from_influence(table: Table, score: np.ndarray) -> list[tuple[float, float, float]]:
    columns = score, table.gold, table.group, table.groups
    held, pools_held = (np.bincount(group, minlength=table.groups) for group in (table.group, table.pool_group))
    draws = jackknife(table.groups)
    left_out = [replicate(pearson(*columns), draws), *replicate(rank_correlations(*columns), draws)]
    found = [of_left_out(values, held, (-1.0, 1.0)) for values in left_out]
    area = auc_influence(*columns)
    found += [area(*pair) for pair in PAIRS]
    pools = _ndcg(table, score)
    means = replicate(pool_mean(pools, table.pool_group, table.groups), draws)
    found += [of_left_out(values, pools_held, (0.0, 1.0)) for values in means]
    return [(one.value, *(t_interval(one, 0.95) or (np.nan, np.nan))) for one in found]


def _ndcg(table: Table, score: np.ndarray) -> np.ndarray:
    ranked = rank_pools(score, table.gold, table.pool)
    return np.stack([ndcg(ranked, k) for k in CUTOFFS])


def usual(table: Table, groups: int) -> np.ndarray:
    """The six statistics that need the rows, without each of some groups in turn, (groups, metrics, 6).

    The NDCG without a group is a mean over the other statements' values, which `usual_ndcg` takes once.
    """
    kept = (table.group != group for group in range(groups))
    return np.array([[_usual_metric(table.gold[rows], score[rows]) for score in table.scores] for rows in kept])


def _usual_metric(gold: np.ndarray, score: np.ndarray) -> list[float]:
    values = [stats.pearsonr(score, gold)[0], stats.spearmanr(score, gold)[0], stats.kendalltau(score, gold)[0]]
    for high, low in PAIRS:
        kept = (gold == high) | (gold == low)
        values.append(roc_auc_score(gold[kept] == high, score[kept]))
    return values


def usual_ndcg(table: Table, score: np.ndarray, pools: int) -> np.ndarray:
    """NDCG of the first `pools` pools, statement by statement with scikit-learn."""
    starts = np.append(np.flatnonzero(np.diff(table.pool, prepend=-1)), table.pool.size)
    found = np.full((len(CUTOFFS), pools), np.nan)
    for p in range(pools):
        gold, own = table.gold[starts[p] : starts[p + 1]], score[starts[p] : starts[p + 1]]
        if gold.any() and gold.size > 1:
            found[:, p] = [ndcg_score([gold], [own], k=k) for k in CUTOFFS]
    return found


def seconds(run: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Time everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    table = made()
    _check(table)
    metrics = len(table.scores)
    print(f"{table.gold.size:,} pairs, {table.pool_group.size:,} statements, {table.groups:,} groups")
    print(f"{metrics} metrics x {len(STATISTICS)} statistics, medians of {given.rounds}")
    rounds = [_round(table) for _ in range(given.rounds)]
    own, loop, ndcg, ndcg_loop = (statistics.median(column) for column in zip(*rounds, strict=True))
    _say("intervals", own, "goal 3 s")
    _say("  scipy + scikit-learn loop", loop + ndcg_loop, f"{(loop + ndcg_loop) / own:,.0f} x, goal 1,000 x")
    _say("NDCG@5/10/20 of everything", ndcg, "goal 1 s")
    _say("  scikit-learn loop", ndcg_loop, f"{ndcg_loop / ndcg:,.0f} x")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory                  {memory:9.2f} GiB (goal 2 GiB)")


def _round(table: Table) -> tuple[float, float, float, float]:
    """Seconds of: ours, the loop that leaves out each group, NDCG of everything, scikit-learn's NDCG of everything."""
    own = seconds(lambda: by_default(table))
    loop = seconds(lambda: usual(table, 2)) / 2 * table.groups
    ndcg = seconds(lambda: [_ndcg(table, score) for score in table.scores])
    some = seconds(lambda: usual_ndcg(table, table.scores[-1], 300))
    return own, loop, ndcg, some / 300 * table.pool_group.size * len(table.scores)


def _say(what: str, taken: float, beside: str = "") -> None:
    print(f"{what:<32}{taken:9.3f} s  {f'({beside})' if beside else ''}".rstrip())


def _check(table: Table) -> None:
    """Hold the values without the first group against scipy and scikit-learn."""
    score = table.scores[-1]
    columns = score, table.gold, table.group, table.groups
    weights = next(iter(jackknife(table.groups)))[:, :2]
    mine = [pearson(*columns).evaluate(weights)[1], *rank_correlations(*columns).evaluate(weights)[:, 1]]
    for high, low in PAIRS:
        rows = (table.gold == high) | (table.gold == low)
        area = roc_auc(score[rows], table.gold[rows] == high, table.group[rows], table.groups)
        mine.append(area.evaluate(weights)[1])
    theirs = usual(table, 1)[0, -1]
    apart = max(abs(a - b) for a, b in zip(mine, theirs, strict=True))
    ndcg = usual_ndcg(table, score, 50)
    own = _ndcg(table, score)[:, :50]
    both = ~np.isnan(ndcg)
    apart = max(apart, float(np.abs(ndcg[both] - own[both]).max()))
    print(f"without a group, against scipy and scikit-learn: largest difference {apart:.1e}")


if __name__ == "__main__":
    main()
