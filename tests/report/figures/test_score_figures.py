"""Figures of a job's scores: what is drawn is what the table, scikit-learn and numpy say of the same pair file."""

import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

pytest.importorskip("matplotlib")

from metaeval.analyses.suites.job_figures import (
    distributions_of,
    read_judged_scores,
    reliability_of,
    roc_of,
    score_figures,
)
from metaeval.core.config import RunConfig
from metaeval.report.figures.drawing import image, looks_of
from metaeval.report.figures.score_figures import Bins, Histogram, reliability, score_distributions
from metaeval.runs.evaluate import run
from metaeval.runs.job import write_run

METRICS = ("overlap", "bm25", "support-mini")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    settings = {"metrics": METRICS, "pool": "bm25:5", "protocols": ("classification", "retrieval"), "controls": False}
    config = RunConfig(results=folder, store=folder / "store.sqlite", interval={"resamples": 5}, **settings)
    found = run(config)
    return config, found, write_run(config, found)[0].parent


def test_the_area_below_each_curve_is_the_tables_value(job, recorded):
    _, found, folder = job
    scored = read_judged_scores(folder)
    few = {name: curve[-1] for name, curve in roc_of(scored, {"support-mini": 0.5}).items()}
    of = {"scores": distributions_of(scored), "reliability": reliability_of(scored), "name": scored.name}
    curves = {
        name: [recorded.thinned(list(curve.x)), recorded.thinned(list(curve.y)), curve.point]
        for name, curve in few.items()
    }
    recorded.held("figures-of-scores", of | curves)
    table = next(result for result in found.results if result.protocol == "classification")
    curves = roc_of(read_judged_scores(folder), {})
    for name, key in (("full from none", "fs_ns"), ("full from partial", "fs_ps"), ("partial from none", "ps_ns")):
        areas = {curve.metric: np.trapezoid(curve.y, curve.x) for curve in curves[name]}
        assert areas == pytest.approx({row.metric: row.values[key].value for row in table.rows})


def test_the_mark_on_a_curve_is_the_metrics_threshold(job, recorded):
    config, _, folder = job
    found = read_judged_scores(folder)
    first, second = (score_figures(folder, config, looks_of(METRICS)) for _ in range(2))
    assert list(first) == [f"figure-{kind}-mini-all-chunk" for kind in ("roc", "scores", "reliability")]
    assert all(image(first[name], "svg") == image(second[name], "svg") for name in first), "the same bytes"
    drawn = {name: [recorded.drawn(figure)[:2], *figure.axes[0].get_xlim()] for name, figure in second.items()}
    recorded.held("figures-of-a-job", drawn)
    figure = second["figure-roc-mini-all-chunk"]
    marks = [
        tuple(float(at[0]) for at in line.get_data()) for line in figure.axes[0].lines if len(line.get_xdata()) == 1
    ]
    # The cards' thresholds of overlap (0.63) and support-mini are known, bm25 has none.
    rows = found.gold != 1
    share = [(found.scores["overlap"][rows & (found.gold == level)] >= 0.63).mean() for level in (0, 2)]
    assert len(marks) == 2
    assert marks[0] == pytest.approx(tuple(share), abs=0.01)


def test_the_bins_of_a_level_hold_its_rows(job):
    found = read_judged_scores(job[2])
    for metric, own in distributions_of(found).items():
        assert [one.level for one in own] == ["full", "partial", "none"]
        for one, level in zip(own, (2, 1, 0), strict=True):
            scores = found.scores[metric][found.gold == level]
            assert sum(one.shares) == pytest.approx(1)
            assert one.middle == np.median(scores)
            inside = (scores >= one.edges[0]) & (scores < one.edges[1])
            assert one.shares[0] == pytest.approx(inside.mean())


