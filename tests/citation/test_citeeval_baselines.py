"""AutoAIS and AttrScore as values of statements and responses."""

import pytest

from metaeval.citation.citeeval.baselines import Triple, attrscore, autoais, response_triple
from metaeval.citation.citeeval.options import citeeval_options
from metaeval.citation.citeeval.splitting import Split, Statement, split_response
from metaeval.citation.model import Answer, Passage, Verdict

PASSAGES = (Passage("one"), Passage("two"), Passage("three"))


def triples(text, *true, missing=(), **options):
    """AutoAIS where exactly these premises entail; those in `missing` have no verdict."""
    answer = Answer("a", text, PASSAGES)
    batches = []

    def entails(pairs):
        batches.append(pairs)
        return [Verdict(None if text in missing else text in true) for text, _ in pairs]

    split = split_response(answer, citeeval_options(**options))
    (found,) = autoais([answer], [split], entails)
    assert len(batches) <= 3
    return found


def test_recall_is_joint_and_precision_counts_the_needed():
    # 1 and 2 are needed together; 3 adds nothing: alone it does not entail, and the rest does.
    found = triples("It is long [1][2][3].", "one\ntwo\nthree", "one\ntwo")
    assert found == [Triple(pytest.approx(2 / 3), 1.0, pytest.approx(2 * (2 / 3) / (5 / 3)))]
    assert triples("It is long [1].", "one") == [Triple(1.0, 1.0, 1.0)]
    assert triples("It is long [1][2].", "one") == [Triple(0.0, 0.0, 0.0)]  # not together: nothing is asked alone
    assert triples("It is long.") == [Triple(0.0, 0.0, 0.0)]


def test_a_citation_of_no_passage_supports_nothing():
    found = triples("It is long [1][9].", "one", highest=10)
    assert found == [Triple(0.5, 1.0, pytest.approx(2 / 3))]
    assert triples("It is long [9].", highest=10) == [Triple(0.0, 0.0, 0.0)]
    published = Split((Statement(1, "It is long.", (0, 1), 0, 0),), no_answer=False)  # 0 is not the last passage
    asked = []
    autoais([Answer("a", "", PASSAGES)], [published], lambda pairs: asked.extend(pairs) or [Verdict(True)] * len(pairs))
    assert asked == [("one", "It is long.")]


def test_a_missing_verdict_leaves_what_it_decides_missing():
    assert triples("It is long [1].", missing=("one",)) == [Triple(None, None, None)]
    # Together they entail; whether 1 does alone is open, and without it 2 does.
    found = triples("It is long [1][2].", "one\ntwo", "two", missing=("one",))
    assert found == [Triple(None, 1.0, None)]
    assert response_triple([*found, Triple(0.5, 0.0, 0.0)]) == Triple(None, 0.5, None)


def test_a_response_is_the_mean_over_all_its_statements():
    found = triples("It is long [1]. It is wide. It is deep [2].", "one")
    assert response_triple(found) == Triple(pytest.approx(1 / 3), pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert response_triple([]) == Triple(None, None, None)


def test_attrscore_strict_and_relaxed():
    labels = ("Attributable", "Extrapolatory", "Contradictory")
    assert attrscore(labels) == pytest.approx(1 / 3)
    assert attrscore(labels, "relaxed") == 0.5
    assert attrscore(()) == attrscore((), "relaxed") == 0.0
    # The released code takes whatever it does not know for full support.
    assert attrscore(("Contradictory", "No idea")) is None
    assert attrscore(("Contradictory", "No idea"), otherwise="attributable") == 0.5
