"""System- and input-level correlations, and soft pairwise accuracy, against their definitions written out.

nlpstats 0.0.1 (github.com/danieldeutsch/nlpstats, by the first author of Deutsch et al. 2021) computes the same:
`system_level` takes scipy's coefficient of `nanmean` over inputs, `input_level` the mean of scipy's coefficients of the
inputs that have one, and its bootstrap draws rows of the table (systems), columns (inputs), or both.
"""

import warnings
from dataclasses import replace
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

import metaeval
from metaeval.core.registry import find
from metaeval.corpus.loading import load_dataset
from metaeval.report.result_tables import lay_out
from metaeval.stats.resampling import bootstrap
from metaeval.stats.systems import (
    _signs,
    cells,
    coefficients,
    disattenuated,
    soft_accuracy_of_drawn,
    soft_pairwise_accuracy,
    two_way,
)
from protocols import comparison
from protocols.contract import Judgements, Resampling
from protocols.systems import BY_INPUT, BY_SYSTEM, PROTOCOL

SCIPY = (pearsonr, spearmanr, kendalltau)
RNG = np.random.default_rng(3)
S, N = 6, 40
GOLD = np.round(np.linspace(0, 1, S)[:, None] + RNG.normal(size=(S, N)), 1)
SCORE = np.round(GOLD + RNG.normal(size=(S, N)), 1)
THERE = RNG.random((S, N)) < 0.8


def rows(score=SCORE, gold=GOLD, there=THERE):
    system, column = np.nonzero(there)
    return Judgements(gold[there], score[there], column, column, system)


