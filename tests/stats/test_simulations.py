"""Do the intervals cover, and does the test err as often as it says? Simulated data with known truth; minutes.

Rows come in groups of eight. A group's rows share a part of their gold and a part of their score, as the statements of
one response do. A share of n simulations that hits with chance p has a standard error of sqrt(p (1 - p) / n): .34
points at 95 % and n = 4,000. Seeds are fixed and were not chosen.

What such intervals do with few groups: with 150 of them, in 5,000 simulations with other seeds, the percentile interval
of an AUC of .895 held the truth in 94.2 % (it lay below in 4.0 % and above in 1.9 %, for values near 1 are skewed);
with 300 groups in 94.6 %. Spearman's rho was at 95.0 to 95.2 % throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from benchmarks.coverage import cell
from metaeval.stats.pools import ndcg_at, pool_mean
from metaeval.stats.rank_counts import count_wins
from metaeval.stats.resampling import Draws, bootstrap, percentile_interval, replicate
from protocols import classification, correlation
from protocols.comparison import compare
from protocols.contract import Judgements, Protocol, Resampling

pytestmark = pytest.mark.slow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Replicates = dict[str, Floats]

SIMULATIONS = 4000
GROUPS = 200
ROWS = 8
CUTS = (0.0, 0.6)
"""Where the latent support turns into PARTIAL and FULL; the latent value has variance 1, half of it the group's."""


def _rows(rng: np.random.Generator, n_groups: int, rows: int) -> tuple[Floats, Floats, Ints]:
    """Score, level and group: latent support plus noise, both with a group's part as large as the row's own."""
    group = np.repeat(np.arange(n_groups), rows)
    shared, own = rng.normal(size=(2, n_groups))[:, group], rng.normal(size=(2, group.size))
    latent, noise = np.sqrt(0.5) * (shared + own)
    return latent + noise, np.digitize(latent, CUTS).astype(np.float64), group


