"""The reply store: what it keeps, and what it says when it cannot."""

import json
import sqlite3
from contextlib import closing

import pytest

from metaeval.core.errors import UserError
from metaeval.llm.messages import read_reply
from metaeval.llm.reply_store import Received, ReplyStore, reply_checksum


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
    assert (row["reply"], json.loads(row["request"])) == (raw, asked.body)
    assert (row["base_url"], row["sample"], row["seconds"]) == ("http://x/v1", 3, 1.235)
    assert (row["model"], row["system_fingerprint"], row["finish_reason"]) == ("tiny-2", "fp_1", "stop")
    assert (row["tokens_in"], row["tokens_out"], row["time"][-6:]) == (100, 10, "+00:00")


def test_a_reply_is_found_under_exactly_what_was_sent(fake, store, question):
    reply = read_reply(json.dumps(fake.completion("2")))
    store.put(question("a").key("u"), "u", question("a"), reply, 0)
    assert store.find(question("a").key("u")) == reply
    for other in (question("b"), question("a", sample=1), question("a", seed=1)):
        assert store.find(other.key("u")) is None
    assert store.find(question("a").key("v")) is None
    assert [store.has(question("a").key(server)) for server in "uv"] == [True, False]


def test_a_reply_that_does_not_answer_its_request_is_kept_to_be_read_until_one_comes_that_does(fake, store, question):
    asked, token = question("a", logprobs=True), {"token": "2", "logprob": -0.5}
    sound = {"content": [{**token, "top_logprobs": [token]}]}
    replies = [fake.completion("1"), fake.completion("2", logprobs=sound), fake.completion("2", fingerprint="other")]
    for reply, found, stored in zip(replies, (None, "2", "2"), ("1", "2", "2"), strict=True):
        store.put(asked.key("u"), "u", asked, read_reply(json.dumps(reply)), 0)
        served = store.find(asked.key("u"))
        assert (served and served.content, store.has(asked.key("u"))) == (found, found is not None)
        assert store.find(asked.key("u"), only_usable=False).content == stored


def test_a_reply_that_cannot_be_read_is_asked_for_again(fake, store, question):
    key, raw = kept(fake, store, question("a"), "2"), '{"choices": []}'
    change(store.path, "UPDATE replies SET reply = ?, checksum = ?", raw, reply_checksum(key, raw))
    assert store.find(key) is None
    assert store.find(kept(fake, store, question("a"), "1")).content == "1"


def test_a_text_that_is_no_unicode_and_a_long_number_can_be_asked_and_kept(fake, store, question):
    asked = question("half a \ud83d pair", seed=2**70)
    store.put(asked.key("u"), "u", asked, read_reply(json.dumps(fake.completion("\ud83d 2"))), 0)
    assert store.find(asked.key("u")).content.endswith(" 2")


def test_a_file_that_is_none_of_ours_is_named(tmp_path):
    path = tmp_path / "replies.sqlite"
    path.write_text("these are my notes, thank you for not writing over them" * 20)
    with pytest.raises(UserError, match=r"Reply store .*replies.sqlite: file is not a database"):
        ReplyStore(path)


def kept(fake, store, asked, text):
    store.put(asked.key("u"), "u", asked, read_reply(json.dumps(fake.completion(text))), 0)
    return asked.key("u")


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute(statement, values)


@pytest.mark.parametrize(
    "change_it",
    [
        "UPDATE replies SET reply = replace(reply, '2', '3') WHERE key = ?",
        "UPDATE replies SET reply = CAST(substr(CAST(reply AS BLOB), 1, 9) || x'ff' AS TEXT) WHERE key = ?",
        "UPDATE replies SET reply = 5 WHERE key = ?",
        "UPDATE replies SET checksum = NULL WHERE key = ?",
        "UPDATE replies SET checksum = checksum + 1 WHERE key = ?",
    ],
)
def test_a_damaged_reply_is_not_served_but_replaced_by_the_next_one_and_said(fake, store, question, caplog, change_it):
    first, second = (kept(fake, store, question(text), "2") for text in "ab")
    change(store.path, change_it, first)
    assert [store.find(first), caplog.text.count("holds damaged replies")] == [None, 1]
    assert not store.has(first)
    assert store.has(second)
    assert caplog.text.count("holds damaged replies") == 1
    kept(fake, store, question("a"), "4")
    assert store.find(first).content == "4"
    assert store.find(second).content == "2"


def test_a_damaged_reply_is_asked_for_again_and_counted(fake, new_session, tmp_path, question):
    with fake.ChatServer(answer=lambda _: "2") as server:
        new_session(server.url).ask([question("a"), question("b")])
        change(tmp_path / "replies.sqlite", "UPDATE replies SET reply = replace(reply, '2', '3') WHERE rowid = 1")
        session = new_session(server.url)
        assert [answer.content for answer in session.ask([question("a"), question("b")])] == ["2", "2"]
        assert server.attempts.total() == 3
    assert "1 kept replies were damaged and were asked for again" in session.ledger.note()


def test_a_store_that_was_deleted_under_the_run_is_written_again(fake, store, question):
    keys = [kept(fake, store, question("a"), "1")]
    store.learn("settings")
    for file in store.path.parent.iterdir():
        file.unlink()
    keys.append(kept(fake, store, question("b"), "2"))
    store.close()
    with ReplyStore(store.path) as again:
        assert [again.find(key).content for key in keys] == ["1", "2"]
        assert again.knows("settings")


def test_replies_of_one_turn_are_stored_together_and_the_one_that_is_stored_already_stays(store, question, fake):
    first, second = (read_reply(json.dumps(fake.completion(text))) for text in ("1", "2"))
    store.put(question("a").key("u"), "u", question("a"), first, 0)
    received = [Received(question(text).key("u"), "u", question(text), second, 0) for text in "ab"]
    assert store.put_all(received) == [first, second]
    assert [store.find(each.key) for each in received] == [first, second]


def test_a_reply_whose_transaction_fails_is_not_given(fake, new_session, question, monkeypatch):
    def full(self, received):
        raise UserError("no space left")

    monkeypatch.setattr(ReplyStore, "put_all", full)
    with fake.ChatServer(answer=lambda body: "2") as server:
        session = new_session(server.url)
        with pytest.raises(UserError, match="no space left"):
            session.ask([question("a"), question("b")])
    assert session.ledger.answered == 0
