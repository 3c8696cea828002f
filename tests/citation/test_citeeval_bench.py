"""CiteBench's files, read to their published schema from records made for it, and the agreement with people."""

import json

import numpy as np
import pytest
from scipy import stats

from metaeval.citation.citeeval.options_and_values import PAPER
from metaeval.citation.citeeval.splitting import NO_ANSWER, split_response
from metaeval.citation.data_model import Answer, group_of
from metaeval.citation.human.agreement import (
    agreement_of,
    both_levels,
    class_scores,
    comparable,
    context_counts,
    correlations,
    filled_ratings,
    macro_f1,
)
from metaeval.citation.human.rated_statements import HumanStatement
from metaeval.citation.human.rating_files import read_human, read_statements
from metaeval.citation.readers.answer_files import gather
from metaeval.corpus.sentences import RULES
from metaeval.errors import UserError
from metaeval.stats.intervals import Resampling

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
    (first, split), (_, refusal) = read_statements(written(tmp_path, [record(), record(2, [(NO_ANSWER, [])])]))
    assert (first.id, first.question, first.passages[0].title) == ("1", "How long?", "Oder")
    assert [(one.number, one.text, one.citations) for one in split.statements] == [(1, "It is long.", (1, 2))]
    assert (split.no_answer, refusal.no_answer) == (False, True)
    assert [one.id for one in split.statements] == ["1"]
    twice = record(sentences=[("A.", []), ("B.", [])])
    twice["prediction_sentences_and_citations"][1]["id"] = 1
    with pytest.raises(UserError, match="record 1: two statements have the id"):
        read_statements(written(tmp_path, [twice]))
    broken = record(sentences=[("It is long.", ["1"])])
    with pytest.raises(UserError, match=r"\[0\]: field 'citations' is \[\"1\"\]; allowed: a list of whole numbers"):
        read_statements(written(tmp_path, [broken]))


def test_files_of_citebench_are_answers_of_the_system_that_they_or_their_names_name(tmp_path):
    rows = [{**record(1, [("It is long.", [1]), ("It is.", [])]), "model": "m-1"}, record(2)]
    (tmp_path / "gpt.citeeval").write_text(json.dumps(rows))
    output = {"id": 7, "query": "How long?", "passages": [{"text": "840 km"}], "pred": "It is long [1]. It is."}
    (tmp_path / "llama.json").write_text(json.dumps([output]))
    first, second, third = gather([tmp_path / "gpt.citeeval", tmp_path / "llama.json"])
    # The statements with their marks, as in `cite meta`; an output is as the model wrote it.
    assert (first.text, second.text, third.text) == ("It is long [1]. It is.", "It is long [1][2].", output["pred"])
    assert [one.system for one in (first, second, third)] == ["m-1", "gpt", "llama"]
    assert group_of(first) == group_of(third) == "How long?"
    cut = split_response(first, PAPER, RULES)
    assert [(one.text, one.citations) for one in cut.statements] == [("It is long.", (1,)), ("It is.", ())]


def test_human_judgements(tmp_path):
    types = {"citations": [], "types": ["Query", "2", None], "ratings": [None, None, 0], "edits": [1, 2, 3]}
    content = {"s1": {"statements": {"1": STATEMENT, "2": types}}, "s2": {"statements": {}}}
    found = read_human(written(tmp_path, content))
    assert found["s1"][0] == HumanStatement("1", (1, 2), (2, 2, 4), (0.75, None, 1.0), ([], [], None))
    assert (found["s1"][1].contexts, found["s1"][1].ratings) == ((1, 2, None), (None, None, 0.0))
    assert found["s2"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ratings": [1, 1]}, "field 'ratings' is .*three values"),
        ({"ratings": [1, 1, 1.25]}, "field 'ratings' is .*numbers from 0 to 1, or null"),
        ({"ratings": [1, 1, True]}, "field 'ratings' is .*numbers from 0 to 1"),
        ({"types": [2, 2, 5]}, "field 'types' is .*these names, or null"),
        ({"types": [2, 2, [2]]}, "field 'types' is .*these names, or null"),
        ({"citations": None}, "field 'citations'"),
        ({"edits": "none"}, "field 'edits'"),
    ],
)
def test_what_the_human_file_may_not_hold(tmp_path, change, message):
    path = written(tmp_path, {"s1": {"statements": {"7": {**STATEMENT, **change}}}})
    with pytest.raises(UserError, match=rf"s1, statements, 7: {message}"):
        read_human(path)
    twice = json.dumps({"s1": {"statements": {"7": STATEMENT}}}).replace('{"7"', '{"7": {}, "7"')
    with pytest.raises(UserError, match="field '7' appears twice"):
        read_human(written(tmp_path, twice))
    for content in ("[]", "{", '{"s": []}', '{"s": {"statements": {"1": []}}}'):
        with pytest.raises(UserError):
            read_human(written(tmp_path, content))


# n statements, n_na of which have no value before the mask; the mask takes the values of n_missing uncited ones. The
# released rule: 0 if n_missing > 0 and n_missing + n_na = n, else the mean of what is left, 1 where nothing is.
def flat(rows, kind=float):
    """Rows of responses as one column, and the response of each entry."""
    return np.array([one for row in rows for one in row], dtype=kind), np.repeat(range(len(rows)), [*map(len, rows)])


def levels(values, cited, scenario="full"):
    column, response = flat(values)
    return [own.tolist() for own in both_levels(column, flat(cited, bool)[0], response, len(values), scenario)]


