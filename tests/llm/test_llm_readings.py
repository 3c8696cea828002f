"""Structured output, log-probabilities, chat completions and prompts: each read to the letter."""

import json
from collections import Counter
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
    assert [is_malformed(asked[0], failed), is_malformed(ChatRequest({}), reply)] == [False, False]
    assert is_malformed(asked[1], read_reply(json.dumps(fake.completion("2", finish_reason="length"))))
    found["answers"] = [read_answer(each, len) for each in (failed, Failure(Cause.TOO_LONG, ""), reply)]
    found["forms"] = [score_schema(DISCRETE), score_schema(CONTINUOUS)]
    recorded.held("llm-objects", found)


def test_a_request_says_what_it_costs_and_is_known_by_all_that_is_sent(recorded):
    body = {
        "model": "m",
        "max_tokens": 7,
        "messages": [{"role": "user", "content": "né \ud83d 1"}, {"content": "abcd"}],
    }
    one, form = ChatRequest(body), {"response_format": {"type": "json_object"}}
    more = ((body, 1), (body, 0, 1), ({**body, **form},), ({**body, "n": 1},))
    others = [ChatRequest(*each) for each in more]
    keys = [one.key("a"), one.key("b"), *(each.key("a") for each in others)]
    assert len({*keys}) == len(keys)
    assert (one, others[2].plain.key("a")) == (ChatRequest(body, form=form, loose=True, repairs=True), keys[0])
    plain = ChatRequest({"messages": [], "max_completion_tokens": 9}), ChatRequest({"messages": []})
    counts = [[each.likely_tokens_in, each.most_tokens_in, each.most_tokens_out] for each in (one, *others, *plain)]
    key = ChatRequest({"messages": []}, 2, 1).key("s").hex()[:16]
    shown = {"counts": counts, "content": one.content.decode(), "settings": others[2].settings("s"), "key": key}
    recorded.held("llm-requests", shown)


def test_the_expectation_is_over_the_tokens_of_the_score(recorded):
    """Of P(2) = .6, P(1) = .3, P(0) = .05 and .05 for what is no score: 1.5 / .95. Or none: the score is no token."""
    cases = [(tokens, content, find_score(content, DISCRETE)) for tokens, content in REPLIES["expected"]]
    found = [expected_score(content, tokens, score, DISCRETE) for tokens, content, score in cases]
    assert found[:3] == pytest.approx([1.5 / 0.95, 0.6, 1.25], abs=1e-12)
    recorded.held("llm-expected", {"found": found, "wide": expected_score("2", cases[4][0], cases[4][2], CONTINUOUS)})


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
