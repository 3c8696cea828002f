"""Questions from files, and their documents as SCiFi's set-up (section 4) and ALiiCE's Table 1 choose them."""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from metaeval.citation.data_model import Answer, LeftOut, Passage, fingerprint, group_of
from metaeval.citation.generation.generate import first_requests, generate
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.generation.question_documents import cited_and_negatives, shuffled, task_of
from metaeval.citation.generation.shown_documents import cut, fit, in_plain_text, level, whole_documents
from metaeval.citation.readers.answer_files import read_answers, read_questions
from metaeval.citation.readers.answers_jsonl import lines_of, own_lines, own_row
from metaeval.core.errors import UserError
from tests.citation.generation_made import CHAT, TEXT, Model, documents, prompt_of


def numbered(number=1, text="They say [2][4].", count=9):
    passages = tuple(Passage(f"Text {number}-{place}.", f"Title {place}") for place in range(1, count + 1))
    return Answer(f"q{number}", text, passages, f"What of {number}?")


def places(one, number=1):
    """The places, from 1, that a question's documents had before."""
    return [int(passage.text.split("-")[1].rstrip(".")) for passage in one.passages if f" {number}-" in passage.text]


def task(*questions, **options):
    """The questions as they are asked."""
    return task_of(questions, GenerationOptions(**options))[0]


def test_the_first_documents_are_taken_or_those_that_the_reference_cites():
    asked = task(numbered(1), numbered(2), documents=5)
    assert [places(each, number) for number, each in enumerate(asked, start=1)] == [[1, 2, 3, 4, 5]] * 2
    with pytest.raises(UserError, match="not both"):
        GenerationOptions(negatives=0, documents=2)
    with pytest.raises(UserError, match='"q1" has no text that cites its documents'):
        task(numbered(text=""), negatives=0)
    (one,) = task(numbered(), shuffle=3)
    assert [*range(1, 10)] == sorted(places(one)) != places(one)
    (one,) = task(numbered(), negatives=0)
    assert places(one) == [2, 4]
    (one,) = task(replace(numbered(), first=0), negatives=0)  # marks that count from zero
    assert places(one) == [3, 5]


def test_negatives_are_drawn_by_a_seed_from_the_uncited_documents():
    (one,) = task(numbered(), negatives=5)
    assert (len(one.passages), {2, 4} <= {*places(one)}, places(one) == sorted(places(one))) == (7, True, True)
    (again,) = task(numbered(), negatives=5)
    assert again == one
    drawn = {tuple(places(task(numbered(), negatives=3, shuffle=seed)[0])) for seed in range(20)}
    assert len({frozenset(each) for each in drawn}) > 5
    assert {frozenset({2, 4}) <= frozenset(each) for each in drawn} == {True}
    assert any(list(each) != sorted(each) for each in drawn)
    # A draw does not depend on the other questions.
    assert (
        task(numbered(2), numbered(), negatives=3, shuffle=4)[1]
        == (task(numbered(), numbered(3), negatives=3, shuffle=4)[0])
    )


def test_negatives_that_a_question_lacks_come_from_other_questions():
    short = numbered(1, count=4)  # two uncited documents
    (one, _), _, notes = task_of([short, numbered(2, count=3)], GenerationOptions(negatives=5))
    assert (places(one), len(places(one, 2)), dict(+notes)) == ([1, 2, 3, 4], 3, {"negatives from other questions": 6})
    with pytest.raises(UserError, match=r'negatives=5: question "q1" finds 2'):
        task(short, negatives=5)


