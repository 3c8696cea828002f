"""Long responses in parts: what is sent, that nothing changes without the option, and replies that leave their part."""

import hashlib
import json
import re

import pytest

from metaeval.citation.citeeval.evaluate_responses import counts, evaluate
from metaeval.citation.citeeval.judge import Asking, part_prompt, questions_of
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.llm.endpoint import Cause
from metaeval.llm.messages import Failure, read_reply

PASSAGES = (
    Passage("The Oder is 840 kilometres long.", "Oder"),
    Passage("The Oder crosses three countries.", "Course"),
    Passage("Barges carry <coal> & ore.", 'Trade "by water"'),
)
FOUR = Answer(
    "a",
    "The Oder is 840 kilometres long [1][3]. It crosses countries [2]. Barges go there. I am sure.",
    PASSAGES,
    "How long is the Oder?",
)
FIVE = Answer("b", "One [1]. Two [2]. Three. Four. Five [3].", PASSAGES, "How many?")
STATEMENT = re.compile(r'<statement id="(\d+)"(?: cites="[\d ]*")?( judge="yes")?>')


def requests(answer, **asking):
    return [
        (one.module, one.request)
        for one in questions_of([answer], [split_response(answer)], Asking(model="tiny", **asking))
    ]


def content(request):
    return request.body["messages"][0]["content"]


def reply(entries):
    text = json.dumps({"statements": entries})
    return read_reply(json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))


def rated(*numbers, stars=4):
    return reply([{"id": n, "thinking": "", "edits": [], "rating": stars} for n in numbers])


def contexts(*numbers):
    return reply([{"id": n, "thinking": "", "context": "retrieval"} for n in numbers])


@pytest.mark.parametrize("size", [None, 4, 100])
def test_without_parts_not_a_byte_of_a_request_is_another(size):
    # SHA-256 of the two requests as they were before there were parts: replies that were kept then still serve.
    assert [hashlib.sha256(one.content).hexdigest() for _, one in requests(FOUR, statements_per_request=size)] == [
        "d546ebe460b9681eb3a8e4bd006476b936727339f27a609b9c339c220ec70b42",
        "1e62c43ec873a4edeab701352a6c108e6eeb487a8f429a386ff9582ca37c6864",
    ]


def test_each_part_is_shown_within_the_whole_answer_under_its_own_ids():
    asked = requests(FIVE, statements_per_request=2)
    # Parts 1-2, 3-4 and 5: the contexts of all; citations are edited where the part has some.
    assert [module for module, _ in asked] == ["attribution"] * 3 + ["editing"] * 2
    marked = [[n for n, judge in STATEMENT.findall(content(one)) if judge] for _, one in asked]
    assert marked == [["1", "2"], ["3", "4"], ["5"], ["1", "2"], ["5"]]
    assert all(len(STATEMENT.findall(content(one))) == 5 for _, one in asked)
    assert [re.findall(r"statements (\d) to (\d)", content(one)) for _, one in asked] == [
        [("1", "2")], [("3", "4")], [("5", "5")], [("1", "2")], [("5", "5")]
    ]  # fmt: skip
    assert all(content(one).endswith(part_prompt().text[-40:]) for _, one in asked)
    # Where contexts are asked for as needed, a part of cited statements alone is not.
    spare = requests(FIVE, statements_per_request=2, contexts="where needed")
    assert [module for module, _ in spare] == ["attribution"] + ["editing"] * 2


def heard(*answers, answer=FIVE, size=2):
    asking = Asking(model="tiny", statements_per_request=size)
    (result,) = evaluate([answer], [split_response(answer)], lambda asked: answers, asking).results
    return result


def test_the_parts_make_the_same_values_as_the_whole():
    whole = heard(contexts(1, 2, 3, 4, 5), rated(1, 2, 5), size=None)
    parts = heard(contexts(1, 2), contexts(3, 4), contexts(5), rated(1, 2), rated(5))
    assert (parts.statements, parts.values) == (whole.statements, whole.values)
    # (4 - 1) / 4 three times, and two statements that lack a citation: 2.25 / 5.
    assert parts.values["rating", "full"].value == pytest.approx(0.45)
    assert (parts.judged.attribution, parts.judged.editing) == ("read", "read")
    assert (counts([whole]), counts([parts])) == ({"questions: read": 2}, {"questions: read": 5})


def test_an_id_outside_the_part_is_no_such_statement():
    found = heard(contexts(1, 2), contexts(3, 4), contexts(5), rated(1, 2, 5, stars=1), rated(2, 5, 9))
    # The first part's word on 5 and the second's on 2 do not count; 9 is not there at all.
    assert found.judged.stars == {1: 1, 2: 1, 5: 4}
    assert found.judged.problems == {"no such statement": 3}
    stray = heard(contexts(1, 2), contexts(1, 2), contexts(5), rated(1, 2), rated(5))
    assert stray.judged.contexts == {1: 2, 2: 2, 5: 2}
    assert stray.judged.problems == {"no such statement": 2, "not judged": 2}


def test_a_part_that_was_not_read_leaves_its_own_statements_missing():
    lost = Failure(Cause.TOO_LONG, "x")
    found = heard(contexts(1, 2), contexts(3, 4), contexts(5), rated(1), lost)
    assert (found.judged.attribution, found.judged.editing) == ("read", "in part")
    assert found.judged.problems == {"not judged": 1}  # the second; the fifth was never heard of
    rating = found.values["rating", "full"]
    assert (rating.rated, rating.missing, rating.least, rating.most) == (3, 2, 0.75 / 5, 2.75 / 5)
    assert counts([found])["questions: too long"] == 1
    assert heard(lost, lost, lost, lost, lost).judged.editing == "too long"
    assert heard(contexts(1), contexts(3), contexts(5), lost, reply("?")).judged.editing == "too long"


def test_a_refusal_and_a_response_without_citations_are_asked_no_more_than_before():
    uncited = Answer("c", "One. Two. Three.", PASSAGES)
    assert [module for module, _ in requests(uncited, statements_per_request=2)] == ["attribution"] * 2
    result = heard(contexts(1, 2), contexts(3), answer=uncited)
    assert (result.judged.editing, counts([result])["questions: not asked"]) == ("not asked", 1)
    assert requests(Answer("d", "No answer was found.", PASSAGES), statements_per_request=1) == []
