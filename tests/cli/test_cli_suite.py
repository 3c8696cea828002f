"""run --suite, results figures and multiverse as typed."""

import json
from pathlib import Path

import pytest

from tests.cli.samples import csv_rows

pytestmark = pytest.mark.usefixtures("scored")
QUICK = ("--set", "interval.resamples=5", "--set", "comparison.permutations=5", "--set", "controls=false")
PICTURES = {".png", ".pdf", ".svg"}


def test_tables_without_anything_are_of_the_shipped_corpus(ran):
    ended = ran("run", "--suite", "-m", "overlap,rouge", *QUICK)
    names = {path.name for path in Path("results/latest").iterdir()}
    assert {"suite.json", "table-1-levels.json", "table-2-correlation.json", "table-3-classification.json"} <= names
    assert f"results export {Path('results/latest').resolve().name.rpartition('-')[2]}" in ended.out
    ran("results", "export")
    names = {path.name for path in Path("results/latest").iterdir()}
    assert {"table-1-levels.csv", "table-2-correlation.tex", "table-3-classification.md"} <= names
    assert {path.stem for path in Path("results").glob("mini-all-chunk-*/*.json")} >= {"correlation", "retrieval"}
    assert "Spearman" in ended.out


def test_with_nothing_left_it_ends_with_2(cli, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    ended = cli("run", "--suite", "-m", "llm-discrete", "-d", "mini,wice", "--data", ".", *QUICK)

    assert (ended.code, ended.out) == (2, "")
    (said,) = ended.err.splitlines()
    assert said.startswith("metaeval: Nothing could be run. ")
    assert " llm-discrete on mini: " in said
    assert " data set wice: " in said


def test_figures_of_a_job_that_is_done_run_nothing_and_leave_it_the_latest(cli, ran):
    ran("run", "-m", "overlap,rouge", "-q", *QUICK)
    Path("results/scores.sqlite").write_bytes(b"not a store any more")

    first, second = cli("results", "figures", "latest"), cli("results", "figures")

    assert (first.code, second.code) == (0, 0)
    drawn = {path.stem for path in Path("results/figures").glob("mini-*/*.svg")}
    kinds = ("forest-classification", "3-ndcg", "roc", "scores", "reliability")
    assert drawn == {"figure-forest", *(f"figure-{kind}-mini-all-chunk" for kind in kinds)}


def test_a_sentence_is_drawn_with_its_claims(refused, ran, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setattr("metaeval.report.figures.drawing.FORMATS", [one.strip(".") for one in PICTURES])  # all of them
    ended = ran("results", "figures", "--sentence", "Cups can be made of glass[1] or plastic[2][3].")
    assert "claim 2 [2][3]: Cups can be made of plastic\n" in ended.out
    assert {path.suffix for path in Path("results/figures").glob("sentence-*/tree.*")} == PICTURES
    assert "has no citation such as [1]" in refused("results", "figures", "--sentence", "Cups are made of glass.")


def test_without_a_data_set_the_others_are_written_and_the_exit_code_is_1(cli):
    Path("both.yaml").write_text("datasets: [mini, {dataset: wice, data: elsewhere}]\nmetrics: [overlap]\n")

    ended, drawn = cli("run", "--suite", "-c", "both.yaml", "-p", "retrieval", *QUICK), cli("results", "figures")

    assert (ended.code, drawn.code) == (1, 1)
    assert "Left out: data set wice: " in ended.err
    assert "Left out: data set wice: " in drawn.err
    (one,) = json.loads(Path("results/latest/suite.json").read_text(encoding="utf-8"))["left_out"]
    assert (one["dataset"], one["metric"], "test.jsonl" in one["reason"]) == ("wice", "", True)
    assert list(Path("results/latest").glob("*retrieval*"))
    assert list(Path("results/figures").glob("both-*/figure-*"))


def test_a_protocol_that_tells_nothing_on_a_data_set_is_in_no_table_and_no_figure(cli, ran, write_corpus):
    write_corpus()
    Path("both.yaml").write_text("datasets: [mini, {dataset: jsonl, data: small.jsonl}]\nmetrics: [overlap]\n")

    ended = cli("run", "--suite", "-c", "both.yaml", "-p", "correlation,retrieval", *QUICK)
    drawn = cli("results", "figures")

    assert (ended.code, drawn.code) == (0, 0)
    for said in (ended.err, drawn.err):
        assert "Left out: retrieval on jsonl: the candidates of each statement are of one level" in said
    figures = {path.name for path in Path("results/figures").glob("both-*/figure-3-ndcg-*.svg")}
    assert figures == {"figure-3-ndcg-mini-all-chunk.svg"}
    (told,) = json.loads(Path("results/latest/suite.json").read_text(encoding="utf-8"))["left_out"]
    assert (told["dataset"], told["metric"], told["protocol"]) == ("jsonl", "", "retrieval")
    ran("results", "export", "--format", "csv")
    assert {row["dataset"] for row in csv_rows(Path("results/latest/table-retrieval.csv"))} == {"mini"}


def test_each_data_set_is_written_as_soon_as_it_is_there(cli, monkeypatch):
    from metaeval.analyses.suites import suite_runs

    run_able = suite_runs.run_able

    def stop_at_the_second(config, progress):
        if config.chunk.size == 60:
            raise KeyboardInterrupt
        return run_able(config, progress)

    monkeypatch.setattr(suite_runs, "run_able", stop_at_the_second)
    Path("two.yaml").write_text("datasets: [mini, {dataset: mini, chunk: {size: 60}}]\nmetrics: [overlap]\n")

    assert cli("run", "--suite", "-c", "two.yaml", "-p", "correlation", *QUICK).code == 130
    assert len(list(Path("results").glob("mini-*/correlation.json"))) == 1


def test_the_multiverse_writes_its_report_beside_every_outlook(ran):
    axes = ("-a", "chunk.size=60,150", "--axes", "unit=chunk", "-a", "pool=own", "-a", "evidence.rule=complete")

    ended = ran("multiverse", "-m", "overlap,rouge,bm25", *axes)
    assert (
        "Ranks under retrieval\nmini, all: ndcg@5 over 6 specifications" in ended.out
    )  # 2 chunk sizes, 3 tie policies
    folder = Path("results/latest")
    ran("results", "export")
    files = {f"multiverse.{suffix}" for suffix in ("csv", "json", "txt", "md", "tex")}
    assert files <= {path.name for path in folder.iterdir()}
    assert list(folder.glob("rank-stability-*"))
    lines = (folder / "multiverse.txt").read_text(encoding="utf-8").splitlines()
    printed = {" ".join(line.split()) for line in ended.out.splitlines()}
    assert {" ".join(line.split()) for line in lines if line.lstrip().startswith("overlap ")} <= printed


def test_the_multiverse_ranks_by_the_measure_that_is_named_and_prints_one_axis_whole(ran):
    axes = ("-a", "chunk.size=150", "-a", "unit=chunk", "-a", "pool=own")

    ended = ran("multiverse", "-m", "overlap,rouge", *axes, "--measure", "fs_ps")
    assert "Ranks under classification" in ended.out
    assert "correlation" not in ended.out  # it has no such measure
    # Overlap and ROUGE under the base paper's rule, as they were printed before there were others.
    words = [line.split() for line in ended.out.splitlines()]
    assert ["evidence.rule", "overlap", "rouge"] in words
    assert ["touched", "0.516", "0.481"] in words
