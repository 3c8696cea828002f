"""Statements of a response: what the default reads, what each released rule changes, nothing lost unseen."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.citeeval.options_and_values import PAPER, RELEASED
from metaeval.citation.citeeval.splitting import NO_ANSWER, split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.core.errors import UserError


def answer(text, passages=3):
    return Answer("a", text, (Passage("p"),) * passages)


def cut(text, passages=3, **changes):
    found = split_response(answer(text, passages), replace(PAPER, **changes))
    return [(one.text, one.citations) for one in found.statements]


def told(split):
    """A split in short; of marks their places and numbers."""
    marks = [[[mark.start, mark.number] for mark in own.unread] for own in (split, *split.statements)]
    statements = [
        [one.number, one.text.replace(" ", "_"), one.citations, one.start, one.end, one.no_text]
        for one in split.statements
    ]
    return [statements, split.no_answer, marks]


CHANGES = (
    *({"highest": 10}, {"merge_below": 20}, {"no_answer": "anywhere"}, {"styles": "plain"}, {"leading": "released"}),
    *({"stops": True}, {"leading": "released", "merge_below": 12}),
)


def test_statements_and_what_they_cite_by_each_rule(recorded):
    texts = json.loads(Path(__file__).with_name("citeeval_texts.json").read_text(encoding="utf-8"))
    found = {}
    for number, text in enumerate(texts):
        one = Answer("a", text, (Passage("p"), Passage(" "), Passage("p")), first=number % 7 != 3)
        for options in (PAPER, RELEASED, *(replace(PAPER, **changes) for changes in CHANGES)):
            try:
                split = told(split_response(one, options))
            except UserError:
                split = "refused"
            found.setdefault(text, []).append("same" if [split] == found.get(text, [])[:1] else split)
    recorded.held("citeeval-statements", {str(number): own for number, own in enumerate(found.values())})


def test_a_refusal_beside_an_answer_hides_it_only_as_released():
    text = "The passages do not provide information about the delta. The river is long [1]."
    assert cut(text)[1] == ("The river is long.", (1,))
    assert cut(text, no_answer="anywhere") == [(NO_ANSWER, ())]
    for refusal in ("No information was found.", "None of the passages say so.", "I could NOT find an answer."):
        found = split_response(answer(refusal))
        assert found.no_answer
        assert [(one.text, one.start, one.end) for one in found.statements] == [(NO_ANSWER, 0, len(refusal))]
    assert not split_response(answer("No source says so [1].")).no_answer  # it cites: it is a statement


def test_a_word_of_looking_for_must_follow_within_30_characters():
    near, far = "Not " + "x" * 28 + " found.", "Not " + "x" * 29 + " found."  # 28 + two spaces, and one more
    assert split_response(answer(near)).no_answer
    assert not split_response(answer(far)).no_answer
    assert not split_response(answer("I know the sources.")).no_answer  # "no" within a word


def test_empty_lines_are_passed_over_and_stop_only_the_released_profile():
    assert [text for text, _ in cut("A b c.\n\n\nD e f.\n \nG.")] == ["A b c.", "D e f.", "G."]
    assert len(split_response(answer("A b c.\n\nD e f. It has more text."), RELEASED).statements) == 3
    for text in ("A b c.\n\n\nD.", "A b c.\n \nD."):
        with pytest.raises(UserError, match="Answer a has an empty line"):
            split_response(answer(text), RELEASED)


PIECES = st.sampled_from(
    [
        "River", "is", "long", "ok", ".", ". ", " ", "\n", "[1]", "[2, 3]", "[9]", "[0]", "[x1]", "[1-2]", "[^3]",
        "【2】", "!",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from([0, 20]))
def test_every_mark_is_cited_or_listed_and_no_other_text_is_lost(text, limit):
    own = answer(text)
    whole = split_response(own, replace(PAPER, merge_below=limit))
    found, marks = whole.statements, find_marks(text)
    first = found[0].start if found else len(text)
    assert whole.unread == tuple(mark for mark in marks if mark.start < first)
    assert all(one.text for one in found)
    read = [(mark.start, mark.end) for mark in marks if mark.number is not None]
    marks = marks[len(whole.unread) :]
    cited = [number for one in found for number in one.citations]
    assert set(cited) == {mark.number for mark in marks if mark.number in (1, 2, 3)}
    unread = [mark for one in found for mark in one.unread]
    assert unread == [mark for mark in marks if mark.number not in (1, 2, 3)]
    kept = "".join(letter for at, letter in enumerate(text) if not any(start <= at < end for start, end in read))
    assert [*filter(str.isalpha, "".join(one.text for one in found))] == [*filter(str.isalpha, kept)]
    for one in found:
        assert 0 <= one.start <= one.end <= len(text)
        assert len(set(one.citations)) == len(one.citations)


@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from([0, 20]))
def test_marks_that_are_moved_as_released_are_cited_or_listed_once_and_no_other_text_is_lost(text, limit):
    changes = replace(PAPER, merge_below=limit, leading="released")
    whole = split_response(answer(text), changes)
    unread = Counter((mark.start, mark.number) for one in (whole, *whole.statements) for mark in one.unread)
    marks = find_marks(text)
    assert unread.keys() <= {(mark.start, mark.number) for mark in marks}
    assert max(unread.values(), default=1) == 1
    cited = {number for one in whole.statements for number in one.citations}
    assert {mark.number for mark in marks} <= cited | {number for _, number in unread}
    read = [(mark.start, mark.end) for mark in marks if mark.number is not None]
    kept = "".join(letter for at, letter in enumerate(text) if not any(start <= at < end for start, end in read))
    assert "".join("".join(one.text.split()) for one in whole.statements) == "".join(kept.split())
