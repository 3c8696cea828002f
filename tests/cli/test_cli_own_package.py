"""A package of one's own with one plug-in of each kind: each a file, and a line that names it.

It is installed, and every command knows what it brings by its declaration alone.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import zipfile
from itertools import chain
from pathlib import Path

import pytest

from metaeval.core import registry

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "conformance" / "own"
ENTRY_POINTS = """\
[metaeval.metrics]
longest = my_metric:Longest
[metaeval.datasets]
rivers = rivers:RIVERS
[metaeval.protocols]
gap = gap:GAP
[metaeval.analyses]
cite.marked = marked:PIPELINE
levels = levels:LEVELS
levels-again = levels:LEVELS
rows-of-each = levels:LEVELS
"""
ANSWERS = [
    {"id": "1", "group": "q1", "text": "Cats sleep [1]. Dogs bark.", "passages": [{"text": "a"}]},
    {"id": "2", "group": "q2", "text": "Birds sing [1].", "passages": [{"text": "a"}]},
]
SETTINGS = ("-s", "interval.resamples=20", "-s", "comparison.permutations=20", "-s", "controls=false", "-q")


@pytest.fixture(scope="module")
def place(store_of_mini, tmp_path_factory):
    """A folder to work in, with a file of answers, and the installed package in `site`."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "results").mkdir()
    shutil.copy(store_of_mini, folder / "results")
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ANSWERS))
    files = {path.name: path.read_text() for path in OWN.glob("*.py")}
    tutorial = (ROOT / "docs" / "tutorials" / "write-a-metric.md").read_text(encoding="utf-8")
    files["my_metric.py"] = tutorial.split("%%writefile my_metric.py\n")[1].split("```")[0]
    wheel = folder / "own-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
        archive.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("own-1.0.dist-info/RECORD", "")
        archive.writestr("own-1.0.dist-info/entry_points.txt", ENTRY_POINTS)
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", folder / "site", wheel)
    done = subprocess.run(pip, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def typed(start, place):
    """What `python -m MODULE WORDS` prints in the folder, with the package beside the project's own."""

    def printed(module, *words):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        environment = {**os.environ, "PYTHONPATH": str(place / "site"), "COLUMNS": "200"}
        process = start(*words, module=module, cwd=place, env=environment, **streams)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
        return said

    return printed


@pytest.fixture
def metaeval(typed):
    return functools.partial(typed, "metaeval")


@pytest.fixture
def here(ran, place, monkeypatch):
    """The same in this process, which reads the registry again."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.syspath_prepend(place / "site")
    registry._entries.cache_clear()
    yield lambda *words: ran(*words).out
    registry._entries.cache_clear()


def test_the_metric_and_the_protocol_keep_their_contracts(typed):
    names = ("--metric=longest", "--protocol=gap")
    said = typed("pytest", "-p", "no:cacheprovider", "--pyargs", "metaeval.conformance", *names)

    assert " passed" in said
    assert "skipped" not in said


def test_the_metric_and_the_data_set_are_measured_by_the_protocol(metaeval, place):
    metaeval("run", "-d", "rivers", "-m", "longest,overlap", "-p", "gap", "-u", "citation", *SETTINGS)

    (found,) = Path(place / "results").glob("rivers-*/gap.json")
    rows = json.loads(found.read_text())["rows"]
    # "metres." is the longest word that each statement shares with its document: all scores are 7, and no gap is left.
    assert {row["metric"]: row["values"]["gap"]["value"] for row in rows}["longest"] is None


def test_run_writes_its_table_under_its_name_and_takes_its_options(here, place):
    run = ("run", "-p", "gap", "-m", "overlap,longest", *SETTINGS)
    here(*run)
    here(*run, "-s", "protocol_options.gap.form=halved", "--results", "half")

    whole, half = (
        json.loads((place / folder / "latest" / "gap.json").read_text())["rows"][0]["values"]["gap"]["value"]
        for folder in ("results", "half")
    )
    assert half == whole / 2


@pytest.mark.usefixtures("quick_plan")
def test_compare_plan_and_multiverse_take_it(here, place):
    def latest(name):
        return json.loads((place / "results" / "latest" / f"{name}.json").read_text())

    here("compare", "overlap", "longest", "-p", "gap", *SETTINGS)
    assert latest("gap-pairs")["records"][0]["measure"] == "gap"
    here("plan", "overlap", "longest", "-p", "gap", "--difference", "0.1", *SETTINGS)
    assert [record["groups"] > 0 for record in latest("power-gap")["records"]] == [True, True]
    here("multiverse", "-p", "gap", "-m", "overlap,rouge", "-a", "chunk.size=60", "-a", "unit=chunk", "-q")
    outlooks = latest("multiverse")["outlooks"]
    assert {outlook["measure"] for outlook in outlooks} == {"gap"}
    choices = {"chunk.size", "evidence.rule", "evidence.threshold", "unit"}  # those that matter to it
    assert {*chain(*(outlook["choices"] for outlook in outlooks))} == choices


def test_tables_and_figures_have_it(here, place):
    pytest.importorskip("matplotlib")
    suite = place / "results" / "latest"
    here("run", "--suite", "-p", "gap,correlation", "-m", "overlap,rouge", *SETTINGS)
    assert {path.stem for path in suite.glob("table-*.json")} == {"table-1-levels", "table-2-correlation", "table-gap"}
    assert "<figcaption>Gap between supported and unsupported.</figcaption>" in (suite / "report.html").read_text()
    here("results", "figures")
    assert len(list((place / "results" / "figures").glob("*/figure-gap-*"))) == 1


def test_the_pipeline_reads_judges_and_writes(here, metaeval, place):
    told = here("cite", "marked", "--help")
    # No metric judges, and nobody is asked.
    assert [option in told for option in ("--opening", "--nli", "--dry-run")] == [True, False, False]
    said = metaeval("cite", "marked", "answers.jsonl", "-s", "splitter=rules", "--set", "interval.resamples=50")

    # One of two sentences, and one of one: 75 %.
    assert "75.0" in said
    folder = place / "results" / "latest"
    record = json.loads((folder / "marked.json").read_text())["records"][0]
    assert (record["system"], record["measure"], record["value"]) == ("answers", "marked", 0.75)
    here("results", "export", "--format", "csv")
    assert [line.rpartition(",")[2] for line in (folder / "per-answers.csv").read_text().split()[1:]] == ["0.5", "1.0"]
    assert "0.0" in here("cite", "marked", "answers.jsonl", "--opening", "{", "-s", "splitter=rules")


def test_the_analysis_is_a_command(here, metaeval):
    assert here("--help").count("  Count the rows of each level.") == 2, "and levels-again is in the help of levels"
    said = metaeval("levels", "--fewest", "2")

    assert "Rows of each level" in said
    assert "full" in said
    assert "partial" not in metaeval("levels", "-d", "rivers", "-n", "2")
