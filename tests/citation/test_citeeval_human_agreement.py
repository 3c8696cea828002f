"""Values held against people's, from CiteBench's files, read to their published schema, to correlations."""

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from metaeval.citation.citeeval.citation_edits import Edit
from metaeval.citation.citeeval.edited_answers import improved
from metaeval.citation.citeeval.evaluate_responses import Rated, values_of
from metaeval.citation.citeeval.judge import ResponseJudgement
from metaeval.citation.citeeval.options_and_values import PAPER, RELEASED
from metaeval.citation.citeeval.splitting import NO_ANSWER, split_response, split_responses
from metaeval.citation.data_model import group_of
from metaeval.citation.human.agreement import (
    agreement,
    agreement_of,
    alphas,
    class_scores,
    context_counts,
    contexts_of,
    correlations,
    macro_f1,
)
from metaeval.citation.human.rated_statements import HumanStatement
from metaeval.citation.human.rating_files import match_judgements, read_human, read_human_set, read_statements
from metaeval.citation.human.refitting import edited_statements
from metaeval.citation.measures import group_codes, value_of
from metaeval.citation.readers.answer_files import gather
from metaeval.core.errors import UserError
from metaeval.corpus.sentences import RULES
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
    said = [replace(judged(one.id, without), **changes) for one in files[0]]
    return rated_of(files[0], split_responses(files[0])[0], said, options)


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
        results = rated_of(answers, split_responses(answers)[0], said)
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


def test_agreement_of_every_measure_in_both_scenarios(recorded, citebench):
    chance = random.Random(2)
    quarters, drawn, found = (0, 0.25, 0.5, 0.75, 1, None), Resampling(60, fewest=2), {"one": macro_f1(np.eye(2, k=1))}
    responses = {
        f"r{n // 2}#{n}": [
            (chance.choice(([], [1], [2, 1])), chance.choices((1, 2, 3, 4, None), k=3), chance.choices(quarters, k=3))
            for _ in range(chance.randint(1, 4))
        ]
        for n in range(20)
    }
    paths = citebench(responses, [{"title": "t", "text": "one"}, {"title": "", "text": "two"}])
    human = read_human_set(paths[:1], human=paths[1])
    answers, said = [own.answer for own in human.answers], []
    for one in answers:
        stars, edits, contexts = {}, {}, {}
        for statement in one.split.statements:
            number, what = statement.number, chance.random()
            contexts |= {number: chance.randint(1, 4)} if what < 0.9 else {}
            stars |= {number: chance.randint(1, 5)} if statement.citations and what < 0.8 else {}
            edits |= {number: (Edit("delete", chance.randint(1, 3), 1),)[: chance.randint(0, 1)]} if what > 0.1 else {}
        said.append(ResponseJudgement("read", "read", contexts, edits, stars, Counter()))
    splits, _ = split_responses(answers)
    for name, options in (("paper", PAPER), ("released", RELEASED)):
        results = rated_of(answers, splits, said, options)
        for measure, scenario in product(("auto", "rating"), ("full", "cited")):
            found[f"{name} {measure} {scenario}"] = short(agreement(results, human.people, measure, scenario, drawn))
        contexts = contexts_of(results, human.people)
        for forced, binary in product((True, False), repeat=2):
            counts = context_counts(contexts, forced, binary)
            found[f"{name} contexts {forced} {binary}"] = [*counts, class_scores(counts[1]), macro_f1(counts[1])]
        group, _ = group_codes(answers)
        edited, left_out = edited_statements(human.answers, results, group)
        kept = [[each.answer, each.group, each.citations, each.rating, each.actions(options)] for each in edited]
        found[f"{name} edited"] = [kept, left_out]
    values = np.array([chance.choice((0, 0.5, 1, np.nan)) for split in splits for _ in split.statements])
    missing = np.array([chance.random() < 0.1 for _ in values])
    for masks, emptied, scenario in product((True, False), (0.0, 1.0), ("full", "cited")):
        column = values, missing, results.cited, human.people, scenario, drawn, masks, emptied
        found[f"{masks} {emptied} {scenario}"] = short(agreement_of(answers, *column))
    found["alphas"] = [[name, one.value, one.low, one.high, n] for name, (one, n) in alphas(human, drawn).items()]
    recorded.held("human-agreement", found)