def test_reliability_is_scikit_learns_calibration_curve(job):
    found = read_judged_scores(job[2])
    bins = reliability_of(found)
    assert set(bins) == {"overlap", "support-mini"}, "bm25's scores are no shares"
    for metric, own in bins.items():
        for one, least in zip(own, (2, 1), strict=True):
            observed, stated = calibration_curve(found.gold >= least, found.scores[metric], n_bins=10)
            held = [place for place, rows in enumerate(one.rows) if rows]
            assert [one.observed[place] for place in held] == pytest.approx(observed)
            assert [one.stated[place] for place in held] == pytest.approx(stated)
            assert sum(one.rows) == found.gold.size


def test_ratings_have_thirds_and_no_curve(tmp_path):
    rows = [{"id": str(n), "group": "g", "system": "", "rating": n / 8, "scores": [n / 9, None]} for n in range(9)]
    head = {"schema": "metaeval-pairs/1", "columns": ["m", "none"], "controls": [], "job": {"data": "r/all@1"}}
    head["job"]["unit"] = "rating"
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, (head, *rows))) + "\n")
    drawn = score_figures(tmp_path, RunConfig(), looks_of(["m", "none"]))
    assert list(drawn) == ["figure-scores-r-all-rating", "figure-reliability-r-all-rating"]
    # Thirds of 0, 1/8 ... 1 end at 8/24 and 16/24 of the way.
    assert [one.level for one in distributions_of(read_judged_scores(tmp_path))["m"]] == [
        "ratings from 0.75 to 1",
        "ratings from 0.375 to 0.625",
        "ratings from 0 to 0.25",
    ]


def points(line):
    return [tuple(map(float, at)) for at in zip(*line.get_data(), strict=True)]


def test_medians_stand_above_the_steps_in_the_order_of_the_levels():
    edges, shares = (0.0, 0.5, 1.0), {"full": (0.2, 0.8), "partial": (0.5, 0.5), "none": (1.0, 0.0)}
    histograms = [Histogram(level, edges, share, 0.25 * n) for n, (level, share) in enumerate(shares.items())]
    (plot,) = score_distributions({"m": histograms}).axes
    assert [list(map(float, step.get_data().values)) for step in plot.patches] == [[20, 80], [50, 50], [100, 0]]
    # The highest step is 100 %: marks from 1.08 of it on, 0.12 apart, and room up to 1.45.
    assert [points(mark) for mark in plot.lines] == [
        [(0.0, pytest.approx(132))],
        [(0.25, pytest.approx(120))],
        [(0.5, pytest.approx(108))],
    ]
    assert plot.get_ylim() == (0, pytest.approx(145))
    # As wide as a column of a page; in a narrow panel at most five steps are marked.
    assert (plot.get_figure().get_figwidth(), list(plot.get_xticks()[1:-1])) == (3.4, [0, 0.25, 0.5, 0.75, 1])
    # The lowest level's mark is a ring.
    assert [mark.get_markerfacecolor() == "white" for mark in plot.lines] == [False, False, True]


def test_a_reliability_diagram_draws_each_outcome_over_the_diagonal_and_rows_below():
    bins = [Bins("full", (0.1, 0.0, 0.9), (0.2, 0.0, 0.7), (3, 0, 9)), Bins("any", (0.1, 0.9), (0.4, 1.0), (3, 9))]
    figure = reliability({"m": bins})
    (plot,) = figure.axes
    (below,) = plot.child_axes
    diagonal, *series = plot.lines
    assert points(diagonal) == [(0, 0), (1, 1)]
    assert [points(line) for line in series] == [[(0.1, 0.2), (0.9, 0.7)], [(0.1, 0.4), (0.9, 1.0)]]
    assert {(line.get_linewidth(), line.get_markersize()) for line in series} == {(1.2, 4.5)}
    assert diagonal.get_linewidth() == 0.9
    bars = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in below.patches]
    assert bars == [(pytest.approx(1 / 6), 3), (pytest.approx(3 / 6), 0), (pytest.approx(5 / 6), 9)]
    assert below.get_ylim() == (0, pytest.approx(9.45))
    assert "3 bins of equal width" in figure.get_supxlabel()
