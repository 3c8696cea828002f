"""CVCP in its two readings. Expected values: the `cvcp` block of tests/golden/aliice_parser.json."""

import json
from pathlib import Path

import pytest

from metaeval.citation.aliice.mark_positions import answer_cvcp, group_positions, mark_offsets, sentence_cvcp
from metaeval.citation.measures import value_of, variation

GOLDEN = Path(__file__).parents[1] / "golden" / "aliice_parser.json"
BLOCK = json.loads(GOLDEN.read_text(encoding="utf-8"))["cvcp"]


def pooled(answers):
    """The released code's quantity, over the sentences of all answers together."""
    return value_of(variation([mark_offsets(sentences) for sentences in answers]))


@pytest.mark.parametrize("record", BLOCK["sentences"], ids=lambda record: record["sentence"][:20])
def test_sentences(record):
    positions = record.get("group_positions", [])
    assert list(group_positions(record["sentence"])) == positions
    expected = record.get("cv_one_position_per_group")
    assert sentence_cvcp(record["sentence"]) == (None if expected is None else pytest.approx(expected, abs=1e-15))
    expected = record.get("cv_char_offsets_within_sentence")
    assert pooled([[record["sentence"]]]) == (None if expected is None else pytest.approx(expected, abs=1e-15))


@pytest.mark.parametrize("record", BLOCK["responses"])
def test_responses(record):
    sentences = record["response_sentences"]
    assert answer_cvcp(sentences) == pytest.approx(record["paper_eq4_mean_over_cited_sentences"], abs=1e-15)
    as_zero = sum(sentence_cvcp(sentence) or 0.0 for sentence in sentences) / len(sentences)
    assert as_zero == pytest.approx(record["paper_eq4_mean_over_all_sentences_uncited_count_0"], abs=1e-15)
    assert pooled([sentences]) == pytest.approx(record["released_code_pooled_char_positions"], abs=1e-15)


def test_all_responses_pooled():
    found = pooled(record["response_sentences"] for record in BLOCK["responses"])
    assert found == pytest.approx(BLOCK["released_code_on_all_four_responses_together"], abs=1e-15)


def test_where_nothing_is_cited_there_is_no_variation():
    assert sentence_cvcp("Cups.") is None
    assert answer_cvcp(["Cups."]) is None
    assert pooled([["Cups."]]) is None
    # A mark at offset 0 alone: mean 0, the ratio has no value.
    assert pooled([["[1] Cups."]]) is None
