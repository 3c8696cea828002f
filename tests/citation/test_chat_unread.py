"""What is said of answers that nothing could be read from: how they ended, how the first begins, what to do."""

import json

import pytest

from metaeval.citation.chat_models import why_unread
from metaeval.llm.endpoint import Cause
from metaeval.llm.messages import Failure, read_reply


def reply(text, finish="stop", refusal=None):
    choice = {"message": {"content": text, "refusal": refusal}, "finish_reason": finish}
    return read_reply(json.dumps({"choices": [choice], "model": "tiny-1"}))


FAILED, TOO_LONG = Failure(Cause.REFUSED, "policy"), Failure(Cause.TOO_LONG, "too many tokens")
CASES = {
    "prose": ([reply("Sure.\n\n Here")], "1 malformed; the first reply begins 'Sure. Here'; ask"),
    "forty characters": ([reply("x" * 40)], f"begins '{'x' * 40}'; ask"),
    "more than forty": ([reply("x" * 41)], f"begins '{'x' * 40}...'; ask"),
    "cut": ([reply("It is", "length")], "1 cut at the token limit; the first reply begins 'It is'; set max_tokens"),
    "cut in thought": ([reply("", "length")], "1 cut at the token limit; set max_tokens higher (-s max_tokens=128)"),
    "refused": ([reply("", refusal="No."), reply("", "content_filter")], "2 refused by the model or a filter; ask"),
    "nothing": ([reply(" ")], "1 without a text; ask"),
    "no reply": ([FAILED, TOO_LONG, FAILED], "2 failed, 1 refused as too long; ask another model (--model NAME)"),
    "the first that came": ([FAILED, reply("Yes.")], "1 failed, 1 malformed; the first reply beg"),
}


@pytest.mark.parametrize(("answers", "said"), CASES.values(), ids=CASES.keys())
def test_how_answers_ended_is_told_and_a_higher_limit_only_where_one_was_cut(answers, said):
    found = why_unread(answers, max_tokens=64)
    assert said in found
    assert ("max_tokens" in found) == ("cut" in said)
