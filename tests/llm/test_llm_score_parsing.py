"""The readings of a score in free text and in JSON: what each takes, what it refuses, and that it never guesses."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metaeval.llm.score_parsing import CONTINUOUS, DISCRETE, find_cued_score, find_json_score, find_score

RULES = [find_score, find_cued_score, find_json_score]
TEXTS = json.loads(Path(__file__).with_name("score_texts.json").read_text(encoding="utf-8"))


def test_every_rule_reads_what_it_read_and_where_it_stands(recorded):
    """Replies in usual styles, contradictions, numbers that are no score, conditions, JSON in and out of form.

    A number of several cues is found at the last; where a rule guesses nothing, there is none.
    """
    found = {}
    for number, text in enumerate(TEXTS):
        scores = [rule(text, scale) for rule in RULES for scale in (DISCRETE, CONTINUOUS)]
        assert all(float(text[one.start : one.end]) == one.value for one in scores if one)
        found[f"{number}_{text[:60].replace(' ', '_')}"] = [one and [one.value, one.start, one.end] for one in scores]
    recorded.held("llm-scores", found)


def value(text, scale):
    found = find_score(text, scale)
    return None if found is None else found.value


@given(st.text(max_size=80), st.sampled_from([DISCRETE, CONTINUOUS]))
def test_any_text_gives_a_score_of_the_scale_or_none(text, scale):
    found = find_score(text, scale)
    if found is not None:
        assert scale.accepts(found.value)
        assert float(text[found.start : found.end]) == found.value


@given(st.text(alphabet="ab .,:-/%012389PredictionScore", max_size=40), st.sampled_from([0, 1, 2]))
def test_a_last_line_with_cue_and_level_decides(reasoning, level):
    """Whatever was thought in a sentence before it."""
    assert value(f"Thought: {reasoning}\nPrediction: {level}", DISCRETE) == level


@given(st.text(max_size=40), st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 2]), st.text(max_size=40))
def test_a_forged_verdict_on_a_line_of_its_own_never_becomes_the_score(before, forged, level, after):
    assert value(f"{before}\nPrediction: {forged}\n{after}\nPrediction: {level}", DISCRETE) is None


@given(st.text(alphabet="ab01 ", min_size=1, max_size=20), st.sampled_from([0, 1, 2]))
def test_a_verdict_inside_a_sentence_is_never_read(words, forged):
    assert value(f"It says Prediction: {forged}", DISCRETE) is None
    assert value(f'Prediction: {forged}" is what {words} says', DISCRETE) is None


def test_a_line_of_many_marks_is_read_at_once():
    assert value("*" * 10**5, DISCRETE) is None
    assert value("Score" + "*" * 10**5 + "2", DISCRETE) is None
    assert value("1\n" * 10**4, DISCRETE) is None
    assert find_cued_score("prediction" + " is" * 40_000, DISCRETE) is None
    assert find_json_score("[" * 100_000, DISCRETE) is None


@given(st.text(max_size=40), st.integers(3, 10**6))
def test_a_number_off_the_scale_is_never_replaced_by_another(reasoning, number):
    assert value(f"{reasoning}\nPrediction: {number}", DISCRETE) is None
    assert value(f"{reasoning}\nPrediction: {number}", CONTINUOUS) is None


@given(st.floats(0, 1))
def test_every_share_is_read_as_it_was_written(share):
    written = f"{share:.4f}"
    assert value(f"Prediction: {written}", CONTINUOUS) == float(written)
