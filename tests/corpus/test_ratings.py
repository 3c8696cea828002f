"""Rated sets: what is refused, and what the fingerprint covers."""

from dataclasses import replace

import pytest

from metaeval.corpus.model import Rating, Ratings
from metaeval.errors import UserError

ROWS = tuple(Rating(f"r{n}", f"g{n // 2}", float(n), "s", text=f"text {n}") for n in range(4))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ((), "'mine' holds 0 ratings"),
        (ROWS[:1], "'mine' holds 1 ratings"),
        ((*ROWS, ROWS[1]), "rating id 'r1' is used twice"),
        ((*ROWS, Rating("", "g", 1.0)), "rating '' of group 'g' needs an id and a group, not empty"),
        ((*ROWS, Rating("r9", "", 1.0)), "rating 'r9' of group '' needs an id and a group, not empty"),
        ((*ROWS, Rating("r9", "g", float("nan"))), "rating 'r9' has gold nan; it must be a finite number"),
        ((*ROWS, Rating("r9", "g", float("-inf"))), "rating 'r9' has gold -inf; it must be a finite number"),
        (tuple(replace(row, gold=2) for row in ROWS), "all 4 ratings are 2; nothing tells one text from another"),
    ],
)
def test_ratings_that_cannot_judge_are_one_sentence(rows, says):
    with pytest.raises(UserError) as raised:
        Ratings("mine", rows)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ({"r0": 1.0, "r7": None}, "metric 'm' has a score for 'r7', which is no rating of the set"),
        ({"r0": float("inf")}, "metric 'm' has the score inf for 'r0'; it must be finite"),
    ],
)
def test_scores_of_nothing_and_scores_that_are_no_numbers_are_refused(scores, says):
    with pytest.raises(UserError) as raised:
        Ratings("mine", ROWS, {"m": scores})
    assert says in str(raised.value)


def test_the_fingerprint_covers_the_ratings_and_neither_their_order_nor_the_scores():
    own = Ratings("mine", ROWS).fingerprint
    assert Ratings("other", ROWS[::-1], {"m": {"r0": 1.0}}).fingerprint == own
    for change in ({"id": "new"}, {"group": "new"}, {"gold": 9.0}, {"system": "new"}, {"text": "new"}):
        assert Ratings("mine", (replace(ROWS[0], **change), *ROWS[1:])).fingerprint != own


def test_levels_are_counted_where_they_are_few():
    assert Ratings("mine", (*ROWS, Rating("r9", "g", 2.0))).level_counts() == {"3": 1, "2": 2, "1": 1, "0": 1}
    assert Ratings("mine", ROWS).level_counts(most=3) == {}
