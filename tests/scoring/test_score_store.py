"""The score store: whole blocks, one metric's scores never served for another."""

import os
import random
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing

import pytest

from metaeval.core import store as store_frame
from metaeval.core.errors import UserError
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.score_store import ScoreStore, pair_key

ONE, TWO = {"name": "one", "version": 1}, {"name": "one", "version": 2}
KEYS = [pair_key("source", f"statement {number}") for number in range(5)]
ANSWERS = {
    KEYS[0]: PairScore(0.7574, tokens=7, cut=2),
    KEYS[1]: PairScore(-1e-300),
    KEYS[2]: PairScore(None, Status.EMPTY),
    KEYS[3]: PairScore(0.1 + 0.2),
    KEYS[4]: PairScore(3.0, tokens=2**40),
}


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """Say of which type a folder's file system is."""

    def mount(folder, system):
        table, place = tmp_path / "mounts", str(folder).replace(" ", "\\040")
        table.write_text(
            f"a / ext4 rw 0 0\nb {place} ext4 rw 0 0\nhost:/x {place} {system} rw 0 0\nc {tmp_path}/up tmpfs rw 0 0\n"
        )
        monkeypatch.setattr(store_frame, "MOUNTS", table)

    return mount


@pytest.fixture
def store(tmp_path):
    with ScoreStore(tmp_path / "deep" / "down" / "scores.sqlite") as store:
        yield store


def test_answers_come_back_to_the_last_bit(store):
    store.put(ONE, ANSWERS.items())
    assert store.find(ONE, KEYS) == ANSWERS


def test_another_identity_finds_nothing_and_the_order_of_its_keys_does_not_matter(store):
    store.put({"a": 1, "b": {"c": 2, "d": 3}}, [(KEYS[0], PairScore(0.5))])
    assert store.find(TWO, KEYS) == {}
    store.put(TWO, [(KEYS[0], PairScore(0.9))])
    assert store.find({"b": {"d": 3, "c": 2}, "a": 1}, KEYS) == {KEYS[0]: PairScore(0.5)}


def test_a_failed_pair_is_not_kept_so_that_it_is_tried_again(store):
    store.put(ONE, [(KEYS[0], PairScore(None, Status.FAILED)), (KEYS[1], PairScore(None, Status.TOO_LONG))])
    assert store.find(ONE, KEYS) == {KEYS[1]: PairScore(None, Status.TOO_LONG)}


def test_a_block_that_breaks_in_the_middle_leaves_nothing(store):
    def block():
        yield KEYS[0], PairScore(0.5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.put(ONE, block())
    assert store.find(ONE, KEYS) == {}
    store.put(ONE, [(KEYS[1], PairScore(0.7))])
    assert set(store.find(ONE, KEYS)) == {KEYS[1]}


WRITER = """
import sys
from pathlib import Path
from metaeval.core import store
store.MOUNTS = Path(sys.argv[4])
from metaeval.scoring.contract import PairScore
from metaeval.scoring.score_store import ScoreStore, pair_key
with ScoreStore(Path(sys.argv[1])) as store:
    for step in range(int(sys.argv[3])):
        store.put({"name": "one", "version": 1}, [(pair_key(sys.argv[2], str(step)), PairScore(float(step)))])
"""


def writer(path, name, steps):
    """A process that stores scores one by one."""
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(steps), str(store_frame.MOUNTS)])


@pytest.mark.parametrize("system", ["ext4", "nfs4"])
def test_two_processes_at_once_lose_nothing(tmp_path, mounted, system):
    mounted(tmp_path, system)
    path = tmp_path / "scores.sqlite"
    with ScoreStore(path):  # the journal that the processes find
        assert journal(path) == {"ext4": "wal", "nfs4": "delete"}[system]
    writers = [writer(path, name, 20) for name in "ab"]
    assert [each.wait() for each in writers] == [0, 0]
    with ScoreStore(path) as store:
        keys = [pair_key(name, str(step)) for name in "ab" for step in range(20)]
        found = store.find(ONE, keys)
    assert [found[key].score for key in keys] == [*map(float, range(20))] * 2


def test_another_run_leaves_the_log_of_a_store_that_one_process_has_open_twice(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreStore(path) as store, ScoreStore(path) as again:
        again.find(ONE, KEYS)
        assert writer(path, "other", 1).wait() == 0
        store.put(ONE, ANSWERS.items())
        reader = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT COUNT(*) FROM scores'))"
        seen = subprocess.run([sys.executable, "-c", reader, str(path)], check=True, capture_output=True, text=True)
        assert seen.stdout == f"({len(ANSWERS) + 1},)\n"


NO_DATABASE = "this is not a database, and long enough to have a header of its own"


@pytest.mark.parametrize("text", ["x", NO_DATABASE, NO_DATABASE * 20, NO_DATABASE * 100])
def test_a_file_that_is_no_database_is_one_sentence(tmp_path, text):
    path = tmp_path / "scores.sqlite"
    path.write_text(text)
    with pytest.raises(UserError, match=r"scores\.sqlite.*not a database.*--store"):
        ScoreStore(path)


def test_a_full_store_says_so_and_keeps_what_it_has(tmp_path):
    with ScoreStore(tmp_path / "scores.sqlite") as store:
        store.put(ONE, [(KEYS[0], PairScore(0.5))])
        # SQLite's own limit gives the same error as a disk without space.
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages}")
        many = [(pair_key("s", str(number)), PairScore(0.1)) for number in range(5000)]
        with pytest.raises(UserError, match="full"):
            store.put(ONE, many)
        assert store.find(ONE, KEYS)[KEYS[0]].score == 0.5
        assert store.find(ONE, [key for key, _ in many]) == {}


