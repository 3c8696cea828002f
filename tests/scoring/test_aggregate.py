"""From pair scores to row scores: which chunk counts, which direction, and what spoils a document."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from metaeval.corpus.units import UnitRow, read_aggregation
from metaeval.scoring.aggregation import aggregate, best_members
from metaeval.scoring.contract import PairScore, Status


def row(*members):
    return UnitRow("c", "s", "g", 2, True, members, "It rained.", 3, 0)


def one(answers, how="max", direction=1):
    """The answer of a row of all these pairs."""
    (result,) = aggregate(answers, [row(*range(len(answers)))], read_aggregation(how), direction)
    return result


def test_a_row_takes_its_best_chunk_or_their_mean_and_says_why_it_has_none(recorded):
    """A chunk that was not judged leaves the row unjudged, one with nothing to judge takes no part; counts add up."""
    scores = [[0.75, -0.5, 0.5], [0.5, 0.1, 0.9, 0.5], [-2.0], [0.25, 0.25]]
    chunks = [[PairScore(score, tokens=10 + at, cut=at) for at, score in enumerate(each)] for each in scores]
    chunks += [[PairScore(1.0), PairScore(None, status, 3, 1)] for status in Status if status is not Status.OK]
    chunks += [[PairScore(None, Status.EMPTY), PairScore(None, status)] for status in Status if status is not Status.OK]
    chunks += [[PairScore(None, Status.NOTHING_TO_SCORE)] * 2, [PairScore(None, Status.EMPTY), *chunks[1]]]
    found = {}
    for how, direction in product(("max", "mean", "mean:1", "mean:2", "mean:9", "union:2"), (1, -1)):
        found[f"{how} {direction}"] = [one(answers, how, direction) for answers in chunks]
    rows = [row(3), row(0, 2), row(1)]
    found["rows"] = [aggregate(chunks[1], rows, read_aggregation(how), 1) for how in ("max", "mean")]
    best = [chunks[1], range(4)], [chunks[1], [3, 2, 1]], [chunks[-1], range(5)], [chunks[3], [1, 0]]
    found["best"] = [best_members(*each, most, way) for each in best for most in (1, 2, 9, None) for way in (1, -1)]
    recorded.held("scoring-aggregate", found)


SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6)


@given(SCORES, st.sampled_from(["max", "mean"]))
def test_turning_the_scores_and_the_direction_changes_nothing(scores, how):
    assert one([PairScore(x) for x in scores], how, 1) == one([PairScore(-x) for x in scores], how, -1)
