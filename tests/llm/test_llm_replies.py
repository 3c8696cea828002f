"""The reply store: what it keeps, and what it says when it cannot."""

import json
import sqlite3

import pytest

from metaeval.errors import UserError
from metaeval.llm.exchange import read_reply
from metaeval.llm.replies import ReplyStore, replies_path


@pytest.fixture
def store(tmp_path):
    store = ReplyStore(tmp_path / "deep" / "replies.sqlite")
    yield store
    store.close()


def test_everything_about_a_reply_is_kept_beside_it(fake, store, question):
    asked, raw = question("a", sample=3), json.dumps(fake.completion("Prediction: 2"))
    store.put(asked.key("http://x/v1"), "http://x/v1", asked, read_reply(raw), 1.23456)
    rows = sqlite3.connect(store.path)
    rows.row_factory = sqlite3.Row
    row = dict(rows.execute("SELECT * FROM replies").fetchone())
    rows.close()
    assert row["reply"] == raw
    assert json.loads(row["request"]) == asked.body
    assert (row["base_url"], row["sample"], row["seconds"]) == ("http://x/v1", 3, 1.235)
    assert (row["model"], row["system_fingerprint"], row["finish_reason"]) == ("tiny-2", "fp_1", "stop")
    assert (row["tokens_in"], row["tokens_out"]) == (100, 10)
    assert row["time"].endswith("+00:00")


def test_a_reply_is_found_under_exactly_what_was_sent(fake, store, question):
    reply = read_reply(json.dumps(fake.completion("2")))
    store.put(question("a").key("u"), "u", question("a"), reply, 0)
    assert store.find(question("a").key("u")) == reply
    for other in (question("b"), question("a", sample=1), question("a", seed=1)):
        assert store.find(other.key("u")) is None
    assert store.find(question("a").key("v")) is None
    assert store.has(question("a").key("u"))
    assert not store.has(question("a").key("v"))


def test_the_first_reply_stays(fake, store, question):
    for text in ("1", "2"):
        store.put(question("a").key("u"), "u", question("a"), read_reply(json.dumps(fake.completion(text))), 0)
    assert store.find(question("a").key("u")).content == "1"


def test_a_text_that_is_no_unicode_can_be_asked_and_kept(fake, store, question):
    asked = question("half a \ud83d pair")
    store.put(asked.key("u"), "u", asked, read_reply(json.dumps(fake.completion("\ud83d 2"))), 0)
    assert store.find(asked.key("u")).content.endswith(" 2")


def test_it_lies_in_the_cache_unless_told_otherwise(tmp_path):
    assert replies_path(None) == tmp_path / "cache" / "replies.sqlite"
    assert replies_path(tmp_path / "mine") == tmp_path / "mine"


def test_a_file_that_is_none_of_ours_is_named(tmp_path):
    path = tmp_path / "replies.sqlite"
    path.write_text("these are my notes, thank you for not writing over them" * 20)
    with pytest.raises(UserError, match=r"Reply store .*replies.sqlite: file is not a database"):
        ReplyStore(path)
