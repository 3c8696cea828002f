"""The statistics of a whole table: ours against a loop over scipy and scikit-learn, on the same data in the same run.

    python -m benchmarks.resampling            minutes; --quick leaves out B = 10,000 and the growth

Made data of GenSearch's shape: 12,681 statements in 1,450 groups, about 300,000 (statement, chunk) pairs, 9 metrics,
one of them a three-level judge. 9 statistics a metric: Pearson, Spearman, Kendall tau-b, 3 ROC-AUC, NDCG@5, 10, 20,
each with its default interval, and with a cluster-bootstrap interval. One pinned thread, CPU seconds. The loop's time
is measured on a few resamples and multiplied; NDCG is taken once a statement there too, as anyone would.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats
from sklearn.metrics import ndcg_score, roc_auc_score

from metaeval.stats.classification import auc_influence
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.influence import of_left_out, t_interval
from metaeval.stats.pools import ndcg_at, pool_mean
from metaeval.stats.rank_counts import count_wins
from metaeval.stats.resampling import bootstrap, jackknife, percentile_interval, replicate
from protocols import classification
from protocols.comparison import compare
from protocols.contract import Judgements, Resampling

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


def ours(table: Table, resamples: int, metrics: int | None = None) -> np.ndarray:
    """Point estimate and interval of every statistic of every metric, (metrics, 9, 3)."""
    draws = bootstrap(table.groups, resamples, 0)
    return np.array([_metric(table, score, draws) for score in table.scores[:metrics]])


def _metric(table: Table, score: np.ndarray, draws) -> list[tuple[float, float, float]]:
    columns = score, table.gold, table.group, table.groups
    count = count_wins(*columns)
    wins = [count(tile) for tile in draws]
    orders = [one.orders() for one in wins]
    values = [replicate(pearson(*columns), draws)]
    values += [np.concatenate([one.spearman() for one in orders]), np.concatenate([one.kendall() for one in orders])]
    values += [np.concatenate([one.auc(*pair) for one in wins]) for pair in PAIRS]
    pools = ndcg_at(score, table.gold, table.pool, CUTOFFS)
    values += list(replicate(pool_mean(pools, table.pool_group, table.groups), draws))
    return [(value[0], *(percentile_interval(value[1:], 0.95) or (np.nan, np.nan))) for value in values]


def by_default(table: Table, metrics: int | None = None) -> np.ndarray:
    """As `ours`, with intervals of cluster standard errors and Student's t, which need no resamples."""
    return np.array([_from_influence(table, score) for score in table.scores[:metrics]])


def _from_influence(table: Table, score: np.ndarray) -> list[tuple[float, float, float]]:
    columns = score, table.gold, table.group, table.groups
    held, pools_held = (np.bincount(group, minlength=table.groups) for group in (table.group, table.pool_group))
    draws = jackknife(table.groups)
    left_out = [replicate(pearson(*columns), draws), *replicate(rank_correlations(*columns), draws)]
    found = [of_left_out(values, held, (-1.0, 1.0)) for values in left_out]
    area = auc_influence(*columns)
    found += [area(*pair) for pair in PAIRS]
    pools = ndcg_at(score, table.gold, table.pool, CUTOFFS)
    means = replicate(pool_mean(pools, table.pool_group, table.groups), draws)
    found += [of_left_out(values, pools_held, (0.0, 1.0)) for values in means]
    return [(one.value, *(t_interval(one, 0.95) or (np.nan, np.nan))) for one in found]


def usual(table: Table, resamples: int) -> np.ndarray:
    """The six statistics of each resample that need its rows, (resamples, metrics, 6), with scipy and scikit-learn.

    A resample's NDCG is a mean over the drawn statements' values, which `usual_ndcg` takes once; it costs nothing more.
    """
    members = np.split(np.argsort(table.group, kind="stable"), np.cumsum(np.bincount(table.group))[:-1])
    rng = np.random.default_rng(0)
    found = []
    for _ in range(resamples):
        rows = np.concatenate([members[g] for g in rng.integers(0, table.groups, table.groups)])
        found.append([_usual_metric(table.gold[rows], score[rows]) for score in table.scores])
    return np.array(found)


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


