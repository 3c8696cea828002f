"""What runs keep, from the command line: verified, compacted, mended by the next run, refused when it is newer."""

import json
import sqlite3
from contextlib import closing

import pytest

from metaeval import sqlite_store
from metaeval.llm.messages import ChatRequest, read_reply
from metaeval.llm.reply_store import ReplyStore

RUN = ("run", "-m", "overlap", "-p", "classification")


@pytest.fixture
def change(tmp_path):
    """Change a store behind metaeval's back."""

    def run(statement, file="results/scores.sqlite"):
        with closing(sqlite3.connect(tmp_path / file)) as plain, plain:
            plain.execute(statement)

    return run


def test_damage_is_said_counted_and_mended_and_moves_no_number(cli, ran, small, change, contents, caplog, tmp_path):
    ran(*RUN, *small)
    before = contents(tmp_path / "results")
    sound = cli("store", "verify")
    assert (sound.code, sound.err) == (0, "")
    assert sound.out == "results/scores.sqlite: 27 scores, 0 damaged (schema 1, journal wal)\n"

    change("UPDATE scores SET score = score + 0.25 WHERE pair < x'50'")
    change("UPDATE scores SET score = 'x' WHERE pair > x'e0'")
    found = cli("store", "verify")
    assert found.code == 1
    damaged = int(found.out.split(" scores, ")[1].split()[0])
    assert 2 < damaged < 27
    assert "'metaeval store compact' deletes them" in found.out

    ran(*RUN, *small, "-q")
    assert f"{damaged} of 27 stored scores of overlap are damaged" in caplog.text
    assert contents(tmp_path / "results") == before
    ran("store", "verify")
    caplog.clear()
    ran(*RUN, *small)
    assert caplog.text == ""


def test_compact_deletes_what_is_damaged(cli, ran, small, change):
    ran(*RUN, *small)
    change("UPDATE scores SET score = 5")
    ended = ran("store", "compact")
    assert ended.out.startswith("results/scores.sqlite: 27 damaged scores deleted; ")
    assert cli("store", "verify").out.startswith("results/scores.sqlite: 0 scores, 0 damaged")


def test_replies_are_verified_beside_the_scores(cli, ran, small, change, fake, tmp_path):
    ran(*RUN, *small)
    asked = ChatRequest({"model": "m", "messages": []})
    with ReplyStore(tmp_path / "cache" / "replies.sqlite") as store:
        store.put(asked.key("u"), "u", asked, read_reply(json.dumps(fake.completion("2"))), 0)
    ended = ran("store", "verify")
    assert "replies.sqlite: 1 replies, 0 damaged" in ended.out
    change("UPDATE replies SET reply = 'x'", "cache/replies.sqlite")
    assert cli("store", "verify").code == 1
    assert "replies.sqlite: 1 replies, 1 damaged" in cli("store", "verify", "--reply-store", "cache/replies.sqlite").out
    assert "1 damaged replies deleted" in cli("store", "compact").out


def test_a_store_that_is_not_there_is_not_made(refused, tmp_path):
    assert refused("store", "verify").startswith("There is no score store at results/scores.sqlite: give its path with")
    assert refused("store", "compact", "--store", "x.sqlite").startswith("There is no score store at x.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [RUN, ("store", "verify"), ("store", "compact"), (*RUN, "--dry-run")])
def test_a_store_of_a_later_version_is_refused(ran, refused, small, change, command):
    ran(*RUN, *small)
    change("PRAGMA user_version=2")
    sentence = refused(*command, *(small if command[0] == "run" else ()))
    assert sentence.startswith(
        "Score store results/scores.sqlite was written by a later version of metaeval (schema 2;"
    )
    assert "--store FILE" in sentence


def test_a_file_whose_structure_is_broken_is_said(cli, ran, refused, small, tmp_path):
    ran(*RUN, *small)
    path = tmp_path / "results" / "scores.sqlite"
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    found = cli("store", "verify")
    assert found.code == 1
    assert "fault in the structure of this file: " in found.out
    assert "'metaeval store compact' copies what can be read into a new file." in found.out
    said = refused(*RUN, *small)
    assert said.startswith("Score store results/scores.sqlite: database disk image is malformed. The file is damaged")
    assert "or give another file with --store FILE" in said


def test_what_can_be_read_of_a_broken_file_is_saved(cli, ran, tmp_path):
    ran("score", "-m", "overlap,rouge", "-q")
    path = tmp_path / "results" / "scores.sqlite"
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = bytes(4096)
    path.write_bytes(content)
    ended = cli("store", "compact")
    assert ended.code == 1
    assert "what could be read was copied to results/scores.sqlite.saved: replace the store by" in ended.out
    assert path.read_bytes() == content
    saved = ran("store", "verify", "--store", "results/scores.sqlite.saved")
    rows = int(saved.out.split(": ")[1].split()[0].replace(",", ""))
    assert 1000 < rows < 2108  # a page of some hundred rows is lost


def test_a_store_on_a_network_file_system_works_and_says_how(cli, ran, small, tmp_path, monkeypatch, caplog):
    table = tmp_path / "mounts"
    table.write_text(f"server:/home {tmp_path}/results nfs4 rw 0 0\n")
    monkeypatch.setattr(sqlite_store, "MOUNTS", table)
    ran(*RUN, *small)
    assert "Score store results/scores.sqlite is on a network file system (nfs4): it is kept without" in caplog.text
    assert "journal delete" in cli("store", "verify").out


def test_rehash_hashes_the_weights_anew(ran, small, tmp_path):
    note = tmp_path / "cache" / "weights.json"
    note.parent.mkdir()
    note.write_text("{}")
    ran(*RUN, *small)
    assert note.exists()
    ran(*RUN, *small, "-s", "rehash=true")
    assert not note.exists()