def test_pair_keys_do_not_confuse_where_the_source_ends():
    assert pair_key("ab", "c") != pair_key("a", "bc")
    assert pair_key("a", "b") != pair_key("b", "a")
    assert pair_key("", "ab") != pair_key("ab", "")
    assert len(pair_key("\ud800", "x")) == 16  # a lone surrogate is a text too


def rows_of(path, query="SELECT * FROM scores ORDER BY metric, pair"):
    with closing(sqlite3.connect(path)) as plain:
        return plain.execute(query).fetchall()


def journal(path):
    return rows_of(path, "PRAGMA journal_mode")[0][0]


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("PRAGMA ignore_check_constraints=1")
        plain.execute(statement, values)


FLIPPED = [struct.unpack("<d", (0x3FE83C9EECBFB15B ^ 1 << bit).to_bytes(8, "little"))[0] for bit in range(64)]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("score", FLIPPED[bit]) for bit in (0, 40, 63)),
        *(("score", bad) for bad in ("0.7574x", b"\xff", float("inf"), None)),
        *(("status", bad) for bad in ("empty", "0k", "", b"ok", 5)),
        ("status = CAST(x'6fff' AS TEXT), tokens", 7),  # no UTF-8
        *(("tokens", bad) for bad in (8, -7, "many", 7.5)),
        *(("cut", bad) for bad in (3, "2x")),
        *(("checksum", bad) for bad in (None, 0, "x")),
    ],
)
def test_a_changed_row_is_not_served_but_scored_again_and_said(tmp_path, caplog, column, value):
    path = tmp_path / "scores.sqlite"
    with ScoreStore(path) as store:
        store.put(ONE, ANSWERS.items())
    change(path, f"UPDATE scores SET {column} = ? WHERE pair = ?", value, KEYS[0])
    with ScoreStore(path) as store:
        assert store.find(ONE, KEYS) == {key: ANSWERS[key] for key in KEYS[1:]}
        assert "1 of 5 stored scores of one are damaged" in caplog.text
        store.put(ONE, [(KEYS[0], ANSWERS[KEYS[0]])])
        assert store.find(ONE, KEYS) == ANSWERS


