"""How often tables of metrics without information print a claim: simulated metrics, real tests, marks and sentences.

Nine metrics and four controls have scores of one process that knows nothing of the levels; `constant` and `random`
stand beside them. Whatever a sentence says that one of the metrics can do, or is worse than, is false. A share of n
samples has a Monte Carlo error of sqrt(.05 * .95 / n) where the true share is 5 %.
"""

from __future__ import annotations

import re
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from metaeval.report.findings import findings
from metaeval.report.result import Comparison, Data, Interval, Result, Row, Significance
from metaeval.runs.evaluate import column_of, declarations_of
from metaeval.runs.significance import adjusted, marked
from protocols import classification, comparison
from protocols.contract import Judgements, Resampling

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

METRICS = [f"metric {number}" for number in range(9)]
CONTROLS = [f"control {number}" for number in range(4)]
RESAMPLING = Resampling(n=1000, seed=0)
DECLARATIONS = declarations_of([classification.PROTOCOL])
KEYS = ["fs_ns", "fs_ps", "ps_ns", "overall"]


def uninformative(rng: np.random.Generator, groups: int) -> tuple[Floats, Ints, Floats]:
    """Levels (n,), groups (n,) and scores (13, n) that do not depend on the levels, and correlate by .5.

    A group has its own shares of the levels. Of the variance of a score its group's shift is .3, and that of its group
    and level .2.
    """
    group = np.repeat(np.arange(groups), 1 + rng.poisson(7, groups))
    bounds = rng.dirichlet((3.0, 2.25, 3.0), groups).cumsum(axis=1)[group, :2]
    level = (rng.random(group.size)[:, None] > bounds).sum(axis=1)

    def part(*shape: int) -> Floats:
        shared, own = rng.normal(size=shape), rng.normal(size=(len(METRICS + CONTROLS), *shape))
        return sqrt(0.5) * (shared + own)

    scores = sqrt(0.3) * part(groups)[:, group] + sqrt(0.2) * part(groups, 3)[:, group, level]
    return 2.0 - level, group, scores + sqrt(0.5) * part(group.size)


def table(level: Floats, group: Ints, scores: Floats) -> Result:
    """The table of the metrics and controls, with the tests against controls and without those of pairs."""
    protocol = classification.PROTOCOL
    given = dict(zip(METRICS + CONTROLS, scores, strict=True)) | {"constant": np.ones(level.size)}
    rows_of: dict[str, comparison.Tested] = {}
    for name, score in given.items():
        judgements = Judgements(level, score, group, np.arange(level.size))
        rows_of[name] = judgements, protocol.evaluate(judgements, RESAMPLING, {})
    controls: dict[str, comparison.Tested | None] = {name: rows_of[name] for name in [*CONTROLS, "constant"]}
    against = {name: {**controls, "random": None} for name in METRICS}
    tests = comparison.tested_against(protocol, {}, RESAMPLING, rows_of, against, KEYS, 1000)
    told = [
        Comparison(measure=key, one=pair[0], other=pair[1], rows=one.n, difference=one.value, p=one.p)
        for pair, by_key in tests.items()
        for key, one in by_key.items()
    ]
    tested = Significance(permutations=1000, seed=0, alpha=0.05, comparisons=[], controls=told)
    (tested,) = adjusted([tested], lambda one: one.measure)
    rows = [
        Row(
            metric=name,
            kind="metric" if name in METRICS else "control",
            values={key: outcome.estimates[key] for key in KEYS},
            total=level.size,
            scored=level.size,
            unscored=0,
            signature=name,
        )
        for name, (_, outcome) in rows_of.items()
    ]
    counts = {"name": "null", "split": "test", "fingerprint": "", "statements": 0, "documents": 0, "citations": 0}
    return Result(
        protocol=protocol.name,
        title=protocol.title,
        unit="chunk",
        settings={},
        data=Data(**counts, groups=int(group.max()) + 1, levels={}),
        interval=Interval(resamples=1000, seed=0, level=0.95),
        columns=[column_of(measure) for measure in protocol.measures if measure.key in KEYS],
        rows=marked(rows, tested),
        significance=tested,
    )


def test_few_tables_of_uninformative_metrics_print_a_claim() -> None:
    # Intervals unadjusted for nine metrics would print a claim in 29 to 33 of 100 tables.
    samples, groups = 40, 30
    found = {"can": 0, "worse": 0, "above": 0}
    for seed in range(samples):
        result = table(*uninformative(np.random.default_rng([groups, seed]), groups))
        text = " ".join(findings([result], DECLARATIONS)[1:])
        found["can"] += bool(re.search(r"(?:chance:|;) by [^,;]+, (?!no metric)", text))
        found["worse"] += "significantly worse" in text
        found["above"] += bool(re.search(r"(?<!No metric )(is|are) significantly better than every control", text))
    assert max(found.values()) / samples <= 0.05 + 2 * sqrt(0.05 * 0.95 / samples)
