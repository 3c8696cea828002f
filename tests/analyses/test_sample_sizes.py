"""What a difference takes: the planner's arithmetic, and that the planned groups have the promised power."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

import metaeval
from metaeval.analyses.comparing.sample_sizes import _number, labels_needed, needs, protocol_to_plan, raw_difference
from metaeval.analyses.plan import PLAN, PlanOptions
from metaeval.core import registry
from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.stats.influence import t_test
from metaeval.stats.significance import required_groups
from protocols.comparison import minus
from protocols.contract import Judgements, Measure
from protocols.simulation import Power, Share, Task, _fitted, influence_of_one, paired, simulated_power

AUC = registry.find("protocol", "classification")


def test_groups_rows_and_citations_follow_from_what_was_simulated(recorded):
    # A standard error of 0.1 with one group and a difference of 0.02: (1.959964 + 0.841621)^2 * (0.1 / 0.02)^2 = 196.2
    # -> 197 groups; at 90 % (1.959964 + 1.281552)^2 * 25 = 262.7 -> 263. 5 rows and 1.5 citations a group.
    power = Power({100: Share(52, 100)}, 0.2, 0.05, 0.05)

    found = needs(0.02, power, (0.5, 2.0), 100, 500, 150)

    assert [(one["power"], one["groups"], one["rows"], one["citations"]) for one in found] == [
        (0.8, 197, 985, 296),
        (0.9, 263, 1315, 395),
    ]
    assert [(one["groups_low"], one["groups_high"]) for one in found] == [(99, 394), (132, 526)]
    assert found[0]["power_now"] == 0.52
    powers = {"none": (None, 0.05), "small": (0.03, 0.01), "middle": (0.2, 0.05), "large": (3.0, 0.1)}
    simulated = {100: Share(52, 100), 300: Share(90, 100)}
    plans = {
        f"{name} {likely} {cited}": needs(0.02, Power(simulated, effect, 0.01, alpha), likely, 100, 505, cited)
        for name, (effect, alpha) in powers.items()
        for likely, cited in ((None, 0), ((0.4, 2.1), 150))
    }
    labels = {
        f"{half} {share}": [recorded.told(labels_needed, half, share, n) for n in (None, 1, 2, 3, 10, 93, 94, 1000)]
        for half in (0, 0.005, 0.05, 0.1, 0.3, 0.499, 0.5)
        for share in (0, 0.001, 0.05, 0.5, 0.93, 1)
    }
    planned = [recorded.sheet(metaeval.plan(half_width=half)) for half in (0.05, 0.0003)]
    recorded.held("analyses-sample-sizes", plans | labels | {"labels": planned})
    # The law behind it, with 100 groups: P(z > 1.959964 - 2) + P(z < -1.959964 - 2) = 0.5160 + 0.0000375.
    assert power.at(100) == pytest.approx(0.5160, abs=1e-4)


def test_the_effect_is_the_likeliest_of_all_that_was_simulated():
    # With an effect of 0.2 a group: 100 groups 51.60 %, 50 groups P(z > 1.959964 - 1.414214) = 29.26 %.
    found = _fitted({100: Share(5160, 10_000), 50: Share(2930, 10_000)}, 0.05)
    assert found.effect == pytest.approx(0.2, abs=0.002)
    # d power / d log effect = 2 * phi(0.04) = 0.797 and 1.414 * phi(0.546) = 0.486 ...
    assert found.error == pytest.approx((0.797**2 / 0.2497 + 0.486**2 / 0.2070) ** -0.5 / 100, rel=0.02)


def test_what_is_found_no_more_often_than_by_chance_has_no_plan():
    found = needs(0.02, _fitted({100: Share(6, 100), 300: Share(4, 100)}, 0.05), None, 100, 500, 0)
    assert [[one[key] for key in ("groups", "rows", "citations", "groups_low")] for one in found] == [[None] * 4] * 2
    # Two standard errors above 5 %: sqrt(31 / 402 * 371 / 402 / 400) = 0.0133 and, of one more, 0.0135.
    assert [_fitted({100: Share(hits, 400)}, 0.05).effect is None for hits in (30, 31)] == [True, False]
    assert _number(None, extrapolated=False) == "–"


@pytest.mark.parametrize(("difference", "scale", "raw"), [(2.0, 100.0, 0.02), (0.02, 1.0, 0.02), (99.0, 100.0, 0.99)])
def test_differences_are_in_the_units_of_the_table(difference, scale, raw):
    assert raw_difference(difference, Measure("m", "M", scale=scale)) == pytest.approx(raw)


def test_a_measure_finds_its_protocol():
    config, asked = load_run(None, {}), [("ndcg@10", []), ("macro_f1", [], "decision"), ("", [2.0])]
    found = [protocol_to_plan(config, *words)[0].name for words in asked]
    assert found == ["retrieval", "decision", "classification"]
    for words in [("macro_f1", []), ("", [0.0]), ("", [2.0, 100.0]), ("spearman", [2.0])]:
        with pytest.raises(UserError, match=r"several protocols, decision and verdicts|^difference is "):
            protocol_to_plan(config, *words)


def test_differences_are_numbers_with_commas():
    assert [PlanOptions(difference=given).difference for given in (" 1, 2.5,", 2)] == [(1.0, 2.5), (2.0,)]
    for text in ("1;2", ","):
        with pytest.raises(UserError, match=f"difference: it takes numbers with commas.*got '{text}'"):
            PLAN.options_of({"difference": text})
    with pytest.raises(UserError, match=r"^difference\[1\] is inf: it should be a finite number"):
        PLAN.options_of({"difference": "1,inf"})


def drawn(groups, rng):
    """Two metrics of unlike quality on groups of 2 FULL and 2 NONE rows that share noise, in and between metrics."""
    group = np.repeat(np.arange(groups), 4)
    gold = np.tile([2.0, 2.0, 0.0, 0.0], groups)
    shared = rng.normal(size=groups)[group] * gold / 2 + 0.5 * rng.normal(size=gold.size)
    scores = [weight * gold / 2 + shared + rng.normal(size=gold.size) for weight in (1.4, 1.1)]
    return {name: Judgements(gold, score, group, group) for name, score in zip("ab", scores, strict=True)}


def test_independent_groups_take_what_the_normal_approximation_says():
    rng = np.random.default_rng(1)
    group, gold = np.repeat(np.arange(60), 4), np.tile([2.0, 2.0, 0.0, 0.0], 60)
    one, other = (Judgements(gold, weight * gold / 2 + rng.normal(size=240), group, group) for weight in (1.4, 1.2))
    task = Task(AUC, {}, "fs_ns")
    error = minus(*(influence_of_one(task, rows, np.arange(60)) for rows in (one, other))).standard_error
    middle = (task.value(one) + task.value(other)) / 2
    plan = simulated_power(task, paired(task, one, other, (middle + 0.05, middle - 0.05)), 0.05, (0.8,), 200)

    # Three Monte Carlo errors of the effect, with whose square the groups go.
    assert plan.groups(0.8) == pytest.approx(required_groups(0.1, error, 60), rel=3 * 2 * plan.error), plan


@pytest.mark.slow
def test_the_planned_groups_have_the_promised_power():
    rng = np.random.default_rng(11)
    task = Task(AUC, {}, "fs_ns")
    # Pairs of one level are all that a difference is made of: its mean over many large samples.
    large = drawn(20_000, rng)
    truth = task.value(large["a"]) - task.value(large["b"])
    pilot = drawn(400, rng)
    middle = (task.value(pilot["a"]) + task.value(pilot["b"])) / 2
    pair = paired(task, pilot["a"], pilot["b"], (middle + truth / 2, middle - truth / 2))
    plan = simulated_power(task, pair, 0.05, (0.8,), 400)
    groups = plan.groups(0.8)
    hits = 0
    for _ in range(400):
        data = drawn(groups, rng)
        apart = minus(*(influence_of_one(task, rows, np.arange(groups)) for rows in data.values()))
        hits += t_test(apart) <= 0.05
    # Three binomial standard errors of both simulations (0.020 each), and 0.03 for the pilot of 400 groups, whose
    # standard error is known to about 4 %.
    assert hits / 400 == pytest.approx(0.8, abs=0.115), (plan, groups)


@pytest.mark.parametrize(
    ("half_width", "share", "items", "labels"),
    [
        # Wilson's half-width at .5 is .5 z / sqrt(n + z^2): n = (1.96 / .2)^2 - 3.84 = 92.2.
        (0.1, 0.5, None, 93),
        (0.001, 0.5, None, 960_361),
        (0.00030989746, 0.5, None, 10_000_000),
        (0.00030989745, 0.5, None, None),
        # Of N items, n labels count as n / (1 - n / N): 92.2 / (1 + 92.2 / N).
        (0.1, 0.5, 400, 75),
        (0.1, 0.5, 100, 48),
        (0.1, 0.5, 2, 2),
    ],
)
def test_labels_for_an_interval_of_a_share_are_those_of_wilsons_formula(half_width, share, items, labels):
    assert labels_needed(half_width, share, items) == labels


def test_labels_are_planned_for_rare_and_common_shares():
    found = {row["share"]: row["labels"] for row in metaeval.plan(half_width=0.1)}
    assert list(found) == [0.05, 0.1, 0.2, 0.5]
    for share, labels in found.items():
        ends = (proportion_confint(share * number, number, method="wilson") for number in (labels - 1, labels))
        assert [max(share - low, high - share) <= 0.1 for low, high in ends] == [False, True]
