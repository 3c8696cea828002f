"""SCiFi's samples as answers: the reference with its citations written in, outputs, faults, and our own rows of them.

The format is ours: the published files could not be seen (see the reader).
"""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.data_model import Answer, Passage, group_of
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.answer_files import read_answers
from metaeval.citation.readers.answers_jsonl import own_row, read_own
from metaeval.citation.readers.scifi_samples import with_marks
from metaeval.corpus.data_rows import DataRow
from metaeval.errors import UserError

PARAGRAPH = "A Dane built it in 1999."
SAMPLE = {
    "id": "s1",
    "query": "Who built it?",
    "paragraph": PARAGRAPH,
    "citations": [{"position": 23, "document": 2}, {"position": 6, "document": 1}, {"position": 6, "document": 2}],
    "documents": [{"title": "Bridge", "text": "A Danish engineer built it."}, {"text": "It opened in 1999."}],
}


def written(folder, *rows, name="a.jsonl"):
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_without_an_output_the_reference_is_the_answer_with_its_citations_written_in(tmp_path):
    (answer,) = read_answers(written(tmp_path, SAMPLE))
    # Behind "A Dane" (offset 6) both documents, in the file's order; before the full stop (offset 23) the second.
    assert answer.text == "A Dane[1][2] built it in 1999[2]."
    assert answer.passages == (Passage("A Danish engineer built it.", "Bridge"), Passage("It opened in 1999."))
    assert (answer.id, group_of(answer), answer.question) == ("s1", "Who built it?", "Who built it?")
    assert (answer.system, answer.reference, answer.first) == ("reference", {"answer": PARAGRAPH}, 1)


@pytest.mark.parametrize("field", ["output", "text"])
def test_a_model_output_is_read_as_it_stands_beside_the_reference(tmp_path, field):
    (answer,) = read_answers(written(tmp_path, SAMPLE | {field: "An engineer [1, 2] did.", "system": "m"}))
    assert (answer.text, answer.system) == ("An engineer [1, 2] did.", "m")
    assert answer.reference == {"answer": PARAGRAPH}


def test_samples_without_an_id_go_by_their_number(tmp_path):
    bare = {name: value for name, value in SAMPLE.items() if name != "id"}
    bare["citations"] = [{"position": 24, "document": 2}, {"position": 0, "document": 1}]
    first, second = read_answers(written(tmp_path, bare, bare | {"group": "g", "output": None}))
    assert first.text == "[1]A Dane built it in 1999.[2]"
    assert (first.id, group_of(first), second.id, group_of(second)) == ("1", "Who built it?", "2", "g")


FAULTS = [
    ({"paragraf": "x"}, "there is no field 'paragraf'"),
    ({"citations": 3}, "field 'citations' is 3"),
    ({"citations": [{"document": 1}]}, "citations[0]: field 'position' is missing"),
    ({"citations": [{"position": 25, "document": 1}]}, "citations[0]: field 'position' is 25"),
    ({"citations": [{"position": -1, "document": 1}]}, "field 'position' is -1"),
    ({"citations": [{"position": True, "document": 1}]}, "'position' is true"),
    ({"citations": [{"position": 6, "document": 0}]}, "citations[0]: field 'document' is 0"),
    ({"documents": [], "citations": [{"position": 6, "document": 1}]}, "field 'document' is 1"),
    ({"documents": [{"title": "x"}], "citations": []}, "documents[0]: field 'text' is missing"),
    ({"paragraph": "A Dane [2] did.", "citations": []}, '"[2]" at offset 7'),
    ({"output": "x", "text": "y"}, "the fields 'output' and 'text' both hold an answer"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS)
def test_a_fault_is_one_sentence_with_file_line_and_field(tmp_path, change, message):
    path = written(tmp_path, SAMPLE | change)
    with pytest.raises(UserError, match=re.escape(message)) as error:
        read_answers(path, "scifi")
    assert str(error.value).startswith(f"{path} line 1")


@given(
    text=st.text("ab .\n", max_size=30), places=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=6)
)
def test_marks_are_written_at_their_offsets_and_nothing_else_changes(text, places):
    cited = [(min(offset, len(text)), number) for offset, number in places]
    marked = with_marks(text, cited)
    found, gone = [], 0
    for mark in find_marks(marked):
        found.append((mark.start - gone, mark.number))
        gone += mark.end - mark.start
    assert found == sorted(cited, key=lambda one: one[0])
    assert re.sub(r"\[\d\]", "", marked) == text


@given(
    st.builds(
        Answer,
        id=st.text(min_size=1, max_size=5),
        text=st.text(max_size=20),
        passages=st.lists(st.builds(Passage, st.text(max_size=5), st.text(max_size=5)), max_size=3).map(tuple),
        question=st.text(max_size=5),
        group=st.text(min_size=1, max_size=5),
        system=st.text(max_size=5),
        reference=st.sampled_from([{}, {"answer": "x"}, {"claims": ["x"], "answer": "y"}]),
        first=st.sampled_from([0, 1]),
    )
)
def test_our_own_rows_give_the_same_answer_again(answer):
    fields = json.loads(json.dumps(own_row(answer)))
    (again,) = read_own([DataRow("here", fields)])
    assert again == answer