def permutations(table: Table, n: int) -> int:
    """All pairs of metrics under the Overall AUC, `n` permutations each; how many p-values were found."""
    rows = [Judgements(table.gold, score, table.group, table.pool) for score in table.scores]
    resampling = Resampling(n=0)
    outcomes = [classification.PROTOCOL.evaluate(row, resampling, {}) for row in rows]
    found = [
        compare(
            *(classification.PROTOCOL, (rows[a], rows[b]), (outcomes[a], outcomes[b])),
            *(resampling, n, {}, ("overall",)),
        )
        for a, b in combinations(range(len(rows)), 2)
    ]
    return sum(one["overall"].p is not None for one in found)


def seconds(run: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Time everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
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
    ratio = statistics.median((one[1] + one[3]) / one[0] for one in rounds)
    default = seconds(lambda: by_default(table))
    _say("default intervals", default, f"without resamples; {default / own:.2f} x those of percentiles, goal 1.5 x")
    _say("B = 1,000 resamples", own, "goal 2 s")
    _say("  scipy + scikit-learn loop", loop + ndcg_loop, f"{ratio:,.0f} x, goal 1,000 x")
    _say("NDCG@5/10/20 of everything", ndcg, "goal 0.1 s")
    _say("  scikit-learn loop", ndcg_loop, f"{ndcg_loop / ndcg:,.0f} x")
    _say("36 permutation tests of 1,000", seconds(lambda: permutations(table, 1000)), "goal 20 s")
    if not given.quick:
        _say("B = 10,000 resamples", seconds(lambda: ours(table, 10_000)), "goal 8 s")
        _growth(table)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory                  {memory:9.2f} GiB (goal 2 GiB)")


def _round(table: Table) -> tuple[float, float, float, float]:
    """Seconds of: ours, the loop for 1,000 resamples, NDCG of everything, scikit-learn's NDCG of everything."""
    bootstrap.cache_clear()
    own = seconds(lambda: ours(table, 1000))
    loop = seconds(lambda: usual(table, 2)) / 2 * 1000
    ndcg = seconds(lambda: [ndcg_at(score, table.gold, table.pool, CUTOFFS) for score in table.scores])
    some = seconds(lambda: usual_ndcg(table, table.scores[-1], 300))
    return own, loop, ndcg, some / 300 * table.pool_group.size * len(table.scores)


def _say(what: str, taken: float, beside: str = "") -> None:
    print(f"{what:<32}{taken:9.3f} s  {f'({beside})' if beside else ''}".rstrip())


def _growth(table: Table) -> None:
    print("growth")
    for resamples in (250, 500, 1000, 2000, 4000):
        _say(f"  B = {resamples:,}", seconds(lambda b=resamples: ours(table, b)))
    for metrics in (1, 3, 9):
        _say(f"  metrics = {metrics}", seconds(lambda m=metrics: ours(table, 1000, m)))
    for statements in (3_170, 6_340, 12_681):
        part = made(statements)
        _say(f"  pairs = {part.gold.size:,}", seconds(lambda p=part: ours(p, 1000)))


def _check(table: Table) -> None:
    """Warm the compiled loops, and hold a resample of ours against the same rows repeated in scipy and scikit-learn."""
    ours(table, 1)
    draws = bootstrap(table.groups, 1, 0)
    repeats = next(iter(draws))[:, 1][table.group]
    score, apart = table.scores[-1], 0.0
    columns = score, table.gold, table.group, table.groups
    wins = count_wins(*columns)(next(iter(draws)))
    mine = [replicate(pearson(*columns), draws)[1], wins.orders().spearman()[1], wins.orders().kendall()[1]]
    mine += [wins.auc(*pair)[1] for pair in PAIRS]
    theirs = _usual_metric(np.repeat(table.gold, repeats), np.repeat(score, repeats))
    apart = max(abs(a - b) for a, b in zip(mine, theirs, strict=True))
    ndcg = usual_ndcg(table, score, 50)
    own = ndcg_at(score, table.gold, table.pool, CUTOFFS)[:, :50]
    both = ~np.isnan(ndcg)
    apart = max(apart, float(np.abs(ndcg[both] - own[both]).max()))
    print(f"one resample against scipy and scikit-learn: largest difference {apart:.1e}")


if __name__ == "__main__":
    main()
