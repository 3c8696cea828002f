"""Leaderboards by people and by a metric: how files are read, and what is said of runs, ties and topics."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

import metaeval
from metaeval.corpus.leaderboards import read_board
from metaeval.errors import UserError
from metaeval.stats.leaderboards import (
    kendall,
    pairwise_accuracy,
    resampled,
    shifted_interval,
    soft_accuracy,
    spearman,
    tau_ap_b,
)
from metaeval.stats.resampling import bootstrap

GOLDEN = Path(__file__).parents[1] / "golden" / "citation_measures" / "tau_ap.json"
PEOPLE = "run,topic,value\na,1,.9\na,2,.8\nb,1,.5\nb,2,.6\nc,1,.4\nc,2,.2\nd,1,.1\nd,2,.7\nz,1,1\n"
METRIC = "a 1 M .7\na 2 M .9\nb 1 M .8\nb 2 M .6\nc 1 M .3\nc 2 M .3\nd 1 M .1\ny 1 M 0\n"


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def boards():
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["boards"]
    return [
        pytest.param(case, id=case["case"])
        for case in cases
        if not case["options"] and case["on_missing"] in ("error", "skip") and "all" in str(case["truth"])
    ]


@pytest.mark.parametrize("case", boards())
def test_coefficients_of_autojudges_files_are_the_official_ones(case, tmp_path):
    """Official values: trec-auto-judge/auto-judge-evaluate 0ab65c1; see tests/stats/test_leaderboards.py."""
    people, metric = (read_board(written(tmp_path, side, "\n".join(case[side]))) for side in ("truth", "eval"))
    runs = sorted(people.totals.keys() & metric.totals.keys())
    sides = [np.array([board.totals[run] for run in runs]) for board in (people, metric)]
    for name, coefficient in {"kendall": kendall, "tauap_b": tau_ap_b, "spearman": spearman}.items():
        official = case["official"].get(name)
        if isinstance(official, float):
            assert coefficient(*sides) == pytest.approx(official, abs=1e-9), name


def test_spearman_is_scipys():
    random = np.random.default_rng(5)
    for size in (3, 8, 40):
        truth, scores = random.integers(0, 6, (2, size)).astype(np.float64)
        assert spearman(truth, scores) == pytest.approx(spearmanr(truth, scores).statistic)
    assert np.isnan(spearman(np.ones(3), np.arange(3.0)))


def test_a_pair_that_only_the_metric_ties_is_not_ordered_alike():
    # Five of six pairs are apart by truth; the scores tie one of them and reverse two: 2 of 5.
    assert pairwise_accuracy(np.array([3.0, 2, 1, 1]), np.array([2.0, 2, 3, 1])) == 2 / 5
    assert np.isnan(pairwise_accuracy(np.ones(3), np.arange(3.0)))


def test_resamples_weigh_whole_topics_and_the_first_is_the_data():
    truth, scores = np.random.default_rng(1).random((2, 5, 7))
    draws = bootstrap(7, 20, 3)
    values = resampled(truth, scores, draws)
    tile = next(iter(draws))
    assert values["kendall"][0] == kendall(truth.mean(axis=1), scores.mean(axis=1))
    means = [np.repeat(side, tile[:, 4], axis=1).mean(axis=1) for side in (truth, scores)]
    assert values["tau_ap"][4] == pytest.approx(tau_ap_b(*means))
    assert values["kendall"].shape == (21,)


def test_an_interval_is_shifted_by_the_median_of_its_resamples_and_ends_at_1():
    # Resamples .1 to .5 have the median .3, which is .4 below the value .7; quartiles .2 and .4 become .6 and .8.
    values = np.array([0.7, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert shifted_interval(values, 0.5) == pytest.approx((0.6, 0.8))
    assert shifted_interval(values + 0.3, 0.5) == pytest.approx((0.9, 1.0))
    assert shifted_interval(np.array([np.nan, 0.1]), 0.5) is None
    assert shifted_interval(values[:1], 0.5) is None


def test_soft_accuracy_is_1_for_equal_boards_and_needs_two_topics_for_an_interval():
    cells = np.random.default_rng(2).random((4, 6))
    assert soft_accuracy(cells, cells, 0.95) == (1.0, (1.0, 1.0))
    assert soft_accuracy(cells[:, :1], cells[:, :1], 0.95)[1] is None


def test_two_files_give_coefficients_runs_and_what_is_left_out(tmp_path):
    paths = written(tmp_path, "people.csv", PEOPLE), written(tmp_path, "metric.txt", METRIC)
    coefficients, runs = metaeval.results.leaderboards(*paths)
    # Means: people a .85, b .55, d .4, c .3; metric a .8, b .7, c .3, d .05 (.1 + nothing, by 2): one of six reversed.
    value = {row["coefficient"]: row["value"] for row in coefficients.records}
    assert value["kendall"] == pytest.approx(4 / 6)
    assert value["pairwise_accuracy"] == pytest.approx(5 / 6)
    assert [row["run"] for row in runs.records] == ["a", "b", "d", "c"]
    (d,) = (row for row in runs.records if row["run"] == "d")
    assert (d["metric"], d["topics by people"], d["topics by metric"]) == (0.05, 2, 1)


def test_trec_evals_files_of_one_run_each_are_one_board(tmp_path):
    for run in "ab":
        head = f"runid                 \tall\t{run}\n" if run == "a" else ""
        written(tmp_path / "runs", f"{run}.txt", f"{head}map\t1\t0.25\nmap\t2\t0.75\nmap\tall\t0.5\nndcg\t1\t0.1\n")
    board = read_board(tmp_path / "runs", "map")
    assert board.values == {run: {"1": 0.25, "2": 0.75} for run in "ab"}
    assert board.totals == {"a": 0.5, "b": 0.5}
    with pytest.raises(UserError, match=r"holds 2 measures \(map, ndcg\)"):
        read_board(tmp_path / "runs")
    with pytest.raises(UserError, match="no measure 'mrr'"):
        read_board(tmp_path / "runs", "mrr")


TREC_RAG = Path(__file__).parents[3] / "shared" / "data" / "trec_rag"


@pytest.mark.skipif(not TREC_RAG.is_dir(), reason="the published files are not beside the project")
def test_people_and_a_chat_model_rank_the_runs_of_trec_rag_2024(tmp_path):
    """Mean weight (full 1, partial .5) of the 6,706 citations that both judged, of 45 runs and 22 topics."""
    weights = {"FS": 1.0, "PS": 0.5, "NS": 0.0}
    text = (TREC_RAG / "rag24_verdicts_opus48.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert len(rows) == 6706
    paths = []
    for label in ("human_label", "opus_nist_label"):
        cells = {}
        for row in rows:
            cells.setdefault((row["run_id"], row["topic_id"]), []).append(weights[row[label]])
        lines = [f"{run}\t{topic}\t{np.mean(values)!s}" for (run, topic), values in cells.items()]
        paths.append(written(tmp_path, f"{label}.tsv", "\n".join(["run\ttopic\tvalue", *lines])))
    coefficients, runs = metaeval.results.leaderboards(*paths)
    sides = [[row[side] for row in runs.records] for side in ("people", "metric")]
    value = {row["coefficient"]: row["value"] for row in coefficients.records}
    assert len(runs.records) == 45
    assert value["kendall"] == pytest.approx(kendalltau(*sides).statistic)
    assert value["spearman"] == pytest.approx(spearmanr(*sides).statistic)
    assert {name: round(value[name], 3) for name in ("kendall", "tau_ap")} == {"kendall": 0.844, "tau_ap": 0.744}
    assert all(row["low"] <= row["value"] <= row["high"] for row in coefficients.records)
    assert max(row["topics by people"] for row in runs.records) == 22


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no value of a run"),
        ("a 1 M .5\na 1 M .6\n", "line 2: run 'a' has a second value on topic '1'"),
        ("a 1 M .5\na 2 M nan\n", "line 2: 'nan' is not a finite number"),
        ("a 1 M .5\na 2\n", "line 2 is neither"),
        ("run,topic,value\na,1\n", "line 2 has 2 cells"),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_line(tmp_path, text, sentence):
    with pytest.raises(UserError, match=sentence):
        read_board(written(tmp_path, "board", text))


def test_too_few_shared_runs_are_refused(tmp_path):
    paths = written(tmp_path, "people.csv", PEOPLE), written(tmp_path, "metric.txt", "a 1 M 1\nb 1 M 0\n")
    with pytest.raises(UserError, match="share 2 runs; 3 are needed"):
        metaeval.results.leaderboards(*paths)
