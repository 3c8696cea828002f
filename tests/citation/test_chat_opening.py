"""Opening a chat: what is kept, recorded, replayed, told and refused, against a real server with faults."""

import json
from collections import Counter
from dataclasses import replace

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

from metaeval.citation.chat_models import (
    Replay,
    chat_request,
    estimate_for,
    open_chat,
    replayed_model,
    tokens_and_cost,
    why_unread,
)
from metaeval.core.errors import UserError
from metaeval.llm.endpoint import Cause
from metaeval.llm.messages import Failure, keeps, object_schema, read_object, read_reply, reply_form
from metaeval.llm.reply_store import ReplyStore


def echo(body):
    """The message, unless it asks to be refused."""
    text = body["messages"][-1]["content"]
    return (400, {"error": {"message": "I will not."}}) if text == "refuse" else f"You said {text}."


def contents(answers):
    return [answer.cause if isinstance(answer, Failure) else answer.content for answer in answers]


def test_two_rounds_are_recorded_in_one_file_and_replayed_failures_and_all(fake, chat_options, tmp_path):
    told = []
    with fake.ChatServer(answer=echo, faults=0.5, kinds=fake.QUICK_FAULTS, seed=4) as server:
        chosen = chat_options(server.url, price_in=1.0, price_out=10.0, retries=20)
        first = [chat_request(chosen, text) for text in ("one", "two", "refuse", "one")]
        second = [chat_request(chosen, "three")]
        with open_chat(chosen, record=tmp_path / "kept.jsonl", progress=lambda *what: told.append(what)) as chat:
            heard = [contents(chat.ask(first)), contents(chat.ask(second))]
            note = chat.note()
        assert sum(server.faulted.values()) > 0
    assert heard == [["You said one.", "You said two.", "refused", "You said one."], ["You said three."]]
    # Each reply of the server is 100 tokens in and 10 out; the equal request was sent once: 3 x (100 + 10 x 10) / 1e6.
    assert note.startswith("3 replies asked for, 0 from the reply store; 300 tokens in, 30 out; $0.0006")
    # Of four requests three are distinct; equal ones are told at the end.
    assert told[0] == ("asking tiny", 0, 4)
    assert [done for name, done, _ in told if name == "asking tiny"] == [0, 1, 2, 3, 4]
    assert told[-1] == ("asking tiny, round 2", 1, 1)
    assert [*tokens_and_cost(chat.heard, chosen).values()] == [400, 40, 0, pytest.approx(0.0008)]
    assert (chat.models, replayed_model(tmp_path / "kept.jsonl")) == (["tiny-2"], "tiny")
    with open_chat(chat_options(), replay=tmp_path / "kept.jsonl") as again:
        assert [contents(again.ask(first)), contents(again.ask(second))] == heard
        with pytest.raises(UserError, match="holds no reply to 1 of 2 requests"):
            again.ask([first[0], chat_request(chosen, "four")])


def test_what_is_kept_needs_no_server_no_key_and_costs_nothing(fake, chat_options, monkeypatch):
    with fake.ChatServer(answer=echo) as server:
        chosen = chat_options(server.url, price_in=1.0, price_out=10.0, max_tokens=50)
        requests = [chat_request(chosen, text) for text in ("one", "two", "two")]
        # "one" and "two" are a token each at four characters (3 / 4, rounded up); at most 50 tokens come back.
        assert (before := estimate_for(requests, chosen)).money == pytest.approx((2 * 1 + 2 * 50 * 10) / 1e6)
        assert (before.requests, before.stored) == (2, 0)
        with open_chat(chosen) as chat:
            chat.ask(requests)
    after = estimate_for(requests, chosen)
    assert (after.requests, after.stored, after.money) == (0, 2, 0.0)
    with open_chat(chosen) as chat:  # the server is gone
        assert contents(chat.ask(requests)) == ["You said one.", "You said two.", "You said two."]
        assert chat.note() == "0 replies asked for, 3 from the reply store"
    # To ask takes packages, and to read a batch none.
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for batch, says in ((None, "openai, aiohttp"), ("gone.jsonl", "gone.jsonl")):
        with open_chat(chat_options(batch=batch)) as chat, pytest.raises(UserError, match=says):
            chat.ask([chat_request(chosen, "new")])