def short(agreed):
    """Correlations with their intervals, and the numbers of what is compared and left out."""
    both = [[[one.value, one.low, one.high] for one in each.values()] for each in (agreed.statements, agreed.responses)]
    counts = agreed.n_statements, agreed.n_responses, agreed.statements_left_out, agreed.responses_left_out
    return [*both, counts]


def test_judgements_are_found_by_the_ids_of_statements_and_held_against_their_citations(files):
    results = results_of(files)
    expected = agreement(results, files[1], "rating", resampling=NONE)
    turned = {name: own[::-1] for name, own in files[1].items()}
    assert agreement(results, turned, "rating", resampling=NONE) == expected
    lettered = [replace(one, id=f"s{one.number}") for one in results.splits[0].statements]
    by_letter = [replace(one, id=f"s{one.id}") for one in files[1]["r1"]]
    assert match_judgements("r1", lettered, {"r1": by_letter[::-1]}) == by_letter
    renamed = {**files[1], "r2": [replace(files[1]["r2"][0], id="7"), files[1]["r2"][1]]}
    recited = {**files[1], "r2": [replace(files[1]["r2"][0], citations=(2,)), files[1]["r2"][1]]}
    short = {**files[1], "r1": files[1]["r1"][:2]}
    wrong = ((renamed, "only 7, 2"), (recited, "it cites .2."), ({}, "no sample 'r1'"), (short, "3 statements .* 2 "))
    for people, says in wrong:
        with pytest.raises(UserError, match=says):
            agreement(results, people)


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
        *((0.75, 1, 0.5), (0.25, 0.25, 0.5 / 3), responses[0]),
        *((1, 1, 1), (0, 0, 0.25)),
        *((0.25, 0, 0), (0.5, 0.75, 0.5), responses[3]),
    ]
    of_responses = krippendorff_alpha(np.array(responses), "interval")
    assert found["ratings of responses, interval, gaps filled as published"] == pytest.approx(of_responses, abs=1e-12)
    published = found["ratings, interval, gaps filled as published"]
    assert published == pytest.approx(krippendorff_alpha(np.array(by_hand), "interval"), abs=1e-12)
    by_hand[1:3], by_hand[-1] = [(0.25, 0.25, np.nan)], (np.nan, np.nan, 0)
    given = krippendorff_alpha(np.array(by_hand), "interval")
    assert found["ratings, interval"] == pytest.approx(given, abs=1e-12)
    assert given != pytest.approx(published, abs=1e-6)


STATEMENT = {"citations": [1, 2], "types": [2, 2, 4], "ratings": [0.75, None, 1], "edits": [[], [], None]}


def record(number=1, sentences=(("It is long.", [1, 1, 2]),)):
    cut = [
        {"id": n, "sentence": text, "citations": cited, "concat": f"{text} {cited}"}
        for n, (text, cited) in enumerate(sentences, start=1)
    ]
    return {
        "sample_idx": number,
        "query": "How long?",
        "passages": [{"id": 1, "title": "Oder", "text": "840 km"}, {"id": 2, "title": "", "text": "long"}],
        "prediction": "It is long [1][1][2].",
        "prediction_sentences_and_citations": cut,
    }


