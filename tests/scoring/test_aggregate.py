"""From pair scores to row scores: which chunk counts, which direction, and what spoils a document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.corpus.units import UnitRow, read_aggregation
from metaeval.scoring.aggregation import aggregate, best_members
from metaeval.scoring.contract import PairScore, Status

SPOILING = (Status.FAILED, Status.ABSENT, Status.TOO_LONG, Status.UNPARSED, Status.NOT_FINITE)
SPOILING += (Status.NOT_A_NUMBER, Status.OUT_OF_RANGE)
HARMLESS = (Status.EMPTY, Status.NOTHING_TO_SCORE)


def row(*members):
    return UnitRow("c", "s", "g", 2, True, members, "It rained.", 3, 0)


def one(answers, how="max", direction=1):
    """The answer of a row of all these pairs."""
    (result,) = aggregate(answers, [row(*range(len(answers)))], read_aggregation(how), direction)
    return result


def missing(status):
    return PairScore(None, status)


@pytest.mark.parametrize(
    ("how", "direction", "expected"),
    [
        ("max", 1, 0.75),
        ("mean", 1, 0.25),  # (0.75 - 0.5 + 0.5) / 3
        # Less is more support: the best chunk is the one of -0.5, and the row's score is turned round.
        ("max", -1, 0.5),
        ("mean", -1, -0.25),
        ("mean:1", 1, 0.75),
        ("mean:2", 1, 0.625),  # (0.75 + 0.5) / 2
        ("mean:2", -1, 0.0),  # the best are -0.5 and 0.5
        ("mean:3", 1, 0.25),
        ("mean:9", 1, 0.25),  # there are no more than three
    ],
)
def test_a_row_takes_its_best_chunk_or_their_mean_turned_to_more_is_better(how, direction, expected):
    assert one([PairScore(0.75), PairScore(-0.5), PairScore(0.5)], how, direction) == PairScore(expected)


def test_rows_take_their_own_members_in_the_order_of_the_rows():
    answers = [PairScore(float(number)) for number in range(4)]
    rows = [row(3), row(0, 2), row(1)]
    assert [answer.score for answer in aggregate(answers, rows, read_aggregation("mean"), 1)] == [3.0, 1.0, 1.0]


@pytest.mark.parametrize("how", ["max", "mean"])
@pytest.mark.parametrize("status", SPOILING)
def test_a_chunk_that_was_not_judged_leaves_the_row_unjudged(status, how):
    # However good the other chunk: the one not seen could have been better, or have drawn the mean.
    assert one([PairScore(1.0), missing(status)], how) == missing(status)
    assert one([missing(Status.EMPTY), missing(status)], how) == missing(status)


@pytest.mark.parametrize("how", ["max", "mean"])
@pytest.mark.parametrize("status", HARMLESS)
def test_a_chunk_with_nothing_to_judge_takes_no_part(status, how):
    # The mean of 0.5 alone, not of 0.5 and 0; and the max of -2 is not 0.
    assert one([missing(status), PairScore(0.5)], how) == PairScore(0.5)
    assert one([missing(status), PairScore(-2.0)], how) == PairScore(-2.0)


@pytest.mark.parametrize("status", [*SPOILING, *HARMLESS])
def test_where_every_chunk_is_missing_the_row_says_why(status):
    assert one([missing(status)] * 2) == missing(status)


@pytest.mark.parametrize("last", [PairScore(0.5, tokens=3, cut=1), PairScore(None, Status.FAILED, 3, 1)])
def test_tokens_and_cuts_add_up_scored_or_not(last):
    result = one([PairScore(0.25, tokens=10, cut=4), PairScore(None, Status.EMPTY, 2, 0), last])
    assert (result.tokens, result.cut) == (15, 5)


def test_the_best_chunks_are_named_in_the_order_of_the_page_and_the_first_of_equals_is_taken():
    answers = [PairScore(0.5), PairScore(0.1), missing(Status.EMPTY), PairScore(0.9), PairScore(0.5)]
    assert best_members(answers, range(5), 2, 1) == [0, 3]
    assert best_members(answers, range(5), 2, -1) == [0, 1]
    assert best_members(answers, [4, 3, 2], 9, 1) == [3, 4]
    assert best_members(answers, range(5), None, 1) == [0, 1, 3, 4]


SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6)


@given(SCORES, st.sampled_from(["max", "mean"]))
def test_turning_the_scores_and_the_direction_changes_nothing(scores, how):
    assert one([PairScore(x) for x in scores], how, 1) == one([PairScore(-x) for x in scores], how, -1)
