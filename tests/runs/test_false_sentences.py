"""How often tables of metrics without information print a claim: simulated metrics, real tests, marks and sentences.

Nine metrics have scores of one process that knows nothing of the levels; `constant` and `random` stand beside them.
Whatever a sentence says that one of the metrics can do, or is worse than, is false. A share of n samples has a Monte
Carlo error of sqrt(.05 * .95 / n) where the true share is 5 %.
"""

import re
from math import sqrt

import numpy as np

import metaeval

QUICK = {"protocols": "classification", "interval": {"resamples": 100}}


def uninformative(rng, groups=30, metrics=9):
    """Scores that do not depend on the levels, and correlate by .5; levels; groups.

    A group has its own shares of the levels. Of the variance of a score its group's shift is .3, and that of its group
    and level .2.
    """
    group = np.repeat(np.arange(groups), 1 + rng.poisson(7, groups))
    bounds = rng.dirichlet((3.0, 2.25, 3.0), groups).cumsum(axis=1)[group, :2]
    level = (rng.random(group.size)[:, None] > bounds).sum(axis=1)

    def part(*shape):
        shared, own = rng.normal(size=shape), rng.normal(size=(metrics, *shape))
        return sqrt(0.5) * (shared + own)

    scores = sqrt(0.3) * part(groups)[:, group] + sqrt(0.2) * part(groups, 3)[:, group, level]
    return {f"metric {number}": own for number, own in enumerate(scores + sqrt(0.5) * part(group.size))}, level, group


def test_few_tables_of_uninformative_metrics_print_a_claim():
    # Intervals unadjusted for nine metrics would print a claim in 29 to 33 of 100 tables.
    samples = 40
    found = {"can": 0, "worse": 0, "above": 0}
    for seed in range(samples):
        results = metaeval.evaluate_arrays(*uninformative(np.random.default_rng([30, seed])), **QUICK)
        text = " ".join(results.findings)
        found["can"] += bool(re.search(r"(?:chance:|;) by [^,;]+, (?!no metric)", text))
        found["worse"] += "significantly worse" in text and "no metric is significantly worse" not in text
        found["above"] += bool(re.search(r"(?<!No metric )(is|are) significantly better than every control", text))
    assert max(found.values()) / samples <= 0.05 + 2 * sqrt(0.05 * 0.95 / samples), found
