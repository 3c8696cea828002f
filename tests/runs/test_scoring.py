"""Scoring with several metrics: names with arguments, shared passes, combinations after their members."""

from dataclasses import replace
from itertools import product

import pytest
from scipy.stats import zscore

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs.job import Command, changed, job_folder, lost_objects
from metaeval.runs.metrics import as_metrics, find_cutoff, judge_of, load_metric, load_metrics, read_thresholds
from metaeval.runs.score import score_metrics, worker_pool
from metaeval.scoring.score_store import ScoreStore

TEXTS = [
    ("The river rose two metres in a night.", "The river rose."),
    ("The river rose two metres in a night.", "The bakery opened."),
    ("A bakery opened beside the old mill.", "The bakery opened."),
    ("A bakery opened beside the old mill.", "The mill is old and closed."),
    ("The river rose two metres in a night.", "The river rose."),
]


def scored(names, **settings):
    return {name: result for name, _, result in score_metrics(TEXTS, names, RunConfig(**settings))}


def test_an_ensemble_is_the_mean_of_its_members_z_scores_over_unique_pairs():
    found = scored(["ensemble:overlap+rouge", "rouge"])
    assert set(found) == {"ensemble:overlap+rouge", "rouge"}
    parts = scored(["overlap", "rouge"])
    unique = [[answer.score for answer in parts[name].answers[:4]] for name in ("overlap", "rouge")]
    expected = (zscore(unique[0]) + zscore(unique[1])) / 2
    answers = [answer.score for answer in found["ensemble:overlap+rouge"].answers]
    assert answers == pytest.approx([*expected, expected[0]], abs=1e-12)


def test_members_are_stored_once_and_served_to_both(tmp_path):
    config = RunConfig()
    with ScoreStore(tmp_path / "s.sqlite") as store:
        list(score_metrics(TEXTS, ["ensemble:overlap+rouge"], config, store))
        again = {name: result for name, _, result in score_metrics(TEXTS, ["overlap", "rouge"], config, store)}
    assert [result.computed for result in again.values()] == [0, 0]


def test_a_metric_that_disagrees_by_direction_is_turned_round(monkeypatch):
    from metrics_zoo.rouge import Rouge

    card = Rouge.card
    straight = scored(["ensemble:overlap+rouge"])["ensemble:overlap+rouge"].answers
    monkeypatch.setattr(Rouge, "card", replace(card, direction=-1))
    turned = scored(["ensemble:overlap+rouge"])["ensemble:overlap+rouge"].answers
    parts = scored(["overlap", "rouge"])
    overlap, rouge = ([answer.score for answer in parts[name].answers[:4]] for name in ("overlap", "rouge"))
    assert [answer.score for answer in turned[:4]] == pytest.approx(((zscore(overlap) - zscore(rouge)) / 2).tolist())
    assert turned != straight


def tried(call, *arguments):
    try:
        return call(*arguments)
    except UserError:
        return "refused"


