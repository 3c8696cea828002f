"""Each format of answers: what is read of a real shape, which offsets fit, whence texts come, and what is counted."""

import json
import logging
import re
from pathlib import Path

import pytest

import metaeval
from metaeval.citation.marks_and_sentences import cleaned
from metaeval.citation.readers.answer_files import FORMATS, form_of_answers, gather, read_answers, read_questions
from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import DataRow
from metaeval.decisions.citation_items import items_of
from tests.citation.answer_shapes import EXPECTED, SECOND, SHAPES, URL, A, B


def written(folder, *records, name="a.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", SHAPES)
def test_a_shape_is_recognised_and_read_as_text_with_marks(tmp_path, form):
    path = written(tmp_path, SHAPES[form])
    (answer,) = read_answers(path)
    assert answer == read_answers(path, form)[0]
    assert answer.text == EXPECTED[form]
    without = ("trec-support", "openai", "openai-chat", "xai", "research")
    assert {A, B} & {passage.text for passage in answer.passages} or form in without


@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"crag25"}))  # its passages are in a file beside
def test_the_example_that_is_listed_can_be_read(tmp_path, form):
    answers = read_answers(written(tmp_path, json.loads(FORMATS[form].example)))
    assert (len(answers) == 1 or form == "expertqa", "\\u" in FORMATS[form].example) == (True, False)


def test_request_and_reply_can_also_be_text_or_a_batch(tmp_path):
    record = SHAPES["anthropic"]
    as_text = {name: json.dumps(value) for name, value in record.items()}
    as_batch = {**record, "custom_id": "c", "response": {"status_code": 200, "body": record["response"]}}
    answers = read_answers(written(tmp_path, {**record, "id": "a"}, {**as_text, "id": "b"}, as_batch))
    assert [answer.id for answer in answers] == ["a", "b", "c"]
    passages = answers[0].passages
    expected = EXPECTED["anthropic"], "When?", passages
    assert all((each.text, each.question, each.passages) == expected for each in answers)
    assert [passage.text for passage in passages] == [A, "1999", B]
    reply = {**record["response"], "documents": [{"title": "D", "text": A}]}  # beside the reply
    (answer,) = read_answers(written(tmp_path, reply))
    assert [passage.text for passage in answer.passages] == [A, "1999", B]  # the last only as quoted
    # Objects are answers in Python too.
    objects = [{**record, "id": "a"}, {**record, "id": "b"}]
    assert len(items_of(objects).rows) == 6
    assert len(metaeval.label(objects, n=4, metric="overlap").records) == 4


def test_one_object_on_several_lines_is_one_answer_and_the_sdk_writes_snake_case(tmp_path):
    path = tmp_path / "reply.json"
    path.write_text(json.dumps(SHAPES["gemini"], indent=2))
    assert read_answers(path)[0].text == EXPECTED["gemini"]
    assert len(items_of(path).rows) == 1  # the other chunk has no text
    text = json.dumps(SHAPES["gemini"])
    for name in set(re.findall('"([a-z]+[A-Z][A-Za-z]+)":', text)):
        text = text.replace(name, re.sub("([A-Z])", r"_\1", name).lower())
    assert all(f'"{name}": ' in text for name in ("grounding_chunk_indices", "retrieved_context", "start_index"))
    assert read_answers(written(tmp_path, json.loads(text)))[0].text == EXPECTED["gemini"]


def test_a_report_can_be_a_markdown_file_and_what_is_left_out_is_told(tmp_path, caplog):
    caplog.set_level(logging.INFO, "metaeval")
    path = tmp_path / "report.md"
    path.write_text(SHAPES["research"]["article"], encoding="utf-8")
    assert read_answers(path)[0].text == EXPECTED["research"]
    told = [(record.levelname, record.message) for record in caplog.records]
    assert any(level == "INFO" and "read as research: 1 answer, 4 citations" in says for level, says in told)
    assert any(level == "WARNING" and "cited sources have no text" in says for level, says in told)
    assert any("1 list of 2 sources" in says for _, says in told)
    sources = written(tmp_path, {"answer": read_answers(path)[0].id, "index": 0, "text": B}, name="s.jsonl")
    assert {row.source[-len(B) :] for row in items_of(path, sources=sources).rows if row.source} == {B}


