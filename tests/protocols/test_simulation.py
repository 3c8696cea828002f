"""The simulation behind plans: models have the value asked for, and tests of samples reject as often as they say."""

import math
from dataclasses import replace

import numpy as np
import pytest

from metaeval.stats.score_model import draw, fit_scores
from protocols import classification, correlation, retrieval
from protocols.contract import Judgements
from protocols.simulation import Share, Task, calibrated, p_values, paired, rejected, simulated_power

OVERALL = Task(classification.PROTOCOL, {}, "overall")
TASKS = [OVERALL, Task(correlation.PROTOCOL, {}, "spearman"), Task(retrieval.PROTOCOL, {"ties": "expected"}, "ndcg@5")]


def judged(seed=0, groups=40, noise=1.0):
    """Rows of three levels in groups of six, which share a part of the score; statements of three rows are pools."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), 6)
    gold = rng.choice([0.0, 1.0, 2.0], group.size)
    score = gold + noise * (0.6 * rng.normal(size=groups)[group] + 0.8 * rng.normal(size=group.size))
    return Judgements(gold, np.round(score, 1), group, np.arange(group.size) // 3)


@pytest.mark.parametrize(("task", "value"), [(task, None) for task in TASKS] + [(OVERALL, 0.93)])
def test_a_model_has_the_value_that_is_asked_for(task, value):
    rows = judged()
    value = task.value(rows) if value is None else value
    model = calibrated(task, rows, fit_scores(rows.score, rows.gold, rows.group), value)
    drawn = [task.value(rows.with_score(draw(np.random.default_rng(seed), [model])[0])) for seed in range(60)]
    assert np.mean(drawn) == pytest.approx(value, abs=0.015)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_every_sample_of_more_groups_has_a_test_and_the_same_again(task, recorded):
    one, other = judged(noise=0.8), judged(noise=1.2)
    pair = paired(task, one, other, (task.value(one), task.value(other)))
    found = p_values(task, pair, 10, groups=55)
    assert ((found >= 0) & (found <= 1)).all()
    assert np.array_equal(found, p_values(task, pair, 10, groups=55))
    powers = [
        simulated_power(task, replace(pair, rows=one), 0.05, powers, runs, expected)
        for powers, runs, expected in (([0.8], 4, 0.3), ([0.5], 4, None), ([0.8], 0, None))
    ]
    told = [[vars(of), of.at(30), of.groups(0.9), of.extrapolated(100), of.extrapolated(None)] for of in powers]
    assert not any(of.extrapolated(1.5 * max(of.simulated)) for of in powers)
    models = [[model.mean[:5], model.shares, model.freedom] for model in pair.models]
    recorded.held(
        f"protocols-simulated-{task.key}", {"p": np.log(found), "models": [models, pair.correlations], "power": told}
    )


def test_a_value_beyond_the_ties_is_refused():
    rows = judged()
    two = rows.with_score((rows.score > 1) * 1.0)
    with pytest.raises(ValueError, match=r"reach .* on average, and not 0\.990"):
        calibrated(OVERALL, two, fit_scores(two.score, two.gold, two.group), 0.99)
    model = fit_scores(rows.score, rows.gold, rows.group)
    for value, end in ((0.0005, -100.0), (0.9995, 100.0)):  # beyond what is reached, but by less than matters
        assert calibrated(OVERALL, rows, model, value).mean.tolist() == model.apart(end).mean.tolist()


def test_metrics_of_unlike_quality_are_made_equal_or_kept_apart():
    one, other = judged(noise=0.8), judged(noise=1.6)
    assert OVERALL.value(one) > OVERALL.value(other) + 0.08
    values = OVERALL.value(one), OVERALL.value(other)
    middle = sum(values) / 2
    equal = rejected(p_values(OVERALL, paired(OVERALL, one, other, (middle, middle)), 80), 0.05)
    apart = rejected(p_values(OVERALL, paired(OVERALL, one, other, values), 80), 0.05)

    assert equal.of == apart.of == 80
    assert equal.value <= 0.14
    assert apart.value > 0.6


def test_shares_have_a_monte_carlo_error_that_is_never_none():
    assert Share(95, 100).error == pytest.approx(math.sqrt(96 / 102 * 6 / 102 / 100))
    assert rejected(np.array([np.nan, 0.05, 0.051]), 0.05) == Share(1, 2)
    assert math.isnan(Share(0, 0).error)
