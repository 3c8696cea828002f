"""Demo data: every screen, table, page and file of the shipped corpus says what it is, and calls no label human."""

import html
import json
import re
from pathlib import Path

import pytest

from metaeval.cli.app import main
from metaeval.report.result import load_result
from metaeval.report.table import DEMO

QUICK = ["-s", "interval.resamples=20", "-s", "comparison.permutations=10"]
TYPED = {
    "run": ["run", "-m", "overlap,rouge"],
    "compare": ["compare", "overlap", "rouge", "--agreement", "--full"],
    "decide": ["thresholds", "overlap"],
    "calibrate": ["thresholds", "--learn", "overlap"],
    "power": ["plan", "overlap", "rouge", "--difference", "2"],
    "tables": ["run", "--suite", "-m", "overlap,rouge"],
    "multiverse": ["multiverse", "-m", "overlap,rouge", "-a", "pool=own", "-a", "unit=chunk", "-a", "chunk.size=60"],
}


def typed(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["metaeval", *words, *QUICK])
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert not end.value.code, said.err
    return " ".join(said.out.split())


@pytest.mark.parametrize("name", TYPED)
def test_what_is_made_from_it_says_so(monkeypatch, capsys, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    printed = typed(monkeypatch, capsys, *TYPED[name])

    assert DEMO in printed
    assert "human" not in printed
    texts = [path for path in Path("results").rglob("*") if path.suffix in {".md", ".tex", ".txt", ".html"}]
    assert {path.suffix for path in texts} & {".md", ".tex", ".txt", ".html"}
    for path in texts:
        said = " ".join(path.read_text(encoding="utf-8").split())
        assert DEMO in html.unescape(said), path
        assert not re.search(r"\bhuman", said), path


def test_a_result_file_and_the_explorer_know_it(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    typed(monkeypatch, capsys, *TYPED["run"], "-p", "correlation")

    result = load_result(Path("results/latest/correlation.json"))
    assert result.data.demo
    assert result.title == "Correlation with demo levels"
    from metaeval.explorer.page_data import View, show_job

    about = show_job(Path("results/latest").resolve(), View())["job"]
    assert any(DEMO in sentence for sentence in about["cautions"])
    said = [about[part] for part in ("title", "tables", "notes", "findings", "cautions")]
    assert "human" not in json.dumps(said)


def test_other_data_say_nothing_of_it(write_own):
    result = load_result(write_own)
    assert not result.data.demo
    assert "demo" not in write_own.read_text().replace('"demo": false', "")


@pytest.fixture
def write_own(monkeypatch, capsys, tmp_path):
    """The result file of a corpus of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["metaeval", "data", "convert", "mini", "own.jsonl"])
    with pytest.raises(SystemExit):
        main()
    own = Path("own.jsonl")
    own.write_text(own.read_text(encoding="utf-8").replace(', "demo": true', "", 1), encoding="utf-8")
    typed(monkeypatch, capsys, *TYPED["run"], "-p", "correlation", "-d", "jsonl", "--data", "own.jsonl")
    return Path("results/latest/correlation.json")
