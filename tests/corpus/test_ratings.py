"""Rated sets: what is refused, and what the fingerprint covers."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from metaeval.core.errors import UserError
from metaeval.core.files import sha256_json
from metaeval.corpus import ratings as ratings_module
from metaeval.corpus.ratings import (
    Rating,
    RatingColumns,
    Ratings,
    ScoreColumn,
    coded,
    interleaved,
    json_texts,
    numerals,
    row_blocks,
    text_array,
)

ROWS = tuple(Rating(f"r{n}", f"g{n // 2}", float(n), "s", text=f"text {n}") for n in range(4))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ((), "'mine' holds 0 ratings"),
        (ROWS[:1], "'mine' holds 1 rating"),
        ((*ROWS, ROWS[1]), "rating id 'r1' is used twice"),
        ((*ROWS, Rating("", "g", 1.0)), "rating '' of group 'g' has an empty id or group"),
        ((*ROWS, Rating("r9", "", 1.0)), "rating 'r9' of group '' has an empty id or group"),
        ((*ROWS, Rating("r9", "g", float("nan"))), "rating 'r9' has gold nan; allowed: a finite number"),
        ((*ROWS, Rating("r9", "g", float("-inf"))), "rating 'r9' has gold -inf; allowed: a finite number"),
        (tuple(replace(row, gold=2) for row in ROWS), "all 4 ratings are 2"),
    ],
)
def test_ratings_that_cannot_judge_are_one_sentence(rows, says):
    with pytest.raises(UserError, match=re.escape(says)):
        Ratings("mine", rows)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ({"r0": 1.0, "r7": None}, "metric 'm' has a score for 'r7', but no rating with this id"),
        ({"r0": float("inf")}, "metric 'm' has the score inf for 'r0': a score must be finite"),
    ],
)
def test_scores_of_nothing_and_scores_that_are_no_numbers_are_refused(scores, says):
    with pytest.raises(UserError, match=re.escape(says)):
        Ratings("mine", ROWS, {"m": scores})


def test_the_fingerprint_covers_the_ratings_and_neither_their_order_nor_the_scores():
    own = Ratings("mine", ROWS).fingerprint
    assert Ratings("other", ROWS[::-1], {"m": {"r0": 1.0}}).fingerprint == own
    for change in ({"id": "new"}, {"group": "new"}, {"gold": 9.0}, {"system": "new"}, {"text": "new"}):
        assert Ratings("mine", (replace(ROWS[0], **change), *ROWS[1:])).fingerprint != own


WHOLE = (
    *ROWS,
    Rating("r4", "g9", 1.0, "t", "news", "text", "p1", {"note": "n"}, {"ann": 1.0, "bob": 0.5}),
    Rating("r5", "g9", 0.5, pair="p1", fields={"note": "", "more": "m"}, votes={"bob": 0.0}),
)


@pytest.fixture(params=[2, 65_536])
def block(request, monkeypatch):
    monkeypatch.setattr(ratings_module, "_BLOCK", request.param)


def test_rows_are_the_ratings_that_were_given(block):
    rows = Ratings("mine", WHOLE).rows
    assert (tuple(rows), rows[-1], len(rows), rows.index(WHOLE[4])) == (WHOLE, WHOLE[-1], 6, 4)
    assert tuple(rows[4:1:-2]) == WHOLE[4:1:-2]
    assert Ratings("mine", WHOLE) == Ratings("mine", list(WHOLE))
    assert Ratings("mine", WHOLE) != Ratings("mine", WHOLE[:5])
    assert WHOLE[5] in rows
    with pytest.raises(IndexError):
        rows[6]
    taken = Ratings("mine", WHOLE).columns.take(np.array([5, 0, 4]))
    assert tuple(taken) == (WHOLE[5], WHOLE[0], WHOLE[4])


def test_columns_follow_from_the_rows(recorded):
    edits = {"kind": ("original", "year", None, ""), "original": (None, "r0", "r1", None)}
    rows = [replace(row, fields={name: own[n] for name, own in edits.items()}) for n, row in enumerate(ROWS)]
    ratings = Ratings("mine", rows, {"m": {"r0": 1.0, "r3": None}}, levels=True)
    columns, score = ratings.columns, ratings.score_columns["m"]
    paid = replace(score, cost=np.array([1.0, 2.0, 3.0, 4.0]))
    found = {
        "edits": columns.edits,
        "none": [RatingColumns.of(ROWS).edits, RatingColumns.of([]).edits],
        "order": [columns.order, columns.numbers, RatingColumns.of(ROWS[::-1]).order],
        "score": [score["r0"], score["r3"], [*score], len(score), paid.cost],
        "levels": [ratings.level_counts(), Ratings("x", ROWS).level_counts(4), Ratings("x", ROWS).level_counts(3)],
        "shown": repr(ratings).split(),
        "coded": [
            [*map(str, coded(texts).categories), *coded(texts).codes.tolist()] for texts in ("bab", "", "aé\u2028z")
        ],
        "texts": [str(text_array(texts).dtype) for texts in (["a"], ["\ud83d"])],
        "blocks": [[len(block) for block in row_blocks(np.arange(size))] for size in (0, 1, 2048, 2049)],
        "interleaved": [interleaved(",", ["a", "b"], ":", iter(["c", "d"])), interleaved("x", [])],
        "json": json_texts(coded(["b", 'a"', "b"])),
        "numerals": numerals(np.array([1e-4, 9.9e-5, -1e-5, 1e16, 9e15, 0.0, -0.0, 1.0, 1.0, np.nan])),
        "taken": [columns.take(np.array([3, 1])).group.categories.tolist(), columns[1:3].id.tolist(), columns[-1].id],
        "told": recorded.told(ScoreColumn.of, columns, {"r0": 1, "r9": 2}, "here"),
        "same": [ScoreColumn.of(columns, score, "here") is score, RatingColumns.of(columns) is columns, columns == 3],
    }
    recorded.held("corpus-columns", found)


def test_scores_are_known_or_none_for_each_rating():
    given = {"m": {"r0": 1.0, "r3": None}, "n": {}}
    scores = Ratings("mine", ROWS, given).scores
    assert scores == {
        "m": {"r0": 1.0, "r1": None, "r2": None, "r3": None},
        "n": dict.fromkeys(("r0", "r1", "r2", "r3")),
    }
    assert Ratings("mine", (*ROWS, Rating("r9", "g", 2.0))).level_counts() == {"3": 1, "2": 2, "1": 1, "0": 1}
    known = [len(Ratings("m", [Rating(str(n), "g", n) for n in range(own)]).level_counts()) for own in (10, 11)]
    assert known == [10, 0]


def test_the_fingerprints_are_those_of_the_rows_as_lists(block):
    ratings = Ratings("mine", WHOLE[::-1], {"m": {"r3": 0.5, "r1": None, "r0": -1.0}})
    rows = [[row.id, row.group, row.gold, row.system, row.text, *filter(None, [row.pair])] for row in WHOLE]
    assert ratings.fingerprint == sha256_json(rows)
    assert ratings.score_columns["m"].fingerprint == sha256_json({"r0": -1.0, "r3": 0.5})
    numbers = [0.0, -0.0, 1.0, -2.5, 0.1 + 0.2, 1e-4, 9.9e-5, 5e-324, 1e15 + 0.3, 1e16, -1.7e308, float("nan"), 1 / 3]
    assert numerals(np.array(numbers)) == [json.dumps(number).replace("NaN", "null") for number in numbers]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pair": "p1"}, "pair 'p1' is in groups 'g9' and 'g0'"),
        ({"votes": {"ann": float("inf")}}, "rating 'r9' has a vote that is not a finite number"),
    ],
)
def test_the_first_rating_that_is_not_sound_is_named(change, says):
    rows = (*WHOLE, Rating("r9", "g0", 1.0, **change), Rating("", "g0", 1.0))
    with pytest.raises(UserError, match=says):
        Ratings("mine", rows)
