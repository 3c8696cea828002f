"""Mangled files of levels of support: one sentence, or answers in which every citation has a mark and a level."""

import json
import logging
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.answer_files import FORMATS
from metaeval.citation.support.citation_judging import labels_of, support_lines, support_statements
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import RULES
from metaeval.errors import UserError
from tests.citation.answer_shapes import mangled

RECORDS = {name: json.loads(FORMATS[name].example) for name in ("trec-support", "fact")}
RECORDS["trec-support"]["sentences"] += [
    {
        "text": "Tolls [2] ended.",
        "citations": [{"reference": "doc-b", "support": 0}, {"reference": "doc-a", "support": "-1"}],
    },
    {"text": "\x1b[2J", "citations": []},
]
HOSTILE = [None, 3, "x", "", [], {}, [[]], [None], ["y"], {"a": {}}, "\ud800", "[1]" * 9, 10**18, -1, float("nan")]
HOSTILE += [float("inf"), True, "2.0", "\n", "supported", [{"support": "2"}], {"https://b.example": {}}]


def outcome(form, record):
    """Read a record; its levels are those of the marks in the text, and each mark of a statement has a line."""
    try:
        (answer,) = FORMATS[form].read_file([DataRow("line 1", record)], None)
        judged = labels_of([support_statements(answer, RULES)])
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
        outcomes.update(outcome(form, mangled(RECORDS[form], random)) for _ in range(10))

    run()
    assert outcomes == {"refused", "read"}


def places(value, path=()):
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(value[key], (*path, key))


@pytest.mark.parametrize("form", RECORDS)
def test_hostile_values_in_any_field_end_in_one_sentence_or_are_read(form):
    variants = [(place, value) for place in places(RECORDS[form]) for value in HOSTILE]
    for place, value in variants:
        copied = json.loads(json.dumps(RECORDS[form]))
        holder = copied
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value
        outcome(form, copied)
    assert len(variants) >= 60


def test_texts_in_place_of_objects_are_counted(caplog):
    row = {"run_id": "r", "topic_id": "1", "sentences": ["Alone.", {"text": "Cited.", "citations": ["doc-a"]}]}
    (answer,) = FORMATS["trec-support"].read_file([DataRow("line 1", row)], None)
    assert [entry["cited"] for entry in answer.reference["support"]] == [[], []]
    assert caplog.messages == [
        "2 sentences and citations are texts without a level, and count as uncited or not at all."
    ]
