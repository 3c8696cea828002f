"""Rankings of systems under two backends: ranks, agreement, flips and their causes, on paper."""

import pytest

from metaeval.citation.claim_judging import read_claims
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.pipelines.alce_and_aliice_steps import citation_sheets, judge, rankings
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.system_comparison import agreements, flip_causes, flips
from metaeval.config import RunConfig
from metaeval.runs.verdict_cutoffs import Cutoff

# One claim with one citation an answer: recall and precision are the verdict. Two questions, three systems.
ANSWERS = [
    Answer(f"{system}{question}", f"Claim of {system} on {question} [1].", (Passage("p"),), "", question, system)
    for system in "abc"
    for question in "xyz"
]


def backend(name, supported):
    """A backend that supports the claims of these answers."""

    def entails(pairs):
        return [Verdict(claim.split()[2] + claim.split()[-1].rstrip(".") in supported.split()) for _, claim in pairs]

    return Backend(name, Cutoff(0.5, "as given"), {"backend": name}, entails, {})


@pytest.fixture(scope="module")
def cited():
    pipeline = read_claims("alce", ANSWERS, splitter="rules")
    # left: a 3/3, b 2/3, c 0. right: a 1/3, b 2/3 (another two of the three), c 0.
    left, right = backend("left", "ax ay az bx by"), backend("right", "ax by bz")
    return judge(pipeline, [left, right], RunConfig.model_validate({"interval": {"resamples": 300}}))


def test_agreement_on_paper(cited):
    found = agreements(rankings(cited))
    assert [one.measure for one in found] == ["recall", "precision", "f1"]
    # left a > b > c, right b > a > c: one of three pairs changes order, tau = (2 - 1) / 3.
    assert found[0].tau.value == pytest.approx(1 / 3, abs=1e-15)
    assert (found[0].flips.value, found[0].pairs) == (1.0, 3)
    assert found[0].flips.low >= 0
    assert found[0].flips.high <= 3


def test_a_flip_names_its_systems_and_its_leads(cited):
    found = flips(rankings(cited))
    flip = found[0]
    assert (flip.measure, flip.first, flip.second, flip.ahead, flip.behind) == ("recall", "left", "right", "a", "b")
    assert flip.lead == pytest.approx(3 / 3 - 2 / 3, abs=1e-15)
    assert flip.reversed_lead == pytest.approx(1 / 3 - 2 / 3, abs=1e-15)


def test_a_flip_behind_pairs_that_keep_their_order_is_seen():
    # a leads b and c under both backends; b and c change places: the last of three pairs.
    pipeline = read_claims("alce", ANSWERS, splitter="rules")
    left, right = backend("left", "ax ay az bx"), backend("right", "ax ay az cx")
    turned = flips(rankings(judge(pipeline, [left, right], RunConfig.model_validate({"interval": {"resamples": 20}}))))
    assert {(flip.ahead, flip.behind) for flip in turned} == {("b", "c")}


def test_the_share_of_resamples_is_that_of_all_draws_by_enumeration(cited):
    # Draws of three questions with replacement, 27 in all. On x left leads by 0 and right by +1, on y by 0 and 0 ... :
    # lead left per question x: 1-1, y: 1-1, z: 1-0; right x: 1-0, y: 0-1, z: 0-1. A flip needs z (left > 0) and more
    # of y and z than of x (right < 0): {z and two of y, z} 7 draws with no x: zzz 1, zzy 3, zyy 3; with one x:
    # x z z 3, x y z 6. 16 of 27.
    found = flips(rankings(cited))
    assert found[0].share_of_resamples == pytest.approx(16 / 27, abs=4 * (16 / 27 * 11 / 27 / 300) ** 0.5)


def test_causes_are_the_answers_whose_verdicts_changed(cited):
    found = flips(rankings(cited))
    # ay and az lose their support, bz gains its own: each moves the lead by a third. bx works against it.
    named = {(cause.answer, cause.system, cause.value_one, cause.value_other) for cause in found[0].causes}
    assert named == {("ay", "a", 1.0, 0.0), ("az", "a", 1.0, 0.0), ("bz", "b", 0.0, 1.0)}
    assert [cause.adds for cause in found[0].causes] == pytest.approx([1 / 3] * 3, abs=1e-15)


def test_what_all_answers_add_is_the_whole_reversal(cited):
    found = rankings(cited)
    for flip in flips(found)[:2]:
        ahead, behind = (cited.panel.systems.index(system) for system in (flip.ahead, flip.behind))
        added = [cause.adds for cause in flip_causes(found, flip.measure, (0, 1), (ahead, behind))]
        assert sum(added) == pytest.approx(flip.lead - flip.reversed_lead, abs=1e-14)


def test_one_backend_or_one_system_has_no_rankings():
    pipeline = read_claims("alce", ANSWERS[:3], splitter="rules")
    both = [backend("left", "ax"), backend("right", "ay")]
    config = RunConfig.model_validate({"interval": {"resamples": 5}})
    alone = rankings(judge(pipeline, both, config))
    assert (agreements(alone), flips(alone)) == ([], [])
    whole = judge(read_claims("alce", ANSWERS, splitter="rules"), both[:1], config)
    assert (agreements(rankings(whole)), flips(rankings(whole))) == ([], [])
    assert [sheet.name for sheet in citation_sheets(whole, "x")] == ["citation-scores", "answers"]


def test_the_sheets_say_the_same(cited):
    sheets = {sheet.name: sheet for sheet in citation_sheets(cited, "answers")}
    ranks = {
        (record["system"], record["backend"]): record["rank"]
        for record in sheets["rankings"].records
        if record["measure"] == "recall"
    }
    assert ranks == {
        ("a", "left"): 1,
        ("b", "left"): 2,
        ("c", "left"): 3,
        ("a", "right"): 2,
        ("b", "right"): 1,
        ("c", "right"): 3,
    }
    flipped = sheets["flips"].records[0]
    assert (flipped["ahead"], flipped["behind"], flipped["measure"]) == ("a", "b", "recall")
    assert {record["answer"] for record in sheets["flip-causes"].records} == {"ay", "az", "bz"}
