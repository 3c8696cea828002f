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
from pathlib import Path

import numpy as np

from metaeval.config import load_run
from metaeval.experiment.columns import scored_columns
from metaeval.experiment.prepared_run import prepare
from metaeval.stats.prediction_powered import Sample, labels_saved, share

SETS = ("expertqa", "factcheck_gpt", "wice")
METRICS = ("overlap", "rouge", "support-mini", "minilm-bertscore")
LABELS = (50, 100, 200)
LEVELS = {"full": 2, "partial": 1, "none": 0}


HEADINGS = (
    *("data", "share of", "labels", "on the rarer side", "metric", "coverage", "labels alone", "Wald", "width"),
    *("to labels alone", "labels saved"),
)


def drawn(group: np.ndarray, n: int, draws: int, seed: int) -> list[Sample]:
    """Samples of as many whole groups as hold `n` labels on average."""
    members = [np.flatnonzero(group == one) for one in range(group.max() + 1)]
    k = max(2, round(n * len(members) / group.size))
    random = np.random.default_rng(seed)
    samples = []
    for _ in range(draws):
        rows = np.concatenate([members[one] for one in random.permutation(len(members))[:k]])
        chance = np.full(rows.size, k / len(members))
        samples.append(Sample(rows, chance, group[rows], np.zeros(rows.size, dtype=np.int64)))
    return samples


def cell(gold: np.ndarray, score: np.ndarray, group: np.ndarray, samples: list[Sample], estimand: str) -> dict:
    """Coverage of the set's share, median widths with and without scores, and labels saved."""
    truth, found, alone = gold.mean(), [], []
    for sample in samples:
        label = gold[sample.rows]
        found.append(share(label, score, sample, group, estimand))
        alone.append(share(label, score, sample, group, estimand, use_scores=False))
    sides = np.array([min(gold[one.rows].sum(), (1 - gold[one.rows]).sum()) for one in samples])
    width, width_alone = (np.median([one.high - one.low for one in many]) for many in (found, alone))
    wald = [abs(one.value - truth) <= 1.959964 * one.variance**0.5 + 1e-12 for one in found]
    covered, covered_alone = (
        np.mean([one.low - 1e-12 <= truth <= one.high + 1e-12 for one in many]) for many in (found, alone)
    )
    saved = np.median([labels_saved(n.size, a, b, gold.size) for n, a, b in zip(samples, found, alone, strict=True)])
    return {
        "side": np.median(sides),
        "covered": covered,
        "alone": covered_alone,
        "wald": np.mean(wald),
        "width": width,
        "ratio": width / width_alone,
        "saved": saved,
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
                    found = cell(gold, column.score, group, drawn(group, n, given.draws, n), "set")
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
