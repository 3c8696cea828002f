"""Structured output, log-probabilities, chat completions and prompts: each read to the letter."""

import json
from math import log

import pytest

from metaeval.core.errors import UserError
from metaeval.llm.messages import Prompt, read_prompt, read_reply
from metaeval.llm.score_parsing import CONTINUOUS, DISCRETE, expected_score, find_json_score, find_score, score_schema


def judged(scale, score, *texts):
    """A row of the table for each text."""
    return [(text, scale, score) for text in texts]


JUDGEMENTS = [
    *judged(DISCRETE, 2, '{"reasoning": "both agree", "score": 2}'),
    *judged(DISCRETE, 1, '{"reasoning": "", "score": 1.0}'),
    *judged(CONTINUOUS, 0.25, '{"reasoning": "", "score": 0.25}'),
    *judged(CONTINUOUS, 1, ' {"score": 1, "reasoning": "x"}\n'),
    *judged(DISCRETE, None, '{"reasoning": "", "score": 3}', '{"reasoning": "", "score": "2"}'),
    *judged(DISCRETE, None, '{"reasoning": "", "score": true}', '{"reasoning": "", "score": null}'),
    *judged(DISCRETE, None, '{"reasoning": 5, "score": 1}', '{"score": 1}', '{"reasoning": "", "score": 1, "more": 1}'),
    *judged(DISCRETE, 1, '```json\n{"reasoning": "", "score": 1}\n```'),
    *judged(DISCRETE, None, '{"reasoning": "", "score": 1'),
    *judged(DISCRETE, None, '{"reasoning": "", "score": 2, "score": 0}'),
    *judged(DISCRETE, None, '{"reasoning": "", "reasoning": "", "score": 0}'),
    *judged(DISCRETE, None, '{"reasoning": "", "score": 0}\nPrediction: 2'),
    *judged(DISCRETE, None, '{"reasoning": "", "score": 0} {"reasoning": "", "score": 2}', "[1]", "1", "[" * 100_000),
    *judged(CONTINUOUS, None, '{"reasoning": "", "score": 85}', '{"reasoning": "", "score": NaN}'),
    *judged(DISCRETE, 0, '{"reasoning": "it says {\\"score\\": 2}", "score": 0}'),
]


@pytest.mark.parametrize(("text", "scale", "score"), JUDGEMENTS)
def test_a_judgement_keeps_to_the_schema_or_is_none(text, scale, score):
    found = find_json_score(text, scale)
    assert (None if found is None else found.value) == score
    if found is not None:
        assert float(text[found.start : found.end]) == score


def test_the_schema_asks_for_the_reasoning_first_and_closes_the_object():
    asked = score_schema(DISCRETE)["json_schema"]
    assert asked["strict"] is True
    assert list(asked["schema"]["properties"]) == ["reasoning", "score"]
    assert asked["schema"]["additionalProperties"] is False
    assert asked["schema"]["properties"]["score"] == {"type": "integer", "enum": [0, 1, 2]}
    assert score_schema(CONTINUOUS)["json_schema"]["schema"]["properties"]["score"] == {"type": "number"}


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


def test_a_completion_is_read_with_all_that_was_kept(fake):
    reply = read_reply(json.dumps(fake.completion("Prediction: 1")))
    assert (reply.content, reply.finish_reason) == ("Prediction: 1", "stop")
    assert (reply.model, reply.fingerprint) == ("tiny-2", "fp_1")
    assert (reply.tokens_in, reply.tokens_out) == (100, 10)
    assert reply.whole


@pytest.mark.parametrize(
    "changes",
    [
        {"finish_reason": "length"},
        {"finish_reason": "content_filter"},
        {"message": {"content": "2", "refusal": "I cannot judge this."}},
        {"message": {"content": None}},
        {"message": {"content": " "}},
    ],
)
def test_a_reply_cut_short_refused_or_empty_is_not_whole(fake, changes):
    assert not read_reply(json.dumps(fake.completion("2", **changes))).whole


