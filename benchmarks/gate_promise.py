"""Does the promise of `metaeval gate fit` hold? Gates fitted again and again on drawn labels, held against the truth.

    .venv/bin/python benchmarks/gate_promise.py --data ../shared/data --fits 4000 > table.md

The promise: of unsupported citations at most 10 % are missed, with confidence 95 %. Made-up citations have normal
scores with an AUC, clusters (answers) of a size, and an intraclass correlation; a gate is fitted at one prevalence of
unsupported citations, and held against the missed share of the process, which no shift of prevalence changes. With
--data, whole groups are drawn from judged data, and the truth is the missed share in all of it (the promise is then
30 %, for which the data have labels enough). A fit without a gate breaks no promise; "passes" says how many give one.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import norm

from metaeval.config import load_run
from metaeval.experiment.columns import scored_columns
from metaeval.experiment.prepared_run import prepare
from metaeval.stats.risk_control import choose_threshold, threshold_order

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


def made_cell(case: Made, fits: int, rate: float) -> tuple[float, float, float]:
    """How often the promise holds, how often there is a gate, and the mean true missed share of gates."""
    random = np.random.default_rng(0)
    shift = np.sqrt(2) * norm.ppf(case.auc)
    n = round(case.unsupported / case.prevalence)
    cluster = np.arange(n) // case.size
    held = passed = 0
    missed = []
    for _ in range(fits):
        bad = np.zeros(n)
        bad[random.permutation(n)[: case.unsupported]] = 1
        common = random.normal(size=cluster[-1] + 1)[cluster] * np.sqrt(case.correlation)
        score = common + random.normal(size=n) * np.sqrt(1 - case.correlation) + shift * (1 - bad)
        others = random.normal(size=400) + shift * (random.random(400) >= case.shifted)
        tested, kept = choose_threshold(score, bad, np.ones(n), cluster, threshold_order(others), rate, ALPHA)
        gate = tested[kept - 1] if kept else None
        true = 1 - norm.cdf(gate.threshold) if gate else 0.0
        held += true <= rate
        if gate and gate.flagged <= MAX_FLAGGED:
            passed += 1
            missed.append(true)
    return held / fits, passed / fits, float(np.mean(missed)) if missed else np.nan


def drawn_cell(
    bad: np.ndarray, score: np.ndarray, group: np.ndarray, groups: int, fits: int, rate: float
) -> tuple[float, float, float]:
    """The same for whole groups drawn from judged data."""
    random = np.random.default_rng(0)
    members = [np.flatnonzero(group == one) for one in range(group.max() + 1)]
    order = threshold_order(score)
    held = passed = 0
    missed = []
    for _ in range(fits):
        rows = np.concatenate([members[one] for one in random.permutation(len(members))[:groups]])
        tested, kept = choose_threshold(score[rows], bad[rows], np.ones(rows.size), group[rows], order, rate, ALPHA)
        gate = tested[kept - 1] if kept else None
        true = float(np.mean(score[bad > 0] >= gate.threshold)) if gate else 0.0
        held += true <= rate
        if gate and gate.flagged <= MAX_FLAGGED:
            passed += 1
            missed.append(true)
    return held / fits, passed / fits, float(np.mean(missed)) if missed else np.nan


def main() -> None:
    """Print a Markdown table of made-up citations, and one of judged data; exit code 1 where a promise is broken."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--fits", type=int, default=4000)
    asked.add_argument("--data", type=Path)
    asked.add_argument("--results", type=Path, default=Path("results"))
    given = asked.parse_args()
    broken = False
    print("| unsupported labels | AUC | cluster | correlation | prevalence | of all items | held | passes | missed |")
    print("|" + " ---: |" * 9)
    for case in MADE:
        held, passed, missed = made_cell(case, given.fits, 0.1)
        broken |= held < 0.94
        print(
            f"| {case.unsupported} | {case.auc} | {case.size} | {case.correlation} | {case.prevalence} "
            f"| {case.shifted} | {100 * held:.1f} | {100 * passed:.1f} | {100 * missed:.1f} |",
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
            for column in scored_columns(job):
                for groups in (40, 100):
                    held, passed, missed = drawn_cell(bad, column.score, group, groups, given.fits, 0.3)
                    broken |= held < 0.94
                    labels = round(bad.mean() * bad.size * groups / (group.max() + 1))
                    print(
                        f"| {name} | {column.name} | {groups} | {labels} | {100 * held:.1f} | {100 * passed:.1f} "
                        f"| {100 * missed:.1f} |",
                        flush=True,
                    )
    sys.exit(broken)


if __name__ == "__main__":
    main()
