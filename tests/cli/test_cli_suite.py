"""run --suite, results figures and multiverse as typed."""

import json
from pathlib import Path

import pytest

from tests.cli.samples import csv_rows

pytestmark = pytest.mark.usefixtures("scored")
QUICK = ("--set", "interval.resamples=5", "--set", "comparison.permutations=5", "--set", "controls=false")
PICTURES = {".png", ".pdf", ".svg"}


def test_tables_without_anything_are_of_the_shipped_corpus(ran, held):
    ended = ran("run", "--suite", "-m", "overlap,rouge", "-s", "layout=base-paper", *QUICK)
    held("analyses-suite", ended)
    names = {path.name for path in Path("results/latest").iterdir()}
    assert {"suite.json", "table-1-levels.json", "table-2-correlation.json", "table-3-classification.json"} <= names
    assert f"results export {Path('results/latest').resolve().name.rpartition('-')[2]}" in ended.out
    ran("results", "export")
    names = {path.name for path in Path("results/latest").iterdir()}
    assert {"table-1-levels.csv", "table-2-correlation.tex", "table-3-classification.md"} <= names
    assert {path.stem for path in Path("results").glob("mini-all-chunk-*/*.json")} >= {"correlation", "retrieval"}
    areas = Path("results/latest/table-3-classification.md").read_text(encoding="utf-8")
    assert [text in areas for text in ("*similarity-based*", "90.10", "90.097")] == [True, True, False]


def test_with_nothing_left_it_ends_with_2(cli, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    ended = cli("run", "--suite", "-m", "llm-discrete", "-d", "mini,wice", "--data", ".", *QUICK)

    assert (ended.code, ended.out) == (2, "")
    (said,) = ended.err.splitlines()
    assert said.startswith("metaeval: Nothing could be run. ")
    assert " llm-discrete on mini: " in said
    assert " data set wice: " in said
    assert "--metrics" in cli("run", "--suite", "-s", "metrics=[]", *QUICK).err


def test_a_judge_whose_scores_are_all_stored_needs_no_key(cli, ran, fake, write_corpus, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    typed = ["-m", "llm-discrete,overlap", "-d", "jsonl", "--data", write_corpus(), "-p", "correlation", *QUICK]
    typed += ["-s", "metric_options.llm-discrete.server=here"]
    assert "llm-discrete" in cli("run", "--suite", *typed).err
    with fake.ChatServer() as server:
        ran("run", *typed, "-s", f"metric_options.llm-discrete.base_url={server.url}")
    ended = cli("run", "--suite", *typed)
    assert (ended.code, "Left out" in ended.err, "llm-discrete" in ended.out) == (0, False, True)


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


@pytest.mark.parametrize("lacks", [0, 1])
def test_what_is_left_out_is_said_and_in_no_table_and_no_figure(cli, ran, held, write_corpus, lacks):
    """A protocol that tells nothing on a data set is no fault; a data set that is not there is one."""
    write_corpus()
    other = ("{dataset: jsonl, data: small.jsonl}", "{dataset: wice, data: elsewhere}")[lacks]
    Path("both.yaml").write_text(f"datasets: [mini, {other}]\nmetrics: [overlap]\n")

    ended = cli("run", "--suite", "-c", "both.yaml", "-p", "correlation,retrieval", *QUICK)
    drawn = cli("results", "figures")

    held(f"analyses-suite-without-{lacks}", ended)
    assert (ended.code, drawn.code) == (lacks, lacks)
    left = ("retrieval on jsonl: the candidates of each statement are of one level", "data set wice: ")[lacks]
    assert [f"Left out: {left}" in said for said in (ended.err, drawn.err)] == [True, True]
    figures = {path.name for path in Path("results/figures").glob("both-*/figure-3-ndcg-*.svg")}
    assert figures == {"figure-3-ndcg-mini-all-chunk.svg"}
    (told,) = json.loads(Path("results/latest/suite.json").read_text(encoding="utf-8"))["left_out"]
    said = (told["dataset"], told["metric"], told["protocol"], "test.jsonl" in told["reason"])
    assert said == (("jsonl", "", "retrieval", False), ("wice", "", "", True))[lacks]
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

    ended = cli("run", "--suite", "-c", "two.yaml", "-p", "correlation", *QUICK)
    jobs = [*Path("results").glob("mini-*/correlation.json")]
    assert (ended.code, "stopped" in ended.err, len(jobs)) == (130, True, 1)


def test_the_multiverse_writes_its_report_beside_every_outlook(ran, held):
    axes = ("-a", "chunk.size=60,150", "--axes", "unit=chunk", "-a", "pool=own", "-a", "evidence.rule=complete")

    ended = ran("multiverse", "-m", "overlap,rouge,bm25", *axes)
    held("analyses-multiverse", ended)
    folder = Path("results/latest")
    ran("results", "export")
    files = {f"multiverse.{suffix}" for suffix in ("csv", "json", "txt", "md", "tex")}
    assert files <= {path.name for path in folder.iterdir()}
    assert list(folder.glob("rank-stability-*"))
    lines = (folder / "multiverse.txt").read_text(encoding="utf-8").splitlines()
    printed = {" ".join(line.split()) for line in ended.out.splitlines()}
    assert {" ".join(line.split()) for line in lines if line.lstrip().startswith("overlap ")} <= printed


def test_the_multiverse_ranks_by_the_measure_that_is_named_and_prints_one_axis_whole(ran, held):
    axes = ("-a", "chunk.size=150", "-a", "unit=chunk", "-a", "pool=own")

    ended = ran("multiverse", "-m", "overlap,rouge", *axes, "--measure", "fs_ps")
    held("analyses-multiverse-of-one-axis", ended)
    assert "correlation" not in ended.out  # it has no such measure
