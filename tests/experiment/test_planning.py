"""What a difference takes: the planner's arithmetic, and that the planned groups have the promised power."""

import math

import numpy as np
import pytest

from metaeval import registry
from metaeval.config import load_run
from metaeval.errors import UserError
from metaeval.experiment.comparing.planning import needs, planned, raw_difference, read_differences
from protocols.contract import Judgements, Measure, Resampling
from protocols.contrasts import Spread, spreads

AUC = registry.find("protocol", "classification")


def test_groups_rows_and_citations_follow_from_the_pilot():
    # se 0.01 over 100 groups, difference 0.02: (1.959964 + 0.841621)^2 * (0.01 / 0.02)^2 * 100 = 196.2 -> 197 groups;
    # at 90 % (1.959964 + 1.281552)^2 / 4 * 100 = 262.7 -> 263. 5 rows and 1.5 citations a group.
    pilot = Spread(0.05, 0.01, 100, lambda level: None)

    found = needs(pilot, 500, 150, [0.02], 0.05)

    assert [(one.power, one.groups, one.rows, one.citations) for one in found] == [
        (0.8, 197, 985, 296),
        (0.9, 263, 1315, 395),
    ]
    # With the pilot's own groups: P(z > 1.959964 - 2) + P(z < -1.959964 - 2) = 0.5160 + 0.0000375.
    assert found[0].power_now == pytest.approx(0.5160, abs=1e-4)


def test_data_without_citations_have_no_number_of_them():
    found = needs(Spread(0.05, 0.01, 100, lambda level: None), 500, 0, [0.02], 0.05)

    assert [one.citations for one in found] == [None, None]


@pytest.mark.parametrize(("difference", "scale", "raw"), [(2.0, 100.0, 0.02), (0.02, 1.0, 0.02), (99.0, 100.0, 0.99)])
def test_differences_are_in_the_units_of_the_table(difference, scale, raw):
    assert raw_difference(difference, Measure("m", "M", scale=scale)) == pytest.approx(raw)


@pytest.mark.parametrize(("difference", "scale"), [(0.0, 100.0), (-1.0, 100.0), (2.0, 1.0), (math.nan, 1.0)])
def test_a_difference_off_the_scale_is_refused(difference, scale):
    with pytest.raises(UserError, match="above 0 and below"):
        raw_difference(difference, Measure("m", "M", scale=scale))


def test_a_measure_finds_its_protocol():
    config = load_run(None, {})

    assert planned(config, "ndcg@10", [])[0].name == "retrieval"
    assert planned(config, "macro_f1", [])[0].name == "decision"
    assert planned(config, "", [2.0])[0].name == "classification"
    with pytest.raises(UserError, match="Did you mean 'overall'"):
        planned(config, "overal", [])


def test_differences_are_numbers_with_commas():
    assert read_differences(" 1, 2.5,") == [1.0, 2.5]
    with pytest.raises(UserError, match="got '1;2'"):
        read_differences("1;2")


def drawn(groups, rng):
    """Two metrics of unlike quality on groups of 2 FULL and 2 NONE rows that share noise, in and between metrics."""
    group = np.repeat(np.arange(groups), 4)
    gold = np.tile([2.0, 2.0, 0.0, 0.0], groups)
    shared = rng.normal(size=groups)[group] * gold / 2 + 0.5 * rng.normal(size=gold.size)
    scores = [weight * gold / 2 + shared + rng.normal(size=gold.size) for weight in (1.4, 1.1)]
    return {name: Judgements(gold, score, group, group) for name, score in zip("ab", scores, strict=True)}


def spread(resampling, data):
    return spreads(AUC, {}, resampling, data, ["fs_ns"])["a", "b"]["fs_ns"]


@pytest.mark.slow
def test_the_planned_groups_have_the_promised_power():
    rng = np.random.default_rng(11)
    truth = spread(Resampling(n=0), drawn(40_000, rng)).observed
    pilot = spread(Resampling(n=2000), drawn(8000, rng))
    plan = needs(pilot, 32_000, 0, [truth], 0.05)
    simulations = 1500
    for need in plan:
        hits = 0
        for number in range(simulations):
            data = drawn(need.groups, rng)
            found = spread(Resampling(n=300, seed=number), data)
            hits += abs(found.observed) > 1.959964 * found.standard_error
        # Three binomial standard errors (0.010 and 0.008), and 0.01 for the pilot, whose standard error is known to
        # about 2 %.
        allowed = 3 * math.sqrt(need.power * (1 - need.power) / simulations) + 0.01
        assert hits / simulations == pytest.approx(need.power, abs=allowed)