def test_scores_that_are_moved_to_another_metric_or_pair_are_not_served(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreStore(path) as store:
        store.put(ONE, [(KEYS[0], PairScore(0.5)), (KEYS[1], PairScore(0.25))])
        store.put(TWO, [(KEYS[2], PairScore(0.75))])
    change(path, "UPDATE scores SET metric = 2 WHERE pair = ?", KEYS[0])
    change(path, "UPDATE scores SET pair = ? WHERE pair = ?", KEYS[4], KEYS[1])
    with ScoreStore(path) as store:
        assert store.find(ONE, KEYS) == {}
        assert store.find(TWO, KEYS) == {KEYS[2]: PairScore(0.75)}


@pytest.mark.parametrize("seed", range(12))
def test_a_flipped_bit_of_the_file_never_changes_a_score_and_never_ends_in_a_traceback(tmp_path, seed):
    """Whatever bit of whatever page: the right score, none, or one sentence."""
    path, rng = tmp_path / "scores.sqlite", random.Random(seed)
    answers = {pair_key("s", str(number)): PairScore(rng.random(), tokens=number) for number in range(200)}
    with ScoreStore(path) as store:
        store.put(ONE, answers.items())
        store.put(TWO, [(key, PairScore(5.0)) for key in answers])
    content = bytearray(path.read_bytes())
    place = rng.randrange(100, len(content))  # behind the file's header
    content[place] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    said = ""
    try:
        with ScoreStore(path) as store:
            assert store.find(ONE, list(answers)).items() <= answers.items()
            store.put(ONE, answers.items())
    except UserError as error:
        said = str(error)
    assert "\n" not in said
    assert said == "" or "scores.sqlite" in said


def test_a_database_of_something_else_is_refused(tmp_path):
    change(tmp_path / "other.sqlite", "CREATE TABLE recipes (name TEXT)")
    with pytest.raises(UserError, match=r"other\.sqlite is a database and no score store: give another --st"):
        ScoreStore(tmp_path / "other.sqlite")
    assert rows_of(tmp_path / "other.sqlite", "SELECT name FROM sqlite_master") == [("recipes",)]


def test_without_a_local_disk_there_is_no_write_ahead_log_and_that_is_said(tmp_path, mounted, caplog):
    caplog.set_level("INFO", logger="metaeval")
    share = tmp_path / "a share"
    mounted(share, "fuse.sshfs")
    with ScoreStore(share / "scores.sqlite") as store, ScoreStore(share / "scores.sqlite") as other:
        assert {"(fuse.sshfs)", "(--store"} <= {*caplog.text.split()}
        store.put(ONE, ANSWERS.items())
        assert other.find(ONE, KEYS) == ANSWERS
        other.put(TWO, ANSWERS.items())
    assert journal(share / "scores.sqlite") == "delete"
    assert [path.name for path in share.iterdir()] == ["scores.sqlite"]
    caplog.clear()
    with ScoreStore(tmp_path / "up" / "scores.sqlite") as store:
        assert store.ask("PRAGMA synchronous") == 1
    assert journal(tmp_path / "up" / "scores.sqlite") == "wal"
    store_frame.MOUNTS.unlink()  # other systems have no such table
    ScoreStore(tmp_path / "up" / "scores.sqlite").close()
    assert journal(tmp_path / "up" / "scores.sqlite") == "delete"
    assert caplog.text == ""


def test_a_write_ahead_store_that_was_copied_to_a_network_file_system(tmp_path, monkeypatch, mounted):
    with ScoreStore(tmp_path / "share" / "scores.sqlite") as store:
        store.put(ONE, ANSWERS.items())
        mounted(tmp_path / "share", "nfs")
        monkeypatch.setattr(store_frame, "PATIENCE", 0.1)
        with pytest.raises(UserError, match="locked"):  # while a run has it open in the other mode
            ScoreStore(store.path)
    (tmp_path / "share" / "scores.sqlite-shm").mkdir()  # where no memory is shared
    with ScoreStore(store.path) as store:
        assert (store.find(ONE, KEYS), journal(store.path)) == (ANSWERS, "delete")


def test_a_store_whose_journal_cannot_be_switched_while_another_run_writes_is_used_as_it_is(
    tmp_path, monkeypatch, mounted
):
    mounted(tmp_path, "nfs")
    path = tmp_path / "scores.sqlite"
    with ScoreStore(path) as store:
        store.put(ONE, ANSWERS.items())
    mounted(tmp_path, "xfs")
    monkeypatch.setattr(store_frame, "PATIENCE", 0.05)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ScoreStore(path) as store:
            assert journal(path) == "delete"
            assert store.find(ONE, KEYS) == ANSWERS
            other.rollback()
            store.put(TWO, ANSWERS.items())
            assert store.find(TWO, KEYS) == ANSWERS


def test_a_store_that_was_deleted_under_the_run_is_written_again(tmp_path, caplog):
    path = tmp_path / "results" / "scores.sqlite"
    with ScoreStore(path) as store:
        store.put(ONE, [(KEYS[0], ANSWERS[KEYS[0]])])
        for file in path.parent.iterdir():
            file.unlink()
        path.parent.rmdir()
        store.put(ONE, [(KEYS[1], ANSWERS[KEYS[1]])])
        assert "was deleted or replaced while this run used it" in caplog.text
        path.unlink()
    with ScoreStore(path) as store:  # the second time it was gone when the store was closed
        assert store.find(ONE, KEYS) == {key: ANSWERS[key] for key in KEYS[:2]}


def test_a_store_that_was_replaced_under_the_run_gains_what_the_run_held(tmp_path):
    path, other = tmp_path / "scores.sqlite", tmp_path / "other.sqlite"
    with ScoreStore(other) as store:
        store.put(TWO, [(KEYS[0], PairScore(0.125))])
        store.put(ONE, [(KEYS[2], ANSWERS[KEYS[2]])])
    with ScoreStore(path) as store:
        store.put(ONE, [(KEYS[0], ANSWERS[KEYS[0]])])
        for file in tmp_path.glob("scores.sqlite-*"):  # a log without its database belongs to no other one
            file.unlink()
        os.replace(other, path)
        store.put(ONE, [(KEYS[1], ANSWERS[KEYS[1]])])
    with ScoreStore(path) as store:
        assert store.find(ONE, KEYS) == {key: ANSWERS[key] for key in KEYS[:3]}
        assert store.find(TWO, KEYS) == {KEYS[0]: PairScore(0.125)}


def test_a_run_that_wrote_nothing_brings_no_deleted_store_back(store):
    store.put(ONE, ANSWERS.items())
    store.close()
    with ScoreStore(store.path) as again:
        again.find(ONE, KEYS)
        store.path.unlink()
    assert not store.path.exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "scores.sqlite").mkdir()
    for path in (tmp_path / "file" / "scores.sqlite", tmp_path / "scores.sqlite"):
        with pytest.raises(UserError, match="make its folder one that can be written"):
            ScoreStore(path)


def test_a_store_that_another_run_holds_is_one_sentence(store, monkeypatch):
    monkeypatch.setattr(store_frame, "PATIENCE", 0.05)
    with closing(sqlite3.connect(store.path)) as other, ScoreStore(store.path) as waiting:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UserError, match="locked"):
            waiting.put(ONE, ANSWERS.items())
        other.rollback()
        waiting.put(ONE, ANSWERS.items())
        assert waiting.find(ONE, KEYS) == ANSWERS
