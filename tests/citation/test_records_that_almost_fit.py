"""Records in the shapes of many tools: each gives its text, its citations and its sources, or is refused by a field."""

import json
from pathlib import Path
from random import Random

import pytest

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.answer_files import FORMATS, form_of_answers, read_answers
from metaeval.citation.readers.cited_to_answers import read_cited
from metaeval.core.errors import UserError
from metaeval.core.files import csv_text
from metaeval.corpus.data_rows import DataRow

DAM, HIGH = "The dam opened in 1936 in Nevada.", "It is 221 metres tall."
TEXT = "The dam opened in 1936 [1]. It is 221 metres tall [2]."


def documents(texts, *names):
    """Objects whose text is at a path of names."""
    listed = []
    for text in texts:
        for name in reversed(names):
            text = {name: text}
        listed.append(text)
    return listed


def chat(**message):
    return {"choices": [{"message": {"role": "assistant", **message}}]}


def labelled(text, label, shift=0):
    """The text with marks written in another way."""
    for mark in reversed(find_marks(text)):
        text = text[: mark.start] + label.format(mark.number + shift) + text[mark.end :]
    return text


def message(text, _=()):
    """A message of OpenAI's Assistants."""
    notes, marks = [], find_marks(text)
    for mark in reversed(marks):
        text = text[: mark.start] + f"【4:{mark.number}†a.pdf】" + text[mark.end :]
    for mark in marks:
        token = f"【4:{mark.number}†a.pdf】"
        start = text.index(token, notes[-1]["end_index"] if notes else 0)
        cited = {"file_id": f"file-{mark.number}"}
        notes.append({"type": "file_citation", "text": token, "start_index": start, "end_index": start + len(token)})
        notes[-1]["file_citation"] = cited
    return {"role": "assistant", "content": [{"type": "text", "text": {"value": text, "annotations": notes}}]}


MADE = {
    "ragas": [
        lambda t, d: {"user_input": "When?", "response": t, "retrieved_contexts": d, "reference": "the gold answer"},
        lambda t, d: {"question": "When?", "answer": t, "contexts": d, "ground_truth": "the gold answer"},
        lambda t, d: {"question": "When?", "answer": t, "contexts": d, "ground_truths": ["the gold answer"]},
    ],
    "deepeval": [lambda t, d: {"input": "When?", "actual_output": t, "retrieval_context": d}],
    "azure": [
        lambda t, d: chat(content=labelled(t, "[doc{}]"), context={"citations": documents(d, "content")}),
        lambda t, d: chat(
            content=labelled(t, "[doc{}]"),
            context={"messages": [{"role": "tool", "content": json.dumps({"citations": documents(d, "content")})}]},
        ),
    ],
    "rag": [
        lambda t, d: {"input": "When?", "context": documents(d, "page_content"), "answer": t},
        lambda t, d: {"query": "When?", "result": t, "source_documents": documents(d, "kwargs", "page_content")},
        lambda t, d: {"response": t, "source_nodes": documents(d, "node", "text"), "metadata": {}},
        lambda t, d: {"answer": t, "metadata": {"retriever_resources": documents(d, "content")}},
        lambda t, d: {"results": [{"query": "When?", "response": t, "retrieved_context": documents(d, "text")}]},
    ],
    "haystack": [
        lambda t, d: {"answer_builder": {"answers": [{"data": t, "documents": documents(d, "content")}]}},
        lambda t, d: {"llm": {"replies": [t]}, "retriever": {"documents": documents(d, "content")}},
    ],
    "ragflow": [
        lambda t, d: {"data": {"answer": labelled(t, "[ID:{}]", -1), "reference": {"chunks": documents(d, "content")}}},
        lambda t, d: {"answer": labelled(t, "##{}$$", -1), "reference": {"chunks": documents(d, "content")}},
        lambda t, d: chat(content=labelled(t, "[ID:{}]", -1), reference=documents(d, "content")),
    ],
    "openai-assistants": [message, lambda t, _: {"data": [message(t), {**message("When was it?"), "role": "user"}]}],
}


