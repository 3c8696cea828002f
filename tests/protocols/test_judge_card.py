"""A judge's card: scikit-learn's values, rates corrected for the judge's errors, and intervals that cover the truth."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix, recall_score

from metaeval.stats.prediction_powered import Sample, share
from protocols.contract import Judgements, Resampling
from protocols.verdicts import PROTOCOL

NONE = Resampling(0)


def rows(gold, score, group=None, **more):
    group = np.arange(len(gold)) // 5 if group is None else group
    return Judgements(np.asarray(gold, float), np.asarray(score, float), group, group, **more)


def card(judges, resampling=NONE, **options):
    given = judges if isinstance(judges, dict) else {"judge": judges}
    return PROTOCOL.card(given, resampling, options)


def values(found):
    return {key: one.value for key, one in found.items()}


@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n, yes = 150, rng.choice([1.0, 2.0])
    gold = rng.choice([0.0, 1.0, 2.0], n) if seed % 2 else 2.0 * rng.integers(0, 2, n)
    score = np.where(rng.random(n) < 0.7, yes * (gold > 0), yes * rng.integers(0, 2, n))
    score[rng.random(n) < 0.1] = np.nan
    gold[rng.random(n) < 0.2] = np.nan
    found = values(card(rows(gold, score))["judge"])
    both = ~np.isnan(gold) & ~np.isnan(score)
    for suffix, least in {"_full": 2, "_some": 1}.items() if seed % 2 else {"": 1}.items():
        people, said = gold[both] >= least, score[both] > 0
        tpr, tnr = recall_score(people, said), recall_score(people, said, pos_label=False)
        assert found[f"kappa{suffix}"] == pytest.approx(cohen_kappa_score(people, said), abs=1e-12)
        assert found[f"tpr{suffix}"] == pytest.approx(tpr, abs=1e-12)
        assert found[f"tnr{suffix}"] == pytest.approx(tnr, abs=1e-12)
        says = (score[~np.isnan(score)] > 0).mean()
        assert found[f"says{suffix}"] == pytest.approx(says, abs=1e-12)
        assert found[f"people{suffix}"] == pytest.approx((gold[~np.isnan(gold)] >= least).mean(), abs=1e-12)
        corrected = np.clip((says + tnr - 1) / (tpr + tnr - 1), 0, 1)
        assert found[f"corrected{suffix}"] == pytest.approx(corrected, abs=1e-12)
    labels = np.unique(np.concatenate((gold[both], score[both])))
    cells = [found[f"cell:{one:g}:{other:g}"] * both.sum() for one in labels for other in labels]
    expected = confusion_matrix(gold[both], score[both], labels=labels).ravel()
    np.testing.assert_allclose(cells, expected, atol=1e-9)


def test_three_levels_are_cut_for_people_and_judge():
    rng = np.random.default_rng(1)
    gold, score = rng.integers(0, 3, (2, 120)).astype(float)
    for name, least in {"full": 2, "some": 1}.items():
        chosen = values(card(rows(gold, score), against=name)["judge"])
        assert chosen["kappa"] == pytest.approx(cohen_kappa_score(gold >= least, score >= least), abs=1e-12)
        assert "kappa_full" not in chosen


def test_people_of_two_values_and_a_judge_of_three_levels():
    rng = np.random.default_rng(2)
    gold, score = rng.integers(0, 2, 90).astype(float), rng.integers(0, 3, 90).astype(float)
    found = card({"levels": rows(gold, score), "yes": rows(gold, score > 0)})
    assert found["levels"]["tpr_full"].value == pytest.approx(recall_score(gold, score == 2), abs=1e-12)
    assert found["levels"]["tpr_some"].value == pytest.approx(recall_score(gold, score > 0), abs=1e-12)
    assert found["yes"]["tpr_full"].value == found["yes"]["tpr_some"].value == found["levels"]["tpr_some"].value


def test_what_cannot_be_told_is_undefined():
    useless = card(rows([1, 1, 0, 0] * 10, [1, 0, 1, 0] * 10))["judge"]
    assert (useless["corrected"].value, useless["kappa"].value) == (None, 0)
    assert useless["corrected"].note
    assert card(rows([1] * 30, [1, 0, 0] * 10)) == {}  # one level of people
    # People's yes has no verdict.
    lost = card(rows([1, 0] * 20, [np.nan, 0] * 20))["judge"]
    assert (lost["tpr"].value, lost["tnr"].value) == (None, 1)
    assert lost["tpr"].note
    assert card(rows([0, 1] * 20, np.linspace(0, 1, 40))) == {}


def test_missing_verdicts_bound_the_rates():
    found = card(rows([1] * 10 + [0] * 10, [1] * 6 + [0] * 2 + [np.nan] * 2 + [0] * 9 + [np.nan]))["judge"]
    assert found["tpr"].value == 6 / 8
    assert found["tpr"].bounds == (6 / 10, 8 / 10)
    assert found["tnr"].bounds == (9 / 10, 10 / 10)


def test_rates_of_rows_without_a_label():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400).astype(float)
    score = np.where(rng.random(400) < 0.8, truth, 1 - truth)
    gold = np.where(np.arange(400) % 4 == 0, truth, np.nan)
    group = np.arange(400) // 8
    found = card(rows(gold, score, group), Resampling())["judge"]
    labelled = np.flatnonzero(~np.isnan(gold))
    sample = Sample(labelled, np.full(100, 0.25), labelled, np.zeros(100, int))
    expected = share(gold[labelled], score, sample, group, "process")
    assert found["ppi"].value == pytest.approx(expected.value, abs=1e-12)
    assert found["ppi"].interval == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found["says"].value == pytest.approx(score.mean(), abs=1e-12)
    assert "ppi" not in card(rows(truth, score, group))["judge"]
    # Labels of at least six groups, as for every interval, or as many as are asked for, but two.
    known = [
        (card(rows(np.where(group < many, gold, np.nan), score, group), of)["judge"]["ppi"].value is not None)
        for many, of in ((5, NONE), (6, NONE), (1, Resampling(fewest=1)), (2, Resampling(fewest=1)))
    ]
    assert known == [False, True, False, True]


def test_judges_with_each_other():
    rng = np.random.default_rng(4)
    gold = rng.integers(0, 2, 100) * 2.0
    one, two = rng.integers(0, 2, 100) * 1.0, rng.integers(0, 2, 100) * 2.0
    one[:9] = np.nan
    found = card({"a#1": rows(gold, one), "a#2": rows(gold, two)})["a#1"]
    expected = cohen_kappa_score(one[9:], two[9:] / 2)
    assert found["kappa:a#2"].value == pytest.approx(expected, abs=1e-12)
    assert found["equal:a#2"].value == pytest.approx((one[9:] == two[9:] / 2).mean(), abs=1e-12)


@pytest.mark.parametrize("number", [2, 3])
def test_the_human_ceiling(number):
    rng = np.random.default_rng(5)
    said = rng.integers(0, 2, (80, number))
    said[:, 1:] = np.where(rng.random((80, number - 1)) < 0.7, said[:, :1], said[:, 1:])
    votes = np.array([{f"r{at}": vote * (3.0 + 2 * at * (number < 3)) for at, vote in enumerate(row)} for row in said])
    found = card(rows(said[:, 0], said[:, 1], votes=votes))["judge"]["ceiling"].value
    pairs = [(row[0], row[1]) for row in said] if number == 2 else []
    for row in said if number > 2 else ():
        for place in range(number):
            others = Counter(np.delete(row, place).tolist()).most_common()
            if len(others) == 1:
                pairs.append((row[place], others[0][0]))
    assert found == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)), abs=1e-12)


def test_the_cost_of_a_thousand_rows():
    cost = np.where(np.arange(40) % 4 == 0, np.nan, 0.002)
    found = card(rows([0, 1] * 20, [0, 1] * 20, cost=cost))["judge"]["cost"]
    assert found.value == pytest.approx(2.0)


@pytest.mark.parametrize("against", ["", "some"])
def test_whole_cards_are_those_of_their_records(against, recorded):
    rng = np.random.default_rng(8)
    gold, group = rng.integers(0, 3, 90).astype(float), np.sort(rng.integers(0, 14, 90))
    told = {
        "levels": np.where(rng.random(90) < 0.7, gold, rng.integers(0, 3, 90)),
        "yes": np.where(rng.random(90) < 0.8, gold > 0, rng.integers(0, 2, 90)).astype(float),
        "full": 2.0 * (rng.random(90) < 0.5),
        "scores": 1 + np.floor(3 * rng.random(90)),
    }
    votes = np.array([{f"r{n}": float(rng.integers(0, 3)) for n in range(2 + place % 3)} for place in range(90)])
    cost = np.where(group % 4 == 0, np.nan, 0.001 * (1 + group))
    lost = {name: np.where(rng.random(90) < 0.05 * n, np.nan, score) for n, (name, score) in enumerate(told.items())}
    people = np.where(rng.random(90) < 0.3, np.nan, gold)
    found = {}
    for kind, labels in {"levels": people, "two values": np.minimum(gold, 1), "ratings": gold + 1}.items():
        judges = {name: rows(labels, score, group, votes=votes, cost=cost) for name, score in lost.items()}
        for name, values in card(judges, Resampling(60, fewest=4), **({"against": against} if against else {})).items():
            told_of = {
                key: [*one.ends, *(one.bounds or ()), one.effective, *([""] * bool(one.note))]
                for key, one in values.items()
                if kind != "two values" or "cell" not in key
            }
            found[f"{kind}/{name}"] = told_of
    recorded.held(f"protocols-cards{against and '-'}{against}", found)


def simulated(rng, clusters, tpr, tnr, rate, labelled=0.5):
    """People's labels and verdicts in clusters that differ in difficulty and in the share of yes."""
    size = rng.integers(4, 12, clusters)
    group = np.repeat(np.arange(clusters), size)
    at = lambda chance: 1 / (1 + np.exp(-(np.log(chance / (1 - chance)) + 0.5 * rng.normal(size=clusters))))  # noqa: E731
    truth = rng.random(group.size) < at(rate)[group]
    said = np.where(truth, rng.random(group.size) < at(tpr)[group], rng.random(group.size) >= at(tnr)[group])
    gold = np.where(rng.random(group.size) < labelled, truth, np.nan)
    return rows(gold, said, group)


