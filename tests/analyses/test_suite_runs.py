"""A suite: what its file says, that a data set's results are those of a run of its own, and what is left out."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from metaeval.analyses.suites.suite_runs import (
    lacks_data,
    omission_lines,
    recorded_omissions,
    recorded_result_files,
    run_able,
    run_suite,
    write_record,
)
from metaeval.core.config import load_run
from metaeval.runs.data import find_dataset
from metaeval.runs.evaluate import find_protocols, run
from metaeval.runs.job import Command, run_folder, write_run
from metaeval.runs.metrics import load_metric
from tests.analyses.suites import read_suite

QUICK = ("interval.resamples=5", "comparison.permutations=5")


@pytest.fixture
def suite_file(tmp_path, monkeypatch):
    """Write a suite's YAML, in an empty folder with an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))

    def write(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("text", "datasets", "name", "runs"),
    [
        (None, (), "mini", ["mini chunk"]),
        (None, ("wice", "qasem"), "wice+qasem", ["wice chunk", "qasem chunk"]),
        ("dataset: wice\n", (), "mine", ["wice chunk"]),
        # Data sets asked for keep the settings that the file gives them.
        ("datasets: [wice, {dataset: qasem, unit: page}]\n", ("qasem", "mini"), "mine", ["qasem page", "mini chunk"]),
    ],
)
def test_a_suite_is_named_after_its_file_or_its_data_sets(suite_file, text, datasets, name, runs):
    suite = read_suite(text and suite_file(text), {}, datasets=datasets)

    assert (suite.name, [f"{run.dataset} {run.unit}" for run in suite.runs]) == (name, runs)


@pytest.mark.parametrize("name", ["base-paper", "offline"])
def test_the_shipped_suites_name_things_that_exist(name):
    for run_ in read_suite(Path(name), {}).runs:
        dataset, split, options = find_dataset(run_.dataset)
        assert (run_.split or split or dataset.default_split) in {"all", *dataset.files}
        assert options.keys() <= dataset.options.keys()
        assert len([load_metric(metric, run_) for metric in run_.metrics]) in (6, 9)
        assert [protocol.name for protocol, _ in find_protocols(run_)] == ["correlation", "classification", "retrieval"]


def test_the_base_papers_metrics_stand_in_its_order():
    # Table 2 of arXiv 2406.15264: GPT-3.5-CON, GPT-3.5-DIS, FactCC, SummaC-ZS, SummaC-Conv, AlignScore, AutoAIS,
    # BERTScore, BARTScore.
    (run_,) = read_suite(Path("base-paper"), {}).runs
    models = ("factcc", "summac-zs", "summac-conv", "alignscore", "autoais", "bertscore", "bartscore")
    assert run_.metrics == ("llm-continuous", "llm-discrete", *models)
    assert (run_.dataset, run_.unit) == ("gensearch", "chunk")


FAILING = """
from metaeval import Metric, MetricCard, PairScore


class Failing(Metric):
    card = MetricCard(name="failing", family="test", summary="stops", paper="none", licence="none")

    def score(self, sources, statements):
        raise RuntimeError("out of order")
"""


def test_metrics_that_cannot_run_are_left_out_with_their_reasons(suite_file, tmp_path, monkeypatch, recorded):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("failing_here.py").write_text(FAILING, encoding="utf-8")
    able = ["overlap", "ensemble:overlap+rouge"]
    Path("theirs.jsonl").write_text('{"pair_id": "elsewhere", "score": 1.0}\n')
    files = ("scores:nowhere.jsonl", "scores:theirs.jsonl")
    names = ("llm-discrete", "nobody", "failing_here:Failing", *files, "factcc")
    names = (*able, *names, "ensemble:overlap+llm-discrete")  # which goes with its member
    options = {"factcc": {"model": "no/such/folder"}, "overlap": {"content_only": False}}
    config = load_run(None, {"metrics": names, "metric_options": options, "protocols": "correlation"}, QUICK)

    found, left_out = run_able(config)
    (result,) = found.results

    assert [row.metric for row in result.rows if row.kind == "metric"] == able
    assert "content_only=False" in result.rows[0].signature
    lines = [line.split(": ")[:2] for line in omission_lines([*left_out, replace(left_out[0], dataset="other")])]
    recorded.held("analyses-left-out", {"lines": lines, "none": [omission_lines([]), lacks_data(left_out)]})
    reasons = {one.metric: one.reason for one in left_out}
    assert set(reasons) == set(names) - set(able)
    assert "OPENAI_API_KEY" in reasons["llm-discrete"]
    assert "Unknown metric 'nobody'" in reasons["nobody"]
    assert "RuntimeError: out of order" in reasons["failing_here:Failing"]
    assert "nowhere.jsonl" in reasons["scores:nowhere.jsonl"]
    assert "'elsewhere'" in reasons["scores:theirs.jsonl"]
    assert "no/such/folder" in reasons["factcc"]


def test_the_record_says_what_was_run_and_left_out(suite_file, tmp_path, monkeypatch):
    file = suite_file("datasets: [mini]\nmetrics: [overlap, nobody]\nprotocols: [correlation, retrieval]\n")
    suite = read_suite(file, {}, QUICK)
    (part,) = run_suite(suite)
    written = [path for path in write_run(part.config, part.evaluated) if path.suffix == ".json"]

    path = write_record(suite, suite.folder(part.results, Command("run --suite")), [part])

    assert re.fullmatch(r"results/mine-[0-9a-f]{8}/suite.json", path.as_posix())
    assert recorded_result_files(path.parent) == part.files == written
    path = path.resolve()
    monkeypatch.chdir("/")
    assert [file.is_file() for file in recorded_result_files(path.parent)] == [True] * len(written)  # from every folder
    assert recorded_omissions(path.parent) == part.left_out
    assert [(one.dataset, one.metric) for one in part.left_out] == [("mini", "nobody")]
    for broken in ("{", "[]", "{}"):
        path.write_text(broken, encoding="utf-8")
        assert (recorded_result_files(path.parent), recorded_omissions(path.parent)) == ([], [])


def test_a_part_is_the_run_of_the_metrics_that_are_left(suite_file):
    (part,) = run_suite(read_suite(suite_file("datasets: [mini]\nmetrics: [overlap, nobody]\n"), {}, QUICK))

    assert part.config.metrics == ("overlap",)
    alone = load_run(None, {"metrics": "overlap"}, QUICK)
    assert part.results == run(alone).results
    assert run_folder(part.config, part.results) == run_folder(alone, part.results)


def test_what_is_typed_counts_in_place_of_a_data_sets_own(suite_file):
    file = suite_file(
        "datasets: [{dataset: mini, chunk: {size: 60}, evidence: {threshold: 0.3}, options: {a: 1}}, wice]\n"
        "chunk: {mode: words}\n"
    )
    overrides = ["chunk.size=70", "evidence.window=1", "dataset_options.b=2"]

    one, other = read_suite(file, {"results": "there"}, overrides).runs

    assert (one.chunk.size, one.chunk.mode, one.evidence.threshold) == (70, "sentences", 0.3)
    assert (one.evidence.window, one.dataset_options) == (1, {"a": "1", "b": "2"})
    assert (one.dataset, other.dataset, one.results) == ("mini", "wice", Path("there"))
    assert (other.chunk.size, other.chunk.mode, other.evidence.threshold) == (70, "words", 0.5)
    assert (other.evidence.window, other.dataset_options) == (1, {"b": "2"})
