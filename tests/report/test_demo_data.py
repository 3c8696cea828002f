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
    "calibrate": ["thresholds", "--learn", "overlap"],
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


@pytest.fixture
def demo(monkeypatch, tmp_path, ten_documents):
    """The options of a run on the first documents of the shipped corpus, which are marked as it is."""
    monkeypatch.chdir(tmp_path)
    text = ten_documents.read_text(encoding="utf-8").replace('"name": "mini"', '"name": "mini", "demo": true', 1)
    Path("demo.jsonl").write_text(text, encoding="utf-8")
    return ["-d", "jsonl", "--data", "demo.jsonl"]


@pytest.mark.parametrize("name", TYPED)
def test_what_is_made_from_it_says_so(monkeypatch, capsys, demo, name):
    printed = typed(monkeypatch, capsys, *TYPED[name], *demo)

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
    typed(monkeypatch, capsys, "run", "-m", "overlap", "-p", "correlation")

    result = load_result(Path("results/latest/correlation.json"))
    assert result.data.demo
    assert result.title == "Correlation with demo levels"
    from metaeval.explorer.page_data import View, show_job

    about = show_job(Path("results/latest").resolve(), View())["job"]
    assert any(DEMO in sentence for sentence in about["cautions"])
    said = [about[part] for part in ("title", "tables", "notes", "findings", "cautions")]
    assert "human" not in json.dumps(said)


def test_other_data_say_nothing_of_it(monkeypatch, capsys, tmp_path, ten_documents):
    monkeypatch.chdir(tmp_path)
    own = ["-d", "jsonl", "--data", str(ten_documents)]
    typed(monkeypatch, capsys, "run", "-m", "overlap", "-p", "correlation", *own)
    path = Path("results/latest/correlation.json")
    assert not load_result(path).data.demo
    assert "demo" not in path.read_text().replace('"demo": false', "")