def coverage(tables, **design):
    truth = values(card(simulated(np.random.default_rng(0), 40_000, labelled=1, **design))["judge"])
    held, defined = Counter(), Counter()
    for seed in range(tables):
        found = card(simulated(np.random.default_rng([1, seed]), 40, **design), Resampling())["judge"]
        for key in ("kappa", "tpr", "tnr", "says", "people", "corrected", "ppi"):
            aim = truth["people" if key in ("corrected", "ppi") else key]
            if found[key].interval:
                defined[key] += 1
                held[key] += found[key].low <= aim <= found[key].high
    return {key: held[key] / defined[key] for key in defined}, defined


def test_intervals_cover_the_truth():
    covered, _ = coverage(60, tpr=0.85, tnr=0.75, rate=0.6)
    assert len(covered) == 7
    assert min(covered.values()) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "least", "most"),
    [({"tpr": 0.85, "tnr": 0.75, "rate": 0.6}, 0.93, 0.975), ({"tpr": 0.97, "tnr": 0.9, "rate": 0.85}, 0.92, 0.985)],
)
def test_intervals_cover_as_often_as_they_say(design, least, most):
    covered, defined = coverage(1000, **design)
    assert min(defined.values()) > 950
    assert all(least <= rate <= most for rate in covered.values()), covered