def test_the_budget_is_for_all_rounds(fake, chat_options):
    with fake.ChatServer(answer=echo) as server:
        # A request is held at its worst: 64 tokens for the frame and a byte a token, and 10 out: 67 x 1 + 10 x 10 =
        # 167 of 330 millionths. After two, 200 each as the server counts, there is room for none.
        chosen = chat_options(server.url, price_in=1.0, price_out=10.0, max_tokens=10, budget=330e-6)
        with open_chat(chosen) as chat:
            chat.ask([chat_request(chosen, "one")])
            with pytest.raises(UserError, match="not enough"):
                chat.ask([chat_request(chosen, "two")])


def test_a_request_holds_what_is_in_use_and_a_schema_only_where_the_server_holds_to_it(chat_options):
    form = {"type": "json_schema"}
    body = chat_request(chat_options(temperature=None, seed=7, extra={"top_k": 3}, output="json"), "Hello", form).body
    messages = [{"role": "user", "content": "Hello"}]
    assert body == {"model": "tiny", "max_tokens": 1024, "seed": 7, "top_k": 3, "messages": messages}
    for output in ("json_schema", "auto"):
        request = chat_request(chat_options(output=output), "Hello", form)
        assert (request.body["response_format"], request.loose) == (form, output == "auto")
        assert request.plain.body == chat_request(chat_options(output="json"), "Hello", form).body
    with pytest.raises(ValueError, match="extra may not set seed"):
        chat_options(extra={"seed": 3})
    # Where, how and at what price a model is asked cannot change a reply; who it is can.
    known = chat_options(timeout=3.0, price_in=1.0, price_out=1.0).identity()
    assert known == chat_options().identity()
    assert (known["model"], "timeout" in known) == ("tiny", False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *((text, {"a": 1, "b": 2}) for text in ('{"a": 1, "b": 2}', '```json\n{"b": 2, "a": 1}\n```')),
        *((text, None) for text in ('{"a": 1}', '{"a": 1, "b": 2, "c": 3}', 'Sure: {"a": 1, "b": 2}', "[" * 100_000)),
        *((text, None) for text in ('{"a": 1, "b": 2, "b": 3}', '{"a": 1, "b": {"c": [{"d": 1, "d": 1}]}}')),
        ('\n```\r\n{"a": 1, "b": 2}\r\n  ``` ', {"a": 1, "b": 2}),
        ('```json\n{"a": 1, "b": 2}```', None),
        (f"```json{chr(10) * 1_000_000}x", None),  # hangs where white space is looked at again from every line break
    ],
)
def test_an_object_has_the_fields_that_were_asked_for_or_is_none(text, found):
    assert read_object(text, reply_form("ab", a={}, b={})) == found


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({}, [1, True, 1.5, None, "a", [1], {"a": 1}]),
        ({"type": "number"}, [1, 1.5]),
        *((of, [1]) for of in ({"type": "integer"}, {"type": "integer", "enum": [1, 2]})),
        ({"type": "string"}, ["a"]),
        ({"type": "array", "items": {"type": "integer"}}, [[1]]),
        (object_schema(a={"type": "integer"}), [{"a": 1}]),
        *((of, []) for of in ({"type": "string", "enum": ["b"]}, {"type": "array", "items": {"type": "string"}})),
        *((of, []) for of in (object_schema(a={"type": "string"}), object_schema(a={}, b={}))),
    ],
)
def test_a_value_keeps_to_a_schema_to_the_letter(schema, kept):
    values = json.loads('[1, true, 1.5, null, "a", [1], {"a": 1}]')
    assert [value for value in values if keeps(value, schema)] == kept


