"""Mangled records of each format: one sentence, or an answer in which every citation is accounted for."""

import json
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.answer_files import FORMATS, form_of_answers
from metaeval.citation.readers.cited_to_answers import read_cited
from metaeval.citation.readers.mark_insertion import EXACT, NOT_PLACED, PLACED
from metaeval.corpus.data_rows import DataRow
from metaeval.errors import UserError
from tests.citation.answer_shapes import CITATIONS, SHAPES, mangled


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
    """At least 60 a format: each field at each depth, replaced by each of these values in turn."""
    variants = 0
    for place in all_fields(SHAPES[form]):
        for value in HOSTILE:
            copied = json.loads(json.dumps(SHAPES[form]))
            holder = copied
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = value
            variants += outcome(form, copied)
    assert variants >= 60


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


def all_fields(value, path=()):
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from all_fields(value[key], (*path, key))
