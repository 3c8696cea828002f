"""CiteEval as released (commit 88f567d): the outputs of its unmodified code on stored inputs.

tests/golden/citeeval.json holds splittings, a parsed reply, edit distances and statement ratings.
"""

import json
import random
from dataclasses import replace
from math import fsum
from pathlib import Path

import numpy as np
import pytest

from metaeval.citation.citeeval.citation_edits import PUBLISHED, Edit, edit_distance
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.judge_replies import ParsedReply, read_released, read_tags
from metaeval.citation.citeeval.options_and_values import (
    PAPER,
    RELEASED,
    Units,
    by_edits,
    by_rating,
    context_of,
    response_values,
)
from metaeval.citation.citeeval.splitting import NO_ANSWER, ResponseStatement, Split, split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.core.errors import UserError
from metaeval.llm.messages import read_reply

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
            with pytest.raises(UserError, match="released code fails"):
                split_response(answer, RELEASED, splitter)
            continue
        found = split_response(answer, RELEASED, splitter)
        assert [[one.text, list(one.citations), with_marks(one)] for one in found.statements] == case["sentences"]
        assert found.no_answer == case["no_answer"]
        assert case["prediction"] == (NO_ANSWER if found.no_answer else answer.text)


# What the released code makes of texts that the stored inputs have no like of, by its own splitter and marks; of the
# last three, the order in which a set of CPython gives the numbers: 8 comes before 1, 9 and 1 as they were put in.
MOVED = json.loads(GOLDEN.with_name("citeeval_marks.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", MOVED)
def test_marks_are_moved_and_ordered_as_released(case, punkt_data):
    answer = Answer("a", case["text"], (Passage("p"),) * 10)
    found = split_response(answer, RELEASED, find_sentence_splitter("nltk"))
    assert [[one.text, list(one.citations)] for one in found.statements] == case["statements"]


def test_the_reply_in_tags_is_read_as_released(golden):
    text = golden["parse"]["text"]
    official = {int(number): edits_of(stored) for number, stored in golden["parse"]["edits"].items()}
    stars = {int(number): stars for number, stars in golden["parse"]["ratings"].items()}
    assert read_released(text, "editing", {1, 2, 3}) == ParsedReply(edits=official, stars=stars)
    # N/A: the judge said that nothing is to change; the released code stores nothing.
    assert read_tags(text, "editing", {1, 2, 3}) == ParsedReply(edits={**official, 2: ()}, stars=stars)
    assert golden["parse"]["reason_4"] == "AssertionError"
    text = text.replace("DELETE REASON 1", "DELETE REASON 4")
    with pytest.raises(UserError, match="reason 4,"):
        read_released(text, "editing", {1, 2, 3})
    said = read_tags(text, "editing", {1, 2, 3})
    assert (set(said.edits), said.problems) == ({2, 3}, {"out of schema": 1})


def told(said):
    """What is read in a reply, in short."""
    return said and [
        [said.contexts, said.stars, said.problems],
        {number: [f"{edit.name}:{edit.citation}" for edit in edits] for number, edits in said.edits.items()},
    ]


# 92 kinds of replies in tags, odd ones too, to a response of three statements that cite [1][6], [2] and nothing, each
# beside the usual reply to the other question: contexts and values by the functions of the released code.
TAGS = json.loads(GOLDEN.with_name("citeeval_tags.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    own = tmp_path_factory.mktemp("prompts") / "own.txt"
    own.write_text("{query}{passages}{statements}", encoding="utf-8")
    asking = Asking(model="t", output="text", attribution_file=own, editing_file=own)
    response = Answer("a", "", (Passage("p"),) * 10)
    cited = [(1, 6), (2,), ()]
    split = Split(tuple(ResponseStatement(n, "s", own, 0, 0) for n, own in enumerate(cited, start=1)), no_answer=False)

    def rate(case, options):
        usual = next(each for each in TAGS if each["module"] != case["module"])["text"]
        texts = [case["text"], usual] if case["module"] == "attribution" else [usual, case["text"]]
        cut = "length" if case["kind"].startswith("cut") else "stop"
        choices = [{"message": {"content": text}, "finish_reason": cut if text != usual else "stop"} for text in texts]
        replies = [read_reply(json.dumps({"choices": [choice]})) for choice in choices]
        return evaluate([response], [split], lambda _: replies, asking, options)

    return rate


def known(values):
    return [None if np.isnan(value) else value for value in values]


@pytest.mark.parametrize("case", TAGS, ids=lambda case: case["kind"])
def test_a_reply_in_tags_of_any_kind_is_rated_as_released_to_the_digit(rated, case):
    if "stops" in case:
        with pytest.raises(UserError, match="released code fails"):
            rated(case, RELEASED)
        return
    found = rated(case, RELEASED)
    assert [context_of(found.judged[0].contexts.get(n), RELEASED) for n in (1, 2, 3)] == case["contexts"]
    assert {key: known(found.values[key].value) for key in ("rating", "edits")} == {
        key: case[key] for key in ("rating", "edits")
    }
    beyond = [stars for stars in found.judged[0].stars.values() if stars not in range(1, 6)]
    assert found.judged[0].problems["out of range"] == len(beyond)
    filled = found.counts([0]).get("statements given full marks unrated", 0)
    assert filled == sum(n not in found.judged[0].stars for n in (1, 2))


@pytest.mark.parametrize("case", TAGS, ids=lambda case: case["kind"])
def test_by_the_paper_what_no_reply_rates_is_missing_and_never_full_marks(rated, case):
    found = rated(case, PAPER)
    # Five stars stand in reasoning alone, and beside two stars for the same statement.
    assert set(known(found.values["rating"].value)) <= {None, 0, 0.25, 0.5, 0.75}
    assert "statements given full marks unrated" not in found.counts([0])


def test_what_is_read_in_tags_strictly_and_as_released(recorded):
    found = {}
    for number, case in enumerate(TAGS):
        own = found.setdefault(str(number), [])
        for module in ("attribution", "editing"):
            try:
                said = told(read_released(case["text"], module, {1, 2, 3}))
            except UserError:
                said = "refused"
            strictly = told(read_tags(case["text"], module, {1, 2, 3}))
            own.append([strictly, "same" if said == strictly else said])
    recorded.held("citeeval-tags", found)


def test_every_edit_distance_is_exact_with_and_without_the_shifted_index(golden):
    assert len(golden["editdist"]) == 10
    for case in golden["editdist"]:
        citations, edits = case["citations_1based"], edits_of(case["edits"])
        assert edit_distance(citations, edits, index_shift=True) == case["released_code"], case["case"]
        assert edit_distance(citations, edits) == case["without_off_by_one"], case["case"]
        assert by_edits(citations, 2, edits, RELEASED, passages=range(1, 11))[0] == case["released_code"], case["case"]
        own = replace(RELEASED, index_shift=False)
        assert by_edits(citations, 2, edits, own, passages=range(1, 11))[0] == case["without_off_by_one"], case["case"]


def fate(citation, cited, edits):
    """What becomes of one citation, from its own edits alone, as the published description has it; None: nothing.

    A citation of the statement is what its last edit makes it: deleted for that reason, or kept. One that is not is
    added for the reason of the first addition after its last deletion, and never was there without such an addition.
    """
    own = [edit for edit in edits if edit.citation == citation]
    deleted = [place for place, edit in enumerate(own) if edit.action == "delete"]
    if citation in cited:
        return own[-1].name if own and own[-1].action == "delete" else "KEEP"
    standing = own[deleted[-1] + 1 :] if deleted else own
    return standing[0].name if standing else None


@pytest.mark.parametrize("index_shift", [False, True])
def test_1775_random_edits_have_the_distance_of_the_description(golden, index_shift):
    rng = random.Random(1775)
    twice = 0
    for _ in range(1_775):
        citations = rng.sample(range(1, 7), rng.randint(0, 4))
        edits = [
            Edit(rng.choice(("delete", "add")), rng.randint(1, 3), rng.randint(0, 7)) for _ in range(rng.randint(0, 6))
        ]
        cited = [one + index_shift for one in citations]
        fates = [fate(one, cited, edits) for one in {*cited, *(edit.citation for edit in edits)}]
        worth = [golden["coefficients"][name] for name in fates if name is not None]
        expected = fsum(worth) / len(worth) + golden["coefficients"]["INTERCEPT"] if edits and worth else 1.0
        assert edit_distance(citations, edits, index_shift=index_shift) == pytest.approx(expected, abs=1e-12)
        added = [edit for edit in edits if edit.action == "add" and edit.citation not in cited]
        twice += len({(one.citation, one.reason) for one in added}) > len({one.citation for one in added})
    assert twice > 50  # additions of one citation for two reasons: a draw without any would prove nothing


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
        known = {str(number): None if np.isnan(value) else value for number, (value, *_) in enumerate(values, start=1)}
        assert known == official
        units, of = Units(*np.array(values).T), np.zeros(len(values), dtype=int)
        whole, *_ = response_values(units, np.array(cited), of, 1, "full", RELEASED)
        assert whole.value[0] == case["result"]["answer_rating"]
