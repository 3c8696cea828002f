"""CiteEval as released (commit 88f567d): the outputs of its unmodified code on stored inputs.

tests/golden/citeeval.json holds splittings, a parsed reply, edit distances and statement ratings.
"""

import json
from pathlib import Path

import pytest

from metaeval.citation.citeeval.editing import PUBLISHED, Edit, edit_distance
from metaeval.citation.citeeval.options import RELEASED, citeeval_options
from metaeval.citation.citeeval.replies import read_tags
from metaeval.citation.citeeval.splitting import NO_ANSWER, split_response
from metaeval.citation.citeeval.values import by_edits, by_rating, response_value
from metaeval.citation.model import Answer, Passage
from metaeval.errors import UserError

GOLDEN = Path(__file__).parents[1] / "golden" / "citeeval.json"


def with_marks(statement):
    """The text with its citations behind it, as the released code writes it."""
    return f"{statement.text} {''.join(f'[{number}]' for number in statement.citations)}".rstrip()


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def edits_of(stored):
    """`DELETE_1` and a citation in words, as the released code stores an edit."""
    return tuple(
        Edit(name.lower(), int(reason), int(edit["citation"]))
        for edit in stored
        for name, reason in [edit["edit"].split("_")]
    )


def test_every_response_is_split_as_released(golden, splitter):
    for case in golden["split"]:
        answer = Answer("a", case["response"], (Passage("p"),) * 3)
        if "error" in case:
            with pytest.raises(UserError, match="released code stops"):
                split_response(answer, RELEASED, splitter)
            continue
        found = split_response(answer, RELEASED, splitter)
        assert [[one.text, list(one.citations), with_marks(one)] for one in found.statements] == case["sentences"]
        assert found.no_answer == case["no_answer"]
        assert case["prediction"] == (NO_ANSWER if found.no_answer else answer.text)


def test_the_reply_in_tags_is_read_as_released(golden):
    text = golden["parse"]["text"]
    found = read_tags(text, "editing", statements=3)
    official = {int(number): edits_of(stored) for number, stored in golden["parse"]["edits"].items()}
    assert {number: own for number, own in found.edits.items() if own} == official
    assert found.edits[2] == ()  # N/A: the judge said that nothing is to change; the released code stores nothing
    assert found.stars == {int(number): stars for number, stars in golden["parse"]["ratings"].items()}
    assert not found.problems


def test_a_reason_that_does_not_exist_stops_as_released_or_is_counted(golden):
    assert golden["parse"]["reason_4"] == "AssertionError"
    text = golden["parse"]["text"].replace("DELETE REASON 1", "DELETE REASON 4")
    with pytest.raises(UserError, match="reason 4, at which the released code stops"):
        read_tags(text, "editing", 3, stops=RELEASED.stops)
    said = read_tags(text, "editing", 3)
    assert set(said.edits) == {2, 3}
    assert said.problems == {"out of schema": 1}


def test_every_edit_distance_is_exact_with_and_without_the_shifted_index(golden):
    assert len(golden["editdist"]) == 10
    for case in golden["editdist"]:
        citations, edits = case["citations_1based"], edits_of(case["edits"])
        assert edit_distance(citations, edits, index_shift=True) == case["released_code"], case["case"]
        assert edit_distance(citations, edits) == case["without_off_by_one"], case["case"]
        assert by_edits(citations, 2, edits, RELEASED, passages=10).value == case["released_code"], case["case"]
        own = citeeval_options("released", index_shift=False)
        assert by_edits(citations, 2, edits, own, passages=10).value == case["without_off_by_one"], case["case"]


def test_the_coefficients_are_the_released_ones(golden):
    assert {**PUBLISHED.action, "INTERCEPT": PUBLISHED.intercept} == golden["coefficients"]


def test_every_statement_and_response_is_rated_as_released(golden):
    for case in golden["rate"]:
        values, cited = [], []
        for number, sentence in enumerate(case["sent_info"], start=1):
            context = int(case["types"][str(number)]["ca_pred"])
            stars = case["ratings_1_5"].get(str(number))
            values.append(by_rating(sentence["citations"], context, stars, RELEASED))
            cited.append(bool(sentence["citations"]))
        official = case["result"]["sent_id2rating"]
        assert {str(number): value.value for number, value in enumerate(values, start=1)} == official
        assert response_value(values, cited, "full", RELEASED).value == case["result"]["answer_rating"]