def _pools(rng: np.random.Generator, n_groups: int) -> tuple[Floats, Floats, Ints, Ints]:
    """Score, level and pool, and the group of each pool: eight pools of five rows a group.

    What a group shares is how well the metric reads it: the weight of the level in the score is normal(.6, .9).
    """
    pool = np.repeat(np.arange(n_groups * ROWS), 5)
    gold = rng.choice([0.0, 1.0, 2.0], pool.size, p=[0.6, 0.2, 0.2])
    weight = rng.normal(0.6, 0.9, n_groups)[pool // ROWS]
    return weight * gold + rng.normal(size=pool.size), gold, pool, np.arange(n_groups * ROWS) // ROWS


def _truth() -> dict[str, float]:
    """The values of a sample so large that its error is a fiftieth of an interval's width.

    Rows of different groups are independent, and in a large sample nearly all pairs of rows are of different groups:
    groups of one row have the same truth, and no error from the groups.
    """
    rng = np.random.default_rng(20240614)
    score, gold, _ = _rows(rng, 2_000_000, 1)
    ends = gold != 1
    ranks, full = rankdata(score[ends]), gold[ends] == 2
    beaten = ranks[full].sum() - full.sum() * (full.sum() + 1) / 2
    scores, golds, pools, _ = _pools(rng, 50_000)
    return {
        "auc": float(beaten / full.sum() / (~full).sum()),
        "spearman": float(spearmanr(score, gold).statistic),
        "ndcg": float(np.nanmean(ndcg_at(scores, golds, pools, (5,)))),
    }


def _replicated(
    rows: tuple[Floats, Floats, Ints], pools: tuple[Floats, Ints], n_groups: int, draws: Draws
) -> Replicates:
    score, gold, group = rows
    wins = count_wins(score, gold, group, n_groups)
    counted = [wins(tile) for tile in draws]
    return {
        "auc": np.concatenate([tile.auc(2, 0) for tile in counted]),
        "spearman": np.concatenate([tile.orders().spearman() for tile in counted]),
        "ndcg": replicate(pool_mean(*pools, n_groups), draws),
    }


@dataclass
class Coverage:
    """How often the interval holds the truth, by measure, in per cent."""

    percentile: dict[str, float]
    item: dict[str, float]


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    truth = _truth()
    hits: dict[str, list[tuple[str, bool]]] = {"percentile": [], "item": []}
    for seed in range(SIMULATIONS):
        rng = np.random.default_rng([7, seed])
        rows = _rows(rng, GROUPS, ROWS)
        score, gold, pool, pool_group = _pools(rng, GROUPS)
        values = ndcg_at(score, gold, pool, (5,))[0]
        # Groups of rows and groups of pools are as many, so that both are drawn by the same weights.
        resampled = _replicated(rows, (values, pool_group), GROUPS, bootstrap(GROUPS, 1000, seed))
        n = GROUPS * ROWS
        alone = (*rows[:2], np.arange(n)), (values, np.arange(n))
        by_item = _replicated(*alone, n, bootstrap(n, 400, seed)) if seed % 5 == 0 else None
        for key, replicates in resampled.items():
            found = {
                "percentile": percentile_interval(replicates[1:], 0.95),
                "item": percentile_interval(by_item[key][1:], 0.95) if by_item else None,
            }
            for kind, ends in found.items():
                if ends or kind != "item":
                    hits[kind].append((key, ends is not None and ends[0] <= truth[key] <= ends[1]))
    shares = {
        kind: {key: 100 * float(np.mean([hit for name, hit in all_hits if name == key])) for key in truth}
        for kind, all_hits in hits.items()
    }
    return Coverage(**shares)


@pytest.mark.parametrize("measure", ["auc", "spearman", "ndcg"])
def test_cluster_intervals_cover_as_often_as_they_say(coverage: Coverage, measure: str) -> None:
    share = coverage.percentile[measure]
    assert 93.5 <= share <= 96.5, coverage


@pytest.mark.parametrize(
    ("design", "least"),
    [
        (("equal", 100, 0.75, 0.5), 93.5),
        (("poisson", 100, 0.97, 0.9), 92),
        (("pareto", 100, 0.75, 0.5), 91),  # 93.5 is wanted: docs/explanation/inference.md says why it is missed
        (("pairs", 30, 0.5, 0.9), 93.5),
        (("equal", 10, 0.75, 0.0), 92),
    ],
    ids=str,
)
def test_the_default_interval_covers_on_unequal_groups_too(design: tuple[str, int, float, float], least: float) -> None:
    # Five of the cells in docs/explanation/inference.md; of the intervals that are given by default.
    found = cell("auc", *design, SIMULATIONS)
    held, given = np.sum(found["by_bin"][1:], axis=0)  # type: ignore[index]
    assert least <= 100 * held / given <= 98.5, found


@pytest.mark.parametrize("measure", ["auc", "spearman", "ndcg"])
def test_intervals_of_resampled_rows_are_too_short(coverage: Coverage, measure: str) -> None:
    assert coverage.item[measure] < 93, coverage
    assert coverage.item[measure] < coverage.percentile[measure] - 3, coverage


def _metrics(rng: np.random.Generator, better: float = 0.0) -> tuple[Judgements, Judgements]:
    """Two metrics of the same latent support, their errors half a group's and half a row's; the one less of it."""
    group = np.repeat(np.arange(100), ROWS)
    shared, own = rng.normal(size=(3, 100))[:, group], rng.normal(size=(3, group.size))
    latent, one, other = np.sqrt(0.5) * (shared + own)
    gold = np.digitize(latent, CUTS).astype(np.float64)
    # Exchangeable under no difference, and on scales of their own: only the ranks can be compared.
    scores = latent + (1 - better) * one, np.exp(latent + other)
    return tuple(Judgements(gold, score, group, group) for score in scores)  # type: ignore[return-value]


def _p(protocol: Protocol, key: str, pair: tuple[Judgements, Judgements], seed: int) -> float:
    resampling = Resampling(n=0, seed=seed)
    outcomes = protocol.evaluate(pair[0], resampling, {}), protocol.evaluate(pair[1], resampling, {})
    p = compare(protocol, pair, outcomes, resampling, 199, {}, (key,))[key].p
    assert p is not None
    return p


def _rejected(key: str, simulations: int, better: float = 0.0, by_row: bool = False) -> float:
    """Share of simulations, in per cent, in which the two metrics are called different at .05."""
    protocol = correlation.PROTOCOL if key == "spearman" else classification.PROTOCOL
    rejected = 0
    for seed in range(simulations):
        one, other = _metrics(np.random.default_rng([11, seed]), better)
        if by_row:
            rows = np.arange(one.gold.size)
            one, other = (Judgements(metric.gold, metric.score, rows, rows) for metric in (one, other))
        rejected += _p(protocol, key, (one, other), seed) <= 0.05
    return 100 * rejected / simulations


@pytest.mark.parametrize("key", ["spearman", "overall"])
def test_equally_good_metrics_are_called_different_as_often_as_alpha_says(key: str) -> None:
    by_group, by_row = _rejected(key, 2000), _rejected(key, 500, by_row=True)
    figures = f"{by_group:.1f} % by groups, {by_row:.1f} % by rows"
    assert 3.5 <= by_group <= 6.5, figures
    assert by_row > by_group + 3, figures


def test_a_real_difference_is_mostly_found() -> None:
    # The better metric has three fifths of the other's error.
    found = _rejected("spearman", 200, better=0.4)
    assert found > 80, f"{found:.1f} %"
