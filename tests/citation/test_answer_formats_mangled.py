"""Mangled records of each format: one sentence, or an answer in which every citation has a mark, level or count."""

import json
import logging
import re
from dataclasses import astuple
from pathlib import Path
from random import Random

import pytest

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.answer_files import FORMATS, form_of_answers
from metaeval.citation.readers.cited_to_answers import CitedReading, read_cited
from metaeval.citation.readers.mark_insertion import EXACT, NOT_PLACED, PLACED
from metaeval.citation.support.citation_judging import support_lines, support_statements
from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import RULES
from tests.citation.answer_shapes import CITATIONS, SHAPES, citations_in, mangled, places
from tests.recorded import plain


def is_sentence(text):
    return text.startswith(("line 1", "answer ")) and "\n" not in text and text.endswith(".")


def check(form, record):
    """Read a record, and check that all of its citations are in the text or in a count."""
    try:
        result = read_cited(FORMATS[form], [DataRow("line 1", record)])
    except UserError as error:
        return "refused" if is_sentence(str(error)) else str(error)
    placed = sum(number for reason, number in result.reasons.items() if reason.startswith(PLACED))
    counted = placed + result.reasons[NOT_PLACED] + sum(result.left_out.values())
    if form in CITATIONS:
        # Where annotations have no offsets, marks that the text holds are counted in their place.
        by_marks = form in ("openai", "openai-chat", "xai", "langchain") and result.reasons[f"{PLACED}{EXACT}"]
        assert counted == citations_in(form, record) or by_marks, (result.reasons, result.left_out)
        for answer in result.answers:
            assert all(mark.number and mark.number <= len(answer.passages) + 1 for mark in find_marks(answer.text))
    list(result.notes()), list(result.losses())
    return "read" if placed == counted else "counted"


def check_levels(form, record):
    """Read a record; its levels are those of the marks in the text, and each mark of a statement has a line."""
    try:
        (answer,) = FORMATS[form].read_file([DataRow("line 1", record)], None)
        judged = [support_statements(answer, RULES)]
    except UserError as error:
        return "refused" if is_sentence(str(error)) else str(error)
    cited = [place for entry in answer.reference["support"] for place in entry["cited"]]
    assert [number for row in judged[0] for number in row.levels.sources] == cited
    assert len(find_marks(answer.text)) >= len(cited)
    lines = support_lines([answer], judged)
    assert [line.citation for line in lines if line.citation is not None] == cited
    assert all(level is None or 0 <= level <= 1 for line in lines for level in (line.precision, line.recall))
    return "read"


LEVELS = {name: json.loads(FORMATS[name].example) for name in ("trec-support", "fact")}
LEVELS["trec-support"]["sentences"] += [
    {
        "text": "Tolls [2] ended.",
        "citations": [{"reference": "doc-b", "support": 0}, {"reference": "a", "support": "-1"}],
    },
    {"text": "\x1b[2J", "citations": []},
]
READ = {form: (check, record) for form, record in SHAPES.items() if FORMATS[form].read_file is None}
READ |= {form: (check_levels, record) for form, record in LEVELS.items()}


@pytest.mark.parametrize("form", READ)
def test_every_citation_of_a_mangled_record_is_accounted_for(form, caplog):
    """250 records; benchmarks/answer_formats.py takes 10,000."""
    caplog.set_level(logging.ERROR)
    random, (checked, record) = Random(form), READ[form]
    outcomes = {checked(form, mangled(record, random)) for _ in range(250)}
    assert {"refused", "read"} <= outcomes <= {"refused", "read", "counted"}


def outcome(function, *given):
    """What a function returns; of an error the numbers that it names."""
    try:
        return function(*given)
    except UserError as error:
        return f"refused {plain(str(error))}"


def read(form, record):
    """All that is read of a record: its format, its answers, and what became of its citations."""
    row, declared = DataRow("line 1", record), FORMATS[form]
    if declared.read_file is None:
        result = read_cited(declared, [row])
    else:
        result = CitedReading(declared, [*declared.read_file([row], None)])
    told = plain([*result.notes(), *result.losses()])
    return [*map(told_of, result.answers), result.reasons, result.left_out, told]


def told_of(answer):
    """What an answer holds, without what it has by default."""
    names = ("text", "question", "group", "system", "reference", "sample", "split")
    told = {name: value for name in names if (value := getattr(answer, name))}
    passages = [[*filter(None, astuple(one)[1:]), one.text] for one in answer.passages]
    return [answer.id, answer.first, told, passages, [piece.kind for piece in answer.left_out]]


def test_whole_and_mangled_records_are_read_as_recorded(recorded, caplog):
    """Of each format the shape, the example, and 9 mangled records; then records of every format."""
    caplog.set_level(logging.INFO)
    held = {}
    for form, (_, record) in READ.items():
        random = Random(f"{form} recorded")
        records = [record, json.loads(FORMATS[form].example), *(mangled(record, random) for _ in range(9))]
        rows = [DataRow("line 1", one) for one in records]
        held[form] = [[outcome(form_of_answers, row), outcome(read, form, row.fields)] for row in rows]
    for number, record in enumerate(CASES, start=1):
        form = outcome(form_of_answers, DataRow("line 1", record))
        held[number] = [form, outcome(read, form, record) if form in FORMATS else ""]
    held["said"] = plain(caplog.messages)
    recorded.held("readers-records", held, whole=True)


@pytest.mark.parametrize("form", sorted(CITATIONS.keys() - {"openai", "openai-chat", "xai", "trec-support"}))
def test_the_words_of_the_text_stay_as_they_are(form):
    result = read_cited(FORMATS[form], [DataRow("line 1", SHAPES[form])])
    text = re.sub(r" ?(\[\d+\])+", "", result.answers[0].text)
    whole = json.dumps(SHAPES[form], ensure_ascii=False)
    assert all(word in whole for word in text.split())


CASES = json.loads(Path(__file__).with_name("record_cases.json").read_text(encoding="utf-8"))["read"]
HOSTILE = [None, 3, "x", "", [], {}, [[]], [None], ["y"], {"a": {}}, 10**18, -1, float("nan"), float("inf"), True]
HOSTILE += ["\ud800", "a" * 5000, "[" * 500, "[1]" * 9, "2.0", "supported", [{"support": "2"}]]
HOSTILE += ["\ue200cite\ue202x\ue201", "[](" * 200, "\n" * 500 + "[1] http://x", "\x1b[2J\x00", "𝕏\u202e. A" * 300]


@pytest.mark.parametrize("form", READ)
def test_hostile_values_in_any_field_end_in_one_sentence_or_are_read(form):
    checked, record = READ[form]
    for place in list(places(record))[1:]:
        for value in HOSTILE:
            holder = copied = json.loads(json.dumps(record))
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = value
            assert checked(form, copied) in ("read", "counted", "refused")


def test_texts_in_place_of_objects_are_counted(caplog):
    row = {"run_id": "r", "topic_id": "1", "sentences": ["Alone.", {"text": "Cited.", "citations": ["doc-a"]}]}
    (answer,) = FORMATS["trec-support"].read_file([DataRow("line 1", row)], None)
    assert [entry["cited"] for entry in answer.reference["support"]] == [[], []]
    assert "2 sentences and citations are texts" in caplog.text
