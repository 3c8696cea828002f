"""Readers of answers: each format, how it is told, and the one sentence that a fault gives."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.citation_table import find_place
from metaeval.citation.data_model import Answer, Passage, group_of
from metaeval.citation.marks_and_sentences import cited_spans, find_marks
from metaeval.citation.measures import citation_shares, estimate, group_codes, means
from metaeval.citation.readers.answer_files import gather, read_answers, read_questions
from metaeval.citation.readers.answers_jsonl import own_row, read_own
from metaeval.citation.readers.scifi_samples import with_marks
from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import DataRow

DATA = Path(__file__).parents[3] / "shared" / "data"
published = pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not beside the project")

ALCE = {"question": "Who?", "output": "A Dane [1].", "docs": [{"title": "T", "text": "x"}], "answer": "A Dane."}
OWN = {"id": "a", "text": "A Dane [1].", "passages": [{"text": "x", "title": "T"}], "group": "q", "system": "s"}
SCHOLAR = {"id": "e1", "input": "Who?", "output": "A Dane [0].", "annotator": "ann"}
SCHOLAR["ctxs"] = [{"title": "T", "text": "x"}]
CRAG = {"response": "r1", "topic": "t1", "style": "essay", "text": "A Dane [0]."}
TOPIC = {"topic": "t1", "query": "Who?", "references_ids": ["d1", "d2"], "references_texts": ["x", "y"]}


def written(folder, name, *rows):
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["jsonl", "alce", "scholarqa", "scifi"])
def test_answers_to_one_question_are_one_group_in_every_format(tmp_path, form):
    rows = {
        "jsonl": lambda q: {"question": q, "text": "So [1].", "passages": [{"text": "x"}]},
        "alce": lambda q: ALCE | {"question": q},
        "scholarqa": lambda q: SCHOLAR | {"input": q},
        "scifi": lambda q: {"query": q, "paragraph": "So.", "citations": [], "documents": []},
    }[form]
    # 24 answers to 4 questions, in two files whose ids have nothing in common.
    numbers = [range(12), range(12, 24)]
    files = [
        written(tmp_path, f"{name}.json", [rows(f"Question {n % 4}?") | {"id": f"a{n}"} for n in own])
        for name, own in zip("xy", numbers, strict=True)
    ]
    answers = gather(files, form)
    assert (len(answers), group_codes(answers)[1]) == (24, 4)
    assert group_codes(answers)[0].tolist() == [n % 4 for n in range(24)]


def test_a_group_is_the_files_or_the_questions_or_the_ids(tmp_path):
    rows = [OWN | {"id": name, "question": "Who?", "group": group} for name, group in (("a", "g"), ("b", "h"))]
    assert [group_of(one) for one in read_answers(written(tmp_path, "a.jsonl", *rows))] == ["g", "h"]
    # Without questions the ids pair the files of two systems.
    rows = [{"id": name, "text": "So.", "passages": []} for name in ("1", "2")]
    answers = gather([written(tmp_path, f"{name}.jsonl", *rows) for name in "xy"])
    assert [(one.id, group_of(one)) for one in answers] == [("x/1", "1"), ("x/2", "2"), ("y/1", "1"), ("y/2", "2")]
    codes, n_groups = group_codes([Answer("a", "", ()), Answer("b", "", (), group="a"), Answer("c", "", ())])
    assert (codes.tolist(), n_groups) == ([0, 0, 1], 2)
    asked = [Answer("a", "", (), "Who?"), Answer("b", "", (), "Who? "), Answer("c", "", (), "Who?", group="g")]
    assert group_codes([*asked, Answer("d", "", (), " ")])[0].tolist() == [0, 0, 1, 2]
    with pytest.raises(ValueError, match="2 answers, but 1"):
        estimate(means([0.0, 1.0]), np.array([0]), 1)
    with pytest.raises(ValueError, match="1 ids for 2"):
        citation_shares([Answer("a", "", ())] * 2, [])


@pytest.mark.parametrize("packed", [False, True])
def test_crag25_takes_its_passages_from_the_file_beside(tmp_path, packed):
    path = written(tmp_path, "study1_responses_llm.jsonl", CRAG)
    beside = written(tmp_path, "study1_retrieval.jsonl", TOPIC)
    if packed:
        (tmp_path / "study1_retrieval.jsonl.gz").write_bytes(gzip.compress(beside.read_bytes()))
        beside.unlink()
    (answer,) = read_answers(path)
    assert answer.passages == (Passage("x"), Passage("y"))
    assert (answer.id, answer.group, answer.system, answer.first) == ("r1", "t1", "essay", 0)
    for topic, says in (
        (TOPIC | {"topic": "t2"}, "line 1: field 'topic' is \"t1\"; allowed: a topic of"),
        (TOPIC | {"references_texts": ["x"]}, "field 'references_texts' .*: one text for each of 2 ids"),
    ):
        (tmp_path / "study1_retrieval.jsonl.gz").unlink(missing_ok=True)
        written(tmp_path, "study1_retrieval.jsonl", topic)
        with pytest.raises(UserError, match=says):
            read_answers(path)


CASES = json.loads(Path(__file__).with_name("record_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "rows", "form", "message"), CASES["answers"])
def test_a_fault_is_one_sentence_with_file_item_and_field(tmp_path, name, rows, form, message):
    path = written(tmp_path, name, *rows)
    with pytest.raises(UserError, match=re.escape(message)) as error:
        read_answers(path, form)
    assert form == "alse" or str(path) in str(error.value)


def test_files_of_many_kinds_are_read_as_recorded(tmp_path, caplog, recorded):
    caplog.set_level("INFO", "metaeval")
    held = {}
    for number, (name, content, options) in enumerate(CASES["files"], start=1):
        folder = tmp_path / str(number)
        (folder / "folder").mkdir(parents=True)
        (folder / "empty").mkdir()
        for source, text in {"d1.txt": "by name", "https:a": "y", ".hidden": "no"}.items():
            (folder / "folder" / source).write_text(text)
        path = folder / name
        rows = content if isinstance(content, list) else [content]
        path.write_text(content if isinstance(content, str) else "\n".join(map(json.dumps, rows)))
        if isinstance(options.get("sources"), list):
            options["sources"] = written(folder, "sources.jsonl", *options["sources"])
        elif "sources" in options:
            options["sources"] = folder / options["sources"]
        read = read_questions if options.pop("questions", False) else read_answers
        try:
            held[number] = [own_row(answer) for answer in read(path, **options)]
        except UserError as error:
            held[number] = f"refused {recorded.plain(str(error).replace(str(folder), ''))}"
        held[number] = [held[number], recorded.plain([text.replace(str(folder), "") for text in caplog.messages])]
        caplog.clear()
    recorded.held("readers-files", held, whole=True)


@published
def test_the_published_crag25_is_read_whole_and_counts_from_0():
    answers = read_answers(DATA / "crag25" / "study1_responses_llm.jsonl.gz")
    assert len(answers) == 903
    assert len({answer.group for answer in answers}) == 301
    # 5,467 citation groups: counted apart from this reader (the README of ../shared/data).
    assert sum(len(cited_spans(answer.text)) for answer in answers) == 5467
    numbers = Counter(mark.number for answer in answers for mark in find_marks(answer.text))
    assert (min(numbers), max(numbers), numbers.most_common(1)[0][0]) == (0, 19, 0)


@published
def test_the_published_scholarqa_is_read_whole_and_counts_from_0():
    answers = read_answers(DATA / "scholarqabench" / "human_answers.json")
    assert len(answers) == 108
    # 691 groups of digits and commas (the README of ../shared/data), and 7 ranges, which that count did not read.
    assert sum(len(cited_spans(answer.text)) for answer in answers) == 691 + 7
    found = [
        (mark.number, find_place(mark.number, len(answer.passages))[1])
        for answer in answers
        for mark in find_marks(answer.text, first=answer.first)
    ]
    # Counted from 1, 113 marks would cite nothing; from 0, ten go past the end.
    assert Counter(problem for _, problem in found) == {None: 765, "out of range": 10}


# SCiFi's samples: the format is ours, since the published files could not be seen.
PARAGRAPH = "A Dane built it in 1999."
SAMPLE = {
    "id": "s1",
    "query": "Who built it?",
    "paragraph": PARAGRAPH,
    "citations": [{"position": 23, "document": 2}, {"position": 6, "document": 1}, {"position": 6, "document": 2}],
    "documents": [{"title": "Bridge", "text": "A Danish engineer built it."}, {"text": "It opened in 1999."}],
}


@pytest.mark.parametrize(("change", "message"), CASES["samples"])
def test_a_fault_of_a_sample_is_one_sentence_with_file_line_and_field(tmp_path, change, message):
    path = written(tmp_path, "a.jsonl", SAMPLE | change)
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