def test_statements_without_a_value_take_their_responses_on_each_side_by_itself():
    ours, people = [(0.5, None, 1.0), (None,)], [(None, 0.0, 0.5), (0.25,)]
    cited = [(True, False, True), (False,)]
    assert levels(ours, cited) == [[0.5, 0.75, 1.0, 1.0], [0.75, 1.0]]
    assert levels(people, cited) == [[0.25, 0.0, 0.5, 0.25], [0.25, 0.25]]
    # Cited: of people's, the uncited 0.0 is masked, so that the response is 0.5; and 0.25, so that the second is 0.
    assert levels(ours, cited, "cited") == [[0.5, 0.75, 1.0, 1.0], [0.75, 1.0]]
    assert levels(people, cited, "cited") == [[0.5, 0.5, 0.5, 0.0], [0.5, 0.0]]


def test_a_missing_word_on_what_the_mask_takes_leaves_a_response_open_only_where_nothing_else_is_left():
    def of(values, missing, cited, scenario):
        column, response = flat([values])
        statements, whole = comparable(column, np.array(missing), np.array(cited), response, 1, scenario)
        return statements.tolist(), bool(whole[0])

    # Whether an uncited statement lacks a citation (0) or needs none (1) is missing.
    assert of((None,), (True,), (False,), "cited") == ([False], False)
    assert of((0.0, None), (False, True), (False, False), "cited") == ([True, True], True)  # 0
    assert of((0.5, None), (False, True), (True, False), "cited") == ([True, True], True)  # 0.5
    assert of((0.5, None), (False, True), (True, False), "full") == ([True, False], False)


def test_the_mask_is_for_people_and_citeeval_and_leaves_baselines_as_they_are():
    answers = [Answer(name, "", ()) for name in ("r1", "r2", "r3")]
    ours, cited = [[1.0, 0.0], [0.0], [1.0]], [[True, False], [False], [True]]
    ratings = {"r1": [0.75, 0.5], "r2": [None], "r3": [0.25]}
    people = {name: [HumanStatement("", (), (), (one,), ()) for one in own] for name, own in ratings.items()}
    (values, _), (has_citation, _) = flat(ours), flat(cited, bool)
    # People: r1's second is masked and takes r1's 0.75; r2 has no rating at all, and is 1.
    gold, whole_gold = [0.75, 0.75, 1, 0.25], [0.75, 1, 0.25]
    # AutoAIS keeps its 0 of r1's second and of r2. Masked, these take r1's 1, and 0 since r2 had a value.
    for masks, score, whole in ((False, [1, 0, 0, 1], [0.5, 0, 1]), (True, [1, 1, 0, 1], [1, 0, 1])):
        found = agreement_of(
            answers, values, np.zeros(4, dtype=bool), has_citation, people, "cited", Resampling(0), masks
        )
        assert found.statements["pearson"].value == pytest.approx(stats.pearsonr(score, gold).statistic, abs=1e-12)
        assert found.responses["pearson"].value == pytest.approx(stats.pearsonr(whole, whole_gold).statistic, abs=1e-12)


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


def test_cited_statements_are_forced_to_rest_on_the_passages_as_published():
    judged = ["retrieval", "model", None, "query", "retrieval", None]
    human = [(2, 2, 4), (2, 2, 1), (2, None, None), (4, 1, 3), (2, None, 1), (2, 2, 2)]
    cited = [False, True, True, False, False, False]
    contexts = [*zip(judged, human, cited, strict=True)]
    # The fifth is a tie and the last has no verdict. Forced: R R R O against R R R O.
    classes, counts, left_out = context_counts(contexts)
    assert (classes, counts.tolist(), left_out) == (["retrieval", "other"], [[3, 0], [0, 1]], 2)
    assert (class_scores(counts)["f1"].tolist(), macro_f1(counts)) == ([1.0, 1.0], 1.0)
    # Not forced, the third has no verdict: R O O against R R O; 1/2 x 2 over 3/2 for both.
    _, counts, _ = context_counts(contexts, forced=False)
    scores = {name: column[0] for name, column in class_scores(counts).items()}
    assert scores == {"precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3)}
    assert macro_f1(counts) == pytest.approx((2 / 3 + 2 / 3) / 2)
    # Four contexts: the fourth has three different ones. "model" is the judge's alone, with F1 0.
    _, counts, left_out = context_counts(contexts, forced=False, binary=False)
    assert (counts[1].tolist(), counts.sum(), left_out) == ([0, 1, 0, 1], 2, 4)
    assert macro_f1(counts) == pytest.approx((2 / 3 + 0) / 2)
    assert np.isnan(macro_f1(context_counts([])[1]))


def test_an_annotators_gaps_take_their_own_sum_over_all_statements_or_1():
    statements = [
        HumanStatement("1", (), (2, 2, 2), (0.5, None, None), ()),
        HumanStatement("2", (), (2, 2, 2), (1.0, 0.25, None), ()),
        HumanStatement("3", (), (2, 2, 2), (None, 0.75, None), ()),
    ]
    # (0.5 + 1) / 3, (0.25 + 0.75) / 3, and 1 where nothing was given.
    filled, response = filled_ratings(statements)
    assert response.tolist() == [0.5, 1 / 3, 1.0]
    assert filled.tolist() == [[0.5, 1 / 3, 1.0], [1.0, 0.25, 1.0], [0.5, 0.75, 1.0]]
    filled, response = filled_ratings([])
    assert (filled.shape, response.tolist()) == ((0, 3), [1.0, 1.0, 1.0])
