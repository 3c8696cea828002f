"""The one reading of a score in free text: what it takes, what it refuses, and that it never guesses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.llm.score_parsing import CONTINUOUS, DISCRETE, find_score

DISCRETE_TABLE = [
    # A bare number, decorated or not.
    ("2", 2),
    (" 1.\n", 1),
    ("**0**", 0),
    ("2.0", 2),
    ("[[1]]", 1),
    # Behind the last cue that has a number after it.
    ("Prediction: 1", 1),
    ("prediction: **2**", 2),
    ("Score = 0.", 0),
    ("Let's see. The citation holds 2 of 3 facts.\nPrediction: 1", 1),
    ("Score: 2 would need all of it. Prediction: it has none, so 0", 0),
    ("Prediction: 2\n\nI hope that this score helps.", 2),
    ("Prediction: 1. The citation covers only 1 of the 2 claims.", 1),
    ("Prediction: (partial support) 1", 1),
    ("So the score is 2.", 2),
    ("a score of 1", 1),
    ("<score>2</score>", 2),
    ('{"reasoning": "both dates agree", "score": 2}', 2),
    ("Prediction:\n\n1", 1),
    # Of the scale that it names.
    ("Prediction: 1/2", 1),
    ("Score: 2 out of 2", 2),
    ("Score: 0 / 2", 0),
    # Without a cue, the last number that stands alone.
    ("GPT-4 and I agree on the 2nd of them, which gives 1", 1),
    ("The lighthouse was built in 1873, as stated: 2", 2),
    # Nothing that can be trusted.
    ("", None),
    ("fully supported", None),
    ("Prediction: 3", None),
    ("Prediction: -1", None),
    ("Prediction: −1", None),
    ("Prediction: 1.5", None),
    ("Prediction: 85%", None),
    ("Prediction: 1 %", None),
    ("Prediction: 2 percent", None),
    ("Prediction: 1-2", None),
    ("Prediction: 0 or 1", None),
    ("Prediction: 1 to 2", None),
    ("Prediction: 1/3", None),
    ("Prediction: 2 out of 3", None),
    ("Prediction: 1,297", None),
    ("Prediction: 1,5", None),
    ("Prediction: two", None),
    ("It was built in 1873.", None),
    ("Prediction: 1e0", None),
    ("Prediction: 01", None),
    ("Prediction: ²", None),
    ("Prediction: ２", None),
    # A list's numbers are not scores.
    ("1. The citation names the year.\n2. It does not name the place.", None),
    ("1. The citation names the year.\n2. It does not name the place.\nPrediction: 1", 1),
    ("Prediction:\n2. The citation is silent.", None),
]

CONTINUOUS_TABLE = [
    ("0.85", 0.85),
    (".5", 0.5),
    ("Prediction: 1", 1),
    ("Prediction: 0", 0),
    ("Prediction: 0.8/1", 0.8),
    ("Score: 0.25 out of 1.0", 0.25),
    ("The score is 0.7, since most of it is there.", 0.7),
    ("0.123456789", 0.123456789),
    ("Prediction: 85", None),
    ("Prediction: 8/10", None),
    ("Prediction: 1/2", None),
    ("Prediction: 0,8", None),
    ("Prediction: 1.01", None),
    ("Prediction: -0.1", None),
    ("Prediction: 80%", None),
    ("Prediction: 0.85.2", None),
    ("Prediction: 0.7-0.8", None),
    ("Prediction: 0.85x", None),
    ("Prediction: NaN", None),
]


def value(text, scale):
    found = find_score(text, scale)
    return None if found is None else found.value


@pytest.mark.parametrize(("text", "score"), DISCRETE_TABLE)
def test_levels(text, score):
    assert value(text, DISCRETE) == score


@pytest.mark.parametrize(("text", "score"), CONTINUOUS_TABLE)
def test_shares(text, score):
    assert value(text, CONTINUOUS) == score


@given(st.text(max_size=80), st.sampled_from([DISCRETE, CONTINUOUS]))
def test_any_text_gives_a_score_of_the_scale_or_none(text, scale):
    found = find_score(text, scale)
    if found is not None:
        assert scale.accepts(found.value)
        assert float(text[found.start : found.end]) == found.value


@given(st.text(alphabet="ab .,:-/%012389\nPredictionScore", max_size=40), st.sampled_from([0, 1, 2]))
def test_a_last_line_with_cue_and_level_decides(reasoning, level):
    """Whatever was thought before."""
    assert value(f"{reasoning}\nPrediction: {level}", DISCRETE) == level


@given(st.text(max_size=40), st.integers(3, 10**6))
def test_a_number_off_the_scale_is_never_replaced_by_another(reasoning, number):
    assert value(f"{reasoning}\nPrediction: {number}", DISCRETE) is None
    assert value(f"{reasoning}\nPrediction: {number}", CONTINUOUS) is None


@given(st.floats(0, 1))
def test_every_share_is_read_as_it_was_written(share):
    written = f"{share:.4f}"
    assert value(f"Prediction: {written}", CONTINUOUS) == float(written)


@given(st.text(alphabet=st.characters(exclude_categories=["Nd", "Nl", "No"]), max_size=60))
def test_a_text_without_a_number_has_no_score(text):
    assert value(text, DISCRETE) is None
