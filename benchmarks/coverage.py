"""How often the default interval holds the true value: simulated groups of rows, with few or unequal groups.

    python -m benchmarks.coverage run cells.jsonl            ROC-AUC, 4,000 samples a cell; goes on where it stopped
    python -m benchmarks.coverage run cells.jsonl --runs 400 --groups 30,100 --measure spearman      or ndcg
    python -m benchmarks.coverage table cells.jsonl          tables of the cells

A row is positive with chance 1/2; its score is normal, with mean shift * positive, and a share of its variance (the
intra-group correlation) is its group's. Groups have 8 rows (equal), 1 + Poisson(7), or Pareto(1.2) rows cut at 400; of
minimal pairs each group has one positive and one negative row. True is what the measure is expected to be on samples
with these very groups: of ROC-AUC, for pairs of rows of two groups and of one each by its share. Spearman's rho and
NDCG@5 (of groups of pools) have no closed form with groups, and are compared with the mean over all samples.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from metaeval.stats.classification import auc_influence
from metaeval.stats.correlations import rank_correlations
from metaeval.stats.influence import Influence, of_left_out, t_interval
from metaeval.stats.pools import ndcg, pool_mean, rank_pools
from metaeval.stats.resampling import jackknife, replicate

SIZES = ("equal", "poisson", "pareto", "pairs")
AREAS = (0.5, 0.75, 0.97)
ALIKE = (0.0, 0.5, 0.9)
GROUPS = (10, 30, 100, 300)
BINS = (0, 6, 30, 60, 10**9)
LEVEL = 0.95


def sizes(kind: str, groups: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of each group, (groups,)."""
    if kind == "poisson":
        return 1 + rng.poisson(7, groups)
    if kind == "pareto":
        return np.minimum(np.floor((1 - rng.random(groups)) ** (-1 / 1.2)), 400).astype(np.int64)
    return np.full(groups, 2 if kind == "pairs" else 8)


