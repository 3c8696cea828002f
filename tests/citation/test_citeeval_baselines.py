"""AutoAIS as values of statements and responses, what a missing verdict leaves open, and the two scenarios."""

from itertools import product
from random import Random

import pytest

from metaeval.citation.citeeval import baselines
from metaeval.citation.citeeval.baselines import TRIPLE, UNDEFINED, Open, known, mean, response_triple, response_value
from metaeval.citation.citeeval.options_and_values import citeeval_options
from metaeval.citation.citeeval.splitting import ResponseStatement, Split, split_response
from metaeval.citation.data_model import Answer, Passage, Verdict

PASSAGES = (Passage("one"), Passage("two"), Passage("three"))


def exact(*values):
    """Precision, recall and F1 of which nothing is missing."""
    return dict(zip(TRIPLE, map(known, values), strict=True))


def of(triple, end="value"):
    return tuple(getattr(triple[name], end) for name in TRIPLE)


def triples(text, *true, missing=(), **options):
    """AutoAIS where exactly these premises entail; those in `missing` have no verdict."""
    answer = Answer("a", text, PASSAGES)
    batches = []

    def entails(pairs):
        batches.append(pairs)
        return [Verdict(None if text in missing else text in true) for text, _ in pairs]

    split = split_response(answer, citeeval_options(**options))
    (found,) = baselines.autoais([answer], [split], entails)
    assert len(batches) <= 3
    return found


def test_recall_is_joint_and_precision_counts_the_needed():
    # 1 and 2 are needed together; 3 adds nothing: alone it does not entail, and the rest does.
    found = triples("It is long [1][2][3].", "one\ntwo\nthree", "one\ntwo")
    assert found == [exact(pytest.approx(2 / 3), 1.0, pytest.approx(2 * (2 / 3) / (5 / 3)))]
    assert triples("It is long [1].", "one") == [exact(1.0, 1.0, 1.0)]
    assert triples("It is long [1][2].", "one") == [exact(0.0, 0.0, 0.0)]  # not together: nothing is asked alone
    assert triples("It is long.") == [exact(0.0, 0.0, 0.0)]


def test_a_citation_of_no_passage_supports_nothing():
    found = triples("It is long [1][9].", "one", highest=10)
    assert found == [exact(0.5, 1.0, pytest.approx(2 / 3))]
    assert triples("It is long [9].", highest=10) == [exact(0.0, 0.0, 0.0)]
    published = Split(
        (ResponseStatement(1, "It is long.", (0, 1), 0, 0),), no_answer=False
    )  # 0 is not the last passage
    asked = []
    baselines.autoais(
        [Answer("a", "", PASSAGES)], [published], lambda pairs: asked.extend(pairs) or [Verdict(True)] * len(pairs)
    )
    assert asked == [("one", "It is long.")]


def test_a_missing_verdict_leaves_what_it_decides_missing_and_bounded():
    nothing, all_of_it = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    (found,) = triples("It is long [1].", missing=("one",))
    assert [of(found, end) for end in ("value", "least", "most")] == [(None, None, None), nothing, all_of_it]
    # The second citation is of no passage: at most one of the two can be a hit. F1 at most 2 * 0.5 * 1 / 1.5.
    (found,) = triples("It is long [1][9].", missing=("one",), highest=10)
    assert (of(found, "least"), of(found, "most")) == (nothing, pytest.approx((0.5, 1.0, 2 / 3)))
    # Together they entail; whether 1 does alone is open, and without it 2 does: one hit or two, of two.
    (found,) = triples("It is long [1][2].", "one\ntwo", "two", missing=("one",))
    assert of(found) == (None, 1.0, None)
    assert (of(found, "least"), of(found, "most")) == (pytest.approx((0.5, 1.0, 2 / 3)), (1.0, 1.0, 1.0))
    # Recall is known in both, so that the response's is: (1 + 0) / 2. Precision is from (0.5 + 0.5) / 2 to 1.5 / 2.
    whole = response_triple([found, exact(0.5, 0.0, 0.0)], [True, True])
    assert of(whole) == (None, 0.5, None)
    assert (of(whole, "least"), of(whole, "most")) == (
        pytest.approx((0.5, 0.5, 1 / 3)),
        pytest.approx((0.75, 0.5, 0.5)),
    )
    assert whole["precision"] == Open(None, 0.5, 0.75)


PREMISES = ("one", "two", "three", "one\ntwo", "one\nthree", "two\nthree", "one\ntwo\nthree")


@pytest.mark.parametrize("seed", range(8))
def test_every_way_to_fill_missing_verdicts_stays_within_the_bounds(seed):
    chance = Random(seed)
    missing = chance.sample(PREMISES, 3)
    true = [one for one in PREMISES if one not in missing and chance.random() < 0.6]
    texts = "It is long [1][2][3]. It is long [2][3]. It is long [1][9]."
    open_ = response_triple(triples(texts, *true, missing=missing, highest=10), [True] * 3)
    for filling in product((False, True), repeat=len(missing)):
        filled = [own for own, held in zip(missing, filling, strict=True) if held]
        found = response_triple(triples(texts, *true, *filled, highest=10), [True] * 3)
        for name, part in open_.items():
            assert part.least - 1e-12 <= found[name].value <= part.most + 1e-12
            assert part.value is None or part.value == pytest.approx(found[name].value)


def test_a_response_is_the_mean_over_all_its_statements():
    found = triples("It is long [1]. It is wide. It is deep [2].", "one")
    assert response_triple(found, [True, False, True]) == exact(
        pytest.approx(1 / 3), pytest.approx(1 / 3), pytest.approx(1 / 3)
    )
    assert response_triple([], []) == dict.fromkeys(TRIPLE, UNDEFINED)


def test_a_mean_over_nothing_or_over_something_undefined_is_undefined():
    assert mean([]) == mean([UNDEFINED]) == mean([known(1.0), UNDEFINED]) == UNDEFINED
    assert mean([known(1.0), known(0.0), known(0.5)]) == known(0.5)


def test_in_the_scenario_of_cited_statements_the_others_are_masked_as_on_the_other_side():
    found = triples("It is long [1]. It is wide. It is deep [2].", "one")
    # 1 and 0, without the statement that cites nothing.
    assert response_triple(found, [True, False, True], "cited") == exact(0.5, 0.5, 0.5)
    # All masked, and at least one was there: 0, CiteEval's rule.
    assert response_triple(found[1:2], [False], "cited") == exact(0.0, 0.0, 0.0)
    assert response_triple([], [], "cited") == dict.fromkeys(TRIPLE, UNDEFINED)
    with pytest.raises(ValueError, match="shorter"):
        response_triple(found, [True], "cited")


def test_a_value_is_known_where_its_bounds_meet():
    half_open = Open(None, 0.0, 1.0)
    assert response_value([known(0.5), half_open], [True, True]) == Open(None, 0.25, 0.75)
    assert response_value([known(0.5), half_open], [True, False], "cited") == known(0.5)
    assert response_value([], []) == Open(None)
