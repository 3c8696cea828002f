"""The score store: whole blocks, one metric's scores never served for another."""

import sqlite3
import threading

import pytest

from metaeval.errors import UserError
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.store import ScoreStore, pair_key

ONE, TWO = {"name": "one", "version": 1}, {"name": "one", "version": 2}
KEYS = [pair_key("source", f"statement {number}") for number in range(5)]


@pytest.fixture
def store(tmp_path):
    with ScoreStore(tmp_path / "deep" / "scores.sqlite") as store:
        yield store


def test_answers_come_back_to_the_last_bit(store):
    answers = {
        KEYS[0]: PairScore(0.1 + 0.2, tokens=7, cut=2),
        KEYS[1]: PairScore(-1e-300),
        KEYS[2]: PairScore(None, Status.EMPTY),
    }
    store.put(ONE, answers.items())
    assert store.find(ONE, KEYS) == answers


def test_another_identity_finds_nothing(store):
    store.put(ONE, [(KEYS[0], PairScore(0.5))])
    assert store.find(TWO, KEYS) == {}
    store.put(TWO, [(KEYS[0], PairScore(0.9))])
    assert store.find(ONE, KEYS)[KEYS[0]].score == 0.5


def test_the_order_of_an_identitys_keys_does_not_matter(store):
    store.put({"a": 1, "b": {"c": 2, "d": 3}}, [(KEYS[0], PairScore(0.5))])
    assert store.find({"b": {"d": 3, "c": 2}, "a": 1}, KEYS[:1])[KEYS[0]].score == 0.5


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


def test_a_database_error_in_the_middle_rolls_the_block_back(store):
    unstorable = PairScore(2**63, tokens=2**63)  # SQLite's integers end one below
    with pytest.raises((OverflowError, UserError)):
        store.put(ONE, [(KEYS[0], PairScore(0.5)), (KEYS[1], unstorable)])
    assert store.find(ONE, KEYS) == {}


def test_what_one_connection_stored_another_one_finds(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreStore(path) as first, ScoreStore(path) as second:
        first.put(ONE, [(KEYS[0], PairScore(0.5))])
        assert second.find(ONE, KEYS[:1])[KEYS[0]].score == 0.5


def test_two_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "scores.sqlite"
    faults = []

    def write(number):
        try:
            with ScoreStore(path) as store:
                for step in range(20):
                    store.put(ONE, [(pair_key(f"writer {number}", str(step)), PairScore(float(step)))])
        except UserError as error:  # pragma: no cover
            faults.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    with ScoreStore(path) as store:
        assert list(store.counts().values()) == [60]


def test_a_file_that_is_no_database_is_one_sentence(tmp_path):
    path = tmp_path / "scores.sqlite"
    path.write_text("this is not a database, and long enough to have a header of its own" * 20)
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


def test_no_other_file_format_is_needed_to_read_it(store):
    store.put(ONE, [(KEYS[0], PairScore(0.5, tokens=3))])
    with sqlite3.connect(store.path) as plain:
        assert plain.execute("SELECT score, status, tokens FROM scores").fetchall() == [(0.5, "ok", 3)]
