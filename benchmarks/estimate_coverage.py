"""Coverage and width of `metaeval estimate`'s intervals on judged data: whole answers drawn again and again.

    .venv/bin/python benchmarks/estimate_coverage.py --data ../shared/data --draws 4000 > table.md

Each cell draws whole groups (answers) of a data set until it holds about 50, 100 or 200 labels, estimates the shares of
full, partial and none from these labels and a metric's scores of all citations, and asks whether the interval holds the
share of the whole set. Width is against labels alone, in an interval of the same family. No model is needed but the
metrics'; scores are kept in the store, so that a second run only draws.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from metaeval.config import load_run
from metaeval.experiment.columns import scored_columns
from metaeval.experiment.prepared_run import prepare
from metaeval.stats.prediction_powered import NEEDED_F, Sample, share

SETS = ("expertqa", "factcheck_gpt", "wice")
METRICS = ("overlap", "rouge", "support-mini", "minilm-bertscore")
LABELS = (50, 100, 200)
LEVELS = {"full": 2, "partial": 1, "none": 0}


HEADINGS = (
    *("data", "share of", "labels", "on the rarer side", "metric", "coverage", "labels alone", "Wald", "width"),
    *("to labels alone", "labels saved"),
)


def drawn(group: np.ndarray, n: int, draws: int, seed: int) -> np.ndarray:
    """(draws, k) groups: as many whole ones as hold `n` labels on average."""
    groups = int(group.max()) + 1
    k = max(2, round(n * groups / group.size))
    return np.argsort(np.random.default_rng(seed).random((draws, groups)), axis=1)[:, :k]


@dataclass(frozen=True)
class Drawn:
    """Of every draw, (draws,): what `share` gives for it, all draws at once, from sums over groups."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    variance: np.ndarray


def estimates(gold: np.ndarray, score: np.ndarray, group: np.ndarray, chosen: np.ndarray, use_scores: bool) -> Drawn:
    """The estimator of `share` for whole groups drawn at random, lambda without each group in turn."""
    f = (score - score.mean()) / score.std() if use_scores else np.zeros(score.size)
    k = chosen.shape[1]
    groups = int(group.max()) + 1
    m, y, x, xy, xx = (np.bincount(group, one, groups)[chosen] for one in (f * 0 + 1, gold, f, gold * f, f * f))
    size = m.sum(1, keepdims=True)
    left = size - m
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, base = ((one.sum(1, keepdims=True) - one) / left for one in (y, x))
        covariance = (xy.sum(1, keepdims=True) - xy) / left - mean * base
        spread = (xx.sum(1, keepdims=True) - xx) / left - base**2
        varied = mean - mean**2
        explained = np.clip(covariance**2 / (spread * varied), 0, 1 - 1e-9)
        lam = covariance * np.clip(1 - NEEDED_F / (explained / (1 - explained) * (left - 2)), 0, 1)
    lam = np.where(np.isfinite(lam) & (spread > 1e-12) & (varied > 1e-12), lam, 0.0)
    rest = y - lam * x
    total = rest.sum(1, keepdims=True)
    value = (total / size)[:, 0]
    parts = (value[:, None] - (total - rest) / left) ** 2
    correction = 1 - k / groups
    variance = (k - 1) / k * correction * parts.sum(1)
    weight = m**1.5
    df = np.maximum(1.0, weight.sum(1) ** 2 / np.sum(weight**2, axis=1) - 1)
    n = size[:, 0]
    if use_scores:
        variance = np.where(variance > 0, np.maximum(variance, 0.5 / n * (1 - 0.5 / n) / n * correction), 0)
    p = np.clip(value, 0, 1)
    inner = np.clip(p, 0.5 / n, 1 - 0.5 / n)
    seen = np.where(variance > 0, variance, inner * (1 - inner) / n * correction)
    alike = inner * (1 - inner) / seen / stdtrit(df, 0.975) ** 2
    centre = (p + 0.5 / alike) / (1 + 1 / alike)
    half = np.sqrt(p * (1 - p) / alike + 0.25 / alike**2) / (1 + 1 / alike)
    return Drawn(value, np.maximum(0, centre - half), np.minimum(1, centre + half), variance)