def test_documents_around_the_cited_ones_are_drawn_and_marks_renumbered():
    answer = numbered(text="One [8] and two [3][8], both [3, 8], none [10].")
    (fewer,) = cited_and_negatives([answer], 0, 0, Counter())
    # The third document is now the first, and the eighth the second; no tenth is there, before or after.
    assert (fewer.text, places(fewer)) == ("One [2] and two [1][2], both [1][2], none [10].", [3, 8])
    (kept,) = cited_and_negatives([replace(numbered(), first=0)], 0, 0, Counter())  # they mean the third and the fifth
    assert (kept.text, kept.first, places(kept)) == ("They say [1][2].", 1, [3, 5])
    for seed in range(8):
        (drawn,) = cited_and_negatives([answer], 3, seed, Counter())
        drawn = shuffled(drawn, seed)
        numbers = [int(number) for number in re.findall(r"\[(\d+)\]", drawn.text)]
        assert [places(drawn)[number - 1] for number in numbers[:-1]] == [8, 3, 8, 3, 8]
        assert len(drawn.passages) == 5


def test_worked_examples_have_documents_by_the_settings_of_the_questions(tmp_path):
    shot = numbered(7, text="It is so [9].")
    (tmp_path / "shots.jsonl").write_text(own_lines([shot]))
    options = GenerationOptions(shots=tmp_path / "shots.jsonl", negatives=5, shuffle=1)
    _, (example,), _ = task_of([numbered()], options)
    assert len(example.passages) == 6
    number = int(re.search(r"\[(\d)\]", example.text)[1])
    assert (places(example, 7)[number - 1], example.question) == (9, "What of 7?")


def test_documents_of_every_setting_are_as_recorded(tmp_path, recorded):
    def of(number, text, count, **fields):
        one = numbered(number, text, count)
        short = [replace(each, snippet="Irrelevant." if at == 2 else f"S{at}" * (at % 3), summary="x" * (at > 3))
                 for at, each in enumerate(one.passages)]  # fmt: skip
        return replace(one, passages=tuple(short), **fields)

    asked = [of(1, "So [2][4].", 6), of(2, "One [1], [9] and [3, 1].", 4, id="b"), of(3, "All [2].", 3, first=0)]
    (tmp_path / "shots.jsonl").write_text(own_lines([of(7, "It is so [5]. Yes [1].", 5)]))
    held = {}
    for number, setting in enumerate(
        json.loads(Path(__file__).with_name("generation_replies.json").read_text())["tasks"]
    ):
        options = GenerationOptions(**setting, shots=tmp_path / "shots.jsonl")
        told = [options.in_use, options.condition, options.beginning, options.of_document_alone]
        try:
            questions, shots, notes = task_of(asked, options)
        except UserError as error:
            held[number] = [*told, recorded.plain(str(error))]
            continue
        rows = [
            [one.id, one.sample, one.first, one.text, [each.text for each in one.passages]]
            for one in (*questions, *shots)
        ]
        held[number] = [*told, rows, notes]
    recorded.held("readers-documents", held, whole=True)


DOCS = [
    {"title": "A", "text": "Text A.", "summary": "Sum A.", "extraction": "Snip A."},
    {"title": "B", "text": "Text B.", "summary": "This is irrelevant.", "extraction": "Irrelevant"},
    {"title": "C", "text": "Text C.", "summary": "Sum C.", "extraction": "Snip C."},
    {"title": "D", "text": "Text D.", "summary": None},
]


def alce(tmp_path, *docs):
    items = [{"sample_id": n, "question": f"Q{n}?", "docs": list(each)} for n, each in enumerate(docs, start=1)]
    (tmp_path / "asqa.json").write_text(json.dumps(items))
    return read_questions(tmp_path / "asqa.json")


@pytest.mark.parametrize(("text", "field"), [("summary", "Sum"), ("snippet", "Snip")])
def test_short_texts_are_shown_and_whole_ones_kept(tmp_path, text, field):
    # As ALCE's get_shorter_text: texts that call a document irrelevant are passed over, and a list ends where the field
    # does; a question without any keeps its first document, with its text.
    options = GenerationOptions(document_text=text, documents=3)
    questions, _, notes = task_of(alce(tmp_path, DOCS, DOCS[3:]), options)
    model = Model(lambda _: "Long [1].")
    one, _ = generate(questions, model, options, CHAT)
    first, second = (documents(prompt_of(request)) for request in model.rounds[0])
    assert first == {1: ("A", f"{field} A."), 2: ("C", f"{field} C.")}
    assert second == {1: ("D", "Text D.")}
    assert [passage.text for passage in one.answer.passages] == ["Text A.", "Text C."]  # what is judged
    assert dict(+notes) == {
        f"documents with an irrelevant {text}, passed over": 1,
        f"documents without a {text}, left out": 2,
        "questions with fewer documents than asked for": 2,
        f"questions without a {text}, whose first document is shown": 1,
    }