@pytest.mark.parametrize(("form", "make"), [(form, make) for form, makes in MADE.items() for make in makes])
def test_answers_in_every_shape_have_the_values_of_clean_ones(form, make):
    """100 answers of each shape: the text with its marks, and the passages."""
    random = Random(form)
    for _ in range(100):
        texts = [f"Dam {random.randrange(999)} opened in {random.randrange(1900, 2000)}." for _ in "12345"]
        sentences = ["{} [{}].".format(text[:-1], "][".join(random.sample("12345", 2))) for text in texts]
        clean = " ".join(random.sample(sentences, 3))
        row = DataRow("line 1", make(clean, texts))
        assert form_of_answers(row) == form
        (answer,) = read_cited(FORMATS[form], [row]).answers
        if form != "openai-assistants":
            assert (answer.text, [passage.text for passage in answer.passages]) == (clean, texts)
        cited = [answer.passages[mark.number - 1] for mark in find_marks(answer.text)]
        expected = [mark.number for mark in find_marks(clean)]
        names = [f"file-{number}" if form == "openai-assistants" else texts[number - 1] for number in expected]
        assert [passage.text or passage.source for passage in cited] == names


@pytest.mark.parametrize(
    "headings",
    [
        ("user_input", "response", "retrieved_contexts", "reference"),
        ("question", "answer", "contexts", "ground_truth"),
        ("input", "actual_output", "retrieval_context", "expected_output"),
    ],
)
@pytest.mark.parametrize("cell", [json.dumps, repr])
def test_a_table_and_json_lines_of_one_tool_give_the_same(tmp_path, headings, cell):
    values = ["When?", TEXT, [DAM, HIGH], "in 1936"]
    cells = [cell(value) if isinstance(value, list) else value for value in values]
    (tmp_path / "a.csv").write_text(csv_text([headings, cells]))
    (tmp_path / "a.jsonl").write_text(json.dumps(dict(zip(headings, values, strict=True))))
    (table,), (lines,) = read_answers(tmp_path / "a.csv"), read_answers(tmp_path / "a.jsonl")
    assert (table.text, table.passages, table.question) == (lines.text, lines.passages, lines.question)
    assert [passage.text for passage in table.passages] == [DAM, HIGH]


def answers_of(record):
    row = DataRow("line 1", record)
    return read_cited(FORMATS[form_of_answers(row)], [row]).answers


CASES = json.loads(Path(__file__).with_name("record_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("record", "text", "kinds"), CASES["tools"])
def test_text_before_a_tool_call_is_no_part_of_a_sentence(record, text, kinds):
    (answer,) = answers_of(record)
    assert (answer.text, [piece.kind for piece in answer.left_out]) == (text, kinds)


def test_a_file_that_was_searched_is_the_text_of_its_citations():
    found = [{"file_id": "f", "text": DAM}, {"file_id": "g", "text": "Other."}, {"file_id": "f", "text": HIGH}]
    note = {"type": "file_citation", "index": 17, "file_id": "f", "filename": "a.pdf"}
    said = {"type": "output_text", "text": "It opened in 1936.", "annotations": [note]}
    output = [{"type": "file_search_call", "results": found}, {"type": "message", "content": [said]}]
    (answer,) = answers_of({"output": output})
    assert (answer.text, answer.passages[0].text) == ("It opened in 1936 [1].", f"{DAM}\n\n{HIGH}")
    steps = [{"file_id": "file-1", "content": [{"type": "text", "text": DAM}]}]
    search = {"step_details": {"tool_calls": [{"type": "file_search", "file_search": {"results": steps}}]}}
    (answer,) = answers_of({**message(TEXT), "steps": [search]})
    assert [passage.text for passage in answer.passages] == [DAM, ""]
    # A thread lists the newest message first.
    listed = [message(HIGH), message(DAM), {**message("When was it?"), "role": "user"}]
    answers = answers_of({"object": "list", "data": listed})
    assert [(answer.text, answer.question) for answer in answers] == [(DAM, "When was it?"), (HIGH, "When was it?")]


@pytest.mark.parametrize(("record", "field"), CASES["unread"])
def test_a_record_with_a_text_that_no_format_reads_is_refused_by_its_field(record, field):
    with pytest.raises(UserError) as error:
        answers_of(record)
    assert field in str(error.value)
    assert read_cited(FORMATS["anthropic"], [DataRow("line 1", record)]).unread if "content" in record else True


def test_long_hostile_marks_stay_in_the_text():
    for text in ("[ID:" + "1 " * 50_000, "[doc" + "1" * 100_000, "[1 |" * 25_000, "##" + "1" * 100_000):
        for form in ("azure", "ragflow", "scholarqa-reply"):
            record = {"answer": text, "sections": [{"text": text}], **chat(content=text)}
            (draft,) = FORMATS[form].read(DataRow("line 1", record))
            assert draft.text == text
