"""Verdicts: which are asked, in which order and how often, and what they say about a mark."""

import pytest

from metaeval.citation.citation_table import ClaimQuestion, find_place, judge, needed, premise
from metaeval.citation.data_model import Passage, Verdict

YES, NO, OPEN = Verdict(True), Verdict(False), Verdict(None, status="failed")
PASSAGES = (Passage("one"), Passage("two"), Passage("three"))


class Backend:
    """Entails when the premise is in `true`; keeps the batches that it was asked."""

    def __init__(self, *true):
        self.true, self.batches = true, []

    def __call__(self, pairs):
        self.batches.append(list(pairs))
        return [Verdict(text in self.true) for text, _ in pairs]


def test_three_calls_for_all_questions_and_only_what_the_rule_looks_at():
    backend = Backend("one\ntwo\nthree", "one", "one\nthree", "two")
    questions = [
        ClaimQuestion("c", PASSAGES, (0, 1, 2)),
        ClaimQuestion("c", PASSAGES, (1,)),
        ClaimQuestion("c", PASSAGES, ()),
    ]
    first, second, third = judge(questions, backend)
    assert [[text for text, _ in batch] for batch in backend.batches] == [
        ["one\ntwo\nthree", "two"],  # joint; a single passage is its own joint premise
        ["one", "three"],  # alone, of the question with several; "two" is known
        ["one\ntwo"],  # the rest, for "three" alone, which does not entail
    ]
    # All together, each alone, and the others without each.
    assert first == (YES, (YES, YES, NO), (None, None, NO))
    assert second == (YES, (None,), (None,))
    assert third == (None, (), ())


def test_a_question_that_is_not_jointly_entailed_is_asked_once():
    backend = Backend("one", "two")
    judge([ClaimQuestion("c", PASSAGES, (0, 1))], backend)
    assert backend.batches == [[("one\ntwo", "c")]]


def test_no_pair_is_asked_twice_over_all_questions():
    backend = Backend("one\ntwo")
    judge([ClaimQuestion("c", PASSAGES, (0, 1))] * 3, backend)
    assert backend.batches == [[("one\ntwo", "c")], [("one", "c"), ("two", "c")]]


def test_of_a_passage_that_is_cited_twice_the_rest_holds_the_other():
    backend = Backend("one\ntwo\none")
    judge([ClaimQuestion("c", PASSAGES, (0, 1, 0))], backend)
    # Without the first "one" the rest is "two\none", for both of its marks.
    assert [text for text, _ in backend.batches[2]] == ["two\none", "one\none"]


def test_a_backend_that_loses_a_verdict_is_caught():
    with pytest.raises(ValueError, match="zip"):
        judge([ClaimQuestion("c", PASSAGES, (0,))], lambda pairs: [])


@pytest.mark.parametrize(
    ("alone", "rest", "expected"),
    [
        (YES, None, True),
        (NO, NO, True),
        (NO, YES, False),
        (OPEN, NO, True),  # needed whatever the missing verdict is
        (OPEN, YES, None),
        (NO, OPEN, None),
        (OPEN, OPEN, None),
    ],
)
def test_a_mark_is_needless_only_if_the_others_do_without_it(alone, rest, expected):
    assert needed(alone, rest) is expected


@pytest.mark.parametrize(
    ("number", "zero", "expected"),
    [
        (1, "out of range", (0, None)),
        (3, "out of range", (2, None)),
        (4, "out of range", (None, "out of range")),
        (-1, "last passage", (None, "out of range")),
        (0, "out of range", (None, "zero")),
        (0, "last passage", (2, "zero")),
        (None, "last passage", (None, "unparsable")),
    ],
)
def test_a_number_finds_its_passage_or_a_problem(number, zero, expected):
    assert find_place(number, 3, zero) == expected
    assert find_place(0, 0, zero) == (None, "zero")


def test_a_premise_is_title_and_text_of_each_passage():
    passages = [Passage("It rained.", "Rain"), Passage("It rose.")]
    assert premise(passages) == "Title: Rain\nIt rained.\nIt rose."
    assert premise(passages, "title line") == "Title: Rain\nIt rained.\nTitle: \nIt rose."