def coefficient(of, x, y):
    known = ~np.isnan(x + y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return of(x[known], y[known])[0] if known.sum() > 1 else np.nan


def system_level(x, y):
    return [coefficient(of, np.nanmean(x, axis=1), np.nanmean(y, axis=1)) for of in SCIPY]


def input_level(x, y):
    return [np.nanmean([coefficient(of, x[:, j], y[:, j]) for j in range(x.shape[1])]) for of in SCIPY]


def table(values, there=THERE):
    return np.where(there, values, np.nan)


def test_both_levels_have_the_values_of_scipy():
    found = PROTOCOL.evaluate(rows(), Resampling(0), {}).estimates
    x, y = table(SCORE), table(GOLD)
    expected = dict(zip((*BY_SYSTEM, *BY_INPUT), system_level(x, y) + input_level(x, y), strict=True))
    assert {key: found[key].value for key in expected} == pytest.approx(expected, abs=1e-12)


def test_means_that_are_equal_but_for_rounding_are_ties():
    # 0.1 + 0.2 and 0.3 + 0.0 have means that differ in the last digit.
    x = np.array([[0.1, 0.2], [0.3, 0.0], [0.5, 0.6]]).mean(axis=1, keepdims=True)
    y = np.array([[1.0], [2.0], [3.0]])
    assert coefficients(x, y)[2, 0] == pytest.approx(kendalltau([0, 0, 1], [1, 2, 3])[0], abs=1e-12)
    assert np.isnan(coefficients(np.array([[0.1], [np.nextafter(0.1, 1)], [0.1]]), y)).all()


# The resampling of nlpstats with the very rows and columns that were drawn here.
@pytest.mark.parametrize("inputs", [True, False])
def test_two_way_resamples_are_those_of_the_table_drawn_twice(inputs):
    x, y, draws = table(SCORE), table(GOLD), bootstrap(N, 30, 0)
    by_system, by_input = two_way(x, y, np.arange(N), draws, 7, inputs)
    assert by_system[:, 0] == pytest.approx(system_level(x, y), abs=1e-12)
    generator = np.random.default_rng([7, 2])
    (weights,) = list(draws)
    chosen = generator.integers(S, size=(S, weights.shape[1]))
    for number in range(1, 8):
        drawn = chosen[:, number]
        columns = np.repeat(np.arange(N), weights[:, number] if inputs else 1)
        twice = x[drawn][:, columns], y[drawn][:, columns]
        assert by_system[:, number] == pytest.approx(system_level(*twice), abs=1e-12, nan_ok=True)
        assert by_input[:, number] == pytest.approx(input_level(*twice), abs=1e-12, nan_ok=True)


def test_a_table_says_which_measures_have_intervals_of_their_own_and_tests_them_too(tmp_path):
    cited = [(j, s) for j in range(12) for s in range(S)]
    data = [
        {"id": f"{j}-{s}", "group": f"g{j}", "gold": GOLD[s, j], "system": f"s{s}", "mine": SCORE[s, j]}
        for j, s in cited
    ]
    few = {"interval": {"resamples": 20}, "comparison": {"permutations": 20}}
    config = {"dataset": "ratings", "data": data, "protocols": ["systems"], "results": tmp_path, **few}
    (result,) = metaeval.evaluate(**config)
    grid = lay_out(result)
    uncertainty = next(note.text for note in grid.footer if note.label == "uncertainty")
    assert uncertainty.startswith("95 % CI, clustered by group, 12 effective of 12 groups")
    assert uncertainty.endswith("from resamples: System Spearman, System Kendall")
    # Neither `system`, which knows the systems' means, nor `constant`, which says nothing of them.
    assert {row.metric for row in result.rows} == {"mine", "oracle", "inverted oracle", "random"}
    tested = {one.measure for one in result.significance.controls if one.p is not None}
    assert {*BY_SYSTEM, *BY_INPUT, "spa"} == tested
    (result,) = metaeval.evaluate(**config, protocol_options={"systems": {"resample": "both"}})
    said = next(note.text for note in lay_out(result).footer if note.label == "uncertainty")
    assert said.startswith("95 % CI, clustered by group, 12 groups; from resamples")


def exchanged_as_nlpstats(one, other, y, what, permutations, seed):
    """Its `permutation_test` with `_permute_systems` or `_permute_both`, and the masks that are drawn here."""
    one, other = ((x - np.nanmean(x)) / np.nanstd(x) for x in (one, other))
    generator = np.random.default_rng([seed, 3])
    found = []
    for number in range(1 + permutations):
        x, z = one.copy(), other.copy()
        if number:
            mask = generator.integers(2, size=(S, 1), dtype=bool).ravel()
            x[mask], z[mask] = other[mask], one[mask]
        if number and what == "both":
            mask = generator.integers(2, size=N, dtype=bool)
            x[:, mask], z[:, mask] = z[:, mask], x[:, mask].copy()
        found.append(np.subtract(system_level(x, y) + input_level(x, y), system_level(z, y) + input_level(z, y)))
    return np.array(found).T


def exchange_p(pair, permutations, seed, what, keys):
    resampling, options = Resampling(10, seed), {"resample": what}
    outcomes = tuple(PROTOCOL.evaluate(one, resampling, options) for one in pair)
    found = comparison.compare(PROTOCOL, pair, outcomes, resampling, permutations, options, keys)
    return {key: found[key].p for key in keys}


@pytest.mark.parametrize("what", ["systems", "both"])
def test_two_metrics_exchange_systems_and_inputs_as_nlpstats_does(what):
    other = np.round(GOLD + 2 * RNG.normal(size=(S, N)), 1)
    one, theirs, y = table(SCORE), table(other), table(GOLD)
    expected = exchanged_as_nlpstats(one, theirs, y, what, 12, 5)
    keys = (*BY_SYSTEM, *BY_INPUT)
    found = exchange_p((rows(), rows(other)), 12, 5, what, keys)
    p = [(1 + (np.abs(own[1:]) >= abs(own[0]) - 1e-12).sum()) / 13 for own in expected]
    assert [found[key] for key in keys] == pytest.approx(p, abs=1e-12)
    assert min(p) < max(p)
    assert "spa" not in PROTOCOL.exchanged(rows(0 * SCORE), rows(other), 12, 5, {"resample": what})


@pytest.mark.parametrize("lost", [0, 1])
def test_the_interval_of_two_metrics_is_that_of_their_paired_resamples(lost):
    other = np.round(GOLD + 4 * RNG.normal(size=(S, N)), 1)
    pair, options, keys = (rows(), rows(other)), {"resample": "both"}, (*BY_SYSTEM, *BY_INPUT)
    # A row that one of them does not score is a row of neither: other resamples than those of its own table.
    there = THERE.copy()
    there[tuple(np.argwhere(THERE)[:lost].T)] = False
    pair[1].score[:lost] = np.nan
    outcomes = tuple(PROTOCOL.evaluate(one, Resampling(30), options) for one in pair)
    found = comparison.compare(PROTOCOL, pair, outcomes, Resampling(30), 20, options, keys)
    mine, theirs = (
        np.concatenate(two_way(table(x, there), table(GOLD, there), np.arange(N), bootstrap(N, 30, 0), 0))
        for x in (SCORE, other)
    )
    for key, apart in zip(keys, mine - theirs, strict=True):
        ends = np.nanquantile(apart[1:], [0.025, 0.975])
        assert (found[key].value, found[key].low, found[key].high) == pytest.approx((apart[0], *ends), abs=1e-12)


def test_measures_that_move_in_steps_are_held_against_controls_by_paired_resamples():
    other = np.round(GOLD + 4 * RNG.normal(size=(S, N)), 1)
    resampling = Resampling(60, 3)
    given = {
        name: (made, PROTOCOL.evaluate(made, resampling, {})) for name, made in (("m", rows()), ("c", rows(other)))
    }
    against = {"m": {"control": given["c"], "random": None}}
    found = comparison.tested_against(
        PROTOCOL, {}, resampling, {"m": given["m"]}, against, ["sys_kendall", "sys_pearson"], 0
    )
    x, z, y = table(SCORE), table(other), table(GOLD)
    drawn = []
    for column in np.concatenate(list(bootstrap(N, 60, 3)), axis=1).T:
        columns = np.repeat(np.arange(N), column)
        drawn.append([system_level(one[:, columns], y[:, columns])[2] for one in (x, z)])
    values = np.array(drawn)
    chance = comparison.chance(PROTOCOL, given["m"][0], {}, ["sys_kendall"])["sys_kendall"][0]
    assert chance == 0
    for beside, other_side in (("control", values[:, 1]), ("random", chance)):
        one, apart = found["m", beside]["sys_kendall"], values[:, 0] - other_side
        fewer = min((apart[1:] <= 1e-9).sum(), (apart[1:] >= -1e-9).sum())
        assert one.p == pytest.approx(min(1, 2 * (1 + fewer) / 61), abs=1e-12)
        ends = np.quantile(apart[1:], [0.025, 0.975])
        assert (one.value, one.low, one.high) == pytest.approx((apart[0], *ends), abs=1e-12)
        assert found["m", beside]["sys_pearson"].p is not None


def test_a_drawn_system_is_not_held_against_its_own_copy():
    x, y = table(SCORE), table(GOLD)
    found = soft_accuracy_of_drawn(x, y, np.arange(N), bootstrap(N, 20, 0), 7, inputs=False)
    assert found[0] == pytest.approx(soft(x, y), abs=1e-12)
    generator = np.random.default_rng([7, 2])
    chosen = generator.integers(S, size=(S, 21))
    for number in range(1, 6):
        drawn = np.sort(chosen[:, number])
        apart = [1 - soft(x[[a, b]], y[[a, b]]) for i, a in enumerate(drawn) for b in drawn[i + 1 :] if a < b]
        assert found[number] == pytest.approx(1 - np.mean(apart), abs=1e-12)


def soft(x, y):
    """Thompson et al. (2024), each pair by itself: p of x and of y by the same exchanges of texts."""
    apart, signs = [], _signs(x.shape[1])
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            p = []
            for values in (x, y):
                difference = np.nan_to_num(values[i] - values[j])
                exchanged = [(one * difference).sum() for one in signs]
                above = [np.sign(round(null - difference.sum(), 9)) for null in exchanged]
                p.append(np.mean([(1 + one) / 2 for one in above]))
            apart.append(abs(p[0] - p[1]))
    return 1 - np.mean(apart)


def test_soft_accuracy_is_the_mean_agreement_of_p_values():
    found = PROTOCOL.evaluate(rows(), Resampling(), {}).estimates["spa"]
    assert found.value == pytest.approx(soft(table(SCORE), table(GOLD)), abs=1e-12)
    assert found.low < found.value < found.high


@hypothesis.settings(max_examples=4)
@hypothesis.given(st.permutations(range(S)), st.integers(1, 3))
def test_the_names_of_systems_do_not_change_the_soft_accuracy_of_a_metric_with_ties(order, levels):
    def by(x, y):
        weights = np.ones((N, 1), dtype=np.uint8)
        prepared = soft_pairwise_accuracy(x, y, np.arange(N), N)
        return np.append(prepared.evaluate(weights), prepared.left_out())

    tied, gold = np.floor(table(SCORE) * levels / 4), np.round(table(GOLD))
    renamed = by(tied[list(order)], gold[list(order)])
    assert renamed == pytest.approx(by(tied, gold), abs=1e-12)
    assert by(gold[list(order)], tied[list(order)]) == pytest.approx(renamed, abs=1e-12)


def test_a_constant_has_p_one_half_for_each_two_systems_whichever_is_better():
    # Gold of three systems in the order of their names, and in the other: p of each two is 0 or 1, so that the
    # one-sided share of a constant, 1, gave 1 or 0.
    better = np.arange(3.0)[:, None] + np.zeros((1, 40))
    for gold in (better, better[::-1]):
        found = soft_pairwise_accuracy(np.full((3, 40), 0.7), gold, np.arange(40), 40)
        assert found.evaluate(np.ones((40, 1), dtype=np.uint8))[0] == 0.5


def test_one_pass_without_each_input_is_what_it_is_without_it():
    given, weights = rows(), np.ones((N, 3), dtype=np.uint8)
    weights[[2, 7, 11], [0, 1, 2]] = 0
    prepared = soft_pairwise_accuracy(table(SCORE), table(GOLD), np.arange(N), N)
    assert prepared.left_out()[[2, 7, 11]] == pytest.approx(prepared.evaluate(weights), abs=1e-12)
    assert cells(given.score, given.system, given.pool)[THERE] == pytest.approx(SCORE[THERE], abs=1e-12)


DATA = Path(__file__).parents[3] / "shared" / "data"


def published(*metrics):
    """Scores of the published set, as rows of each metric."""
    if not DATA.is_dir():
        pytest.skip("the published files are not in ../shared/data")
    ratings = load_dataset(find("dataset", "xsum_hallucination"), "all", DATA)
    system, pool, gold = ([getattr(row, name) for row in ratings.rows] for name in ("system", "group", "gold"))
    gold, (pool, system) = np.array(gold), (np.unique(names, return_inverse=True)[1] for names in (pool, system))
    scores = [np.array([ratings.scores[name][row.id] for row in ratings.rows]) for name in metrics]
    return [Judgements(gold, score, pool, pool, system) for score in scores]


def test_published_scores_have_the_values_of_nlpstats():
    found = PROTOCOL.evaluate(*published("Entailment"), Resampling(0), {}).estimates
    # nlpstats 0.0.1 on the same table of 4 systems and 498 articles.
    expected = (0.97671, 1.0, 1.0, 0.252025, 0.242616, 0.210233)
    assert [found[key].value for key in (*BY_SYSTEM, *BY_INPUT)] == pytest.approx(expected, abs=5e-7)


# nlpstats 0.0.1, `permutation_test` of Entailment against ROUGE-1 on the same table, 2,000 exchanges (seed 0).
NLPSTATS = {
    ("sys_pearson", "both"): 0.040,
    ("sys_pearson", "systems"): 0.735,
    ("sys_spearman", "inputs"): 0.030,
    ("sys_spearman", "both"): 0.0825,
    ("sys_kendall", "both"): 0.0835,
}


def test_published_scores_have_the_p_values_of_nlpstats():
    pair = published("Entailment", "ROUGE-1")
    for what in ("inputs", "both", "systems"):
        keys = [key for key, other in NLPSTATS if other == what]
        found = exchange_p(pair, 300, 0, what, keys)
        for key in keys:
            expected = NLPSTATS[key, what]
            error = np.sqrt(expected * (1 - expected) * (1 / 300 + 1 / 2000)) + 1 / 300
            assert abs(found[key] - expected) < 4 * error, (key, what, found[key])


def test_the_disattenuated_correlation_is_that_of_a_two_way_layout():
    """Every system on every input: the noise of means is the mean square of the interaction over the inputs."""
    noise = []
    for a, b in ((SCORE, SCORE), (GOLD, GOLD), (SCORE, GOLD)):
        first, other = (v - v.mean(axis=0) - v.mean(axis=1, keepdims=True) + v.mean() for v in (a, b))
        noise.append((first * other).sum() / ((S - 1) * (N - 1)) / N)
    seen = np.cov(SCORE.mean(axis=1), GOLD.mean(axis=1))
    x, y, xy = seen[0, 0] - noise[0], seen[1, 1] - noise[1], seen[0, 1] - noise[2]
    value, parts, reliability = disattenuated(SCORE, GOLD, np.arange(N), N)
    assert value == pytest.approx(xy / np.sqrt(x * y), abs=1e-12)
    assert reliability == pytest.approx((x / seen[0, 0], y / seen[1, 1]), abs=1e-12)
    assert parts.sum() == pytest.approx(0, abs=1e-12)
    # The jackknife, up to terms of the second order.
    left_out = [
        disattenuated(np.delete(SCORE, j, 1), np.delete(GOLD, j, 1), np.arange(N - 1), N - 1)[0] for j in range(N)
    ]
    jackknife = np.sqrt((N - 1) / N * np.sum((left_out - np.mean(left_out)) ** 2))
    assert np.sqrt(N / (N - 1) * np.sum(parts**2)) == pytest.approx(jackknife, rel=0.1)


def test_an_estimate_above_1_is_1_and_systems_that_do_not_differ_have_none():
    # Means 0, 1, 2 of variance 1 each; noise adds v to both variances and -v to the covariance: (1 + v) / (1 - v) > 1.
    noise = np.array([[0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]])
    means = np.arange(3.0)[:, None]
    assert disattenuated(means + noise, means - noise, np.arange(2), 2)[0] == 1
    flat = np.random.default_rng(1).normal(size=(2, S, N))
    flat -= flat.mean(axis=2, keepdims=True)
    assert np.isnan(disattenuated(*flat, np.arange(N), N)[0])
    assert np.isnan(disattenuated(SCORE, GOLD, np.zeros(N, dtype=int), 1)[0])
    perfect = PROTOCOL.evaluate(rows(GOLD), Resampling(n=1), {}).estimates["sys_disattenuated"]
    assert 0.99 < perfect.low < perfect.value == 1


def test_a_system_with_few_rows_is_named_with_what_is_left_without_it():
    there = np.ones((S, N), dtype=bool)
    there[2, 9:] = there[3, 10:] = False
    given = replace(rows(there=there), systems=("a", "b", "rare", "d", "e", "f"))
    outcome = PROTOCOL.evaluate(given, Resampling(), {})
    assert [text for text in outcome.warnings if text.startswith("rare has rows on less than a quarter")]
    rest = [np.delete(table(values, there), 2, 0) for values in (SCORE, GOLD)]
    assert f"System Pearson without rare: {system_level(*rest)[0]:.3f}" in outcome.notes
    unnamed = PROTOCOL.evaluate(replace(given, systems=("a", "b")), Resampling(), {})
    assert any(text.startswith("system 2 has rows") for text in unnamed.warnings)
    assert "without" not in str(PROTOCOL.evaluate(given.rows(given.system < 3), Resampling(0), {}).notes)
    assert not any("quarter" in text for text in PROTOCOL.evaluate(rows(), Resampling(), {}).warnings)
