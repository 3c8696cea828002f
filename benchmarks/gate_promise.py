"""Does the promise of `metaeval gate fit` hold? Gates fitted again and again on drawn labels, compared with the truth.

    .venv/bin/python benchmarks/gate_promise.py --data ../shared/data --fits 4000 > table.md

The promise: of unsupported citations at most 10 % are missed, with confidence 95 %. A gate is fitted again and again,
and its true missed share compared with the promise. There are two tables:

- normal scores with an AUC, clusters (answers) of a size, and an intraclass correlation. A gate is fitted at one
  prevalence of unsupported citations, and the items whose scores give the thresholds have another;
- with --data, whole groups drawn from judged data. The truth is the missed share in all of it. The promise is then
  30 %, for which the data have labels enough.

Answers that fail as a whole are cells of `python -m benchmarks.promises gate`. A fit without a gate breaks no promise;
"passes" is the share of fits that give one, and "missed" its mean missed share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import norm

from metaeval.core.config import load_run
from metaeval.runs.data import prepare
from metaeval.runs.metrics import named_metrics
from metaeval.runs.score import scored_columns
from metaeval.stats.risk_control import TestedThreshold, choose_threshold, threshold_order

ALPHA, MAX_FLAGGED = 0.05, 0.5


@dataclass(frozen=True)
class Made:
    """Made-up citations: unsupported labels, AUC, cluster size and correlation, prevalence, and that of all items."""

    unsupported: int
    auc: float
    size: int
    correlation: float
    prevalence: float
    shifted: float


MADE = (
    *(Made(n, 0.95, 1, 0.0, 0.3, 0.3) for n in (40, 100, 200)),
    *(Made(n, 0.95, 5, 0.3, 0.3, 0.3) for n in (40, 100, 200)),
    *(Made(100, 0.95, 5, icc, 0.3, 0.3) for icc in (0.0, 0.1, 0.6)),
    Made(100, 0.95, 10, 0.3, 0.3, 0.3),
    *(Made(100, 0.95, 5, 0.3, prevalence, 0.6) for prevalence in (0.05, 0.2)),
    Made(100, 0.95, 5, 0.3, 0.6, 0.05),
    Made(100, 0.98, 5, 0.3, 0.3, 0.3),
    Made(100, 0.8, 5, 0.3, 0.3, 0.3),
)


@dataclass(frozen=True)
class Drawn:
    """Labels to fit a gate on: score, unsupported and cluster (n,), thresholds, and the true missed share at one."""

    score: np.ndarray
    bad: np.ndarray
    cluster: np.ndarray
    thresholds: np.ndarray
    true: Callable[[float], float]


def normal_scores(case: Made, random: np.random.Generator) -> Drawn:
    """Labels of made-up citations with normal scores."""
    shift = np.sqrt(2) * norm.ppf(case.auc)
    n = round(case.unsupported / case.prevalence)
    cluster = np.arange(n) // case.size
    bad = np.zeros(n)
    bad[random.permutation(n)[: case.unsupported]] = 1
    common = random.normal(size=cluster[-1] + 1)[cluster] * np.sqrt(case.correlation)
    score = common + random.normal(size=n) * np.sqrt(1 - case.correlation) + shift * (1 - bad)
    others = random.normal(size=400) + shift * (random.random(400) >= case.shifted)
    return Drawn(score, bad, cluster, threshold_order(others), lambda threshold: float(norm.sf(threshold)))


def whole_groups(
    bad: np.ndarray, score: np.ndarray, group: np.ndarray, groups: int, random: np.random.Generator
) -> Drawn:
    """Labels of whole groups of judged data, drawn without replacement."""
    members = [np.flatnonzero(group == one) for one in range(group.max() + 1)]
    rows = np.concatenate([members[one] for one in random.permutation(len(members))[:groups]])
    missed = score[bad > 0]
    order = threshold_order(score)
    return Drawn(score[rows], bad[rows], group[rows], order, lambda at: float(np.mean(missed >= at)))


def gate_on(labels: Drawn, rate: float) -> TestedThreshold | None:
    """Fit a gate; return its threshold with its figures on the labels, or None where no threshold keeps the promise."""
    equal = np.ones(labels.bad.size)
    tested, kept = choose_threshold(labels.score, labels.bad, equal, labels.cluster, labels.thresholds, rate, ALPHA)
    return tested[kept - 1] if kept else None


def fitted(draw: Callable[[np.random.Generator], Drawn], fits: int, rate: float) -> tuple[float, float, float]:
    """How often the promise holds, how often there is a gate, and the mean true missed share of gates."""
    random = np.random.default_rng(0)
    held = passed = 0
    missed = []
    for _ in range(fits):
        labels = draw(random)
        gate = gate_on(labels, rate)
        true = labels.true(gate.threshold) if gate else 0.0
        held += true <= rate
        if gate and gate.flagged <= MAX_FLAGGED:
            passed += 1
            missed.append(true)
    return held / fits, passed / fits, float(np.mean(missed)) if missed else np.nan


def cell(share: float) -> str:
    """A share in per cent, "-" where there is none."""
    return "-" if np.isnan(share) else f"{100 * share:.1f}"


def main() -> None:
    """Print the tables in Markdown; exit code 1 where a promise is broken."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--fits", type=int, default=4000)
    asked.add_argument("--data", type=Path)
    asked.add_argument("--results", type=Path, default=Path("results"))
    given = asked.parse_args()
    broken, least = False, 0.95 - 2 * (0.05 * 0.95 / given.fits) ** 0.5  # two Monte Carlo errors
    print("| unsupported labels | AUC | cluster | correlation | prevalence | of all items | held | passes | missed |")
    print("|" + " ---: |" * 9)
    for case in MADE:
        held, passed, missed = fitted(partial(normal_scores, case), given.fits, 0.1)
        broken |= held < least
        print(
            f"| {case.unsupported} | {case.auc} | {case.size} | {case.correlation} | {case.prevalence} "
            f"| {case.shifted} | {cell(held)} | {cell(passed)} | {cell(missed)} |",
            flush=True,
        )
    if given.data:
        print("\n| data | metric | whole answers | unsupported labels | held | passes | missed |")
        print("| --- | --- |" + " ---: |" * 5)
        for name in ("expertqa", "factcheck_gpt", "wice"):
            settings = {"dataset": name, "data": given.data, "unit": "citation", "results": given.results}
            job = prepare(load_run(None, {**settings, "metrics": ("overlap", "support-mini", "minilm-bertscore")}))
            group = np.unique([row.group for row in job.rows], return_inverse=True)[1]
            bad = np.array([float(row.level == 0) for row in job.rows])
            if name == "wice":  # 32 of 358 are none: partial counts as unsupported too
                bad = np.array([float(row.level != 2) for row in job.rows])
            for column in scored_columns(job, named_metrics(job.config)):
                for groups in (40, 100):
                    draw = partial(whole_groups, bad, column.score, group, groups)
                    held, passed, missed = fitted(draw, given.fits, 0.3)
                    broken |= held < least
                    labels = round(bad.mean() * bad.size * groups / (group.max() + 1))
                    print(
                        f"| {name} | {column.name} | {groups} | {labels} | {cell(held)} | {cell(passed)} "
                        f"| {cell(missed)} |",
                        flush=True,
                    )
    sys.exit(broken)


if __name__ == "__main__":
    main()
