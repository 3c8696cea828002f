"""Rated sets from Python: whose scores are evaluated, what is counted, what is refused."""

import re

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval import api
from metaeval.core.errors import UserError
from metaeval.corpus.ratings import Rating, Ratings

RNG = np.random.default_rng(7)
GOLD = RNG.integers(0, 5, 60) / 4
ROWS = tuple(Rating(f"r{n:02}", f"g{n // 3:02}", float(GOLD[n]), "abc"[n % 3], text="x " * (n + 1)) for n in range(60))
SCORES = dict(zip((row.id for row in ROWS), (GOLD + RNG.normal(0, 0.5, 60)).tolist(), strict=True))
RATINGS = Ratings("mine", ROWS, {"published": SCORES})
QUICK = {"interval": {"resamples": 50}, "comparison": {"permutations": 0}}


def evaluated(ratings=RATINGS, scores=None, **settings):
    """The results by protocol."""
    results = api.evaluate_scores(scores or {}, ratings=ratings, **{**QUICK, **settings})
    return {result.protocol: result for result in results}


def test_published_scores_need_no_score_file():
    result = evaluated()["correlation"]
    row = result.rows[0]
    # scipy 1.17 on the same two columns.
    expected = [of(list(SCORES.values()), GOLD)[0] for of in (pearsonr, spearmanr, kendalltau)]
    assert [row.values[key].value for key in ("pearson", "spearman", "kendall")] == pytest.approx(expected, abs=1e-12)
    assert (row.metric, row.scored, row.unscored, row.total) == ("published", 60, 0, 60)
    assert (result.unit, result.data.groups, result.data.statements) == ("rating", 20, 60)
    assert result.data.levels == {f"{level:g}": int((level == GOLD).sum()) for level in (1, 0.75, 0.5, 0.25, 0)}
    apart = {"early": dict([*SCORES.items()][:30]), "late": dict([*SCORES.items()][30:])}
    tested = evaluated(scores=apart, comparison={"permutations": 19})["correlation"].significance.comparisons
    assert {each.rows for each in tested if {each.one, each.other} == {*apart}} == {0}
    assert row.signature.startswith(
        f"data:mine/given@{RATINGS.fingerprint[:12]}|unit:rating|metric:published@published|"
    )


def test_controls_are_those_that_need_no_document():
    def names(ratings):
        rows = evaluated(ratings)["correlation"].rows
        return [row.metric for row in rows if row.kind == "control"]

    four = ["constant", "random", "oracle", "inverted oracle"]
    assert names(RATINGS) == [*four, "statement length", "system"]
    bare = [Rating(row.id, row.group, row.gold) for row in ROWS]
    assert names(Ratings("mine", tuple(bare), {"m": SCORES})) == four
    both = tuple(Rating(row.id, row.group, row.gold, "ab"[number % 2]) for number, row in enumerate(ROWS))
    assert names(Ratings("mine", both, {"m": SCORES})) == [*four, "system"]
    # A system with one text would be told its rating.
    lone = (*bare[1:], Rating("r00", "g00", 1.0, "a"))
    assert names(Ratings("mine", lone, {"m": SCORES})) == four


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([Rating(row.id, row.id, row.gold) for row in ROWS], "the candidates of each statement are of one level"),
        ([Rating(row.id, row.group, row.gold - 1) for row in ROWS], "a rating of -1 cannot be a gain"),
    ],
    ids=["groups of one", "below zero"],
)
def test_ratings_that_cannot_be_ranked_leave_ranking_out(rows, says):
    ratings = Ratings("mine", tuple(rows), {"m": SCORES})
    assert set(evaluated(ratings)) == {"correlation", "classification"}
    with pytest.raises(UserError, match=rf"on mine\. Retrieval: {says}(?!.*--pool)"):
        evaluated(ratings, protocols=["retrieval"])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"scores": {"m": {"x9": 1.0}}}, "1 of the 1 ids in the score file m are not ratings of mine (given)"),
        ({"scores": {"m": {"r00": float("inf")}}}, "has the score inf; give None for a missing score"),
        ({"ratings": Ratings("bare", ROWS)}, "without published scores: give a score file with its rating ids."),
        ({"unit": "citation"}, "unit=citation is for data with cited documents"),
        ({"pool": "bm25:3"}, "pool=bm25:3 is for data with cited documents"),
    ],
)
def test_what_cannot_be_evaluated_is_one_sentence(settings, says):
    with pytest.raises(UserError, match=re.escape(says)):
        evaluated(**settings)


def test_a_corpus_is_no_rated_set_and_the_other_way_round():
    with pytest.raises(UserError, match="corpus and ratings are both given"):
        api.evaluate_scores({}, api.load_corpus("mini"), RATINGS)
    with pytest.raises(UserError, match="mini is not a rated set"):
        api.load_ratings("mini")
    with pytest.raises(UserError, match=r"frank has ratings and .* 'metaeval evaluate -d frank'"):
        api.load_corpus("frank")
