"""People's ratings: files that hold them, several annotators made one, values of spans brought to statements."""

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.data_model import Answer
from metaeval.citation.human.benchmark_statistics import bench_statistics, distributions, read_benchmark
from metaeval.citation.human.rated_statements import (
    SENTENCES,
    HumanAnswer,
    RatedStatement,
    align,
    cited_alone,
    rating_of,
    units,
)
from metaeval.citation.human.rating_files import read_human_set, read_score_file
from metaeval.citation.marks_and_sentences import split, whole
from metaeval.citation.readers.answer_files import read_answers
from metaeval.citation.readers.expertqa import with_marks, write_statements
from metaeval.core.errors import UserError


def aligned(ends, spans):
    """Value and reason of statements, and the number outside, from spans (start, end, value, reason)."""
    places = units([("a", *place, None, None) for place in ends], SENTENCES)
    found, outside = align(places, units([("a", *span) for span in spans], SENTENCES))
    return found.astype(object).where(found.notna(), None).to_numpy().tolist(), outside


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        ((0.75,), 0.75),  # one annotator decides alone
        ((None,), None),
        ((0.5, None), None),  # half is missing
        ((0.5, 1.0), 0.75),
        ((0.5, None, 1.0), 0.75),  # CiteEval: of three, two have to rate
        ((0.5, None, None), None),
        ((0.0, 0.25, None, None), None),
        ((0.0, 0.25, 0.5, None), 0.25),
        ((), None),
    ],
)
def test_half_of_the_annotators_or_more_have_to_be_there(ratings, expected):
    assert rating_of(ratings) == expected


def test_a_response_is_the_mean_of_what_is_rated():
    def response(*ratings, emptied=False, gaps="left out"):
        statements = tuple(RatedStatement(0, 1, "", (rating,)) for rating in ratings)
        return HumanAnswer(Answer("a", "x", ()), statements, emptied).response(gaps)

    assert response(0.5, None, 1.0) == 0.75
    assert response(None, None) is response(gaps="response") is None
    assert response(None, gaps="full marks") == response(gaps="full marks") == 1.0
    assert response(None, emptied=True, gaps="full marks") == 0.0


def test_spans_belong_to_the_statements_that_hold_most_of_them():
    # (8, 13) has two characters on either side: the first; (40, 50) is in none, (10, 11) in the gap.
    places = {(0, 10): 1.0, (8, 13): 0.0, (9, 30): 0.5, (40, 50): 1.0, (10, 11): 1.0}
    spans = [(*place, value, None) for place, value in places.items()]
    assert aligned([(0, 10), (11, 30)], spans) == ([[0.5, None], [0.5, None]], 2)
    assert aligned([], [(0, 1, 1.0, None)]) == ([], 1)
    values = {0: (1.0, None), 5: (None, "failed"), 10: (None, None), 15: (0.25, None), 20: (None, None)}
    spans = [(start, start + 5, *value) for start, value in values.items()]
    # A mean of 1 and what is not known is not known; what needs no value changes no mean.
    expected = [[None, "failed"], [0.25, None], [None, None], [None, None]]
    assert aligned([(0, 10), (10, 20), (20, 30), (30, 40)], spans) == (expected, 0)


def test_statements_stay_sentences():
    said = [("One is.", (1,)), ("Two is", ()), ("Three is e.g.", (2,)), ("lower case.", (1,)), ('"Four" is.', (3,))]
    text, places = write_statements(said)
    assert text == 'One is [1]. Two is\nThree is e.g [2].\nlower case [1]. "Four" is [3].'
    assert [text[start:end] for start, end in places] == text.replace("\n", "|").replace(". ", ".|").split("|")
    # Marks stand before the closing punctuation.
    cited = {"As follows:": "As follows [1]:", "no end": "no end [1]", "Really?!": "Really [1]?!", "...": "[1]..."}
    assert {text: with_marks(text, (1,)) for text in cited} == cited
    assert with_marks("So.", ()) == "So."


@given(st.lists(st.tuples(st.text(st.sampled_from('aZ.?! )"1[]e,'), min_size=1), st.lists(st.integers(1, 9)))))
def test_every_statement_is_found_at_its_offsets(said):
    text, places = write_statements(said)
    assert len(places) == len(said)
    assert all(first[1] < second[0] for first, second in pairwise(places))
    for (own, citations), (start, end) in zip(said, places, strict=True):
        assert text[start:end] == with_marks(own, citations)
        assert text[start:end].count("[") == own.count("[") + len(citations)
    if places:
        assert places[-1][1] == len(text)


SAID = ["It is.", "no end", '"Who?"', "so it goes.", "See e.g.", "A: b:"]


@given(st.lists(st.tuples(st.sampled_from(SAID), st.booleans())))
def test_no_statement_runs_into_the_next_sentence(said):
    text, places = write_statements([(own, (1,) if cited else ()) for own, cited in said])
    assert [sentence.span() for sentence in split(whole(text))] == places


