"""Mangled records of each format: one sentence, or an answer in which every citation has a mark, level or count."""

import json
import logging
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.answer_files import FORMATS, form_of_answers
from metaeval.citation.readers.cited_to_answers import read_cited
from metaeval.citation.readers.mark_insertion import EXACT, NOT_PLACED, PLACED
from metaeval.citation.support.citation_judging import support_lines, support_statements
from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import RULES
from tests.citation.answer_shapes import CITATIONS, SHAPES, mangled, places


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
        assert counted == CITATIONS[form](record) or by_marks, (result.reasons, result.left_out)
        for answer in result.answers:
            assert all(mark.number and mark.number <= len(answer.passages) + 1 for mark in find_marks(answer.text))
    list(result.notes()), list(result.losses())
    return "read" if placed == counted else "counted"


@pytest.mark.parametrize("form", [form for form in SHAPES if FORMATS[form].read_file is None])
def test_every_citation_of_a_mangled_record_is_accounted_for(form):
    outcomes = set()

    @settings(max_examples=100, database=None)
    @given(st.integers(0, 2**32))
    def run(seed):
        """Ten records of each seed: 1,000 in all; benchmarks/answer_formats.py takes 10,000."""
        random = Random(seed)
        outcomes.update(check(form, mangled(SHAPES[form], random)) for _ in range(10))

    run()
    assert {"refused", "read"} <= outcomes <= {"refused", "read", "counted"}


@pytest.mark.parametrize("form", sorted(CITATIONS.keys() - {"openai", "openai-chat", "xai", "trec-support"}))
def test_the_words_of_the_text_stay_as_they_are(form):
    result = read_cited(FORMATS[form], [DataRow("line 1", SHAPES[form])])
    text = re.sub(r" ?(\[\d+\])+", "", result.answers[0].text)
    whole = json.dumps(SHAPES[form], ensure_ascii=False)
    assert all(word in whole for word in text.split())


HOSTILE = [None, 3, "x", [], {}, [[]], [None], {"a": {}}, 10**18, -1, float("nan"), True]
HOSTILE += ["\ud800", "a" * 5000, "[" * 500]
HOSTILE += ["\ue200cite\ue202x\ue201", "[](" * 200, "\n" * 500 + "[1] http://x", "\x1b[2J\x00", "𝕏\u202e. A" * 300]


@pytest.mark.parametrize("form", SHAPES)
def test_hostile_variants_of_a_record_end_in_one_sentence_or_a_status(form):
    assert sum(outcome(form, record) for record in replaced(SHAPES[form], HOSTILE)) >= 60


def outcome(form, record):
    """Whether recognising and reading a record gives answers, or one sentence."""
    read_file = FORMATS[form].read_file
    read = (lambda row: list(read_file([row], None))) if read_file else (lambda row: read_cited(FORMATS[form], [row]))
    for step in (form_of_answers, read):
        try:
            step(DataRow("line 1", record))
        except UserError as error:
            if not is_sentence(str(error)):
                return False
    return True


def is_sentence(text):
    return text.startswith("line 1") and "\n" not in text and text.endswith(".")


def replaced(record, values):
    """The record with each field at each depth replaced by each of these values in turn."""
    for place in list(places(record))[1:]:
        for value in values:
            copied = json.loads(json.dumps(record))
            holder = copied
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = value
            yield copied


RECORDS = {name: json.loads(FORMATS[name].example) for name in ("trec-support", "fact")}
RECORDS["trec-support"]["sentences"] += [
    {
        "text": "Tolls [2] ended.",
        "citations": [{"reference": "doc-b", "support": 0}, {"reference": "doc-a", "support": "-1"}],
    },
    {"text": "\x1b[2J", "citations": []},
]
ODD_VALUES = [None, 3, "x", "", [], {}, [[]], [None], ["y"], {"a": {}}, "\ud800", "[1]" * 9, 10**18, -1, float("nan")]
ODD_VALUES += [float("inf"), True, "2.0", "\n", "supported", [{"support": "2"}], {"https://b.example": {}}]


def support_outcome(form, record):
    """Read a record; its levels are those of the marks in the text, and each mark of a statement has a line."""
    try:
        (answer,) = FORMATS[form].read_file([DataRow("line 1", record)], None)
        judged = [support_statements(answer, RULES)]
    except UserError as error:
        text = str(error)
        assert text.startswith(("line 1", "answer ")), text
        assert "\n" not in text
        assert text.endswith(".")
        return "refused"
    cited = [place for entry in answer.reference["support"] for place in entry["cited"]]
    assert [number for row in judged[0] for number in row.levels.sources] == cited
    assert len(find_marks(answer.text)) >= len(cited)
    lines = support_lines([answer], judged)
    assert [line.citation for line in lines if line.citation is not None] == cited
    assert all(level is None or 0 <= level <= 1 for line in lines for level in (line.precision, line.recall))
    return "read"


@pytest.mark.parametrize("form", RECORDS)
def test_every_citation_of_a_mangled_file_has_a_mark_and_a_level(form, caplog):
    outcomes = set()
    caplog.set_level(logging.ERROR)

    @settings(max_examples=100, database=None)
    @given(st.integers(0, 2**32))
    def run(seed):
        random = Random(seed)
        outcomes.update(support_outcome(form, mangled(RECORDS[form], random)) for _ in range(10))

    run()
    assert outcomes == {"refused", "read"}


@pytest.mark.parametrize("form", RECORDS)
def test_hostile_values_in_any_field_end_in_one_sentence_or_are_read(form):
    assert len([support_outcome(form, record) for record in replaced(RECORDS[form], ODD_VALUES)]) >= 60


def test_texts_in_place_of_objects_are_counted(caplog):
    row = {"run_id": "r", "topic_id": "1", "sentences": ["Alone.", {"text": "Cited.", "citations": ["doc-a"]}]}
    (answer,) = FORMATS["trec-support"].read_file([DataRow("line 1", row)], None)
    assert [entry["cited"] for entry in answer.reference["support"]] == [[], []]
    assert caplog.messages == [
        "2 sentences and citations are texts without a level, and count as uncited or not at all."
    ]
