"""Figures of a job's scores: what is drawn is what the table, scikit-learn and numpy say of the same pair file."""

import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

pytest.importorskip("matplotlib")

from metaeval.analyses.suites.job_figures import (
    JudgedScores,
    distributions_of,
    read_judged_scores,
    reliability_of,
    roc_of,
    score_figures,
)
from metaeval.core.config import RunConfig
from metaeval.report.figures.drawing import image, looks_of
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
    drawn = roc_of(scored, {"support-mini": 0.5})
    of = {"scores": distributions_of(scored), "reliability": reliability_of(scored), "name": scored.name}
    curves = {
        name: [recorded.thinned(list(curve.x)), recorded.thinned(list(curve.y)), curve.point]
        for name, (*_, curve) in drawn.items()
    }
    recorded.held("figures-of-scores", of | curves)
    table = next(result for result in found.results if result.protocol == "classification")
    for name, key in (("full from none", "fs_ns"), ("full from partial", "fs_ps"), ("partial from none", "ps_ns")):
        areas = {curve.metric: np.trapezoid(curve.y, curve.x) for curve in drawn[name]}
        assert areas == pytest.approx({row.metric: row.values[key].value for row in table.rows})


def test_the_mark_on_a_curve_is_the_metrics_threshold(job, recorded):
    config, _, folder = job
    found = read_judged_scores(folder)
    first, second = (score_figures(folder, config, looks_of(METRICS)) for _ in range(2))
    assert list(first) == [f"figure-{kind}-mini-all-chunk" for kind in ("roc", "scores", "reliability")]
    assert all(image(first[name], "svg") == image(second[name], "svg") for name in first), "the same bytes"
    drawn = {name: [recorded.drawn(figure)[:2], *figure.axes[0].get_xlim()] for name, figure in second.items()}
    recorded.held("figures-of-a-job", drawn)
    lines = [line.get_data() for line in second["figure-roc-mini-all-chunk"].axes[0].lines]
    marks = [(float(x[0]), float(y[0])) for x, y in lines if len(x) == 1]
    # The cards' thresholds of overlap (0.63) and support-mini are known, bm25 has none.
    rows = found.gold != 1
    share = [(found.scores["overlap"][rows & (found.gold == level)] >= 0.63).mean() for level in (0, 2)]
    assert len(marks) == 2
    assert marks[0] == pytest.approx(tuple(share), abs=0.01)


def test_reliability_is_scikit_learns_calibration_curve(job):
    found = read_judged_scores(job[2])
    bins = reliability_of(found)
    assert set(bins) == {"overlap", "support-mini"}, "bm25's scores are no shares"
    for rated, gold, score in [(True, (0, 2), (0, 0)), (False, (2, 2), (0, 1.5))]:
        assert reliability_of(JudgedScores("few", rated, np.array(gold), {"m": np.array(score)})) == {}
    assert not any(roc_of(JudgedScores("few", False, np.array([2, 2]), {"m": np.array([0, 1.5])}), {}).values())
    for metric, own in bins.items():
        for one, least in zip(own, (2, 1), strict=True):
            observed, stated = calibration_curve(found.gold >= least, found.scores[metric], n_bins=10)
            held = [place for place, rows in enumerate(one.rows) if rows]
            assert [one.observed[place] for place in held] == pytest.approx(observed)
            assert [one.stated[place] for place in held] == pytest.approx(stated)
            assert sum(one.rows) == found.gold.size


def test_ratings_have_thirds_and_no_curve(tmp_path):
    rows = [{"id": str(n), "group": "g", "system": "", "rating": n / 10, "scores": [None, n / 10]} for n in range(11)]
    rows += [rows[8] | {"rating": None}, rows[8] | {"rating": 9, "cited": False}]
    head = {"schema": "metaeval-pairs/1", "columns": ["none", "m"], "controls": [], "job": {"data": "r/all@1"}}
    head["job"]["unit"] = "rating"
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, (head, *rows))) + "\n")
    drawn = score_figures(tmp_path, RunConfig(), looks_of(["none", "m"]))
    assert list(drawn) == ["figure-scores-r-all-rating", "figure-reliability-r-all-rating"]
    # Thirds of 0, 1/10 ... 1 end at 1/3 and 2/3.
    levels = [one.level for one in distributions_of(read_judged_scores(tmp_path))["m"]]
    assert levels == ["ratings from 0.7 to 1", "ratings from 0.4 to 0.6", "ratings from 0 to 0.3"]
