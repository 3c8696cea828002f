"""Refitted coefficients: what is learnt from, what is left out, held-out values by hand, and the file."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from metaeval.citation.citeeval import citation_edits
from metaeval.citation.citeeval.citation_edits import PUBLISHED, Edit, coefficients_text, fingerprint, read_coefficients
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import PAPER
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.human.rated_statements import HumanAnswer, RatedStatement
from metaeval.citation.human.refitting import EditedStatement, edited_statements, fit
from metaeval.errors import UserError
from metaeval.llm.messages import read_reply

DELETE_1, DELETE_3 = Edit("delete", 1, 1), Edit("delete", 3, 1)


def edited(group, edits, rating, citations=(1,)):
    return EditedStatement(f"a{group}", group, citations, tuple(edits), rating)


def test_what_people_always_say_of_an_edit_is_what_it_is_worth():
    # Of its one citation, each statement keeps it (rated 1), loses it as misleading (0) or as redundant (0.5); the
    # ratings are the same in every group, so that any fold teaches the same and held-out values are the ratings.
    statements = [
        one for group in range(10) for one in (edited(group, [DELETE_1], 0.0), edited(group, [DELETE_3], 0.5))
    ]
    found = fit(statements, {})
    assert found.refitted == pytest.approx([0.0, 0.5] * 10, abs=1e-12)
    # By the published coefficients: 0.06935712 and 0.5318322, each with the intercept -0.0109017...
    assert found.published == pytest.approx([0.0584553912, 0.5209304712] * 10, abs=1e-9)
    assert {name: found.used[name] for name in citation_edits.ACTIONS if found.used[name]} == {
        "DELETE_1": 10,
        "DELETE_3": 10,
    }
    # Half of each action is worth half of each: shares, as in the mean over citations.
    both = citation_edits.edit_distance((1, 2), [DELETE_1, Edit("delete", 3, 2)], found.coefficients)
    assert both == pytest.approx(0.25, abs=1e-12)


def test_a_held_out_value_is_of_a_fit_that_the_group_had_no_part_in():
    # Two groups are two folds: each is worth what the other was rated.
    statements = [edited(0, [DELETE_1], 0.2), edited(0, [DELETE_1], 0.4), edited(7, [DELETE_1], 0.9)]
    found = fit(statements, {})
    assert found.refitted == pytest.approx([0.9, 0.9, 0.3], abs=1e-12)
    # The coefficients themselves are of all: (0.2 + 0.4 + 0.9) / 3.
    assert found.coefficients.action["DELETE_1"] + found.coefficients.intercept == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    "statements",
    [[], [edited(0, [DELETE_1], 0.2), edited(0, [DELETE_1], 0.4)], [edited(g, [DELETE_1], 0.5) for g in range(4)]],
)
def test_too_little_to_learn_from_is_said(statements):
    with pytest.raises(UserError, match="give answers to two questions or more, with ratings that differ"):
        fit(statements, {})


def judged(edits):
    """A judge that says the same edits of the statements 1, 2 ... of every response; None: skips the statement."""
    entries = [
        {"id": number, "thinking": "", "edits": own, "rating": 3}
        for number, own in enumerate(edits, start=1)
        if own is not None
    ]
    content = json.dumps({"statements": entries})
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    return lambda requests: [read_reply(json.dumps({"choices": [choice]})) for _ in requests]


def test_statements_take_the_rating_that_holds_most_of_them_and_the_others_are_counted():
    text = "Ships sail [1]. Barges carry coal [2]. Rivers flow [1]. Nobody knows. Boats float [2]."
    answer = Answer("a", text, (Passage("Ships."), Passage("Barges.")))
    delete = {"action": "delete", "citation": 1, "reason": "misleading"}
    # The second deletes what it does not cite; the third is skipped; the fourth cites nothing; the fifth is not rated.
    ask = judged([[delete], [delete], None, [], []])
    split = split_response(answer)
    rated = evaluate([answer], [split], ask, Asking(model="t", contexts=False))
    starts = [one.start for one in split.statements]
    human = HumanAnswer(answer, (RatedStatement(0, starts[4] - 1, text[: starts[4] - 1], (0.25, 0.75, None)),))
    found, left_out = edited_statements([human], rated, np.array([3]))
    assert found == [EditedStatement("a", 3, (1,), (DELETE_1,), 0.5)]
    assert left_out == {"edits that cannot be": 1, "not edited by the judge": 1, "not rated by people": 1}
    lenient = replace(rated, options=replace(PAPER, bad_edits="as it stands"))
    as_it_stands, left_out = edited_statements([human], lenient, np.array([3]))
    assert [one.citations for one in as_it_stands] == [(1,), (2,)]
    assert "edits that cannot be" not in left_out


def test_the_file_gives_back_what_was_written(tmp_path):
    path = tmp_path / "coefficients.json"
    path.write_text(coefficients_text(PUBLISHED, {"judge": "tiny"}))
    assert read_coefficients(path) == PUBLISHED
    other = citation_edits.Coefficients({**PUBLISHED.action, "KEEP": 0.9}, PUBLISHED.intercept)
    assert fingerprint(PUBLISHED) == fingerprint(read_coefficients(path)) != fingerprint(other)


def test_coefficients_that_were_fitted_with_shifted_edits_are_for_those_alone(tmp_path):
    path = tmp_path / "shifted.json"
    path.write_text(coefficients_text(PUBLISHED, {"index_shift": True}))
    assert read_coefficients(path, index_shift=True) == PUBLISHED
    with pytest.raises(UserError, match="was fitted with index_shift=true"):
        read_coefficients(path)
    path.write_text(coefficients_text(PUBLISHED, {"index_shift": False}))
    with pytest.raises(UserError, match="was fitted with index_shift=false"):
        read_coefficients(path, index_shift=True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "allowed: a JSON object: give a file that 'metaeval cite refit' wrote"),
        ('{"schema": "metaeval-calibration/1"}', "holds no coefficients"),
        (coefficients_text(PUBLISHED, {}).replace("1.00298631", "true"), "KEEP is true; allowed: a finite number"),
        (coefficients_text(PUBLISHED, {}).replace("1.00298631", "1e999"), "KEEP is Infinity; allowed: a finite number"),
        (coefficients_text(PUBLISHED, {}).replace('"ADD_3"', '"ADD_4"'), "ADD_3 is null; allowed: a finite number"),
    ],
)
def test_a_file_that_holds_none_is_refused_in_a_sentence(tmp_path, content, says):
    path = tmp_path / "own.json"
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(says)):
        read_coefficients(path)
