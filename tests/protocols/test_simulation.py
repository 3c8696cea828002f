"""The nested simulation behind certificates and plans: counts add up, models have the value asked for."""

import math

import numpy as np
import pytest

from metaeval.stats.score_model import fit_scores
from protocols import classification, correlation, retrieval
from protocols.contract import Judgements, Resampling
from protocols.simulation import (
    Share,
    Task,
    calibrated,
    class_of,
    coverage,
    influence_of_one,
    p_values,
    paired,
    permutations_for,
    rejected,
)

OVERALL = Task(classification.PROTOCOL, {}, "overall")
TASKS = [OVERALL, Task(correlation.PROTOCOL, {}, "spearman"), Task(retrieval.PROTOCOL, {"ties": "expected"}, "ndcg@5")]


def judged(seed=0, groups=40, noise=1.0):
    """Rows of three levels in groups of six, which share a part of the score; statements of three rows are pools."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), 6)
    gold = rng.choice([0.0, 1.0, 2.0], group.size)
    score = gold + noise * (0.6 * rng.normal(size=groups)[group] + 0.8 * rng.normal(size=group.size))
    return Judgements(gold, np.round(score, 1), group, np.arange(group.size) // 3)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_samples_lie_around_the_value_and_are_all_accounted_for(task):
    rows = judged()
    value = task.value(rows)
    model = calibrated(task, rows, fit_scores(rows.score, rows.gold, rows.group), value)
    effective = influence_of_one(task, rows, np.arange(40)).effective_groups
    found = coverage(task, rows, model, Resampling(), effective, runs=60)

    assert found.true == pytest.approx(value, abs=0.02)
    assert found.all_samples.of + found.without >= 60
    assert found.below + found.above == found.all_samples.of - found.all_samples.hits
    assert found.all_samples.value > 0.85
    assert found.same_class.of <= found.all_samples.of
    # The same again: nothing but the settings counts.
    assert found == coverage(task, rows, model, Resampling(), effective, runs=60)


def test_rare_samples_like_the_input_are_looked_for_longer():
    rows = judged(groups=30)
    model = fit_scores(rows.score, rows.gold, rows.group)
    usual = coverage(OVERALL, rows, model, Resampling(), 29.0, runs=60)
    rare = coverage(OVERALL, rows, model, Resampling(), 61.0, runs=60)

    assert usual.all_samples.of == 60
    assert (rare.all_samples.of, rare.same_class.of) == (240, 0)
    assert math.isnan(rare.same_class.value)


def test_groups_too_few_for_an_interval_give_none():
    rows = judged(groups=8)
    model = fit_scores(rows.score, rows.gold, rows.group)
    assert coverage(OVERALL, rows, model, Resampling(fewest=20.0), 8.0, runs=50).all_samples.of == 50  # as if asked for
    plan = coverage(OVERALL, rows, model, Resampling(fewest=20.0), None, runs=50)
    assert (plan.all_samples.of, plan.without) == (0, 50)


@pytest.mark.parametrize("value", [0.5, 0.62, 0.93])
def test_a_model_has_the_value_that_is_asked_for(value):
    rows = judged()
    model = calibrated(OVERALL, rows, fit_scores(rows.score, rows.gold, rows.group), value)
    assert coverage(OVERALL, rows, model, Resampling(), None, runs=60).true == pytest.approx(value, abs=0.012)


def test_a_value_beyond_the_ties_is_refused():
    rows = judged()
    two = rows.with_score((rows.score > 1) * 1.0)
    with pytest.raises(ValueError, match=r"reach .* on average, and not 0\.990"):
        calibrated(OVERALL, two, fit_scores(two.score, two.gold, two.group), 0.99)


def test_metrics_of_unlike_quality_are_made_equal_or_kept_apart():
    one, other = judged(noise=0.8), judged(noise=1.6)
    assert OVERALL.value(one) > OVERALL.value(other) + 0.08
    equal = rejected(p_values(OVERALL, paired(OVERALL, one, other), 99, 80), 0.05)
    values = OVERALL.value(one), OVERALL.value(other)
    apart = rejected(p_values(OVERALL, paired(OVERALL, one, other, values), 99, 80), 0.05)

    assert equal.of == apart.of == 80
    assert equal.value <= 0.14
    assert apart.value > 0.6


def test_shares_have_a_monte_carlo_error_that_is_never_none():
    assert Share(95, 100).error == pytest.approx(math.sqrt(96 / 102 * 6 / 102 / 100))
    assert Share(100, 100).error > 0
    assert math.isnan(Share(0, 0).error)
    assert [class_of(one) for one in (2.0, 5.99, 6, 29.9, 30, 60, 900, math.nan)] == [0, 0, 1, 1, 2, 3, 3, -1]
    assert [permutations_for(one) for one in (0.05, 0.01, 0.2)] == [99, 499, 99]
