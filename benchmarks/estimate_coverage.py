"""Coverage and width of `metaeval estimate`'s intervals on judged data: whole answers drawn again and again.

    .venv/bin/python benchmarks/estimate_coverage.py --data ../shared/data --draws 4000 > table.md
    .venv/bin/python benchmarks/estimate_coverage.py --data ../shared/data --draws 1000 --block further > further.md

Each cell of the first table draws whole groups (answers) of a data set until it holds about 50, 100 or 200 labels,
estimates the shares of full, partial and none from these labels and a metric's scores of all citations, and asks
whether the interval holds the share of the whole set. Width is against labels alone, in an interval of the same family.
No model is needed but the metrics'; scores are kept in the store, so that a second run only draws.

The cells of the second table call `share` and `difference` themselves:

- process: a set of as many answers as there are is drawn with replacement, then answers of it to label; the truth is
  the share of the data that the set comes from.
- difference: in the order of answers, citations at even and at odd places are two systems'; answers are drawn whole.
- unequal: citations are drawn one by one, as `label --design uncertain` draws them by overlap's scores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from metaeval.core.config import load_run
from metaeval.decisions.label_sampling import uncertain_sizes
from metaeval.runs.data import prepare
from metaeval.runs.metrics import named_metrics
from metaeval.runs.score import scored_columns
from metaeval.stats.prediction_powered import NEEDED_F, Sample, Share, difference, draw_in_proportion, share

SETS = ("expertqa", "factcheck_gpt", "wice")
METRICS = ("overlap", "rouge", "support-mini", "minilm-bertscore")
LABELS = (50, 100, 200)
LEVELS = {"full": 2, "partial": 1, "none": 0}


HEADINGS = (
    *("data", "share of", "labels", "on the rarer side", "metric", "coverage", "labels alone", "Wald", "width"),
    *("width to labels alone", "labels saved"),
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


Ends = tuple[float, float, float]
"""A value and the ends of its interval."""


def of_answers(rows: np.ndarray, group: np.ndarray, chance: float) -> Sample:
    """Rows of whole answers that were drawn with this chance."""
    return Sample(rows, np.full(rows.size, chance), group[rows], np.zeros(rows.size, dtype=np.int64))


def process_draw(
    gold: np.ndarray, score: np.ndarray, group: np.ndarray, n: int, random: np.random.Generator, use_scores: bool
) -> Ends:
    """A set drawn from the data, answers of it with labels, and the interval of the process."""
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    drawn = random.integers(0, len(members), len(members))
    rows = np.concatenate([members[one] for one in drawn])
    own = np.repeat(np.arange(drawn.size), [members[one].size for one in drawn])
    k = max(2, round(n * drawn.size / rows.size))
    labelled = np.flatnonzero(own < k)  # the answers of the set are in random order
    sample = of_answers(labelled, own, k / drawn.size)
    return ends(share(gold[rows][labelled], score[rows], sample, own, "process", use_scores=use_scores))


def difference_draw(
    gold: np.ndarray, score: np.ndarray, group: np.ndarray, n: int, random: np.random.Generator, use_scores: bool
) -> Ends:
    """Whole answers of which two systems made every second citation, and the interval of their difference."""
    k = max(2, round(n * (group.max() + 1) / group.size))
    chosen = random.permutation(group.max() + 1)[:k]
    found = []
    for odd in (0, 1):
        rows = np.argsort(group, kind="stable")[odd::2]
        labelled = np.flatnonzero(np.isin(group[rows], chosen))
        sample = of_answers(labelled, group[rows], k / (group.max() + 1))
        found.append(share(gold[rows][labelled], score[rows], sample, group[rows], use_scores=use_scores))
    return difference(*found)


def unequal_draw(
    gold: np.ndarray, score: np.ndarray, by: np.ndarray, n: int, random: np.random.Generator, use_scores: bool
) -> Ends:
    """Citations drawn with a chance in proportion to how near the middle of the scores `by` they are."""
    rows, chance = draw_in_proportion(uncertain_sizes(by), n, int(random.integers(2**31)))
    sample = Sample(rows, chance[rows], rows, np.zeros(rows.size, dtype=np.int64))
    return ends(share(gold[rows], score, sample, np.arange(gold.size), use_scores=use_scores))


def ends(found: Share) -> Ends:
    """What of a share is compared with the truth."""
    return found.value, found.low, found.high


Draw = Callable[[np.ndarray, np.ndarray, np.ndarray, int, np.random.Generator, bool], Ends]


def further(given: argparse.Namespace, metrics: tuple[str, ...]) -> bool:
    """Print the second table; whether a cell is outside what is promised."""
    headings = ("estimand", "data", "share of", "labels", "metric", "coverage", "labels alone", "width to labels alone")
    print(f"| {' | '.join(headings)} |\n|{' --- |' * len(headings)}")
    broken = False
    draws: dict[str, Draw] = {"process": process_draw, "difference": difference_draw, "unequal": unequal_draw}
    for name in given.sets.split(","):
        settings = {"dataset": name, "data": given.data, "unit": "citation", "metrics": metrics}
        job = prepare(load_run(None, {**settings, "results": given.results}))
        group = np.unique([row.group for row in job.rows], return_inverse=True)[1]
        level = np.array([row.level for row in job.rows])
        columns = list(scored_columns(job, named_metrics(job.config)))
        for what, draw in draws.items():
            by = columns[0].score if what == "unequal" else group
            for label in ("full", "none"):
                gold = (level == LEVELS[label]) * 1.0
                halves = [gold[np.argsort(group, kind="stable")[odd::2]].mean() for odd in (0, 1)]
                truth = halves[0] - halves[1] if what == "difference" else gold.mean()
                for column in columns:
                    for n in LABELS:
                        held = {}
                        for use in (True, False):
                            random = np.random.default_rng(n)
                            found = np.array([draw(gold, column.score, by, n, random, use) for _ in range(given.draws)])
                            low, high = found[:, 1] - 1e-12, found[:, 2] + 1e-12
                            held[use] = np.mean((low <= truth) & (truth <= high)), np.median(high - low)
                        ratio = held[True][1] / held[False][1]
                        bad = held[True][0] < 0.93 or ratio > 1.02
                        broken |= bool(bad)
                        print(
                            f"| {what} | {name} | {label} ({100 * gold.mean():.0f} %) | {n} | {column.name} "
                            f"| {100 * held[True][0]:.1f}{' !' if bad else ''} | {100 * held[False][0]:.1f} "
                            f"| {ratio:.3f} |",
                            flush=True,
                        )
    return broken


def main() -> None:
    """Print a Markdown table, and end with exit code 1 where a cell is outside what is promised."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--draws", type=int, default=4000)
    asked.add_argument("--sets", default=",".join(SETS))
    asked.add_argument("--metrics", default=",".join(METRICS))
    asked.add_argument("--block", choices=("set", "further"), default="set")
    asked.add_argument("--results", type=Path, default=Path("results"))
    given = asked.parse_args()
    metrics = tuple(given.metrics.split(","))
    if given.block == "further":
        sys.exit(further(given, metrics))
    print(f"| {' | '.join(HEADINGS)} |\n|{' --- |' * len(HEADINGS)}")
    broken = 0
    for name in given.sets.split(","):
        settings = {"dataset": name, "data": given.data, "unit": "citation", "metrics": metrics}
        job = prepare(load_run(None, {**settings, "results": given.results}))
        group = np.unique([row.group for row in job.rows], return_inverse=True)[1]
        level = np.array([row.level for row in job.rows])
        for column in scored_columns(job, named_metrics(job.config)):
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
