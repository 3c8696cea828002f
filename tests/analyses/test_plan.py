"""A dry run tells what is left to do, and does none of it."""

from dataclasses import replace

import pytest

import metaeval
from metaeval.analyses.readiness import Planned, plan
from metaeval.analyses.run import _plan_lines
from metaeval.core.config import RunConfig
from metaeval.runs.metrics import load_metric


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))


def test_it_counts_what_is_stored_and_scores_nothing(tmp_path):
    settings = {"results": tmp_path / "r", "interval": {"resamples": 0}}
    config = RunConfig(metrics=("overlap", "rouge"), **settings)
    before = {part.name: (part.pairs, part.stored, str(part.state), part.estimate) for part in plan(config)}
    assert before == {"overlap": (1054, 0, "ready", ""), "rouge": (1054, 0, "ready", "")}
    metaeval.run(metrics=("rouge",), protocols=("correlation",), **settings)
    after = {part.name: (part.stored, part.blocks > 1, part.tokens > 100_000) for part in plan(config)}
    assert after == {"overlap": (0, True, True), "rouge": (1054, False, False)}


def test_an_ensemble_is_planned_through_its_members(tmp_path):
    config = RunConfig(metrics=("ensemble:overlap+bm25", "overlap"), results=tmp_path)
    assert [part.name for part in plan(config)] == ["overlap", "bm25"]


def test_the_budget_reaches_the_metrics_that_cost_money_and_no_others():
    pytest.importorskip("openai", reason="needs the extra 'llm'")
    config = RunConfig(budget=2.5, metric_options={"llm-discrete": {"price_in": 1, "price_out": 2}})
    assert load_metric("llm-discrete", config).options.budget == 2.5
    assert "budget" not in type(load_metric("overlap", config).options).model_fields
    own = RunConfig(budget=2.5, metric_options={"llm-discrete": {"budget": 1.0}})
    assert load_metric("llm-discrete", own).options.budget == 1.0


LINE = "m: 1,000 pairs, 400 stored, 600 to score (ready)"
UNKNOWN = "m: 1,000 pairs, stored: not known before the download, 1,000 to score (ready)"


@pytest.mark.parametrize(
    ("changed", "workers", "lines"),
    [
        ({}, 0, [LINE]),
        ({}, 2, [LINE, "  3 blocks (the most workers that have work), about 5,000 tokens"]),
        ({"blocks": 0, "stored": 1000}, 2, ["m: 1,000 pairs, 1,000 stored, 0 to score (ready)"]),
        ({"stored": None, "estimate": "9 requests"}, 2, [UNKNOWN, "  9 requests"]),
    ],
)
def test_the_lines_of_a_plan(changed, workers, lines):
    planned = replace(Planned("m", "ready", 1000, 400, "", 3, 5000), **changed)
    assert _plan_lines(planned, RunConfig(executor={"workers": workers})) == lines
