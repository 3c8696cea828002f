"""A dry run tells what is left to do, and does none of it."""

import json
from dataclasses import replace

import pytest

import metaeval
from metaeval.analyses.run import _plan_lines
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.parsing import read_object
from metaeval.runs.dry_run import Planned, duration, expected_time, plan
from metaeval.runs.loaded_metrics import load_metric
from metaeval.scoring import scoring_speed
from metaeval.scoring.executors.contract import BlockTask, Context, ScoredBlock
from metaeval.scoring.scoring_speed import ScoringPace


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


def test_a_checkpoint_that_is_not_here_is_not_fetched(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="needs the extra 'models'")
    pytest.importorskip("torch", reason="needs the extra 'models'")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (part,) = plan(RunConfig(metrics=("factcc",), results=tmp_path))
    assert part.stored is None
    assert "438 MB" in str(part.state)


def test_what_the_run_would_refuse_is_refused(tmp_path):
    with pytest.raises(UserError, match="Unknown metric 'overlpa'"):
        list(plan(RunConfig(metrics=("overlpa",), results=tmp_path)))
    with pytest.raises(UserError, match="Unknown protocol"):
        list(plan(RunConfig(protocols=("corelation",), results=tmp_path)))


def test_the_budget_reaches_the_metrics_that_cost_money_and_no_others():
    pytest.importorskip("aiohttp", reason="needs the extra 'llm'")
    config = RunConfig(budget=2.5, metric_options={"llm-discrete": {"price_in": 1, "price_out": 2}})
    assert load_metric("llm-discrete", config).options.budget == 2.5
    assert "budget" not in type(load_metric("overlap", config).options).model_fields
    own = RunConfig(budget=2.5, metric_options={"llm-discrete": {"budget": 1.0}})
    assert load_metric("llm-discrete", own).options.budget == 1.0


@pytest.mark.parametrize(
    ("executor", "devices", "said"),
    [
        # 12,000 tokens at 600 in 3 s, 200 a second, are 60 s.
        ({}, 0, "about 60 s: 200 tokens a second, measured here in 3.0 s (cpu: X)"),
        (
            {"workers": 4},
            0,
            "about 60 s: 200 tokens a second, measured here in 3.0 s (cpu: X); the workers share this machine's cores",
        ),
        ({"devices": "0,1"}, 2, "about 30 s, if each of 2 workers is as fast as what was measured: 200"),
        ({"name": "ray", "workers": "8:64"}, 0, "about 12 s, if each of 5 workers is as fast as"),  # in five blocks
        ({"name": "ray"}, 0, "about 60 s, if one worker is as fast as"),
    ],
)
def test_a_time_says_what_it_rests_on_and_takes_for_granted(executor, devices, said):
    config = RunConfig(executor=executor).executor
    assert expected_time(ScoringPace(600, 3.0, "cpu: X"), 12_000, 5, config, devices).startswith(said)


def test_times_are_in_words():
    seconds = (0.2, 59, 89, 90, 600, 5400, 86_400, 130_000, 1_000_000)
    words = ["0.2 s", "59 s", "89 s", "1.5 min", "10 min", "1.5 h", "24 h", "1.5 days", "12 days"]
    assert [duration(one) for one in seconds] == words