def test_scifi_s_positives_are_those_of_the_paragraph(tmp_path):
    sample = {"query": "Who?", "paragraph": "A Dane built it.", "documents": [{"text": "One."}, {"text": "Two."}]}
    cited = {"citations": [{"position": 6, "document": 2}], "output": "Nobody [1]."}
    (tmp_path / "scifi.jsonl").write_text(json.dumps(sample | cited))
    (one,) = task(*read_questions(tmp_path / "scifi.jsonl", "auto", True), negatives=0)
    assert [passage.text for passage in one.passages] == ["Two."]
    (usual,) = read_questions(tmp_path / "scifi.jsonl")
    assert usual.text == "Nobody [1]."


def test_the_plain_layout_is_that_of_the_papers():
    shown = whole_documents((Passage("It is long.", "Oder"), Passage("Fish.")))
    assert in_plain_text(shown) == "Document [1] (Title: Oder)\nIt is long.\n\nDocument [2]\nFish."
    (request,) = first_requests([numbered(count=1)], GenerationOptions(), TEXT)
    assert (
        "Question: What of 1?\n\nDocuments; of a long one you see the beginning:\nDocument [1] (Title: Title 1)\n"
        in (prompt_of(request))
    )


def test_samples_are_asked_for_with_seeds_of_their_own_and_share_an_id(tmp_path):
    options, chat = GenerationOptions(samples=3), CHAT.model_copy(update={"temperature": 0.5, "seed": 7})
    questions = task(numbered(), samples=3)
    model = Model(lambda _: "Half a \ud83d pair [1].")  # which JSON may hold and UTF-8 may not
    results = generate(questions, model, options, chat)
    assert [(request.sample, request.body["seed"]) for request in model.rounds[0]] == [(0, 7), (1, 8), (2, 9)]
    # The first sample is the request of a run without samples: what was paid is kept.
    assert model.rounds[0][0] == first_requests([numbered()], GenerationOptions(), chat)[0]
    unseeded = first_requests(questions, options, CHAT)
    assert [request.body.get("seed") for request in unseeded] == [None, 1, 2]
    answers = [result.answer for result in results]
    rows = [own_row(answer) for answer in answers]
    assert [(row["id"], row["sample"]) for row in rows] == [("q1", 0), ("q1", 1), ("q1", 2)]
    path = tmp_path / "answers.jsonl"
    path.write_text(lines_of({**row, "generation": {"steps": []}} for row in rows))
    read = read_answers(path)
    assert read == answers
    assert [answer.id for answer in read] == ["q1#0", "q1#1", "q1#2"]
    assert (own_lines(read), fingerprint(read)) == (own_lines(answers), fingerprint(answers))
    empty, some = (fingerprint([replace(read[0], left_out=(LeftOut(3, end, ""),))]) for end in (3, 4))
    assert fingerprint(read[:1]) == empty != some  # what the file's reader left out is no part of the text
    (one,) = read_questions(path)
    assert (one.id, one.sample) == ("q1", None)


def shots_file(tmp_path, **changes):
    row = {"id": "s1", "question": "Where?", "text": "There [1].", "passages": ["A place."], **changes}
    (tmp_path / "shots.jsonl").write_text(json.dumps(row))
    return tmp_path / "shots.jsonl"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"text": "There."}, '"s1" should cite its documents by numbers from 1 to 1'),
        ({"text": "There [2]."}, "from 1 to 1"),
        ({"first": 0}, "should cite its documents"),
        ({"question": ""}, "has no question"),
        ({"question": "What of 1?"}, 'is also question "q1" of this run'),
    ],
)
def test_worked_examples_are_checked(tmp_path, changes, says):
    with pytest.raises(UserError, match=re.escape(says)):
        task(numbered(), shots=shots_file(tmp_path, **changes))


