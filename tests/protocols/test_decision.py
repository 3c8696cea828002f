"""Three-way decisions: against scikit-learn on the decisions themselves, out of fold, undefined with a reason."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, cohen_kappa_score, f1_score

from metaeval.core.config import ComparisonConfig
from metaeval.core.registry import find
from metaeval.corpus.loading import load_dataset
from metaeval.runs.significance import significance
from metaeval.stats.resampling import bootstrap
from protocols.contract import Estimate, Judgements, Resampling
from protocols.decision import MEASURES, PROTOCOL, decide, evaluate

POINT = Resampling(n=0)

# Of gold and decided levels.
OFFICIAL = {
    "macro_f1": lambda gold, level: f1_score(gold, level, average="macro"),
    "balanced_accuracy": balanced_accuracy_score,
    "kappa": lambda gold, level: cohen_kappa_score(gold, level, weights="quadratic"),
    "accuracy": accuracy_score,
}


def sample(n_groups=40, rows=6, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(n_groups), rows))
    gold = rng.choice([0.0, 1.0, 2.0], group.size)
    return Judgements(gold, np.round(gold + rng.normal(size=group.size), 2), group, group)


def check_undefined(outcome, note):
    assert set(outcome.estimates) == set(MEASURES)
    for estimate in outcome.estimates.values():
        assert estimate == Estimate(None, note=note)
    assert outcome.scored + outcome.unscored + sum(outcome.excluded.values()) == outcome.total


@pytest.mark.parametrize("options", [{}, {"folds": "3"}, {"folds": "10", "objective": "balanced-accuracy"}])
def test_agrees_with_scikit_learn_on_the_decisions(options):
    given = sample()
    decided = decide(given, options)
    outcome = evaluate(given, POINT, options)
    for key, official in OFFICIAL.items():
        assert outcome.estimates[key].value == pytest.approx(official(given.gold, decided.score), abs=1e-12)


@pytest.mark.parametrize("levels", [(0.0, 2.0), (1.0, 2.0)])
def test_gold_of_two_levels_is_decided_between_them(levels):
    given = sample()
    given = given.rows(np.isin(given.gold, levels))
    decided, outcome = decide(given, {}), evaluate(given, POINT, {})
    assert set(decided.score) == set(levels)
    for key, official in OFFICIAL.items():
        assert outcome.estimates[key].value == pytest.approx(official(given.gold, decided.score), abs=1e-12)
    # A level that the gold has and no scored row is missing, and is not left out.
    silent = given.with_score(np.where(given.gold == levels[0], np.nan, given.score))
    check_undefined(evaluate(silent, POINT, {}), f"no scored {'NONE' if levels[0] == 0 else 'PARTIAL'} pairs")


DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_real_votes_of_two_kinds_are_decided_between():
    ratings = load_dataset(find("dataset", "xsum_hallucination"), "all", DATA)
    told = [row for row in ratings.rows if "wid_0" in row.votes]
    gold = 2.0 * np.array([row.votes["wid_0"] for row in told])
    score = np.array([ratings.scores["Entailment"][row.id] for row in told])
    group = np.unique([row.group for row in told], return_inverse=True)[1].astype(np.int64)
    given = Judgements(gold, score, group, group)
    found = evaluate(given, Resampling(), {}).estimates
    decided = decide(given, {}).score
    assert set(gold) == set(decided) == {0.0, 2.0}
    for key, official in OFFICIAL.items():
        assert found[key].value == pytest.approx(official(gold, decided), abs=1e-12)
        assert found[key].low < found[key].value < found[key].high


def test_resampled_values_are_those_of_the_decisions_of_resampled_groups():
    # Decisions stay as they are, groups are drawn: scikit-learn on rows repeated by the weights of their group.
    given = sample()
    decided = decide(given, {})
    draws = bootstrap(40, 15, 2)
    weightings = np.concatenate(list(draws), axis=1).T
    found = PROTOCOL.replicate(decided, 40, draws, {}, list(OFFICIAL))
    for key, official in OFFICIAL.items():
        values = []
        for weights in weightings:
            repeats = weights[given.group]
            values.append(official(np.repeat(given.gold, repeats), np.repeat(decided.score, repeats)))
        assert found[key] == pytest.approx(values, abs=1e-12)


def test_a_group_is_decided_without_its_own_gold():
    # Whatever the gold of one group, its rows get the same decisions: thresholds come from other groups alone.
    given = sample(n_groups=10, rows=20)
    decided = decide(given, {})
    moved = False
    for code in range(10):
        mine = given.group == code
        again = decide(dataclasses.replace(given, gold=np.where(mine, 2 - given.gold, given.gold)), {})
        assert again.score[mine].tolist() == decided.score[mine].tolist()
        moved |= (again.score[~mine] != decided.score[~mine]).any()
    assert moved  # while other groups' decisions do hang on it


@pytest.mark.parametrize(("absent", "name"), [(0.0, "NONE"), (1.0, "PARTIAL"), (2.0, "FULL")])
def test_a_level_without_scored_rows(absent, name):
    given = sample()
    unscored = given.with_score(np.where(given.gold == absent, np.nan, given.score))
    check_undefined(evaluate(unscored, Resampling(n=20), {}), f"no scored {name} pairs")
    assert evaluate(unscored, POINT, {}).unscored == (given.gold == absent).sum()


def test_fewer_groups_than_folds():
    given = sample(n_groups=4, rows=30)
    check_undefined(evaluate(given, Resampling(n=20), {}), "4 groups cannot be cut into 5 folds")
    assert evaluate(given, POINT, {"folds": "3"}).estimates["accuracy"].value is not None


def held(one, other, keys=tuple(MEASURES)):
    """The comparisons of two metrics, as a table has them."""
    resampling = Resampling(n=20)
    tested = {name: (rows, evaluate(rows, resampling, {})) for name, rows in (("one", one), ("other", other))}
    answer = significance(PROTOCOL, {}, resampling, ComparisonConfig(), tested, keys)
    return answer.comparisons


@pytest.mark.parametrize("stray", [0.5, 3.0, -1.0])
def test_a_comparison_leaves_out_what_the_table_leaves_out(stray):
    given = sample()
    other = given.with_score(np.round(given.score + np.random.default_rng(5).normal(size=240), 2))
    off = np.arange(240) % 6 == 0

    strayed = [dataclasses.replace(rows, gold=np.where(off, stray, rows.gold)) for rows in (given, other)]
    known = [rows.rows(~off) for rows in (given, other)]
    assert np.unique(known[0].group).size == 40
    assert [one.p for one in held(*strayed)] == [one.p for one in held(*known)]


@pytest.mark.parametrize("lost", ["level", "groups"])
def test_a_comparison_of_what_cannot_be_decided_says_so(lost):
    given = sample()
    if lost == "level":
        given = dataclasses.replace(given, gold=np.zeros(given.gold.size))
    else:
        given = given.with_group(given.group % 3)
    other = given.with_score(np.where(np.arange(240) < 20, np.nan, -given.score))
    for two in (other, given.with_score(-given.score)):
        (found,) = held(given, two, ["macro_f1"])
        assert (found.difference, found.low, found.p) == (None, None, None)
        assert found.note == "undefined for one of the two"