def test_a_reply_that_another_run_stored_first_is_the_one_that_counts(fake, chat_options, tmp_path):
    chosen = chat_options("http://127.0.0.1:1/v1")
    kept = tmp_path / "replies.sqlite"

    def answer(body):
        # While this request is in flight, another run stores its own reply to the same.
        store = ReplyStore(kept)
        request = chat_request(chosen, "one")
        first = read_reply(json.dumps({"choices": [{"message": {"content": "theirs"}}]}))
        store.put(request.key(server.url), server.url, request, first, 0.1)
        store.close()
        return "ours"

    with fake.ChatServer(answer=answer) as server:
        for _ in range(2):  # the second time from the store
            with open_chat(chat_options(server.url)) as chat:
                assert contents(chat.ask([chat_request(chosen, "one")])) == ["theirs"]


def test_half_a_surrogate_pair_is_recorded_and_replayed(fake, chat_options, tmp_path):
    request = chat_request(chat_options(), "broken \ud800 text, \u4e2d")
    with (
        fake.ChatServer(answer=lambda body: "read") as server,
        open_chat(chat_options(server.url), record=tmp_path / "kept.jsonl") as chat,
    ):
        assert contents(chat.ask([request])) == ["read"]
    assert "\u4e2d" in (tmp_path / "kept.jsonl").read_text(encoding="utf-8")
    with open_chat(chat_options(), replay=tmp_path / "kept.jsonl") as chat:
        assert contents(chat.ask([request])) == ["read"]
    for content, says in (
        (None, "--record"),
        ("", "holds no recorded replies"),
        ('{"request": {}, "sample": 0, "reply": {"choices": []}}', "line 1: the reply is not a chat completion"),
    ):
        if content is not None:
            (tmp_path / "odd.jsonl").write_text(content)
        with pytest.raises(UserError, match=says):
            replayed_model(tmp_path / "odd.jsonl") if not content else Replay(tmp_path / "odd.jsonl")


FORM = reply_form("number", number={"type": "integer"}, words={"type": "array", "items": {}})


def second_time(body):
    """In form when it is asked the second time; "never" never is."""
    text = body["messages"][-1]["content"]
    SEEN[text] += 1
    if text == "first" or (text == "second" and SEEN[text] > 1):
        return '{"number": 7, "words": [1, "two"]}'
    return f"It is {SEEN[text]}."


SEEN = Counter()


def test_replies_out_of_form_are_asked_for_once_more_and_both_attempts_are_kept(fake, chat_options, tmp_path):
    SEEN.clear()
    with fake.ChatServer(answer=second_time) as server:
        plain, chosen = chat_options(server.url), chat_options(server.url, ask_again="unparsed")
        requests = [chat_request(chosen, text, FORM) for text in ("first", "second", "never")]
        free = chat_request(chosen, "free")  # without a form nothing is malformed
        with open_chat(plain) as chat:
            assert contents(chat.ask(requests))[1:] == ["It is 1.", "It is 1."]
        with open_chat(chosen, record=tmp_path / "kept.jsonl") as chat:
            heard = contents(chat.ask([*requests, free]))
            note = chat.note()
            # The first attempt stays where the second is no better, and both are paid for.
            assert tokens_and_cost(chat.heard, chosen)["tokens in"] == 400
            assert tokens_and_cost([*chat.heard, *chat.superseded], chosen)["tokens in"] == 600
        assert heard == ['{"number": 7, "words": [1, "two"]}'] * 2 + ["It is 1.", "It is 1."]
        assert note.endswith("; 2 unparsed replies asked for again, 1 of them read then")
        with open_chat(chosen) as chat:
            assert contents(chat.ask([*requests, free])) == heard
    assert SEEN == {"first": 1, "second": 2, "never": 2, "free": 1}  # nothing was asked twice but what was unparsed
    with open_chat(chat_options(ask_again="unparsed"), replay=tmp_path / "kept.jsonl") as again:
        assert contents(again.ask([*requests, free])) == heard
        assert again.note().endswith("2 unparsed replies asked for again, 1 of them read then")
    with open_chat(chat_options(), replay=tmp_path / "kept.jsonl") as first:
        assert contents(first.ask([*requests[1:], replace(requests[1], attempt=1)])) == ["It is 1."] * 2 + heard[1:2]
    assert chosen.identity() == {**plain.identity(), "ask_again": "unparsed"}


