"""Structured output, log-probabilities, chat completions and prompts: each read to the letter."""

import json
from collections import Counter
from math import log
from operator import pos
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
from metaeval.llm.endpoint import Cause
from metaeval.llm.messages import (
    ChatRequest,
    Failure,
    Prompt,
    is_malformed,
    read_answer,
    read_object,
    read_prompt,
    read_reply,
    reply_form,
    text_of,
)
from metaeval.llm.score_parsing import CONTINUOUS, DISCRETE, expected_score, find_score, score_schema

REPLIES = json.loads(Path(__file__).with_name("replies.json").read_text(encoding="utf-8"))


def test_each_body_is_the_reply_that_it_was_or_none(recorded):
    """Bodies that are no completion, contents in parts, refusals, ends, token counts, and log-probabilities."""
    found = {}
    for number, raw in enumerate(REPLIES["bodies"]):
        try:
            reply = read_reply(raw)
        except ValueError:
            found[number] = None
            continue
        assert reply.raw == raw
        usable = {"usable": reply.usable({}), "with logprobs": reply.usable({"logprobs": True})}
        told = {**recorded.plain(reply), "raw": "", "whole": reply.whole, "why not": text_of(reply)[1], **usable}
        found[number] = {name: value for name, value in told.items() if value not in ("", False, [])}
    with pytest.raises(ValueError, match="not a chat completion"):
        read_reply("[" * 100_000)
    recorded.held("llm-replies", found)


def test_each_text_is_the_object_that_it_was_as_it_is_and_repaired(recorded, fake):
    """Of five schemas: in code blocks, within other text, behind thoughts, with other types, capitals and fields."""
    found = {}
    for number, (name, text) in enumerate(REPLIES["objects"]):
        form, counts = reply_form(name, **REPLIES["forms"][name]), [Counter(), Counter()]
        read = [read_object(text, form), read_object(text, form, any_entries=True)]
        read += [read_object(text, form, any_entries=entries, repairs=counts[entries]) for entries in (False, True)]
        reply = read_reply(json.dumps(fake.completion(text)))
        asked = [ChatRequest({}, form=form, repairs=repairs) for repairs in (False, True)]
        malformed = [is_malformed(each, reply) for each in asked]
        found[f"{number}_{name}_{text[:50].replace(' ', '_')}"] = [*read, *map(pos, counts), *malformed]
    failed = Failure(Cause.TIMEOUT, "")
    assert not is_malformed(asked[0], failed)
    assert not is_malformed(ChatRequest({}), reply)
    assert is_malformed(asked[1], read_reply(json.dumps(fake.completion("2", finish_reason="length"))))
    found["answers"] = [
        read_answer(failed, len),
        read_answer(Failure(Cause.TOO_LONG, ""), len),
        read_answer(reply, len),
    ]
    found["forms"] = [score_schema(DISCRETE), score_schema(CONTINUOUS)]
    recorded.held("llm-objects", found)


def test_a_request_says_what_it_costs_and_is_known_by_all_that_is_sent(recorded):
    body = {
        "model": "m",
        "max_tokens": 7,
        "messages": [{"role": "user", "content": "né \ud83d 1"}, {"content": "abcd"}],
    }
    one, form = ChatRequest(body), {"response_format": {"type": "json_object"}}
    others = [
        ChatRequest(body, 1),
        ChatRequest(body, 0, 1),
        ChatRequest({**body, **form}),
        ChatRequest({**body, "n": 1}),
    ]
    keys = [one.key("a"), one.key("b"), *(each.key("a") for each in others)]
    assert len({*keys}) == len(keys)
    assert (one, others[2].plain.key("a")) == (ChatRequest(body, form=form, loose=True, repairs=True), keys[0])
    plain = ChatRequest({"messages": [], "max_completion_tokens": 9}), ChatRequest({"messages": []})
    counts = [[each.likely_tokens_in, each.most_tokens_in, each.most_tokens_out] for each in (one, *others, *plain)]
    key = ChatRequest({"messages": []}, 2, 1).key("s").hex()[:16]
    shown = {"counts": counts, "content": one.content.decode(), "settings": others[2].settings("s"), "key": key}
    recorded.held("llm-requests", shown)


def token(text, chance, **others):
    top = [{"token": name.replace("_", ""), "logprob": log(p)} for name, p in {text: chance, **others}.items()]
    return {"token": text, "logprob": log(chance), "bytes": list(text.encode()), "top_logprobs": top}


# One snowman in three tokens of a byte each, as byte-level tokenizers have it.
SNOWMAN = [{"token": "\\x", "logprob": 0.0, "bytes": [byte], "top_logprobs": []} for byte in "☃".encode()]


@pytest.mark.parametrize(
    ("tokens", "content", "expected"),
    [
        # P(2) = 0.6, P(1) = 0.3, P(0) = 0.05, and 0.05 for "the", which is no score:
        # (0.6 * 2 + 0.3 * 1 + 0.05 * 0) / (0.6 + 0.3 + 0.05) = 1.5 / 0.95
        ([token("Prediction: ", 1), token("2", 0.6, _1=0.3, _0=0.05, the=0.05)], "Prediction: 2", 1.5 / 0.95),
        # P(" 1") = 0.5, P("1") = 0.1, P(" 0") = 0.4: (0.6 * 1 + 0.4 * 0) / 1.0
        ([token("Score:", 1), token(" 1", 0.5, **{"1": 0.1, " 0": 0.4})], "Score: 1", 0.6),
        # Not of the first number, but of the score that the text gives.
        ([token("2", 0.9, _0=0.1), token(" of 3.\nScore: ", 1), token("1", 0.75, _2=0.25)], "2 of 3.\nScore: 1", 1.25),
        ([*SNOWMAN, token("\nScore: ", 1), token("2", 0.8, _1=0.2)], "☃\nScore: 2", 1.8),
        # A server that names no alternative.
        ([{"token": "2", "logprob": -0.1}], "2", 2),
        ([token("2", 1 - 1e-9, _0=1e-9)], "2", 2 - 2e-9),
        # The score is no token of its own; tokens that do not make up the text.
        *((tokens, "2", None) for tokens in ([], [token("2.", 0.9)], [token("1", 0.9), token("!", 1)])),
    ],
)
def test_the_expectation_is_over_the_tokens_of_the_score(tokens, content, expected):
    found = expected_score(content, tokens, find_score(content, DISCRETE), DISCRETE)
    assert found is None if expected is None else found == pytest.approx(expected, abs=1e-12)


def test_a_prompt_is_filled_in_one_pass():
    filled = Prompt("{statement} / {citation} / {other}").fill(statement="{citation}", citation="{x}")
    assert filled == "{citation} / {x} / {other}"


def test_a_prompt_of_ones_own_needs_its_places(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_text("Statement: {statement}\n")
    with pytest.raises(UserError, match=r"prompt.txt: the prompt lacks \{citation\}"):
        read_prompt(path, ("statement", "citation"))
    path.write_text("{statement} {citation}\n")
    assert read_prompt(path, ("statement", "citation")).text == "{statement} {citation}"