def check(gold: np.ndarray, score: np.ndarray, group: np.ndarray, chosen: np.ndarray, found: Drawn) -> None:
    """Hold the first draws against `share` itself."""
    for number in range(min(3, len(chosen))):
        rows = np.flatnonzero(np.isin(group, chosen[number]))
        chance = np.full(rows.size, chosen.shape[1] / (group.max() + 1))
        sample = Sample(rows, chance, group[rows], np.zeros(rows.size, dtype=np.int64))
        one = share(gold[rows], score, sample, group)
        ends = found.value[number], found.low[number], found.high[number]
        if not np.allclose((one.value, one.low, one.high), ends, rtol=0, atol=1e-9):
            raise AssertionError(f"draw {number}: {ends} is not {one}")


def cell(gold: np.ndarray, score: np.ndarray, group: np.ndarray, chosen: np.ndarray) -> dict:
    """Coverage of the set's share, median widths with and without scores, and labels saved."""
    truth = gold.mean()
    found, alone = (estimates(gold, score, group, chosen, use) for use in (True, False))
    check(gold, score, group, chosen, found)
    positive = np.bincount(group, gold)[chosen].sum(1)
    labels = np.bincount(group)[chosen].sum(1)
    covered, covered_alone = (
        np.mean((one.low - 1e-12 <= truth) & (truth <= one.high + 1e-12)) for one in (found, alone)
    )
    width, width_alone = (np.median(one.high - one.low) for one in (found, alone))
    # As `labels_saved`: labels that would have the smaller variance without scores, within the set.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(alone.variance > 0, np.minimum(found.variance / alone.variance, 1), 1)
    saved = 1 / (1 / gold.size + (1 / labels - 1 / gold.size) * ratio) - labels
    return {
        "side": np.median(np.minimum(positive, labels - positive)),
        "covered": covered,
        "alone": covered_alone,
        "wald": np.mean(np.abs(found.value - truth) <= 1.959964 * np.sqrt(found.variance) + 1e-12),
        "width": width,
        "ratio": width / width_alone,
        "saved": np.median(saved),
    }


def main() -> None:
    """Print one Markdown table, and end with exit code 1 where a cell is outside what is promised."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--draws", type=int, default=4000)
    asked.add_argument("--sets", default=",".join(SETS))
    asked.add_argument("--metrics", default=",".join(METRICS))
    asked.add_argument("--results", type=Path, default=Path("results"))
    given = asked.parse_args()
    metrics = tuple(given.metrics.split(","))
    print(f"| {' | '.join(HEADINGS)} |\n|{' --- |' * len(HEADINGS)}")
    broken = 0
    for name in given.sets.split(","):
        settings = {"dataset": name, "data": given.data, "unit": "citation", "metrics": metrics}
        job = prepare(load_run(None, {**settings, "results": given.results}))
        group = np.unique([row.group for row in job.rows], return_inverse=True)[1]
        level = np.array([row.level for row in job.rows])
        for column in scored_columns(job):
            for label, number in LEVELS.items():
                gold = (level == number) * 1.0
                for n in LABELS:
                    found = cell(gold, column.score, group, drawn(group, n, given.draws, n))
                    least = 0.93
                    most = 0.97 if found["side"] >= 10 else 1.0
                    bad = not (least <= found["covered"] <= most and found["ratio"] <= 1.02)
                    broken += bad
                    print(
                        f"| {name} | {label} ({100 * gold.mean():.0f} %) | {n} | {found['side']:.0f} | {column.name} "
                        f"| {100 * found['covered']:.1f}{' !' if bad else ''} | {100 * found['alone']:.1f} "
                        f"| {100 * found['wald']:.1f} | {found['width']:.3f} | {found['ratio']:.3f} "
                        f"| {found['saved']:.0f} |",
                        flush=True,
                    )
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
