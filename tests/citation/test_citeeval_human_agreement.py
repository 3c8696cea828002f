"""Values held against people's, from the published files' form to correlations."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from metaeval.citation.citeeval.evaluate_responses import Rated, evaluate, values_of
from metaeval.citation.citeeval.judge import Asking, ResponseJudgement
from metaeval.citation.citeeval.options_and_values import PAPER, RELEASED
from metaeval.citation.human.agreement import agreement, alphas, class_scores, context_counts, contexts_of
from metaeval.citation.human.rating_files import read_human, read_human_set, read_statements
from metaeval.citation.human.refitting import edited_statements
from metaeval.citation.measures import group_codes, value_of
from metaeval.errors import UserError
from metaeval.llm.messages import read_reply
from metaeval.stats.agreement import krippendorff_alpha
from metaeval.stats.intervals import Resampling

# Four responses: citations of each statement, the judge's contexts and stars (0: it says nothing), people's ratings.
RESPONSES = {
    "r1": [([1], 2, 4, (0.75, 1, 0.5)), ([2], 2, 2, (0.25, 0.25, None)), ([], 1, 0, (None, None, None))],
    "r2": [([1, 2], 4, 5, (1, 1, 1)), ([], 2, 0, (0, 0, 0.25))],
    "r3": [([2], 2, 1, (0.25, 0, 0)), ([1], 2, 3, (0.5, 0.75, 0.5))],
    "r4": [([], 3, 0, (None, None, 0))],
}

NONE = Resampling(0)


@pytest.fixture
def files(citebench):
    """The statements and the human judgements, as CiteBench writes them."""
    responses = {
        name: [(cited, [context, context, 2], ratings) for cited, context, _, ratings in own]
        for name, own in RESPONSES.items()
    }
    statements, people = citebench(responses, [{"title": "t", "text": "one"}, {"title": "", "text": "two"}])
    return read_statements(statements), read_human(people)


def judged(name, without=()):
    own = dict(enumerate(RESPONSES[name], start=1))
    return ResponseJudgement(
        "read",
        "read",
        {n: context for n, (_, context, _, _) in own.items()},
        dict.fromkeys(own, ()),
        {n: stars for n, (_, _, stars, _) in own.items() if stars and n not in without},
        Counter(),
    )


def rated_of(answers, splits, judged, options=PAPER):
    return Rated(answers, splits, judged, values_of(answers, splits, judged, options=options), options)


def results_of(files, options=PAPER, without=(), **changes):
    answers, splits = zip(*files[0], strict=True)
    return rated_of(answers, splits, [replace(judged(one.id, without), **changes) for one in answers], options)


def test_correlations_over_statements_and_responses_are_those_of_columns_written_by_hand(files):
    results = results_of(files)
    found = agreement(results, files[1], "rating", resampling=NONE)
    # Ours: stars to quarters; r1's third and r4's only statement need none and take 0.5 = mean(0.75, 0.25), and 1.
    ours = [0.75, 0.25, 0.5, 1, 0, 0, 0.5, 1]
    # People: means of those there; fewer than two of three is none, which takes 0.5 = mean(0.75, 0.25), and 1.
    people = [0.75, 0.25, 0.5, 1, 0.25 / 3, 0.25 / 3, 1.75 / 3, 1]
    assert found.statements["pearson"].value == pytest.approx(stats.pearsonr(ours, people).statistic, abs=1e-12)
    assert found.statements["kendall"].value == pytest.approx(stats.kendalltau(ours, people).statistic, abs=1e-12)
    ours, people = [0.5, 0.5, 0.25, 1], [0.5, 3.25 / 6, 1 / 3, 1]
    assert found.responses["spearman"].value == pytest.approx(stats.spearmanr(ours, people).statistic, abs=1e-12)
    assert found.responses["pearson"].value == pytest.approx(stats.pearsonr(ours, people).statistic, abs=1e-12)
    assert (found.n_statements, found.n_responses, found.statements_left_out) == (8, 4, 0)
    assert value_of(results.statistic("rating")) == pytest.approx((0.5 + 0.5 + 0.25) / 3)
    cited = agreement(results, files[1], "rating", "cited", NONE)
    ours, people = [0.5, 1, 0.25, 1], [0.5, 1, 1 / 3, 1]  # r4 has no citation, and needs none on both sides: 1
    assert cited.responses["pearson"].value == pytest.approx(stats.pearsonr(ours, people).statistic, abs=1e-12)


def test_responses_to_one_query_are_drawn_together_and_stay_in_one_fold(citebench):
    def read(times):
        copies = {
            f"{name}#{copy}": [(cited, [context, context, 2], ratings) for cited, context, _, ratings in own]
            for copy in range(times)
            for name, own in RESPONSES.items()
        }
        statements, people = citebench(copies, [{"title": "t", "text": "one"}, {"title": "", "text": "two"}])
        return read_human_set([statements], human=people)

    drawn, found = Resampling(100, 4, fewest=2), []
    for times in (1, 8):
        human = read(times)
        answers = [own.answer for own in human.answers]
        said = [replace(judged(one.id.partition("#")[0]), edits={1: (), 2: ()}) for one in answers]
        results = rated_of(answers, [human.splits[one.id] for one in answers], said)
        group, n_groups = group_codes(answers)
        assert n_groups == 4
        edited, _ = edited_statements(human.answers, results, group)
        assert {(one.answer.partition("#")[0], one.group) for one in edited} == {("r1", 0), ("r2", 1), ("r3", 2)}
        agreed = agreement(results, human.people, "rating", resampling=drawn)
        found.append((agreed.statements["pearson"], agreed.responses["pearson"]))
    for once, eight in zip(*found, strict=True):
        assert once.low < once.high
        assert (eight.low, eight.high) == pytest.approx((once.low, once.high), abs=1e-9)


def test_what_the_judge_left_out_is_left_out_and_filled_only_as_released(files):
    results = results_of(files, without=(1,))
    found = agreement(results, files[1], "rating", resampling=NONE)
    # The first statements of r1, r2 and r3, so that the value of none of these is known; and r1's third statement,
    # which needs no rating and would take r1's. Left are r1.2, r2.2 (it lacks a citation: 0), r3.2 and r4.1.
    assert (found.n_statements, found.statements_left_out) == (4, 4)
    assert (found.n_responses, found.responses_left_out) == (1, 3)
    ours, people = [0.25, 0, 0.5, 1], [0.25, 0.25 / 3, 1.75 / 3, 1]
    assert found.statements["pearson"].value == pytest.approx(stats.pearsonr(ours, people).statistic, abs=1e-12)
    results = results_of(files, RELEASED, without=(1,))
    assert agreement(results, files[1], "rating", NONE).statements_left_out == 0
    results = results_of(files, without=(1, 2))
    found = agreement(results, files[1], "rating", resampling=NONE)
    assert (found.statements_left_out, found.responses_left_out) == (6, 3)


def test_in_the_scenario_of_cited_statements_a_missing_word_is_no_0_and_a_masked_one_costs_nothing(files):
    results = results_of(files, without=(1,))
    found = agreement(results, files[1], "rating", "cited", NONE)
    # Masked: r1.3, r2.2, r4.1. The first statements of r1, r2, r3 are missing. Left are r1.2 = 0.25, r3.2 = 0.5, and
    # r4, which cites nothing and needs nothing: 1 on both sides. r2.2 would take r2's value, which would be 0, since
    # its only cited statement was not judged.
    assert (found.n_statements, found.statements_left_out) == (3, 5)
    assert (found.n_responses, found.responses_left_out) == (1, 3)
    ours, people = [0.25, 0.5, 1], [0.25, 1.75 / 3, 1]
    assert found.statements["pearson"].value == pytest.approx(stats.pearsonr(ours, people).statistic, abs=1e-12)
    # Contexts alone are missing, of statements without citations. They are masked, but decide what r4 is worth, of
    # which nothing is left: it is left out, and the others stay.
    silent = results_of(files, contexts={})
    whole = agreement(results_of(files), files[1], "rating", "cited", NONE)
    found = agreement(silent, files[1], "rating", "cited", NONE)
    assert (found.n_statements, found.statements_left_out) == (7, 1)
    assert (found.n_responses, found.responses_left_out) == (3, 1)
    ours, people = [0.5, 1, 0.25], [0.5, 1, 1 / 3]
    assert found.responses["pearson"].value == pytest.approx(stats.pearsonr(ours, people).statistic, abs=1e-12)
    assert (whole.n_statements, whole.n_responses) == (8, 4)
    # Nothing else is in the full scenario's r4: it is left out there, and so are r1 and r2.
    full = agreement(silent, files[1], "rating", resampling=NONE)
    assert (full.n_responses, full.n_statements) == (1, 5)


def test_judgements_are_found_by_the_ids_of_statements_and_held_against_their_citations(files):
    results = results_of(files)
    expected = agreement(results, files[1], "rating", resampling=NONE)
    turned = {name: own[::-1] for name, own in files[1].items()}
    assert agreement(results, turned, "rating", resampling=NONE) == expected
    renamed = {**files[1], "r2": [replace(files[1]["r2"][0], id="7"), files[1]["r2"][1]]}
    with pytest.raises(UserError, match="'r2' has a statement '1' here, and the judgements have only 7, 2: give"):
        agreement(results, renamed)
    recited = {**files[1], "r2": [replace(files[1]["r2"][0], citations=(2,)), files[1]["r2"][1]]}
    with pytest.raises(UserError, match="Statement '1' of sample 'r2' cites 1, 2 here and 2 in the judgements"):
        agreement(results, recited)


def test_responses_without_judgements_are_left_out_and_counted(files, tmp_path):
    known = json.loads((tmp_path / "human.json").read_text(encoding="utf-8"))
    (tmp_path / "some.json").write_text(json.dumps({name: known[name] for name in ("r1", "r3", "r4")}))
    found = read_human_set([tmp_path / "test.citeeval"], human=tmp_path / "some.json")
    assert [one.answer.id for one in found.answers] == ["r1", "r3", "r4"]
    assert found.dropped == {"responses without judgements": 1}


def test_contexts_against_most_people(files):
    results = results_of(files)
    # Most people say 2 for r1.1, r1.2, r2.2, r3.1, r3.2 (5 of 8), as the judge does; forced, r2.1 counts as well.
    contexts = contexts_of(results, files[1])
    scores = [class_scores(context_counts(contexts, forced=forced)[1]) for forced in (False, True)]
    assert (scores[0]["f1"][0], scores[1]["precision"][0]) == (1.0, pytest.approx(5 / 6))


@pytest.mark.usefixtures("files")
def test_annotators_agree_with_themselves_by_krippendorffs_alpha(tmp_path):
    human = read_human_set([tmp_path / "test.citeeval"], human=tmp_path / "human.json")
    found = {name: one.value for name, (one, _) in alphas(human, NONE).items()}
    # Contexts: the units are five of (2, 2, 2), and (1, 1, 2), (4, 4, 2), (3, 3, 2), each with 4 of 6 ordered pairs
    # unlike: D_o = 3 x 4 / 2 / 24 = 1/4. Counts 18, 2, 2, 2 of 24: unlike 576 - 324 - 12 = 240 of 552.
    assert found["contexts, nominal"] == pytest.approx(1 - (1 / 4) / (240 / 552), abs=1e-12)
    # Retrieval or not: the same three units, counts 18 and 6: unlike 2 x 18 x 6 = 216 of 552.
    assert found["needs a citation, nominal"] == pytest.approx(1 - (1 / 4) / (216 / 552), abs=1e-12)
    # An annotator's rating of a response: the sum of what they gave over all of its statements, 1 where they gave none.
    responses = [(1 / 3, 1.25 / 3, 0.5 / 3), (1 / 2, 1 / 2, 1.25 / 2), (0.75 / 2, 0.75 / 2, 0.5 / 2), (1, 1, 0)]
    by_hand = [
        (0.75, 1, 0.5),
        (0.25, 0.25, 0.5 / 3),
        responses[0],
        (1, 1, 1),
        (0, 0, 0.25),
        (0.25, 0, 0),
        (0.5, 0.75, 0.5),
        responses[3],
    ]
    of_responses = krippendorff_alpha(np.array(responses), "interval")
    assert found["ratings of responses, interval, gaps filled as published"] == pytest.approx(of_responses, abs=1e-12)
    published = found["ratings, interval, gaps filled as published"]
    assert published == pytest.approx(krippendorff_alpha(np.array(by_hand), "interval"), abs=1e-12)
    by_hand[1:3], by_hand[-1] = [(0.25, 0.25, np.nan)], (np.nan, np.nan, 0)
    given = krippendorff_alpha(np.array(by_hand), "interval")
    assert found["ratings, interval"] == pytest.approx(given, abs=1e-12)
    assert given != pytest.approx(published, abs=1e-6)


def test_other_responses_than_people_judged_are_refused(files):
    results = results_of(files)
    with pytest.raises(UserError, match="have no sample 'r1'"):
        agreement(results, {})
    with pytest.raises(UserError, match="'r1' has 3 statements here and 2 in the judgements"):
        agreement(results, {**files[1], "r1": files[1]["r1"][:2]})


def test_published_statements_are_judged_as_they_are_cut(files):
    answers, splits = zip(*files[0], strict=True)
    asked = []

    def ask(requests):
        asked.extend(request.body["messages"][0]["content"] for request in requests)
        empty = json.dumps({"choices": [{"message": {"content": '{"statements": []}'}, "finish_reason": "stop"}]})
        return [read_reply(empty)] * len(requests)

    results = evaluate(answers, splits, ask, Asking(model="tiny"))
    assert len(asked) == 7  # r4 cites nothing: its contexts alone
    assert '<statement id="1" cites="1 2">r2 says 1.</statement>' in asked[3]
    assert results.judged[0].problems == {"not judged": 5}  # three contexts, two ratings