IN_FORM = '{"number": 7, "words": []}'


@pytest.mark.parametrize("has_it", [True, False])
def test_a_schema_is_asked_for_where_the_endpoint_has_it(fake, chat_options, tmp_path, has_it):
    def answer(body):
        """In the form that the prompt asks for; without structured output its schema is refused."""
        refused = not has_it and "response_format" in body
        return (400, {"error": {"message": "json_schema is not supported"}}) if refused else IN_FORM

    kept = tmp_path / "kept.jsonl"
    with fake.ChatServer(answer=answer) as server:
        chosen = chat_options(server.url)
        requests = [chat_request(chosen, text, FORM) for text in ("one", "two", "three")]
        with open_chat(chosen, record=kept) as chat:
            assert len(set(contents(chat.ask(requests)))) == 1
            note, settled = chat.note(), chat.settled(chosen)
        # One request finds out; it is paid for once and counted once.
        assert note.startswith("3 replies asked for, 0 from the reply store; 300 tokens in, 30 out")
        assert "failed" not in note
        assert settled.output == ("json_schema" if has_it else "json")
        assert len(server.bodies) == (3 if has_it else 4)
        # What was found out is kept, and so are the replies.
        with open_chat(chosen) as chat:
            chat.ask(requests)
            assert chat.settled(chosen) == settled
        assert len(server.bodies) == (3 if has_it else 4)
        assert estimate_for(requests, chosen).requests == 0
        assert [set(body) >= {"response_format"} for body in server.bodies[1:]] == [has_it] * (len(server.bodies) - 1)
    with open_chat(chat_options(), replay=kept) as again:
        again.ask(requests)
        assert again.settled(chosen) == settled
    assert settled.identity()["output"] == settled.output


def test_replies_that_were_kept_without_a_schema_are_not_paid_for_again(fake, chat_options):
    with fake.ChatServer(answer=lambda body: IN_FORM) as server:
        before, now = chat_options(server.url, output="json"), chat_options(server.url)
        with open_chat(before) as chat:
            chat.ask([chat_request(before, "one", FORM)])
        with open_chat(now) as chat:
            chat.ask([chat_request(now, "one", FORM)])
            assert chat.settled(now).output == "json"
        assert server.attempts.total() == 1


def reply(text, finish="stop", refusal=None):
    choice = {"message": {"content": text, "refusal": refusal}, "finish_reason": finish}
    return read_reply(json.dumps({"choices": [choice], "model": "tiny-1", "usage": {"prompt_tokens": 0}}))


FAILED, TOO_LONG = Failure(Cause.REFUSED, "policy"), Failure(Cause.TOO_LONG, "too many tokens")
CASES = {
    "prose": ([reply("Sure.\n\n Here")], "1 malformed; the first reply begins 'Sure. Here'; ask"),
    "forty characters": ([reply("x" * 40)], f"begins '{'x' * 40}'; ask"),
    "more than forty": ([reply("x" * 41)], f"begins '{'x' * 40}...'; ask"),
    "cut": ([reply("It is", "length")], "1 cut at the token limit; the first reply begins 'It is'; set max_tokens"),
    "cut in thought": ([reply("", "length")], "1 cut at the token limit; set max_tokens higher (-s chat.max_tokens="),
    "refused": ([reply("", refusal="No."), reply("", "content_filter")], "2 refused by the model or a filter; ask"),
    "no reply": ([FAILED, TOO_LONG, FAILED, reply(" ")], "2 failed, 1 refused as too long, 1 without a text; ask"),
}


@pytest.mark.parametrize(("answers", "said"), CASES.values(), ids=CASES.keys())
def test_how_answers_ended_is_told_and_a_higher_limit_only_where_one_was_cut(answers, said, chat_options):
    counted = [*tokens_and_cost(answers, chat_options()).values()]
    assert counted == [0, 0, sum(one not in (FAILED, TOO_LONG) for one in answers), None]
    found = why_unread(answers, max_tokens=64)
    assert said in found
    assert ("max_tokens=128" in found) == ("cut" in said)