def test_the_time_of_a_job_is_known_where_some_of_its_metric_was_scored(tmp_path, monkeypatch):
    def times(**settings):
        return [part.time for part in plan(RunConfig(metrics=("overlap",), results=tmp_path / "new", **settings))]

    assert times() == [""]
    assert times(executor={"workers": 2}) == [
        "not known here: score some pairs first, as 'metaeval score -m overlap' does with the shipped corpus"
    ]
    metaeval.run(metrics=("overlap",), protocols=("correlation",), interval={"resamples": 0}, results=tmp_path / "r")
    (kept,) = read_object(tmp_path / "cache" / "paces.json").values()
    (part,) = plan(RunConfig(metrics=("overlap",), results=tmp_path / "new"))
    assert kept["tokens"] < part.tokens  # the first block is not counted
    rate = f"{kept['tokens'] / kept['seconds']:,.0f} tokens a second"
    assert part.time.startswith(f"about {duration(part.tokens * kept['seconds'] / kept['tokens'])}: {rate}")
    other = RunConfig(
        metrics=("overlap",), results=tmp_path / "new", metric_options={"overlap": {"content_only": False}}
    )
    assert [one.time for one in plan(other)] == [""]  # another metric
    paces = tmp_path / "cache" / "paces.json"
    for broken in ({"tokens": 0, "seconds": 1.0}, {"tokens": 5, "seconds": 0.0}, {"tokens": 5}, [5], None):
        paces.write_text(json.dumps(dict.fromkeys(read_object(paces), broken)))
        assert [one.time for one in plan(RunConfig(metrics=("overlap",), results=tmp_path / "new"))] == [""]
    monkeypatch.setattr(scoring_speed, "device_of", lambda _: "cpu: another")
    assert times() == [""]


def test_what_is_measured_behind_the_first_blocks_is_kept_unless_it_rests_on_less(monkeypatch):
    clock = iter(range(0, 10_000, 100))
    metric = load_metric("overlap", None)
    tasks = [BlockTask(number, (), [("s" * 30, "t" * 10)] * 4, (0,)) for number in range(5)]  # 40 tokens each

    def measured(step, workers=1, devices=1, count=5):
        monkeypatch.setattr(scoring_speed.time, "monotonic", lambda: next(clock) * step / 100)
        execute = scoring_speed.storing_speed(
            lambda _, given: (ScoredBlock(task, ()) for task in given), [metric], workers, devices
        )
        assert len(list(execute(Context((), ()), tasks[:count]))) == count
        found = scoring_speed.known_pace(metric)
        return found and found[:2]

    assert measured(1, count=1) is None
    assert measured(2) == (160, 8.0)  # four blocks behind the first, two seconds each
    assert measured(1) == (160, 8.0)
    assert measured(5, workers=2, devices=2) == (120, 30.0)  # of two devices: as many seconds of one
    assert measured(4) == (160, 16.0)  # ten seconds are enough


def test_the_pace_of_a_pass_is_that_of_the_metrics_it_scored(monkeypatch):
    clock = iter(range(10))
    monkeypatch.setattr(scoring_speed.time, "monotonic", lambda: next(clock))
    metrics = [load_metric(name, None) for name in ("rouge", "overlap")]
    tasks = [BlockTask(number, (), [("s" * 30, "t" * 10)] * 4, (1,)) for number in range(3)]
    list(
        scoring_speed.storing_speed(lambda _, given: (ScoredBlock(task, ()) for task in given), metrics)(
            Context((), ()), tasks
        )
    )
    rouge, overlap = map(scoring_speed.known_pace, metrics)
    assert rouge is None
    assert overlap[:2] == (2 * 40, 2.0)


@pytest.mark.parametrize(
    ("changed", "workers", "lines"),
    [
        ({}, 0, ["m: 1,000 pairs, 400 stored, 600 to score (ready)", "  time: about 2 s"]),
        ({"time": ""}, 0, ["m: 1,000 pairs, 400 stored, 600 to score (ready)"]),
        (
            {"time": ""},
            2,
            [
                "m: 1,000 pairs, 400 stored, 600 to score (ready)",
                "  3 blocks (the most workers that have work), about 5,000 tokens",
            ],
        ),
        ({"time": "", "blocks": 0, "stored": 1000}, 2, ["m: 1,000 pairs, 1,000 stored, 0 to score (ready)"]),
        (
            {"time": "", "stored": None, "estimate": "9 requests"},
            2,
            ["m: 1,000 pairs, stored: not known before the download, 1,000 to score (ready)", "  9 requests"],
        ),
    ],
)
def test_the_lines_of_a_plan(changed, workers, lines):
    planned = replace(Planned("m", "ready", 1000, 400, "", 3, 5000, "about 2 s"), **changed)
    assert _plan_lines(planned, RunConfig(executor={"workers": workers})) == lines
