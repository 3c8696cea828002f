"""Questions from files with and without answers, and answers written so that they can be read again."""

import json
import re
from pathlib import Path

import pytest

from metaeval.citation.data_model import Answer, Passage, group_of
from metaeval.citation.readers.answer_files import read_answers, read_questions
from metaeval.citation.readers.answers_jsonl import own_lines
from metaeval.errors import UserError

SHARED = Path(__file__).parents[3] / "shared" / "data"
PASSAGES = [{"title": "Bridge", "text": "A Dane built it."}, {"text": "It opened in 1999."}]
QUESTION = {"id": "q1", "question": "Who built it?", "passages": PASSAGES}


def written(tmp_path, rows, name="questions.jsonl"):
    path = tmp_path / name
    path.write_text(rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_alce_s_data_without_output_are_read(tmp_path):
    # princeton-nlp/ALCE's *_eval_*.json: a list of items with question, answer, qa_pairs and docs, and no output.
    item = {"sample_id": 7, "question": "Who?", "docs": PASSAGES, "answer": "A Dane", "qa_pairs": []}
    for content in ([item], {"data": [item]}):
        (one,) = read_questions(written(tmp_path, json.dumps(content), "asqa.json"))
        assert (one.id, one.question, dict(one.reference)) == ("7", "Who?", {"answer": "A Dane", "qa_pairs": []})


def test_answers_of_several_systems_to_one_question_are_one_question(tmp_path):
    rows = [
        {**QUESTION, "id": "a", "text": "A Dane [1].", "system": "one", "group": "bridge"},
        {**QUESTION, "id": "b", "text": "Nobody.", "system": "two", "group": "bridge"},
        {**QUESTION, "id": "c", "text": "In 1999.", "question": "When did it open?"},
    ]
    assert [(one.id, group_of(one)) for one in read_questions(written(tmp_path, rows))] == [
        ("a", "bridge"),
        ("c", "When did it open?"),
    ]


def test_crag25_s_three_styles_are_one_question_a_topic():
    path = SHARED / "crag25" / "study1_responses_llm.jsonl.gz"
    if not path.is_file():
        pytest.skip("no local copy of CRAG-25 beside the repository")
    found = read_questions(path)
    # 903 responses in three styles (bullet, essay, news), 20 passages each.
    assert (len(found), {len(one.passages) for one in found}) == (301, {20})


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{**QUESTION, "question": " "}], "question \"q1\" has no words; give it a field 'question'"),
        ([{**QUESTION, "passages": []}], 'question "q1" has no documents; give it passages with a text'),
        ([QUESTION, QUESTION], 'two questions have the id "q1"'),
        ([{**QUESTION, "qestion": "x"}], "no field 'qestion'. Did you mean 'question'?"),
        ([{"id": "q1", "question": "Who?"}], "no known format of answers has the fields id, question"),
        ('{"data": [1]}', "record 1 is 1; allowed: a JSON object"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(tmp_path, rows, says):
    with pytest.raises(UserError, match=re.escape(says)):
        read_questions(written(tmp_path, rows))


def test_written_answers_are_the_same_when_they_are_read(tmp_path):
    # With half a surrogate pair, which JSON may hold and UTF-8 may not.
    passages = (Passage("A Dane \ud83d built it.\n", 'The "Bridge"'), Passage("…"))
    whole = Answer("a1", "Naïve [1].", passages, "Who?", "q", "me/summary", {"answer": "A Dane", "qa_pairs": [{}]}, 0)
    plain = Answer("a2", "", (Passage("x"),), group="a2")
    path = tmp_path / "answers.jsonl"
    path.write_bytes(own_lines([whole, plain]).encode("utf-8"))
    assert read_answers(path) == [whole, plain]