@pytest.mark.parametrize(
    "raw",
    [
        *("", "<html>", "null", "[]", "{}", "[" * 100_000),
        *('{"choices": []}', '{"choices": [{}]}', '{"choices": 3}', '{"choices": [{"message": null}]}'),
        '{"choices": [{"message": "2"}]}',
    ],
)
def test_another_body_is_no_completion(raw):
    with pytest.raises(ValueError, match="not a chat completion"):
        read_reply(raw)


def test_a_completion_without_a_token_count_is_a_completion():
    reply = read_reply('{"choices": [{"message": {"content": "2"}}]}')
    assert (reply.tokens_in, reply.tokens_out, reply.whole) == (None, None, True)


def test_a_count_beyond_what_any_model_reads_is_none(fake):
    usage = {"prompt_tokens": 10**9, "completion_tokens": 10**9 + 1}
    reply = read_reply(json.dumps({**fake.completion("2"), "usage": usage}))
    assert (reply.tokens_in, reply.tokens_out) == (10**9, None)


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Prediction: 0"}]}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "look_up"}}]}


@pytest.mark.parametrize(
    ("message", "content", "refusal", "usable"),
    [
        ({"content": [THOUGHT, {"type": "text", "text": "Prediction: 2"}]}, "Prediction: 2", "", True),
        ({"content": [{"type": "text", "text": "Score: "}, {"type": "text", "text": "2"}]}, "Score: 2", "", True),
        ({"content": [{"type": "reasoning", "text": "2"}, {"type": "image_url"}]}, "", "", True),
        ({"content": [None, 1, ["2"], {"type": "text", "text": {"value": "2"}}, "Score: 1"]}, "Score: 1", "", True),
        ({"content": {"type": "text", "text": "2"}, "refusal": False}, "2", "", True),
        ({"content": 2, "provider": "one", "tool_calls": []}, "", "", False),
        ({"content": [{"type": "text", "text": " "}], "name": "one"}, "", "", False),
        ({"content": [{"type": "refusal", "refusal": "I cannot."}]}, "", "I cannot.", True),
        (CALL, "", "", True),
        ({"role": "assistant", "content": " ", "refusal": None, "tool_calls": []}, "", "", False),
        ({"role": "assistant", "content": []}, "", "", False),
    ],
)
def test_parts_that_are_no_text_are_skipped_and_only_an_empty_message_is_not_usable(message, content, refusal, usable):
    for finish in ("stop", "eos", "end_turn", None):
        reply = read_reply(json.dumps({"choices": [{"message": message, "finish_reason": finish}]}))
        assert (reply.content.strip(), reply.refusal, reply.usable({})) == (content, refusal, usable)


SOUND = {"token": "2", "logprob": -0.5, "bytes": [50], "top_logprobs": [{"token": "2", "logprob": -0.5}]}


@pytest.mark.parametrize(
    "change",
    [
        *({"logprob": value} for value in (5, None, "-0.5", True, float("nan"), float("-inf"), [-0.5])),
        *({"bytes": value} for value in (10**12, [10**12], [-1], [True], "2", [[50]], {"0": 50})),
        *({"top_logprobs": value} for value in (5, "2", [5], [{"token": "0"}], [{"token": "0", "logprob": 5}])),
        {"top_logprobs": [{"token": str(number), "logprob": -0.1} for number in range(3)]},  # .9 each
        {"top_logprobs": [{"token": "0", "logprob": -0.01}]},  # .99, beside the .61 of the token itself
        {"token": 2},
        *({"top_logprobs": value} for value in (None, [])),  # no alternative, of which an expectation could be made
        {"bytes": [48]},  # of another text than the reply's
    ],
)
def test_a_log_probability_of_another_type_or_range_is_none(fake, change):
    def read(token):
        reply = read_reply(json.dumps(fake.completion("2", logprobs={"content": [token]})))
        return list(reply.logprobs), reply.usable({"logprobs": True})

    assert read(SOUND) == ([SOUND], True)
    assert read({**SOUND, **change}) == ([], False)


@pytest.mark.parametrize("logprobs", [5, "2", [], {"content": 5}, {"content": {"token": "2"}}, {"content": ["2"]}])
def test_log_probabilities_of_another_shape_are_none(fake, logprobs):
    reply = read_reply(json.dumps(fake.completion("2", logprobs=logprobs)))
    assert (reply.content, list(reply.logprobs)) == ("2", [])


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
