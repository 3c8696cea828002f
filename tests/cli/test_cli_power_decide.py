"""power and decide as typed: what is printed, what is written, and what is refused."""

import sys
from pathlib import Path

import pytest

from metaeval.report.result import load_result
from metaeval.report.table_files import load_table

pytestmark = pytest.mark.usefixtures("scored")
QUICK = ("--set", "interval.resamples=20", "--set", "comparison.permutations=20", "--set", "controls=false")


@pytest.mark.usefixtures("quick_plan")
def test_a_plan_says_what_each_difference_takes(ran, held):
    ended = ran("plan", "overlap", "rouge", "--difference", "2,5", *QUICK)
    held("analyses-plan", ended)
    sheet = load_table(Path("results/latest/power-overall.json"))
    planned = [(record["difference"], record["power"]) for record in sheet.records]
    assert planned == [(0.02, 0.8), (0.02, 0.9), (0.05, 0.8), (0.05, 0.9)]
    first = sheet.records[0]
    # 322 citations in 28 groups of the shipped corpus.
    assert first["citations"] == -(-first["groups"] * 322 // 28)


@pytest.mark.usefixtures("quick_plan")
def test_without_a_difference_the_pilots_own_is_planned_for(cli):
    cli("plan", "overlap", "rouge", "--measure", "spearman", "-q", *QUICK)

    records = load_table(Path("results/latest/power-spearman.json")).records
    assert {record["difference"] for record in records} == {abs(records[0]["pilot_difference"])}


def test_decisions_are_printed_written_and_drawn(ran, held):
    ended = ran("thresholds", "overlap", "rouge", *QUICK)
    held("analyses-thresholds", ended)
    folder = Path("results/latest")
    stems = {path.stem for path in folder.iterdir()}
    assert {"decision", "decision-thresholds", "decision-levels", "calibration", "reliability"} <= stems
    assert (folder / "confusion-overlap.svg").is_file()
    assert (folder / "reliability-full_or_partial-rouge.svg").is_file()
    result, levels = load_result(folder / "decision.json"), load_table(folder / "decision-levels.json")
    f1 = [record["f1"] for record in levels.records if record["metric"] == "overlap"]
    assert sum(f1) / 3 == pytest.approx(result.rows[0].values["macro_f1"].value)


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("thresholds overlap", "calibration"),
        ("multiverse -m overlap,rouge -p correlation -a chunk.size=150", "multiverse"),
    ],
)
def test_without_matplotlib_it_says_so_in_one_line_and_writes_the_rest(ran, monkeypatch, caplog, command, written):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # importing it is an ImportError, as where it is missing

    (line,) = ran(*command.split(), "-q", *QUICK).err.splitlines()
    assert line.startswith("No figure: ")
    assert "pip install" in line
    assert Path(f"results/latest/{written}.json").is_file()
    ran("run", "--suite", "-m", "overlap,rouge", "-p", "retrieval", *QUICK)
    assert "pip install" in caplog.messages[-1]


def test_a_refusal_counts_the_chunks_of_unknown_level(refused, write_corpus, small_rows):
    # Which of three chunks supports is not known of two citations without evidence; a third cites one chunk.
    full = [row for row in small_rows if row.get("level") == "full"]
    open_rows = [{name: value for name, value in row.items() if name != "evidence"} for row in full[1:]]
    known = full[0] | {"document": "short", "evidence": {"sentences": [0]}}
    short = {"type": "document", "id": "short", "sentences": ["The river was quiet on day one."]}
    write_corpus([*(row for row in small_rows if row["type"] != "citation"), short, known, *open_rows])
    words = "thresholds", "overlap", "-d", "jsonl", "--data", "small.jsonl", "-s", "chunk.size=7"
    said = [refused(*words, "--unit", unit) for unit in ("chunk", "citation")]
    assert ["Every row of small is full" in one for one in said] == [True, True]
    assert ["known level: 6 chunks; try --unit citation" in said[0], "try --unit" in said[1]] == [True, False]