EXPERTQA = Path(__file__).parents[3] / "shared" / "data" / "expertqa"
PAGE = "[2] https://a.example/x\n\nBarges carry coal."
OTHER = "[5] https://b.example\n\nThe Oder is long."
BARE = "[3] https://c.example"


def claim(text, evidence, support):
    return {"claim_string": text, "evidence": evidence, "support": support}


CLAIMS = [
    claim("The Oder is long [5].", [OTHER], "Complete"),
    claim("Barges go\nthere [2][5].", [PAGE, OTHER, PAGE], "Partial"),
    claim("Coal sings [3].", [BARE], "Complete"),  # rated against a page that is not there
    claim("Coal dances [2][3].", [PAGE, BARE], "Incomplete"),
    claim("It rains.", [], "Missing"),
    claim("Nobody said so [2].", [PAGE], "N/A"),
    claim("[2]", [PAGE], "Complete"),  # nothing but a mark
]


def expertqa(claims=CLAIMS, question="How long is it?", system="rr_gs_gpt4"):
    answers = {system: {"answer_string": "as published", "claims": claims}}
    return {"question": question, "annotator_id": "x", "answers": answers, "metadata": {"field": "Rivers"}}


def lines(tmp_path, *rows, name="rated.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_claims_of_expertqa_are_statements_with_marks_for_their_evidence(tmp_path):
    found = read_human_set([lines(tmp_path, expertqa())])
    (own,) = found.answers
    assert own.answer.text == (
        "The Oder is long [1]. Barges go there [2][1]. Coal sings. Coal dances [2]. It rains. Nobody said so [2]."
    )
    assert [passage.text for passage in own.answer.passages] == ["The Oder is long.", "Barges carry coal."]


def test_an_answer_of_urls_alone_is_left_out_and_one_of_two_files_is_taken_once(tmp_path):
    bare = expertqa([claim("Coal sings [3].", [BARE], "Complete")], system="gpt4")
    uncited = expertqa([claim("It rains.", [], "Missing")], system="bing_chat")
    rows = {"a.jsonl": [expertqa(), bare], "b.jsonl": [expertqa(), bare, uncited]}
    files = [lines(tmp_path, *rows[name], name=name) for name in rows]
    found = read_human_set(files)
    assert [own.answer.system for own in found.answers] == ["rr_gs_gpt4", "bing_chat"]
    assert found.dropped["answers whose evidence is URLs without text"] == 1
    assert found.dropped["answers that another file has too"] == 2
    # The same reader for `cite alce`, with ids that are the same in every file.
    (own,) = read_answers(files[0])
    assert own == found.answers[0].answer
    with pytest.raises(UserError, match=r"claims\[0\]: field 'support' is \"Complet\"; allowed: \"Complete\""):
        read_human_set([lines(tmp_path, expertqa([claim("a", [], "Complet")]))])


def test_all_that_is_read_of_ratings_and_of_scores(recorded, citebench, tmp_path):
    rated = [{"start": 0, "end": 15, "ratings": [1, 0.5, None]}, {"start": 16, "end": 19, "ratings": [None, None, 0]}]
    rows = [{**OWN, "statements": rated}, {**OWN, "id": 2, "system": "", "group": "g", "statements": rated[1:]}]
    own = [lines(tmp_path, *rows, name="rated.jsonl"), lines(tmp_path, rows[1], name="more.jsonl")]
    bench = citebench({"s#1": [([1], [1, "2", "Model"], [0, 1, None])], "s#2": []}, [{"text": "x"}], "long")
    judged = json.loads(bench[1].read_text())
    bench[1].write_text(json.dumps({"s#1": judged["s#1"], "t": judged["s#2"]}))
    sets = {"one": read_human_set(own[:1]), "two": read_human_set(own, "jsonl")}
    sets |= {"expertqa": read_human_set([lines(tmp_path, expertqa(), name="e.jsonl")])}
    sets |= {"citebench": read_human_set(bench[:1], human=bench[1]), "bare": read_benchmark(bench[0])}
    sets |= {"judged": read_benchmark(*bench)}
    found = {}
    for name, human in sets.items():
        texts = [[one.answer.id, one.answer.group, one.answer.system, one.answer.text] for one in human.answers]
        frame = human.frame.astype(object).where(human.frame.notna(), None).to_numpy().tolist()
        cited = cited_alone(human)
        masked = [[one.emptied, one.ratings, one.response("full marks")] for one in cited.answers]
        found[name] = [texts, frame, human.dropped, human.people, human.annotators, bench_statistics(human)]
        found[f"{name} cited"] = [masked, cited.dropped]
        found[f"{name} said"] = distributions(human) if human.people else None
    answers = {one.answer.id: one.answer for one in sets["one"].answers}
    place = {"answer": "a1", "start": 0, "end": 19, "statement": 1, "stars": 3, "autoais_f1_m_x": 0.5, "lqac_recall": 0}
    place |= {"auto": 1, "rating": 0.5, "edit_distance": None, "attrscore_relaxed_least_m": 1, "lqac_precision_most": 1}
    given = [place, {**place, "state": "needs none"}, {**place, "state": "left out"}, {**place, "value": 2}]
    given[-1] = {"answer": "2", "value": 2.5, "measure": "m", "start": 16, "end": 19}
    read = read_score_file(lines(tmp_path, *given, {"answer": 2, "value": None}, name="x.y.jsonl"), answers)
    found["scores"] = read.astype(object).where(read.notna(), None).to_numpy().tolist()
    recorded.held("human-ratings", found)


def test_spans_of_all_kinds_are_brought_to_statements(recorded):
    chance, found = random.Random(6), {}
    for number in range(30):
        ends = sorted(chance.sample(range(0, 40), 2 * chance.randint(0, 4)))
        spans = []
        for _ in range(chance.randint(0, 5)):
            start = chance.randint(0, 35)
            said = chance.choice([(1.0, None), (0.25, None), (None, "failed"), (None, None)])
            spans.append((start, start + chance.randint(1, 12), *said))
        found[str(number)] = aligned(list(zip(ends[::2], ends[1::2], strict=True)), spans)
    recorded.held("human-aligned", found)


def test_the_published_files_hold_479_answers():
    if not EXPERTQA.is_dir():
        pytest.skip("no local copy of expertqa beside the repository")
    found = read_human_set(sorted(EXPERTQA.glob("*.jsonl")))
    # 885 records: 479 answers, 406 of them in two files; bing_chat's and gpt4's cite URLs (two cite nothing at all).
    assert [*found.dropped.values()] == [143, 406]
    systems = Counter(own.answer.system for own in found.answers)
    assert systems == {"post_hoc_sphere_gpt4": 93, "post_hoc_gs_gpt4": 91, "rr_gs_gpt4": 91} | {
        "rr_sphere_gpt4": 59,
        "bing_chat": 2,
    }
    # Counted in the files by a script of its own: claims with text in their evidence, by the experts' word.
    ratings = Counter(rating for own in found.answers for rating in own.ratings if rating is not None)
    assert ratings == {1.0: 1209, 0.5: 114, 0.0: 365}


OWN = {"id": "a1", "text": "It is long [1]. So.", "passages": [{"text": "long"}], "system": "mine"}


CASES = json.loads(Path(__file__).with_name("record_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("change", "says"), CASES["ratings"])
def test_what_ones_own_format_may_not_hold(tmp_path, change, says):
    row = {**OWN, "statements": [{"start": 0, "end": 15, "ratings": [1], **change}]}
    with pytest.raises(UserError, match=rf"line 1, statements\[0\].*{says}"):
        read_human_set([lines(tmp_path, row)])


STATED = {**OWN, "statements": [{"start": 0, "end": 15, "ratings": [1]}]}
OVER = {**OWN, "statements": [{"start": 0, "end": 15, "ratings": [1]}, {"start": 14, "end": 19, "ratings": [1]}]}
BENCH = {"sample_idx": 1, "prediction_sentences_and_citations": []}


@pytest.mark.parametrize(
    ("files", "options", "says"),
    [
        ([[OVER]], {}, "'start' is 14; allowed: .* from 15 to 19"),
        ([[STATED, STATED]], {}, 'two answers have the id "a1"'),
        ([[OWN]], {}, "field 'statements' is missing"),
        ([[STATED], [expertqa()]], {}, "expertqa and jsonl"),
        ([[STATED]], {"form": "expertqq"}, "Did you mean 'expertqa'"),
        ([[STATED]], {"human": Path("h.json")}, "--human is for CiteBench's statements"),
        ([[BENCH]], {}, "human judgements in another file"),
        ([[{"q": 1}]], {}, "no known format of rated answers has the fields q"),
        ([[]], {}, "holds no answers"),
        ([], {}, "No file of rated answers"),
    ],
)
def test_what_cannot_be_read(tmp_path, files, options, says):
    paths = [lines(tmp_path, *rows, name=f"{number}.jsonl") for number, rows in enumerate(files)]
    with pytest.raises(UserError, match=says):
        read_human_set(paths, **options)


def scores(tmp_path, *rows):
    path = lines(tmp_path, {**OWN, "statements": [{"start": 0, "end": 15, "ratings": [1]}]})
    answers = {own.answer.id: own.answer for own in read_human_set([path]).answers}
    return read_score_file(lines(tmp_path, *rows, name="theirs.jsonl"), answers)


@pytest.mark.parametrize(("row", "says"), CASES["scores"])
def test_what_a_file_of_scores_may_not_hold(tmp_path, row, says):
    with pytest.raises(UserError, match=says):
        scores(tmp_path, *([row] if isinstance(row, dict) else row))