def test_metrics_are_loaded_grouped_and_cut_off_as_they_were(recorded, tmp_path):
    pytest.importorskip("openai", reason="needs the extra 'llm'")
    options = {"ensemble": {"scale": "rank"}, "ensemble:overlap+bm25": {"scale": "z"}, "rouge": {"variant": "rouge1"}}
    config = RunConfig(metric_options={**options, "overlap": {"content_only": False}}, budget=3, batch=tmp_path / "b")
    names = "overlap rouge rouge-1 overlap-all-words bm25 overlap:x overlapp llm-discrete nli:a/b json:loads ensemble"
    names = [*names.split(), "ensemble:overlap+rouge", "ensemble:overlap+bm25", "ensemble:overlap", "os:path:x"]
    names += ["ensemble:overlap+overlpa", "ensemble:overlap+ensemble", "llm-continuous", "support-mini", ""]
    found = {}
    for name, given in product(names, (config, None)):
        told = metric = tried(load_metric, name, given)
        if metric != "refused":
            options = {**changed(metric.options), "batch": None}
            told = [metric.card.name, metric.origin, metric.kept, options]
        found[f"{name} {given is None}"] = told
    several = ["ensemble:overlap+rouge", "rouge", "llm-discrete", "rouge", "ensemble:overlap+bm25", "support-mini"]
    metrics, bare = load_metrics(several, config), load_metrics(["rouge"], config)
    loaded = {"names": metrics.names, "by name": [*metrics.by_name], "combinations": [*metrics.combinations]}
    loaded |= {"single": metrics.single, "only": metrics.only(["rouge"]).single}
    loaded["groups"] = metrics.only(several[:2]).groups()
    loaded["asking"] = [tried(each.check_asking, "-o") for each in (metrics, bare)]
    judges = [tried(judge_of, name, metrics) for name in [*several[:2], "x", "bm25"]]
    loaded["judges"] = [judge if isinstance(judge, str) else judge.card.name for judge in judges]
    paths = ["a.jsonl", "a.parquet", "b.csv", "m:a.csv", "overlap", "scores:a.csv"]
    texts = [None, "", "0.5", "soft", "overlap=1, rouge=soft", "a:b=-2", "x=1", "nan", "inf", "overlap=", "x", "1,2"]
    thresholds = [tried(read_thresholds, text, ["overlap", "rouge", "a:b"]) for text in texts]
    kinds = [("overlap", {}), ("nli:x", {}), ("support-mini", {}), ("support-mini", {"score": "some"}), ("rouge", {})]
    cutoffs = []
    for (name, given), known in product(kinds, ({}, {"overlap": None, "rouge": 0.5})):
        metric = load_metric(name, RunConfig(metric_options={name: given}))
        cutoffs.append(tried(find_cutoff, name, metric, known))
    lists = {"paths": as_metrics(paths), "thresholds": thresholds, "cutoffs": cutoffs}
    recorded.held("runs-metrics", {**found, **loaded, **lists})


def test_workers_are_as_many_as_the_devices_that_are_named(monkeypatch):
    monkeypatch.setattr("metaeval.runs.score.devices_of", list)
    pools = [tried(worker_pool(RunConfig(executor={"workers": n, "devices": "0,1"})).__enter__) for n in (0, 1, 2)]
    assert [pool == "refused" for pool in pools] == [False, True, False]


def test_the_name_of_a_job_holds_what_its_files_depend_on_and_nothing_else(tmp_path):
    for name, text in {"a": "1", "b": "2", "c": "1"}.items():
        (tmp_path / name).write_text(text)

    def named(parts=("d", "x/y"), signatures=("s", "t"), options=None, *settings):
        return job_folder(tmp_path, parts, signatures, Command("run", options or {}), *settings).name

    scored = [RunConfig(metrics=(f"scores:{tmp_path / name}",)) for name in "abc"]
    alike = [named(), named(signatures=("t", "s", "s")), named(options={"output": "x", "json": True, "model": "m"})]
    alike += [named(("d", "x/y"), ("s", "t"), None, RunConfig(results=tmp_path, store=tmp_path / "s", budget=1))]
    assert len({*alike}) == 1
    of_files = [named(("d", "x/y"), ("s", "t"), None, config) for config in scored]
    of_options = [named(options={"file": tmp_path / name}) for name in "abc"]
    for first, other, same in (of_files, of_options):
        assert (first == same, first == other) == (True, False)
    others = [named(("d",)), named(signatures=("s",)), named(options={"k": 1}), named(options={"k": [1, {"x": 2}]})]
    others += [named(("d", "x/y"), ("s", "t"), None, RunConfig(interval={"seed": seed})) for seed in (0, 1, 2)]
    assert len({*others, *alike, *of_files, *of_options}) == 7 + 2 + 2
    assert changed(RunConfig(interval={"seed": 1}, unit="page")) == {"interval": {"seed": 1}, "unit": "page"}
    lost = [{}, {"objects": []}, {"objects": "a"}, {"objects": ["m:f"]}, {"objects": ["f", "g"], "command": "cite x"}]
    said = [lost_objects(each) for each in lost]
    assert said[:3] == [""] * 3
    assert ("metric 'm:f' is an object" in said[3], said[3].endswith("run again with -m FILE:f")) == (True, True)
    assert said[4].endswith("run again with --nli FILE:f,FILE:g")
