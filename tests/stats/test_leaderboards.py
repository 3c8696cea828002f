"""Means of runs and correlations of rankings against the official outputs of TREC's evaluation programs.

tests/golden/citation_measures/tau_ap.json: trec-auto-judge/auto-judge-evaluate 0ab65c1, evaluation.py; the
file says how it was made. The run level of TREC's support is in tests/citation/test_support_golden.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from metaeval.stats.leaderboards import first_runs, kendall, tau_ap, tau_ap_b, topic_means

FOLDER = Path(__file__).parents[1] / "golden" / "citation_measures"
TAUS = {
    "kendall": kendall,
    "tauap_b": tau_ap_b,
    "tau_ap_walking_truth": tau_ap,
    "tau_ap_walking_eval": lambda truth, scores: tau_ap(scores, truth),
}


def golden(name, part):
    cases = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))[part]
    return [pytest.param(case, id=case["case"]) for case in cases]


def equal(value, official):
    return np.isnan(value) if official is None else value == pytest.approx(official, abs=1e-9)


@pytest.mark.parametrize("case", golden("tau_ap", "cases"))
def test_rankings_agree_as_officially(case):
    truth, scores = (np.array(case[side], dtype=np.float64) for side in ("truth", "eval"))
    if truth.size != scores.size:
        for tau in TAUS.values():
            with pytest.raises(ValueError, match="same runs"):
                tau(truth, scores)
        return
    official = {name: value for name, value in case["official"].items() if name in TAUS}
    assert all(
        equal(TAUS[name](truth, scores), value) for name, value in official.items() if not isinstance(value, dict)
    )
    # The official program refuses fewer than three runs; here two are ordered or not.
    assert truth.size < 3 or not any(isinstance(value, dict) for value in official.values())


def board(lines, options):
    """Each run's value in the file's order: its line for all topics, else the mean over (the chosen) topics."""
    rows = [line.split() for line in lines]
    topics, aggregate = options.get("topic_ids"), not options.get("truth_drop_aggregate")
    values = {}
    for run in options.get("run_ids") or dict.fromkeys(run for run, *_ in rows):
        own = {topic: float(value) for name, topic, _, value in rows if name == run}
        mean = np.mean([value for topic, value in own.items() if topic != "all" and topic in (topics or own)] or [0.0])
        values[run] = own["all"] if "all" in own and aggregate and not topics else mean
    return values


@pytest.mark.parametrize("case", golden("tau_ap", "boards"))
def test_leaderboards_agree_as_officially(case):
    """Ours are functions of two vectors; which runs are compared, a reader of leaderboards decides."""
    truth, scores = (board(case[side], case["options"]) for side in ("truth", "eval"))
    shared = [run for run in truth if run in scores]
    compared = []
    for name, official in case["official"].items():
        tau, _, k = name.partition("@")
        if tau not in TAUS or isinstance(official, dict) or (case["on_missing"] == "default" and not k):
            continue  # a missing run's value is then made up by the official program
        first, other = (np.array([side[run] for run in shared]) for side in (truth, scores))
        kept = first_runs(first, int(k)) if k else np.arange(len(shared))
        assert equal(TAUS[tau](first[kept], other[kept]), official), name
        compared.append(name)
    assert len(compared) >= (0 if len(shared) < 3 else 4)


def test_kendall_is_scipys():
    random = np.random.default_rng(3)
    for size in (2, 3, 8, 40):
        truth, scores = random.integers(0, 6, (2, size)).astype(np.float64)
        assert kendall(truth, scores) == pytest.approx(kendalltau(truth, scores).statistic, nan_ok=True)


def test_missing_topics_count_zero_and_the_denominator_is_an_option():
    cells = np.array([[1.0, np.nan, 0.5], [0.25, 0.25, np.nan]])
    assert topic_means(cells).tolist() == [0.5, 0.5 / 3]
    assert topic_means(cells, 22).tolist() == [1.5 / 22, 0.5 / 22]
    assert topic_means(cells, 0).tolist() == topic_means(cells).tolist()
    with pytest.raises(ValueError, match="not negative"):
        topic_means(cells, -1)
    with pytest.raises(ValueError, match="runs by topics"):
        topic_means(cells[0])


def test_rankings_without_a_pair_have_no_tau():
    assert np.isnan(kendall(np.ones(1), np.ones(1)))
    assert tau_ap_b(np.ones(3), np.ones(3)) == 0.0
    with pytest.raises(ValueError, match="finite"):
        tau_ap(np.array([1.0, np.nan]), np.ones(2))
