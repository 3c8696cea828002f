"""What people made or paid for lasts: a gate, a label sheet and stores of 0.1.0, in `kept`, are read as they were."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from metaeval.cli.app import main
from metaeval.core.errors import UserError
from metaeval.core.files import csv_text
from metaeval.decisions.gate_check import read_gate
from metaeval.llm.messages import ChatRequest
from metaeval.llm.reply_store import ReplyStore
from metaeval.report.table_files import load_table
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.score_store import ScoreStore, pair_key

KEPT = Path(__file__).parent / "kept"
RIVER = "The Oder is long."


@pytest.fixture
def store_of(tmp_path):
    """Make a database from the statements of a file in `kept`."""

    def made(name: str) -> Path:
        path = tmp_path / f"{name}.sqlite"
        with closing(sqlite3.connect(path)) as database:
            database.executescript((KEPT / f"{name}.sql").read_text(encoding="utf-8"))
        return path

    return made


def ended(monkeypatch, *words: object) -> int | str | None:
    monkeypatch.setattr("sys.argv", ["metaeval", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_stored_scores_are_found(store_of):
    with ScoreStore(store_of("scores")) as store:
        keys = pair_key(RIVER, "It is long."), pair_key(RIVER, "")
        found = store.find({"name": "one", "version": 1}, keys)
    assert found == dict(zip(keys, [PairScore(0.1 + 0.2, tokens=7, cut=2), PairScore(None, Status.EMPTY)], strict=True))


def test_a_stored_reply_is_found(store_of):
    messages = [{"role": "user", "content": "Is it long?"}]
    request = ChatRequest({"model": "tiny", "messages": messages, "temperature": 0})
    with ReplyStore(store_of("replies")) as store:
        assert store.find(request.key("http://x/v1")).content == "Prediction: 2"
        assert store.knows(request.settings("http://x/v1"))


@pytest.mark.parametrize(("name", "kind"), [("scores", ScoreStore), ("replies", ReplyStore)])
@pytest.mark.parametrize("version", [0, 2])
def test_a_store_of_another_schema_is_refused_and_left_as_it_is(store_of, name, kind, version):
    path = store_of(name)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version={version}")
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"has schema {version}, not 1"):
        kind(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("unsupported", "code"), [(2, 0), (60, 1)])
def test_a_gate_judges_a_release(monkeypatch, tmp_path, unsupported, code):
    assert read_gate(KEPT / "gate.json").threshold == 0.28282828282829087
    monkeypatch.chdir(tmp_path)
    sources = ["Cats sleep all day."] * unsupported + ["The town has a mill, they say."] * (100 - unsupported)
    rows = [(f"c{number}", "the town has a mill", source) for number, source in enumerate(sources)]
    Path("release.csv").write_text(csv_text([("id", "statement", "source"), *rows]), encoding="utf-8")
    assert ended(monkeypatch, "gate", "check", "release.csv", KEPT / "gate.json", "-q") == code


def test_a_label_sheet_gives_an_estimate(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = (KEPT / "answers.jsonl", "--labels", KEPT / "labels.csv", "-m", "overlap", "-q")
    assert ended(monkeypatch, "estimate", *words) == 0
    found = {one["measure"]: one for one in load_table(Path("results/latest/estimate.json")).records}
    assert (found["full"]["labels"], found["full"]["value"]) == (4, 0.5)
