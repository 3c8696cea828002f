"""Values of statements and responses: the corrected edit distance, refitting, missing words, both scenarios, bounds."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from metaeval.citation.citeeval import citation_edits
from metaeval.citation.citeeval.citation_edits import ACTIONS, PUBLISHED, Coefficients, Edit, actions, refit
from metaeval.citation.citeeval.evaluate_responses import Rated, cells, values_of
from metaeval.citation.citeeval.judge import ResponseJudgement
from metaeval.citation.citeeval.options_and_values import (
    LACKS,
    MISSING,
    NEEDS_NONE,
    PAPER,
    RELEASED,
    UNDECIDED,
    Units,
    by_edits,
    by_rating,
    highest,
    lowest,
    moments_of_ends,
    response_values,
)
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.human.agreement import both_levels
from metaeval.corpus.sentences import RULES

FULL_MARKS = replace(PAPER, nothing_rated="full marks")


def rated(value):
    return (value, value, value)


def units(values):
    return Units(*np.array(values, dtype=float).reshape(-1, 3).T)


def whole(values, cited, scenario="full", options=PAPER):
    """The value of one response with its ends, and the numbers of statements with a value and without a verdict."""
    one, of = np.array(cited, dtype=bool), np.zeros(len(values), dtype=int)
    found, known, missing = response_values(units(values), one, of, 1, scenario, options)
    (value,), (worst,), (best,) = map(cells, found)
    return SimpleNamespace(value=value, least=worst, most=best, rated=known[0], missing=missing[0])


def ends(values):
    """The lowest and the highest possible mean of units, as value, worst and best."""
    sums = moments_of_ends(units(values)).sum(axis=0)[:, None]
    return cells(lowest(sums))[0], cells(highest(sums))[0]


QUERY, RETRIEVAL, RESPONSE, MODEL = 1, 2, 3, 4
# The official prompt's own example: 1 and 6 are cited, 6 is misleading, 7 would add credibility.
EXAMPLE = ((1, 6), (Edit("delete", 1, 6), Edit("add", 3, 7)))


def test_the_prompts_own_example_is_0491_and_as_released_0992():
    # KEEP, DELETE_1, ADD_3: (1.00298631 + 0.06935712 + 0.43404136) / 3 - 0.01090173 = 0.50212826 - 0.01090173
    assert actions(*EXAMPLE) == ("KEEP", "DELETE_1", "ADD_3")
    assert by_edits(EXAMPLE[0], RETRIEVAL, EXAMPLE[1], PAPER, passages=range(1, 11))[0] == pytest.approx(
        0.49122653, abs=1e-8
    )
    # One too high, 1 and 6 are 2 and 7: the deletion of 6 finds nothing, the addition of 7 is there already.
    assert actions(*EXAMPLE, index_shift=True) == ("KEEP", "KEEP")
    assert by_edits(*EXAMPLE[:1], RETRIEVAL, EXAMPLE[1], RELEASED, passages=range(1, 11))[0] == pytest.approx(
        1.00298631 - 0.01090173, abs=1e-8
    )


@pytest.mark.parametrize(
    ("citations", "edits", "problems"),
    [
        ((1, 2), (Edit("delete", 1, 2), Edit("delete", 3, 2)), ["not cited"]),
        ((1, 2), (Edit("add", 1, 2),), ["cited already"]),
        ((1, 2), (Edit("add", 1, 6),), ["no such passage"]),
        ((1, 2), (Edit("add", 1, 0),), []),  # the model's own knowledge
        ((1, 2), (Edit("delete", 1, 2), Edit("add", 1, 2)), []),  # taken back
        ((1, 2), (Edit("add", 1, 3), Edit("delete", 1, 3)), []),
        ((1, 9), (Edit("delete", 1, 9),), []),  # a number without a passage may go
    ],
)
def test_edits_that_cannot_be_are_counted_and_leave_no_value(citations, edits, problems):
    assert citation_edits.edit_problems(citations, edits, range(1, 6)) == problems
    value = by_edits(citations, RETRIEVAL, edits, PAPER, passages=range(1, 6))
    assert np.isnan(value[0]) == bool(problems)
    # As it stands: the released code scores whatever it is given.
    lenient = by_edits(citations, RETRIEVAL, edits, replace(PAPER, bad_edits="as it stands"), passages=range(1, 6))
    assert lenient[0] == citation_edits.edit_distance(citations, edits)


def test_of_coefficients_that_fit_equally_well_those_nearest_to_the_published_are_taken():
    # Only the mean of KEEP and ADD_1 is known: (k + a) / 2 + b = 0.8. Both move by the same amount.
    fitted = refit([("KEEP", "ADD_1")] * 2, [0.8, 0.8])
    moved = [fitted.action[name] - PUBLISHED.action[name] for name in ("KEEP", "ADD_1")]
    # 2 * (0.8 + 0.01090173) = 1.62180346 = 1.00298631 + 0 + 2 * 0.30940857
    assert moved == pytest.approx([0.30940857, 0.30940857], abs=1e-8)
    # An action that was never seen keeps its published coefficient. So a statement whose only citation is redundant is
    # worth what it was: 0.5318322 - 0.01090173.
    fitted = refit([("KEEP",), ("DELETE_1", "DELETE_1")], [1.0, 0.0])
    for name in {*ACTIONS} - {"KEEP", "DELETE_1"}:
        assert fitted.action[name] == PUBLISHED.action[name]
    assert citation_edits.edit_distance((1,), (Edit("delete", 3, 1),), fitted) == pytest.approx(0.52093047, abs=1e-8)
    own = Coefficients({**dict.fromkeys(ACTIONS, 0.0), "KEEP": 1.5}, -0.25)
    # KEEP, DELETE_1: (1.5 + 0) / 2 - 0.25; what is missing lies between 0 - 0.25 and 1.5 - 0.25.
    assert by_edits((1, 6), RETRIEVAL, (Edit("delete", 1, 6),), coefficients=own)[0] == 0.5
    assert cells(np.array(by_edits((1, 6), RETRIEVAL, None, coefficients=own))) == [None, -0.25, 1.25]


def test_refitting_is_the_least_squares_solution_under_noise():
    rng = np.random.default_rng(3)
    taken = [tuple(rng.choice(ACTIONS, size=rng.integers(1, 5))) for _ in range(80)]
    ratings = rng.choice([0, 0.25, 0.5, 0.75, 1], size=80)
    fitted = refit(taken, ratings)
    shares = np.array([[names.count(name) / len(names) for name in ACTIONS] for names in taken])
    # Seven shares that add up to 1 span the intercept: the normal equations of the shares alone give the same fit.
    worth = np.linalg.solve(shares.T @ shares, shares.T @ ratings)
    ours = [fitted.action[name] + fitted.intercept for name in ACTIONS]
    np.testing.assert_allclose(ours, worth, atol=1e-10)


def test_values_of_every_two_kinds_of_statements(recorded):
    kinds = {
        **{"half": (rated(0.5), True), "none": (rated(0.0), True), "lost": (MISSING, True)},
        **{"between": ((np.nan, 0.4, 0.6), True), "lacks": (LACKS, False), "needs none": (NEEDS_NONE, False)},
        **{"open": (UNDECIDED, False), "below": (rated(-0.5), True)},
    }
    found = {}
    for first, second in itertools.combinations_with_replacement(kinds, 2):
        values, cited = zip(kinds[first], kinds[second], strict=True)
        for size in (1, 2) if first == second else (2,):
            own = [
                [*vars(whole(values[:size], cited[:size], scenario, options)).values()]
                for scenario, options in itertools.product(("full", "cited"), (PAPER, FULL_MARKS))
            ]
            found[f"{first}, {second}"[: 99 if size > 1 else len(first)]] = [own, ends(values[:size])]
    recorded.held("citeeval-two-statements", found)


def test_values_of_a_statement_by_each_rule(recorded):
    said = {
        "none": None,
        "kept": (),
        "deleted": (Edit("delete", 1, 1),),
        "wrong": (Edit("add", 2, 9), Edit("add", 3, 0)),
    }
    rules = [PAPER, RELEASED, *(replace(PAPER, uncited=how) for how in ("fails", "rated", "left out"))]
    found = {}
    for citations, context, stars in itertools.product(((), (1,), (1, 2)), (None, *range(1, 5)), (None, 1, 5)):
        own = [by_rating(citations, context, stars, options)[: 3 if stars is None else 1] for options in rules]
        found[f"rating {len(citations)} {context} {stars}"] = own
    for citations, context, edits in itertools.product(((), (1,), (2, 1)), (None, 1, 2), said):
        own = [by_edits(citations, context, said[edits], options, (1, 2, 3)) for options in rules]
        found[f"edits {len(citations)} {context} {edits}"] = own
    recorded.held("citeeval-statement-values", found)


BELOW_0 = Coefficients({**dict.fromkeys(ACTIONS, 0.3), "KEEP": 1.2, "DELETE_1": -0.6}, -0.1)
ABOVE_1 = Coefficients(dict.fromkeys(ACTIONS, 1.5), 0.0)
EDITS = [(), (Edit("delete", 1, 1),), (Edit("delete", 1, 1), Edit("add", 1, 2)), (Edit("add", 3, 2),)]


@pytest.mark.parametrize("coefficients", [BELOW_0, ABOVE_1])
@pytest.mark.parametrize("scenario", ["full", "cited"])
@pytest.mark.parametrize("options", [PAPER, FULL_MARKS])
def test_no_judgement_leaves_the_bounds_whatever_the_coefficients(coefficients, scenario, options):
    """Brute force: two responses of up to two statements, each missing word filled in every way."""
    said = [((1,), edits) for edits in EDITS] + [((), context) for context in (QUERY, RETRIEVAL)]

    def value(citations, word):
        context, edits = (RETRIEVAL, word) if citations else (word, None)
        return by_edits(citations, context, edits, options, coefficients=coefficients)

    def responses(statements):
        two = statements[:2], statements[2:]
        return [
            whole([value(*one) for one in own], [bool(cited) for cited, _ in own], scenario, options) for own in two
        ]

    for first in ((), *((one,) for one in said)):
        for hidden in itertools.product([(1,), ()], repeat=2):
            open_ = [*first, *((cited, None) for cited in hidden)]
            bounded = responses(open_)
            least, most = ends([(one.value, one.least, one.most) for one in bounded])
            ways = [EDITS if cited else [QUERY, RETRIEVAL] for cited in hidden]
            means = []
            for words in itertools.product(*ways):
                filled = responses([*first, *zip(hidden, words, strict=True)])
                for own, found in zip(filled, bounded, strict=True):
                    if own.value is not None:
                        assert found.least - 1e-12 <= own.value
                        assert own.value <= (found.least if found.most is None else found.most) + 1e-12
                        assert found.value is not None or found.missing
                known = [one.value for one in filled if one.value is not None]
                means += [sum(known) / len(known)] if known else []
            if means:
                assert least - 1e-12 <= min(means), (open_, bounded)
                assert max(means) <= most + 1e-12, (open_, bounded)


def test_a_statement_that_may_need_none_moves_the_bounds_either_way():
    # A mean of -0.5 with a 0 is -0.25: the most, and not the least.
    found = whole([rated(-0.5), UNDECIDED], [True, False])
    assert (found.least, found.most) == (-0.5, -0.25)
    assert ends([UNDECIDED, UNDECIDED]) == (0.0, 0.0)
    assert ends([(np.nan, 0.4, 0.6), UNDECIDED, (np.nan, 0.2, 1.0)]) == (pytest.approx(0.2), pytest.approx(0.8))
    assert ends([]) == ends([NEEDS_NONE]) == (None, None)


# The released rules are those of amazon-science/CiteEval at commit 88f567d: r = (stars - 1) / 4 of a cited statement, 1
# without stars; an uncited one is 0 if it rests on the passages (2, also where the context is missing), else N/A. A
# response is the mean of what is not N/A, and 1 where all are. Scenario "cited": uncited values are masked first; with
# n statements, n_na of them N/A and n_missing masked, it is 0 if n_missing > 0 and n_missing + n_na = n.

# Text; citations of each statement; contexts; stars; the response's rating in the scenarios full and cited.
CASES = json.loads(Path(__file__).with_name("citeeval_rules.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_the_released_rules_on_made_answers(name):
    text, citations, contexts, stars, full, cited = CASES[name]
    contexts, stars = ({int(number): word for number, word in said.items()} for said in (contexts, stars))
    answer = Answer("a", text, (Passage("The Oder is long."),) * 10)
    split = split_response(answer, RELEASED, RULES)
    assert [sorted(statement.citations) for statement in split.statements] == citations
    judged = ResponseJudgement("read", "read", contexts, {}, stars, Counter())
    values = values_of([answer], [split], [judged], options=RELEASED)
    result = Rated([answer], [split], [judged], values, RELEASED)
    assert result.whole("rating")[0].value[0] == pytest.approx(full, abs=1e-12)
    assert result.whole("rating", "cited")[0].value[0] == pytest.approx(cited, abs=1e-12)
    # The same values are worth the same as ratings of people.
    for scenario, expected in (("full", full), ("cited", cited)):
        _, ratings = both_levels(values["rating"].value, result.cited, result.response, 1, scenario)
        assert ratings == pytest.approx([expected], abs=1e-12)