def test_vectaras_table_has_a_row_for_each_passage(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text(
        "\ufeffquery_id,query,query_run,passage_id,passage,generated_answer\n"
        f"q1,When?,1,[1],{A},In 1999 [1][2]. More\nq1,When?,1,[2],{B},\nq2,When?,1,[1],{B},Free [1].\n"
    )
    found = [(answer.id, answer.text, len(answer.passages)) for answer in read_answers(path)]
    assert found == [("q1/1", "In 1999 [1][2]. More", 2), ("q2/1", "Free [1].", 1)]
    assert len(items_of(path).rows) == 3
    path.write_bytes(path.read_text(encoding="utf-8-sig").replace(",", ";").replace("Free", "Größe").encode("cp1252"))
    assert [answer.text for answer in read_answers(path, "vectara")] == ["In 1999 [1][2]. More", "Größe [1]."]
    assert [question.id for question in read_questions(path)] == ["q1/1", "q2/1"]


def test_tables_of_answers_take_texts_of_sources(tmp_path):
    path, sources = tmp_path / "a.csv", written(tmp_path, {"answer": "a1", "index": 0, "text": B}, name="s.jsonl")
    path.write_text("id,answer,source 1,source 2\na1,In 1999 [1][2].,," + f'"{A}"\n')
    assert [passage.text for passage in read_answers(path, sources=sources)[0].passages] == [B, A]
    assert [row.source for row in items_of(path, sources=sources).rows] == [B, A]
    table = tmp_path / "s.csv"  # as a spreadsheet of another locale saves it
    table.write_bytes(f"Answer;Index;Text\na1;0;{B} Café\n".encode("cp1252"))
    assert read_answers(path, sources=table)[0].passages[0].text == f"{B} Café"
    path.write_text("id,answer,source 1\na1,In 1999 [1].," + f'"{A}"\n')
    with pytest.raises(UserError, match=r"a\.csv holds the texts of its sources"):
        read_answers(path, sources=sources)
    path.write_text(f'id,statement,source\na1,In 1999.,"{A}"\n')
    with pytest.raises(UserError, match="leave --sources out"):
        items_of(path, sources=sources)


SOURCES = [
    {"url": "http://www.a.example/x/?utm_source=chat", "title": "T", "text": A},
    {"id": "f-1", "text": B},
    {"id": "never cited", "text": "x"},
]


def source_file(folder, kind, rows=SOURCES):
    path = folder / f"s.{kind}"
    if kind == "jsonl":
        written(folder, *rows, name="s.jsonl")
    elif kind == "csv":
        path.write_text("id,url,text\n,https://a.example/x," + A + "\nf-1,," + B + "\n")
    elif kind == "parquet":
        arrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
        parquet.write_table(arrow.Table.from_pylist([{"id": "", "url": "", **row} for row in rows]), path)
    else:
        path.mkdir()
        (path / "f-1.txt").write_text(B)
        (path / "https:a").write_text("y")
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "folder"])
def test_texts_of_sources_come_from_another_file(tmp_path, caplog, kind):
    path = written(tmp_path, SHAPES["openai"])
    (answer,) = gather([path], sources=source_file(tmp_path, kind))
    assert answer.passages[1].text == B
    assert answer.passages[0].text == ("" if kind == "folder" else A)
    missing = [record.getMessage() for record in caplog.records if "have no text" in record.getMessage()]
    says = f'a.jsonl: 1 of 2 cited sources have no text and are not judged, for example "{URL}": give'
    assert [message[: len(says)] for message in missing] == ([says] if kind == "folder" else [])


