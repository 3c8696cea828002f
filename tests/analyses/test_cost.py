"""What a score costs: one sample for all metrics, the clock around the scoring alone, money from prices."""

import csv
import itertools

import pytest

from metaeval.analyses.suites.cost import Cost, measure, sample, write_costs
from metaeval.config import load_run

TEXTS = [(f"source {number}", f"statement {number}") for number in range(500)]


def test_the_sample_is_the_same_in_every_order_and_holds_each_pair_once():
    drawn = sample([*TEXTS, *TEXTS[:50]], seed=3)

    assert len(drawn) == len(set(drawn)) == 200
    assert drawn == sample(TEXTS[::-1], seed=3)
    assert drawn != sample(TEXTS, seed=4)
    assert sample(TEXTS[:7][::-1], seed=3) == TEXTS[:7]


def test_speed_is_pairs_over_the_clocks_seconds(tmp_path):
    # The clock ticks once a reading, by 4 s: each metric reads it twice, before and after 200 pairs: 50 pairs/s.
    readings = itertools.count(start=100, step=4)
    config = load_run(None, {"metrics": "overlap,rouge,scores:mine.jsonl,ensemble:overlap+rouge", "results": tmp_path})

    found = {cost.metric: cost for cost in measure(config, clock=lambda: float(next(readings)))}

    assert set(found) == {"overlap", "rouge", "ensemble:overlap+rouge"}
    assert [
        (found[name].pairs, found[name].seconds, found[name].pairs_per_second) for name in ("overlap", "rouge")
    ] == [(200, 4.0, 50.0)] * 2
    assert found["ensemble:overlap+rouge"].pairs_per_second is None
    assert not (tmp_path / "scores.sqlite").exists()


def test_a_judge_is_never_asked_and_costs_what_its_prices_say(tmp_path, monkeypatch):
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    prices = {"price_in": 0.0, "price_out": 2.0, "max_tokens": 500, "samples": 3}
    config = load_run(None, {"metrics": "llm-discrete", "metric_options": {"llm-discrete": prices}})

    (cost,) = measure(config)

    # At most 500 tokens out, at 2 USD a million, for each of 3 replies: 0.003 USD a pair.
    assert (cost.pairs, cost.seconds) == (200, None)
    assert cost.usd_per_1000 == pytest.approx(3.0, abs=1e-9)
    (unknown,) = measure(load_run(None, {"metrics": "llm-discrete"}))
    assert unknown.usd_per_1000 is None
    assert "price_in" in unknown.note


def test_what_is_not_known_is_empty_in_the_file(tmp_path):
    costs = [Cost("a", 200, 4.0, None), Cost("b", 200, None, 3.0), Cost("c", 0, 0.0, None, "nothing")]

    rows = list(csv.reader(write_costs(costs, tmp_path / "cost.csv").read_text(encoding="utf-8").splitlines()))

    assert rows[1:] == [
        ["a", "200", "4", "50", "", ""],
        ["b", "200", "", "", "3", ""],
        ["c", "0", "0", "", "", "nothing"],
    ]
