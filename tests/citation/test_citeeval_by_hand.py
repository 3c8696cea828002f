"""CiteEval's released rules, counted by hand on made answers: statements, citations, and ratings in both scenarios.

The rules are those of amazon-science/CiteEval at commit 88f567d: r = (stars - 1) / 4 of a cited statement, 1 without
stars; an uncited one is 0 if it rests on the passages (2, also where the context is missing), and N/A otherwise. A
response is the mean of what is not N/A, and 1 where all are. Scenario "cited": uncited values are masked first; with
n statements, n_na of them N/A and n_missing masked, it is 0 if n_missing > 0 and n_missing + n_na = n.
"""

from collections import Counter

import pytest

from metaeval.citation.citeeval.evaluate_responses import Rated, values_of
from metaeval.citation.citeeval.judge import ResponseJudgement
from metaeval.citation.citeeval.options_and_values import RELEASED
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.human.agreement import both_levels
from metaeval.corpus.sentences import RULES

A, B, C = "The Oder is a long river", "Barges carry coal on its water", "You asked about the river Oder"

# Text; citations of each statement; contexts; stars; the response's rating in the scenarios full and cited.
CASES = {
    "one cited": (f"{A} [1].", [{1}], {1: 2}, {1: 5}, 1, 1),
    "two cited": (f"{A} [1]. {B} [2].", [{1}, {2}], {1: 2, 2: 2}, {1: 4, 2: 2}, (3 / 4 + 1 / 4) / 2, 1 / 2),
    "an uncited one lacks a citation": (f"{A} [1]. {B}.", [{1}, set()], {1: 2, 2: 2}, {1: 5}, (1 + 0) / 2, 1),
    "an uncited one is N/A": (f"{A} [1]. {C}.", [{1}, set()], {1: 2, 2: 1}, {1: 3}, 1 / 2, 1 / 2),
    # n = 1, n_missing = 1, n_na = 0.
    "nothing cited, and needed": (f"{A}.", [set()], {1: 2}, {}, 0, 0),
    # n = 1, n_missing = 0: 1.
    "all N/A": (f"{A}.", [set()], {1: 4}, {}, 1, 1),
    "both N/A": (f"{A}. {C}.", [set(), set()], {1: 4, 2: 1}, {}, 1, 1),
    # n = 2, n_missing = 1, n_na = 1: 1 + 1 = 2.
    "one masked, the other N/A": (f"{A}. {C}.", [set(), set()], {1: 2, 2: 1}, {}, 0, 0),
    "both masked": (f"{A}. {B}.", [set(), set()], {1: 2, 2: 2}, {}, 0, 0),
    # n = 3, n_missing = 1, n_na = 1: 1 + 1 < 3.
    "three kinds": (f"{A} [1]. {B}. {C}.", [{1}, set(), set()], {2: 2, 3: 3}, {1: 3}, (1 / 2 + 0) / 2, 1 / 2),
    "more than three marks": (f"{A} [1][2][3][4].", [{1, 2, 3, 4}], {1: 2}, {1: 2}, 1 / 4, 1 / 4),
    "a mark twice": (f"{A} [1][1][2].", [{1, 2}], {1: 2}, {1: 5}, 1, 1),
    "a number above 10": (f"{A} [12].", [set()], {1: 2}, {}, 0, 0),
    "mid-sentence": ("The Oder [3] is a long river in the east [1].", [{1, 3}], {1: 2}, {1: 4}, 3 / 4, 3 / 4),
    "two lines": (f"{A} [1].\n{B} [2].", [{1}, {2}], {1: 2, 2: 2}, {1: 5, 2: 1}, (1 + 0) / 2, 1 / 2),
    # "See map." has 8 characters and ends a line that is not the last: it joins the first statement.
    "a short line joins": (f"{A} [1].\nSee map.\n{B} [2].", [{1}, {2}], {}, {1: 5, 2: 3}, (1 + 1 / 2) / 2, 3 / 4),
    # "Coal [2]." has a citation and 5 characters without it.
    "a short cited one joins": (f"{A} [1]. Coal [2]. {B}.", [{1, 2}, set()], {2: 4}, {1: 3}, 1 / 2, 1 / 2),
    # It ends the last line and cites nothing: it stands, and its context is missing.
    "a short last one stays": (f"{A} [1]. See map.", [{1}, set()], {1: 2}, {1: 5}, (1 + 0) / 2, 1),
    "a mark that opens a sentence": (f"{A}. [1] {B}.", [{1}, set()], {2: 4}, {1: 4}, 3 / 4, 3 / 4),
    "a mark that opens the response": (f"[1] {A}. {B}.", [{1}, set()], {2: 2}, {1: 5}, (1 + 0) / 2, 1),
    # The whole response becomes one statement that rests on the response itself: N/A.
    "no answer, anywhere": (f"{A} [1]. No details were found.", [set()], {1: 3}, {}, 1, 1),
    "stars are missing": (f"{A} [1]. {B} [2].", [{1}, {2}], {}, {2: 1}, (1 + 0) / 2, 1 / 2),
    "a cited one counts whatever it rests on": (f"{A} [1]. {B} [2].", [{1}, {2}], {1: 4}, {1: 1, 2: 5}, 1 / 2, 1 / 2),
    "reasoning before": (f"<thinking>Is it [2]?</thinking>{A} [1].", [{1}], {1: 2}, {1: 4}, 3 / 4, 3 / 4),
    "a list is no mark": (f"{A} [1, 2]. {B} [3].", [set(), {3}], {1: 2, 2: 2}, {2: 5}, (0 + 1) / 2, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_released_rules_on_made_answers(name):
    text, citations, contexts, stars, full, cited = CASES[name]
    answer = Answer("a", text, (Passage("The Oder is long."),) * 10)
    split = split_response(answer, RELEASED, RULES)
    assert [set(statement.citations) for statement in split.statements] == citations
    judged = ResponseJudgement("read", "read", contexts, {}, stars, Counter())
    values = values_of([answer], [split], [judged], options=RELEASED)
    result = Rated([answer], [split], [judged], values, RELEASED)
    assert result.whole("rating")[0].value[0] == pytest.approx(full, abs=1e-12)
    assert result.whole("rating", "cited")[0].value[0] == pytest.approx(cited, abs=1e-12)
    # The same values are worth the same as ratings of people.
    for scenario, expected in (("full", full), ("cited", cited)):
        _, ratings = both_levels(values["rating"].value, result.cited, result.response, 1, scenario)
        assert ratings == pytest.approx([expected], abs=1e-12)