def sample(
    rng: np.random.Generator, kind: str, groups: int, area: float, alike: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score, gold (1 or 0) and group of each row, (n,) each."""
    group = np.repeat(np.arange(groups), sizes(kind, groups, rng))
    gold = (np.arange(group.size) % 2 if kind == "pairs" else rng.random(group.size) < 0.5).astype(float)
    noise = np.sqrt(alike) * rng.normal(size=groups)[group] + np.sqrt(1 - alike) * rng.normal(size=group.size)
    return np.sqrt(2) * ndtri(area) * gold + noise, gold, group


def area_of(rng: np.random.Generator, kind: str, groups: int, area: float, alike: float) -> tuple[Influence, float]:
    """Influence values of ROC-AUC on one sample, and what it is expected to be there."""
    score, gold, group = sample(rng, kind, groups, area, alike)
    if gold.min() == gold.max():
        return Influence(0.5, np.zeros((1, 1)), np.ones((1, 1), dtype=np.int64)), area
    found = auc_influence(score, gold, group, groups)(1, 0)
    lower, higher = found.rows
    inside = (higher * lower).sum() / (higher.sum() * lower.sum())
    return found, (1 - inside) * area + inside * ndtr(ndtri(area) / np.sqrt(1 - alike))


def spearman_of(rng: np.random.Generator, kind: str, groups: int, area: float, alike: float) -> tuple[Influence, float]:
    """Influence values of Spearman's rho of score and gold; the true value is not known."""
    score, gold, group = sample(rng, kind, groups, area, alike)
    values = replicate(rank_correlations(score, gold, group, groups), jackknife(groups))[0]
    found = of_left_out(values, np.bincount(group, minlength=groups), (-1.0, 1.0))
    return found or Influence(np.nan, np.zeros((1, 1)), np.ones((1, 1), dtype=np.int64)), np.nan


def ndcg_of(rng: np.random.Generator, kind: str, groups: int, area: float, alike: float) -> tuple[Influence, float]:
    """Influence values of NDCG@5 of pools of six rows, one of them positive; groups share how well they are read."""
    pool_group = np.repeat(np.arange(groups), sizes(kind, groups, rng))
    gold = np.tile([1.0, 0, 0, 0, 0, 0], pool_group.size)
    read = np.sqrt(alike) * rng.normal(size=groups)[pool_group] + np.sqrt(1 - alike) * rng.normal(size=pool_group.size)
    score = (np.sqrt(2) * ndtri(area) + np.repeat(read, 6)) * gold + rng.normal(size=gold.size)
    values = ndcg(rank_pools(score, gold, np.repeat(np.arange(pool_group.size), 6)), 5)
    held = np.bincount(pool_group, minlength=groups)
    found = of_left_out(replicate(pool_mean(values, pool_group, groups), jackknife(groups)), held, (0.0, 1.0))
    return found or Influence(np.nan, np.zeros((1, 1)), np.ones((1, 1), dtype=np.int64)), np.nan


MEASURES = {"auc": area_of, "spearman": spearman_of, "ndcg": ndcg_of}


def cell(measure: str, kind: str, groups: int, area: float, alike: float, runs: int) -> dict[str, object]:
    """What became of `runs` samples: how many intervals there are, and how many hold the true value."""
    ends, truths, effective, values = [], [], [], []
    for run in range(runs):
        rng = np.random.default_rng([20240617, run])
        found, truth = MEASURES[measure](rng, kind, groups, area, alike)
        ends.append(t_interval(found, LEVEL) or (np.nan, np.nan))
        truths.append(truth)
        effective.append(found.effective_groups)
        values.append(found.value)
    low, high = np.array(ends).T
    true, counts = np.array(truths), np.array(effective)
    if np.isnan(true).all():
        true = np.full(runs, np.nanmean(values))
    given = ~np.isnan(low)
    held = given & (low <= true) & (true <= high)
    by_bin = [[int(held[own].sum()), int(own.sum())] for own in (_in_bin(counts, given, at) for at in range(4))]
    quartiles = [round(float(one), 1) for one in np.quantile(counts[given], [0.25, 0.5, 0.75])]
    design = {"measure": measure, "sizes": kind, "groups": groups, "area": area, "alike": alike, "runs": runs}
    return {**design, "given": int(given.sum()), "held": int(held.sum()), "effective": quartiles, "by_bin": by_bin}


def _in_bin(effective: np.ndarray, given: np.ndarray, at: int) -> np.ndarray:
    return given & (effective >= BINS[at]) & (effective < BINS[at + 1])


def run(path: Path, asked: argparse.Namespace) -> None:
    """Add the cells that the file does not hold yet."""
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    keys = {tuple(one[name] for name in ("measure", "sizes", "groups", "area", "alike")) for one in done}
    groups = [int(number) for number in asked.groups.split(",")]
    for design in product([asked.measure], SIZES, groups, AREAS, ALIKE):
        if design in keys or (asked.measure == "ndcg" and design[1] == "pairs"):
            continue
        with path.open("a") as file:
            file.write(json.dumps(cell(*design, asked.runs)) + "\n")


def table(path: Path) -> Iterator[str]:
    """Coverage in per cent, with a Monte Carlo error of one standard deviation, one line a design."""
    cells = [json.loads(line) for line in path.read_text().splitlines()]
    for measure in dict.fromkeys(one["measure"] for one in cells):
        yield f"### {measure}\n"
        own = [one for one in cells if one["measure"] == measure]
        designs = list(dict.fromkeys((one["area"], one["alike"]) for one in own))
        yield "| sizes | groups | effective | " + " | ".join(f"{a:g}, {i:g}" for a, i in designs) + " |"
        yield "| --- " * (3 + len(designs)) + "|"
        for kind, groups in sorted(
            {(one["sizes"], one["groups"]) for one in own}, key=lambda x: (SIZES.index(x[0]), x[1])
        ):
            row = {(one["area"], one["alike"]): one for one in own if (one["sizes"], one["groups"]) == (kind, groups)}
            middle = [one["effective"][1] for one in row.values()]
            shown = [_share(row[design]["held"], row[design]["runs"]) if design in row else "" for design in designs]
            yield f"| {kind} | {groups} | {min(middle):.0f}-{max(middle):.0f} | " + " | ".join(shown) + " |"
        yield ""
        yield "| effective groups | intervals | hold the true value | lowest cell of 400 intervals or more |"
        yield "| --- | --- | --- | --- |"
        for at, name in enumerate(("below 6 (given only if asked for)", "6 to 30", "30 to 60", "60 and more")):
            held, given = np.sum([one["by_bin"][at] for one in own], axis=0)
            shares = [one["by_bin"][at][0] / one["by_bin"][at][1] for one in own if one["by_bin"][at][1] >= 400]
            lowest = f"{100 * min(shares):.1f}" if shares else "none has 400"
            yield f"| {name} | {given:,} | {_share(held, given)} | {lowest} |"
        yield ""


def _share(held: int, runs: int) -> str:
    if not runs:
        return ""
    share = held / runs
    return f"{100 * share:.1f} ± {100 * np.sqrt(share * (1 - share) / runs):.1f}"


def main() -> None:
    """Run, or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--groups", default=",".join(map(str, GROUPS)))
    parser.add_argument("--measure", choices=list(MEASURES), default="auc")
    given = parser.parse_args()
    if given.what == "run":
        run(given.path, given)
    else:
        print("\n".join(table(given.path)))


if __name__ == "__main__":
    main()