def test_texts_of_chunks_come_by_index(tmp_path):
    record = {**SHAPES["gemini"], "id": "g"}
    for row in ({"index": 0, "text": "\ud800"}, {"answer": "g", "index": "0", "text": "\ud800"}):
        (answer,) = gather([written(tmp_path, record)], sources=written(tmp_path, row, name="s.jsonl"))
        assert [passage.text for passage in answer.passages] == ["\ud800", B]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"text": "x"}], r"line 1 names no source \(it has text\)"),
        ([{"id": "a"}], r"line 1 has no text \(it has id\)"),
        ([{"id": "f-1", "text": "x"}, {"id": "f-1", "text": "y"}], "line 2: .* id 'f-1' has two different texts"),
        ([{"id": "a", "text": "x"}, {"text": "y"}], r"s\.parquet row 2 names no source"),
        ([3], "line 1 is 3; allowed: a JSON object"),
    ],
)
def test_a_file_of_sources_with_a_fault_is_refused(tmp_path, rows, says):
    kind = "parquet" if "parquet" in says else "jsonl"
    with pytest.raises(UserError, match=says):
        gather([written(tmp_path, SHAPES["openai"])], sources=source_file(tmp_path, kind, rows))


def test_sources_without_a_text_are_not_judged(tmp_path):
    items = items_of(written(tmp_path, SHAPES["trec"]))
    assert len(items.rows) == 2
    assert "left out: 1 citation of sources without a text" in items.notes
    result = metaeval.cite.alce([SHAPES["trec"]], nli="overlap", results=tmp_path / "r")
    states = [row["state"] for row in result.rows["citations:overlap"].records]
    assert states == ["judged", "judged", "unjudged"]


def test_converted_answers_are_the_same_when_they_are_read_again(tmp_path):
    paths = [written(tmp_path, SHAPES[form], name=f"{form}.jsonl") for form in SHAPES]
    before = [cleaned(answer) for answer in gather(paths)]
    after = read_answers(written(tmp_path, *metaeval.cite.convert(files=tuple(paths)), name="all.jsonl"))
    assert [(a.id, a.text, a.passages, a.question) for a in after] == [
        (b.id, b.text, b.passages, b.question) for b in before
    ]


def test_an_unknown_record_gets_the_closest_format_and_its_first_misfit(tmp_path):
    for record, says in [
        ({"run_id": "r", "answers": []}, "looks like trec and lacks the field answer[].text"),
        ({"choices": [{"text": "x"}]}, "looks like openai-chat and lacks the field choices[].message.content"),
        ({"hm": 3}, "no known format of answers has the fields hm"),
        ({f"hm{n:02}": n for n in range(13)}, "hm10, hm11, ...; "),
    ]:
        with pytest.raises(UserError, match=f"{re.escape(says)}.*metaeval cite formats"):
            read_answers(written(tmp_path, record))
    with pytest.raises(UserError, match="line 2: field 'candidates' is missing"):
        read_answers(written(tmp_path, SHAPES["gemini"], {"error": "x"}))
    rows = [{"id": "1", "statement": SECOND, "source": B, "article": "a7"}]
    assert [item.source for item in items_of(written(tmp_path, *rows)).rows] == [B]
    assert [item.source for item in items_of(rows).rows] == [B]


TREC_RAG = Path(__file__).parents[3] / "shared" / "data" / "trec_rag"


@pytest.mark.skipif(not TREC_RAG.is_dir(), reason="the published files are not beside the project")
@pytest.mark.parametrize(
    ("name", "citations"),
    [("rag24_support_without_prediction", None), ("rag24_support_webassess", None), ("rag25_support", 12_790)],
)
def test_every_citation_of_nists_files_is_kept_with_its_level(name, citations):
    """12,790 citations of 2025 were counted in the published file (shared/data/README.md)."""
    file = TREC_RAG / f"{name}.jsonl"
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    answers = read_answers(file)
    assert form_of_answers(DataRow("a", records[0])) == "trec-support"
    for record, answer in zip(records, answers, strict=True):
        statements = answer.reference["support"]
        kept = [[answer.passages[number - 1].source for number in one["cited"]] for one in statements]
        cited = [sentence["citations"] for sentence in record["sentences"]]
        assert kept == [[one["reference"] for one in each] for each in cited]
        assert [one["levels"] for one in statements] == [[one["support"] for one in each] for each in cited]
    total = sum(len(statement["cited"]) for answer in answers for statement in answer.reference["support"])
    assert citations in (None, total)