def written(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_statements_are_those_of_the_file(tmp_path):
    first, second = read_statements(written(tmp_path, [record(), record(2, [(NO_ANSWER, [])])]))
    split, refusal = first.split, second.split
    assert (first.id, first.question, first.passages[0].title) == ("1", "How long?", "Oder")
    shown = [(one.id, one.number, one.text, one.citations) for one in split.statements]
    assert (shown, split.no_answer, refusal.no_answer) == ([("1", 1, "It is long.", (1, 2))], False, True)
    twice = record(sentences=[("A.", []), ("B.", [])])
    twice["prediction_sentences_and_citations"][1]["id"] = 1
    with pytest.raises(UserError, match="record 1: two statements have the id"):
        read_statements(written(tmp_path, [twice]))
    broken = record(sentences=[("It is long.", ["1"])])
    with pytest.raises(UserError, match=r"\[0\]: field 'citations' is \[\"1\"\]; allowed: a list of whole numbers"):
        read_statements(written(tmp_path, [broken]))


def test_files_of_citebench_are_answers_of_the_system_that_they_or_their_names_name(tmp_path):
    rows = [{**record(1, [("It is long. It is.", [1]), ("It is.", [])]), "model": "m-1"}, record(2)]
    (tmp_path / "gpt.citeeval").write_text(json.dumps(rows))
    output = {"id": 7, "query": "How long?", "passages": [{"text": "840 km"}], "pred": "It is long [1]. It is."}
    (tmp_path / "llama.json").write_text(json.dumps([output]))
    first, second, third = gather([tmp_path / "gpt.citeeval", tmp_path / "llama.json"])
    # The statements with their marks, as in `cite meta`; an output is as the model wrote it.
    assert (first.text, second.text) == ("It is long. It is [1]. It is.", "It is long [1][2].")
    assert third.text == output["pred"]
    assert [one.system for one in (first, second, third)] == ["m-1", "gpt", "llama"]
    assert group_of(first) == group_of(third) == "How long?"
    # A sentence that was joined to another one at publication stays so, before and after an edit.
    edited = improved(first, split_response(first, PAPER, RULES), {1: [Edit("add", 1, 2)]}).answer
    assert edited.text == "It is long. It is [1][2]. It is."
    for answer, cited in ((first, (1,)), (edited, (1, 2))):
        cut = split_response(answer, PAPER, RULES)
        assert [(one.text, one.citations) for one in cut.statements] == [("It is long. It is.", cited), ("It is.", ())]
        assert [answer.text[one.start : one.end] for one in cut.statements] == [answer.text[:-7], "It is."]
    assert split_responses([first, second, third])[1] == f"as published and {RULES.name}"


def test_human_judgements(tmp_path):
    types = {"citations": [], "types": ["Query", "2", None], "ratings": [None, None, 0], "edits": [1, 2, 3]}
    content = {"s1": {"statements": {"1": STATEMENT, "2": types}}, "s2": {"statements": {}}}
    first = HumanStatement("1", (1, 2), (2, 2, 4), (0.75, None, 1.0), ([], [], None))
    second = HumanStatement("2", (), (1, 2, None), (None, None, 0.0), (1, 2, 3))
    assert read_human(written(tmp_path, content)) == {"s1": [first, second], "s2": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ratings": [1, 1]}, "'ratings' is .*three values"),
        ({"ratings": [1, 1, 1.25]}, "'ratings' is "),
        ({"ratings": [1, 1, True]}, "'ratings' is "),
        ({"types": [2, 2, 5]}, "'types' is 5"),
        ({"types": [2, 2, [2]]}, r"'types' is \[2\]"),
        ({"citations": None}, "'citations'"),
        ({"edits": "none"}, "'edits'"),
    ],
)
def test_what_the_human_file_may_not_hold(tmp_path, change, message):
    path = written(tmp_path, {"s1": {"statements": {"7": {**STATEMENT, **change}}}})
    with pytest.raises(UserError, match=rf"s1, statements, 7: field {message}"):
        read_human(path)
    twice = json.dumps({"s1": {"statements": {"7": STATEMENT}}}).replace('{"7"', '{"7": {}, "7"')
    with pytest.raises(UserError, match="field '7' appears twice"):
        read_human(written(tmp_path, twice))
    for content in ("[]", "{", '{"s": []}', '{"s": {"statements": {"1": []}}}'):
        with pytest.raises(UserError):
            read_human(written(tmp_path, content))


def test_correlations_are_scipys_and_their_intervals_draw_responses():
    rng = np.random.default_rng(0)
    gold = rng.choice([0, 0.25, 0.5, 0.75, 1], size=90)
    score = 0.5 * gold + rng.choice([0, 0.25, 0.5], size=90)
    group = np.repeat(np.arange(30), 3)
    found = correlations(score, gold, group, Resampling(200, fewest=2))
    for name, official in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        assert found[name].value == pytest.approx(official(score, gold).statistic, abs=1e-12)
        assert found[name].low < found[name].value < found[name].high
    constant = correlations(np.ones(90), gold, group, Resampling(10, fewest=2))
    assert constant["pearson"].value is constant["kendall"].low is None
    lone = correlations(score, gold, np.full(90, 3), Resampling(10, fewest=2))
    assert (lone["pearson"].value, lone["pearson"].low) == (found["pearson"].value, None)
    empty = correlations(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), Resampling(10, fewest=2))
    assert empty["spearman"].value is None