RAIN = "Rain fell. Snow fell too, and stayed. Then came the sun."  # 2, 5 and 4 words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (11, RAIN),
        *((words, "Rain fell. Snow fell too, and stayed.") for words in (10, 7)),
        *((words, "Rain fell.") for words in (6, 2)),
        (1, "Rain"),
    ],
)
def test_a_text_is_cut_behind_its_last_whole_sentence_that_fits(words, expected):
    assert cut(RAIN, words) == expected
    assert cut("  Rain  fell\nhere. \n\n Snow fell there. Fog.", 6) == "  Rain  fell\nhere. \n\n Snow fell there."


def test_short_documents_leave_their_share_to_long_ones_and_the_limit_is_the_greatest_that_fits():
    assert level([1, 3, 20, 20], 14) == 5  # (14 - 1 - 3) / 2
    # Where all fit there is no limit below the total; and it is never nothing.
    assert [level(*case) for case in (([4, 4, 4], 12), ([9, 9, 9], 2), ([], 5), ([0, 0, 7], 5))] == [12, 1, 5, 5]
    rng = random.Random(1)
    for _ in range(100):
        lengths = [rng.randint(0, 12) for _ in range(rng.randint(1, 6))]
        total = rng.randint(len(lengths), 40)
        limit = level(lengths, total)
        assert sum(min(length, limit) for length in lengths) <= total
        if limit < max(lengths):
            assert sum(min(length, limit + 1) for length in lengths) > total


def test_documents_keep_their_numbers_and_titles():
    passages = (Passage(RAIN, "Weather"), Passage("Fog."), Passage(RAIN))
    shown = fit(whole_documents(passages)[::2], 9)
    # Two texts of 11 words and 9 words to show: 4 each, of which the first sentence has 2.
    assert [(one.number, one.title, one.text) for one in shown] == [(1, "Weather", "Rain fell."), (3, "", "Rain fell.")]
    most = "Rain fell. Snow fell too, and stayed."
    assert [one.text for one in fit(whole_documents(passages), 100, 7)] == [most, "Fog.", most]


PASSAGES = [{"title": "Bridge", "text": "A Dane built it."}, {"text": "It opened in 1999."}]
QUESTION = {"id": "q1", "question": "Who built it?", "passages": PASSAGES}


def written(tmp_path, rows, name="questions.jsonl"):
    path = tmp_path / name
    path.write_text(rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_of_several_systems_to_one_question_are_one_question(tmp_path):
    rows = [
        {**QUESTION, "id": "a", "text": "A Dane [1].", "system": "one", "group": "bridge"},
        {**QUESTION, "id": "b", "text": "Nobody.", "system": "two", "group": "bridge"},
        {**QUESTION, "id": "c", "text": "In 1999.", "question": "When did it open?"},
    ]
    found = [(one.id, group_of(one)) for one in read_questions(written(tmp_path, rows))]
    assert found == [("a", "bridge"), ("c", "When did it open?")]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{**QUESTION, "question": " "}], 'question "q1" has no words'),
        ([{**QUESTION, "passages": []}], 'question "q1" has no documents'),
        ([QUESTION, QUESTION], 'two questions have the id "q1"'),
        ([{**QUESTION, "qestion": "x"}], "no field 'qestion'. Did you mean 'question'?"),
        ([{"id": "q1", "question": "Who?"}], "no known format of answers has the fields id, question"),
        ('{"data": [1]}', "record 1 is 1; allowed: a JSON object"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(tmp_path, rows, says):
    with pytest.raises(UserError, match=re.escape(says)):
        read_questions(written(tmp_path, rows))
