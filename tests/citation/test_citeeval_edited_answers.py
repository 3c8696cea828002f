"""Edits done in the text, by hand and on random answers; and coefficients refitted to people's ratings of edits."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metaeval.citation.citeeval import citation_edits
from metaeval.citation.citeeval.citation_edits import (
    PUBLISHED,
    Edit,
    apply_edits,
    coefficients_text,
    fingerprint,
    read_coefficients,
)
from metaeval.citation.citeeval.edited_answers import counts_of, further_rounds, improved, judged_round
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import PAPER
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.human.rated_statements import HumanAnswer, RatedStatement
from metaeval.citation.human.refitting import EditedStatement, agreement, edited_statements, fit
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.core.errors import UserError
from metaeval.corpus.sentences import RULES
from metaeval.stats.intervals import Resampling
from tests.citation.generation_made import reply

PASSAGES = tuple(Passage(f"Passage {number}.") for number in range(1, 7))


def answer(text, first=1, passages=PASSAGES):
    return Answer("a", text, passages, first=first)


def delete(citation, reason=1):
    return Edit("delete", reason, citation)


def add(citation, reason=1):
    return Edit("add", reason, citation)


def done(text, edits, first=1, options=PAPER):
    one = answer(text, first)
    return improved(one, split_response(one, options), edits, options)


EDITS = json.loads(Path(__file__).with_name("edits_in_text.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "edits", "expected"), EDITS)
def test_an_edit_changes_the_marks_of_its_statement_and_nothing_else(text, edits, expected):
    assert done(text, {1: [Edit(*edit) for edit in edits]}).answer.text == expected


def test_what_cannot_be_done_is_passed_over_and_counted():
    edits = [delete(4), add(1), add(7), add(0), delete(2), delete(2), add(2), add(5)]
    # 4 is not cited; 1 is cited already; there are six passages; 0 adds nothing; 2 goes, is not there to go again, and
    # comes back.
    found = done("Rain fell [1][2].", {1: edits})
    assert found.answer.text == "Rain fell [1][2][5]."
    assert dict(found.problems) == {"not cited": 2, "cited already": 1, "no such passage": 1, "own knowledge": 1}
    assert found.done == {1: (delete(2), add(2), add(5))}
    # Passages end where the options end them, and numbers are written as the answer counts: the first goes by 0 here.
    found = done("Rain fell [1].", {1: [add(2), add(3)]}, options=replace(PAPER, highest=2))
    assert (found.answer.text, found.problems["no such passage"]) == ("Rain fell [1][2].", 1)
    found = done("Rain fell [0], and snow [1].", {1: [delete(2), add(3)]}, first=0)
    assert (found.answer.text, found.answer.first) == ("Rain fell [0], and snow [2].", 0)


def test_a_statement_without_edits_stays_and_is_told_apart():
    found = done("Rain [1]. Snow [2]. Fog. Hail [3].", {1: [], 2: [delete(2)]})
    assert found.answer.text == "Rain [1]. Snow. Fog. Hail [3]."
    assert found.fates == {1: "unchanged", 2: "changed", 3: "unchanged", 4: "not judged"}
    # Marks behind the full stop are the statement's before, and lines stay lines.
    found = done("Rain fell. [1] Snow fell. [2]", {1: [delete(1)], 2: [add(3)]})
    assert found.answer.text == "Rain fell. Snow fell. [2][3]"
    found = done("- Rain fell [1]\n- [2] says more\n\nFog [3]\n", {n: [delete(n)] for n in (1, 2, 3)})
    assert found.answer.text == "- Rain fell\n- says more\n\nFog\n"


def test_marks_that_stand_otherwise_in_the_answer_are_not_touched():
    # A statement from elsewhere says that its stretch cites 3 as well, which it does not.
    one = answer("Rain fell on the whole of the land [1].\nSo [2].")
    split = split_response(one, replace(PAPER, merge_below=20))
    wrong = type(split.statements[0])(1, "Rain", (3, 1), 0, 39), split_response(one).statements[1]
    found = improved(one, type(split)(wrong, False), {1: [delete(1)], 2: [delete(2)]})
    assert found.fates == {1: "marks not found", 2: "changed"}
    right = improved(one, split, {1: [delete(2)]}, replace(PAPER, merge_below=20))
    assert found.answer.text == right.answer.text == "Rain fell on the whole of the land [1].\nSo."


WORDS = "Rain snow fog hail wind frost dew the a of and fell rose over under U.S. (north) 1837 “quoted” —".split()
MARKS = ("[1]", "[2][3]", "[1, 4]", "[5;6]", "[2-4]", "[^3]", "【2】", "[9]", "[a3]", "[1] [2]", "[ 4 ]", "[0]")
ENDS = (". ", ".", "? ", ".\n", "\n\n", " [3]. ", ".[2] ", '." ', "")


def random_answer(rng):
    pieces = []
    for _ in range(rng.randint(1, 5)):
        for _ in range(rng.randint(1, 6)):
            pieces.append(rng.choice(WORDS))
            if rng.random() < 0.3:
                pieces.append(rng.choice(MARKS))
        pieces.append(rng.choice(ENDS))
    text = ""
    for piece in pieces:
        glue = "" if piece in ENDS or rng.random() < 0.2 else rng.choice((" ", " ", "  ", "\n") if text else ("",))
        text += glue + piece
    return answer(text, first=rng.randint(0, 1))


def random_edits(rng, split):
    kinds = [lambda: delete(rng.randint(0, 7), rng.randint(1, 3)), lambda: add(rng.randint(0, 8), rng.randint(1, 3))]
    return {
        one.number: [rng.choice(kinds)() for _ in range(rng.randint(0, 4))]
        for one in split.statements
        if rng.random() < 0.9
    }


def bare(text):
    """The text without anything that a citation can be, and without white space."""
    for start, end in sorted({(mark.start, mark.end) for mark in find_marks(text)}, reverse=True):
        text = text[:start] + text[end:]
    return "".join(text.split())


@pytest.mark.parametrize("seed", range(2))
def test_on_random_answers_only_marks_change_and_they_change_as_wanted(recorded, seed):
    rng = random.Random(seed)
    changed, held = 0, {}
    for _ in range(50):
        one = random_answer(rng)
        split = split_response(one)
        edits = random_edits(rng, split)
        found = improved(one, split, edits)
        names = {number: " ".join(f"{each.name}:{each.citation}" for each in own) for number, own in found.done.items()}
        held[str(len(held))] = [found.answer.text.replace(" ", "_"), names, found.fates, found.problems]
        assert bare(found.answer.text) == bare(one.text)
        assert set(found.fates) == {own.number for own in split.statements}
        if "changed" not in found.fates.values():
            assert found.answer.text == one.text
        for own in split.statements:
            piece = one.text[own.start : own.end]
            if found.fates[own.number] in ("not judged", "unchanged"):
                # Verbatim, but for white space at its ends that the mark of a neighbour took along.
                assert piece.strip() in found.answer.text
        wanted = {
            own.number: apply_edits(own.citations, edits[own.number], range(1, 7))[0]
            for own in split.statements
            if own.number in edits and found.fates[own.number] != "marks not found"
        }
        again = split_response(found.answer)
        if [own.text for own in again.statements] == [own.text for own in split.statements]:
            for own in again.statements:
                before = split.statements[own.number - 1]
                assert set(own.citations) == set(wanted.get(own.number, before.citations)), (one.text, edits)
                assert len(own.unread) == len(before.unread)
            changed += "changed" in found.fates.values()
    assert changed > 20, "the property was hardly tried"
    recorded.held(f"citeeval-edited-{seed}", dict([*held.items()][:32]))


def keeps_one(request):
    """Of several citations of a statement the last goes, as the reason is 1, 2 or 3; one without any gets 2 or 4."""
    entries = []
    for number, cites in re.findall(r'<statement id="(\d+)" cites="([\d ]*)"', request.body["messages"][0]["content"]):
        cited = [int(one) for one in cites.split()]
        edits = [{"action": "delete", "citation": one, "reason": "redundant"} for one in cited[1:][-1:]]
        if cited == [4] or not cited:
            edits += [{"action": "add", "citation": 2 if cited else 4, "reason": "refinement"}]
        if cited == [3]:
            edits = [{"action": "delete", "citation": 3, "reason": "misleading"}]
            edits += [{"action": "add", "citation": one, "reason": "evidence"} for one in (0, 1, 8)]
        entries.append({"id": int(number), "thinking": "", "edits": edits, "rating": 5 - len(edits)})
    return reply(json.dumps({"statements": entries}))


def test_rounds_go_on_while_edits_change_an_answer(recorded):
    rng, asking = random.Random(4), Asking(model="t", uncited="rated")
    texts = [
        "Rain [1][2][5]. Snow fell.",
        "Rain [3]. Snow.[1]",
        "Rain fell [4]. Snow [4]. Fog.",
        "Rain [1].",
        "No answer.",
    ]
    answers = [answer(text) for text in texts] + [random_answer(rng) for _ in range(12)]

    def ask(requests):
        return [keeps_one(request) for request in requests]

    first, numbers = judged_round(answers, [split_response(one) for one in answers], ask, asking), range(len(answers))
    once = further_rounds(first, 1, ask, asking, PAPER, RULES)
    rounds, circling = further_rounds(first, 5, ask, asking, PAPER, RULES)
    told = {"once": [len(once[0]), once[1]], "circling": circling}
    for number, each in enumerate(rounds):
        counts = [counts_of(before, each, numbers) for before in rounds[number - 1 : number]]
        told[f"round {number}"] = {
            "texts": [one.text.replace(" ", "_") for one in each.answers],
            "moved": [each.changed, each.recut, each.moving],
            "values": {key: each.rated.whole(key)[0].value for key in each.rated.values},
            "counts": [*counts, counts_of(each, None, [*numbers][::2])],
        }
    recorded.held("citeeval-rounds", told)


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
    used = {name: found.used[name] for name in citation_edits.ACTIONS if found.used[name]}
    assert used == {"DELETE_1": 10, "DELETE_3": 10}
    # Half of each action is worth half of each: shares, as in the mean over citations.
    both = citation_edits.edit_distance((1, 2), [DELETE_1, Edit("delete", 3, 2)], found.coefficients)
    assert both == pytest.approx(0.25, abs=1e-12)


def test_a_fit_to_random_edits_and_its_agreement_with_people(recorded):
    rng = random.Random(8)
    statements = [
        edited(
            group,
            [rng.choice((delete, add))(rng.randint(1, 5), rng.randint(1, 3)) for _ in range(rng.randint(0, 3))],
            rng.choice((0, 0.25, 0.5, 1)),
            tuple(rng.sample(range(1, 5), rng.randint(1, 3))),
        )
        for group in (0, 2, 3, 5, 7, 8, 9)
        for _ in range(rng.randint(2, 5))
    ]
    shifted = replace(PAPER, index_shift=True)
    found = {"as they are": fit(statements, {"x": 2}), "shifted": fit(statements, {}, shifted, seed=1)}
    agreed = {f"{name}, agreement": agreement(each, Resampling(60, fewest=2)) for name, each in found.items()}
    whole = {
        name: [one.coefficients, one.left_out, one.refitted, one.published, one.used] for name, one in found.items()
    }
    recorded.held("citeeval-fit", whole | agreed)


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
    entry, numbered = {"thinking": "", "rating": 3}, enumerate(edits, start=1)
    entries = [{"id": number, "edits": own, **entry} for number, own in numbered if own is not None]
    return lambda requests: [reply(json.dumps({"statements": entries})) for _ in requests]


def test_statements_take_the_rating_that_holds_most_of_them_and_the_others_are_counted():
    text = "Ships sail [1]. Barges carry coal [2]. Rivers flow [1]. Nobody knows. Boats float [2]."
    answer = Answer("a", text, (Passage("Ships."), Passage("Barges.")))
    delete = {"action": "delete", "citation": 1, "reason": "misleading"}
    # The second deletes what it does not cite; the third is skipped; the fourth cites nothing; the fifth is not rated.
    ask = judged([[delete], [delete], None, [], []])
    split = split_response(answer)
    rated = evaluate([answer], [split], ask, Asking(model="t", uncited="fails"))
    # What people rated ends where the fifth begins, and holds the last character of the first.
    start, end = split.statements[0].end - 1, split.statements[4].start
    human = HumanAnswer(answer, (RatedStatement(start, end, text[start:end], (0.25, 0.75, None)),))
    found, left_out = edited_statements([human], rated, np.array([3]))
    assert found == [EditedStatement("a", 3, (1,), (DELETE_1,), 0.5)]
    assert left_out == {"edits that cannot be": 1, "not edited by the judge": 1, "not rated by people": 1}
    lenient = replace(rated, options=replace(PAPER, bad_edits="as it stands"))
    as_it_stands, left_out = edited_statements([human], lenient, np.array([3]))
    assert [one.citations for one in as_it_stands] == [(1,), (2,)]
    assert "edits that cannot be" not in left_out


@pytest.mark.parametrize("shifted", [True, False])
def test_coefficients_are_read_back_for_edits_shifted_as_they_were_fitted_with(tmp_path, shifted):
    path = tmp_path / "coefficients.json"
    path.write_text(coefficients_text(PUBLISHED, {"index_shift": shifted}))
    assert read_coefficients(path, index_shift=shifted) == PUBLISHED
    with pytest.raises(UserError, match=f"index_shift={str(shifted).lower()}"):
        read_coefficients(path, index_shift=not shifted)
    bare = tmp_path / "bare.json"
    bare.write_text(path.read_text().replace('"made": {', '"facts": {'))
    assert read_coefficients(bare) == PUBLISHED
    other = citation_edits.Coefficients({**PUBLISHED.action, "KEEP": 0.9}, PUBLISHED.intercept)
    assert fingerprint(PUBLISHED) == fingerprint(read_coefficients(path, index_shift=shifted)) != fingerprint(other)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ('{"schema": "metaeval-calibration/1"}', "holds no coefficients"),
        (coefficients_text(PUBLISHED, {}).replace("1.00298631", "true"), "KEEP is true"),
        (coefficients_text(PUBLISHED, {}).replace("1.00298631", "1e999"), "KEEP is Infinity"),
        (coefficients_text(PUBLISHED, {}).replace('"ADD_3"', '"ADD_4"'), "ADD_3 is null"),
    ],
)
def test_a_file_that_holds_none_is_refused_in_a_sentence(tmp_path, content, says):
    path = tmp_path / "own.json"
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(says)):
        read_coefficients(path)
