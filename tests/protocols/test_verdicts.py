"""Verdicts as given, and gold that is cut in two: the numbers of scikit-learn, or a reason."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    roc_auc_score,
)

from protocols.classification import PROTOCOL as CLASSIFICATION
from protocols.contract import Judgements, Resampling
from protocols.verdicts import PROTOCOL as VERDICTS

RNG = np.random.default_rng(5)
N = 200
GROUP = np.arange(N) // 4
THREE = RNG.choice([0.0, 1.0, 2.0], N, p=[0.5, 0.2, 0.3])
TOLD = np.where(RNG.random(N) < 0.6, THREE, RNG.integers(0, 3, N).astype(float))


def rows(gold, score, levels=True):
    return Judgements(
        np.asarray(gold, float), np.asarray(score, float), GROUP[: len(gold)], GROUP[: len(gold)], None, levels
    )


def values(given, protocol=VERDICTS, **options):
    found = protocol.evaluate(given, Resampling(0), options).estimates
    return {key: one.value for key, one in found.items()}


# scikit-learn on the same columns; F1 is over the levels of the gold.
@pytest.mark.parametrize("gold", [THREE, np.where(THREE > 0, 1.0, 0.0), np.where(THREE == 1, 0.0, THREE)])
@pytest.mark.filterwarnings("ignore:y_pred contains classes")
def test_verdicts_have_the_values_of_scikit_learn(gold):
    told = TOLD if gold.max() == 2 else np.minimum(TOLD, 1)
    found, levels = values(rows(gold, told)), np.unique(gold)
    by_level = f1_score(gold, told, labels=levels, average=None, zero_division=0)
    cuts = {"kappa_full": 2, "kappa_some": 1} if levels.size == 3 else {}
    expected = {
        **{key: cohen_kappa_score(gold >= least, told >= least) for key, least in cuts.items()},
        "accuracy": accuracy_score(gold, told),
        "balanced_accuracy": balanced_accuracy_score(gold, told),
        "macro_f1": by_level.mean(),
        "kappa": cohen_kappa_score(gold, told),
        "quadratic_kappa": cohen_kappa_score(gold, told, weights="quadratic"),
        "f1_top": by_level[-1],
        "f1_bottom": by_level[0],
        "f1_partial": by_level[1] if levels.size == 3 else None,
    }
    assert {key: one for key, one in found.items() if one is None} == {k: v for k, v in expected.items() if v is None}
    for key, one in expected.items():
        assert one is None or found[key] == pytest.approx(one, abs=1e-12)


@pytest.mark.parametrize(("against", "least"), [("full", 2), ("some", 1)])
def test_levels_are_cut_where_asked(against, least):
    gold, told = least <= THREE, least <= TOLD
    found = values(rows(THREE, TOLD), against=against)
    assert found["f1_top"] == pytest.approx(f1_score(gold, told), abs=1e-12)
    # Verdicts of yes and no stay what they are, whatever the gold is cut into.
    said = RNG.integers(0, 2, N)
    assert values(rows(THREE, said), against=against)["kappa"] == pytest.approx(
        cohen_kappa_score(gold, said), abs=1e-12
    )


def test_yes_is_full_where_the_gold_is_full_or_none_and_has_the_kappas_of_both_cuts_alone_on_three_levels():
    told, gold = np.minimum(TOLD, 1), np.where(THREE > 0, 2.0, 0.0)
    twice = [values(rows(gold / most, told * most))["accuracy"] for most in (1, 2)]
    assert twice == pytest.approx([accuracy_score(gold > 0, told)] * 2, abs=1e-12)
    found = VERDICTS.evaluate(rows(THREE, told), Resampling(0), {"against": "levels"}).estimates
    assert {key for key, one in found.items() if one.value is not None} == {"kappa_full", "kappa_some"}
    assert found["kappa_full"].value == pytest.approx(cohen_kappa_score(THREE == 2, told), abs=1e-12)
    assert found["kappa_some"].value == pytest.approx(cohen_kappa_score(THREE > 0, told), abs=1e-12)
    assert found["accuracy"].note
    whole = [values(rows(THREE + (THREE == 2), score, False))["accuracy"] is None for score in (TOLD, 2 * TOLD)]
    assert whole == [False, True]  # of gold 0, 1 and 3 a verdict may be 2, and not 4
    assert [values(rows(range(n), range(n), False))["accuracy"] for n in (10, 11)] == [1, None]
    few = [rows([0, 1, 2, 1], [0, said, said, np.nan]) for said in (0, 1)]
    ends = [VERDICTS.evaluate(given, Resampling(0), {}).estimates["accuracy"] for given in few]
    assert [(one.worst, one.best) for one in ends] == [(0.25, 0.5), (None, None)]


def test_gold_cut_in_two_has_the_areas_of_scikit_learn():
    score = np.round(THREE + RNG.normal(size=N), 1)
    found = values(rows(THREE, score), CLASSIFICATION, multi_class="ovr")
    for key, least in (("full_rest", 2), ("some_none", 1)):
        assert found[key] == pytest.approx(roc_auc_score(least <= THREE, score), abs=1e-12)
    for key, least in (("ap_full", 2), ("ap_some", 1)):
        assert found[key] == pytest.approx(average_precision_score(least <= THREE, score), abs=1e-12)


@pytest.mark.parametrize(("lacking", "shown"), [(1.0, "fs_ns"), (0.0, "fs_ps"), (2.0, "ps_ns")])
def test_two_levels_have_one_column(lacking, shown):
    given = rows(THREE[lacking != THREE], TOLD[lacking != THREE])
    cut = {"multi_class": "ovr"}
    assert CLASSIFICATION.shown(given, {}) == (shown,)
    assert len(CLASSIFICATION.shown(given, cut)) == 1
    found = CLASSIFICATION.evaluate(given, Resampling(20), cut).estimates.values()
    assert [one.interval is None for one in found] == [one.value is None for one in found]
    assert CLASSIFICATION.shown(replace(given, gold=THREE[: given.gold.size]), cut) == ("full_rest", "some_none")
