"""Ratings of several annotators made one, values of spans brought to statements, and text made of statements."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.data_model import Answer
from metaeval.citation.human.rated_statements import SENTENCES, HumanAnswer, RatedStatement, align, rating_of, units
from metaeval.citation.marks_and_sentences import split, whole
from metaeval.citation.readers.expertqa import with_marks, write_statements


def aligned(ends, spans):
    """Value and reason of statements, and the number outside, from spans (start, end, value, reason)."""
    places = units([("a", *place, None, None) for place in ends], SENTENCES)
    found, outside = align(places, units([("a", *span) for span in spans], SENTENCES))
    return found.astype(object).where(found.notna(), None).to_numpy().tolist(), outside


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        ((0.75,), 0.75),  # one annotator decides alone
        ((None,), None),
        ((0.5, None), None),  # half is missing
        ((0.5, 1.0), 0.75),
        ((0.5, None, 1.0), 0.75),  # CiteEval: of three, two have to rate
        ((0.5, None, None), None),
        ((0.0, 0.25, None, None), None),
        ((0.0, 0.25, 0.5, None), 0.25),
        ((), None),
    ],
)
def test_half_of_the_annotators_or_more_have_to_be_there(ratings, expected):
    assert rating_of(ratings) == expected


def test_a_response_is_the_mean_of_what_is_rated():
    def response(*ratings, emptied=False, gaps="left out"):
        statements = tuple(RatedStatement(0, 1, "", (rating,)) for rating in ratings)
        return HumanAnswer(Answer("a", "x", ()), statements, emptied).response(gaps)

    assert response(0.5, None, 1.0) == 0.75
    assert response(None, None) is response(gaps="response") is None
    assert response(None, gaps="full marks") == response(gaps="full marks") == 1.0
    assert response(None, emptied=True, gaps="full marks") == 0.0


def test_a_span_belongs_to_the_statement_that_holds_most_of_it():
    spans = [
        (0, 10, 1.0, None),
        (8, 13, 0.0, None),  # two characters on either side: the first
        (9, 30, 0.5, None),
        (40, 50, 1.0, None),  # in none
        (10, 11, 1.0, None),  # in the gap
    ]
    assert aligned([(0, 10), (11, 30)], spans) == ([[0.5, None], [0.5, None]], 2)
    assert aligned([], [(0, 1, 1.0, None)]) == ([], 1)


def test_a_statement_without_a_span_has_no_value_and_one_with_a_missing_verdict_none_either():
    spans = [
        (0, 5, 1.0, None),
        (5, 10, None, "failed"),
        (10, 15, None, None),
        (15, 20, 0.25, None),
        (20, 30, None, None),
    ]
    # A mean of 1 and what is not known is not known; what needs no value changes no mean.
    expected = [[None, "failed"], [0.25, None], [None, None], [None, None]]
    assert aligned([(0, 10), (10, 20), (20, 30), (30, 40)], spans) == (expected, 0)


@pytest.mark.parametrize(
    ("text", "citations", "expected"),
    [
        ("It is long.", (1, 2), "It is long [1][2]."),
        ('He said "no."', (3,), 'He said "no [3]."'),
        ("As follows:", (1,), "As follows [1]:"),
        ("no end", (1,), "no end [1]"),
        ("Really?!", (), "Really?!"),
        ("...", (1,), "[1]..."),
    ],
)
def test_marks_stand_before_the_closing_punctuation(text, citations, expected):
    assert with_marks(text, citations) == expected


def test_statements_stay_sentences():
    said = [("One is.", (1,)), ("Two is", ()), ("Three is e.g.", (2,)), ("lower case.", (1,)), ('"Four" is.', (3,))]
    text, places = write_statements(said)
    assert text == 'One is [1]. Two is\nThree is e.g [2].\nlower case [1]. "Four" is [3].'
    assert [text[start:end] for start, end in places] == text.replace("\n", "|").replace(". ", ".|").split("|")


@given(st.lists(st.tuples(st.text(st.sampled_from('aZ.?! )"1[]e,'), min_size=1), st.lists(st.integers(1, 9)))))
def test_every_statement_is_found_at_its_offsets(said):
    text, places = write_statements(said)
    assert len(places) == len(said)
    assert all(first[1] < second[0] for first, second in pairwise(places))
    for (own, citations), (start, end) in zip(said, places, strict=True):
        assert text[start:end] == with_marks(own, citations)
        assert text[start:end].count("[") == own.count("[") + len(citations)
    if places:
        assert places[-1][1] == len(text)


@given(
    st.lists(
        st.tuples(st.sampled_from(["It is.", "no end", '"Who?"', "so it goes.", "See e.g.", "A: b:"]), st.booleans())
    )
)
def test_no_statement_runs_into_the_next_sentence(said):
    text, places = write_statements([(own, (1,) if cited else ()) for own, cited in said])
    assert [sentence.span() for sentence in split(whole(text))] == places
