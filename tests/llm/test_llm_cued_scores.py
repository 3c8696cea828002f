"""Free text read by the number behind its cues: usual styles of replies, contradictions, and what is no score."""

import pytest

from metaeval.llm.score_parsing import CONTINUOUS, DISCRETE, find_cued_score

AGREEING = "The score is 1.\nPrediction: 1"  # the last of several cues is the place of the score
STYLES = [
    (AGREEING, 1),
    ("The page gives the year.\n\nPrediction: 2", 2),
    ("Prediction: 1 (partially supported)\n\nThe page says nothing of the tower.", 1),
    ("Step 1. The page names a dam.\nStep 2. It gives no year.\nTherefore, the prediction is 1.", 1),
    ("Some of it is there.\n\n**Score:** **1**", 1),
    ("Based on this, I would rate the citation as a 2, since all of it is stated.", 2),
    ("All three parts are in it. The final answer is $\\boxed{2}$.", 2),
    ("2\n\nThe citation says all of it.", 2),
    ("It names 3 of 14 towns. Rating - 1 out of 2", 1),
    ("Hence the predicted score would be 0: nothing of it is there.", 0),
    ("PREDICTION = 0", 0),
    ("Prediction: Not supported (0)", 0),
    ("Prediction: 2\n\nSo the score is 2/2.", 2),
    ("The score is 1 and the rating is 1.\nAnswer: 1.0", 1),
    ("I would rate it 2 - fully supported.", 2),
    ("The score is 1 because only the year is there.", 1),
    ("I predict 1, since half is missing.", 1),
    ("The provided citation does not name the year, so I would give it a score of 1.", 1),
    ("**No support.** Score: 0", 0),
    ("The year is not fully supported (score 1).", 1),
    ("The score is 1, not 2. If the year were there, it would be more.", 1),
    ("It predicted 2 million visitors, as stated. Prediction: 2", 2),
    *(("The score is 1 as only the year is there.", 1), ("I rate it 1 rather than 2.", 1), ("Score: 1 \u2705", 1)),
    *(("Score: 2\u3002", 2), ("Score (0-2): 2", 2), ("[Score]: 2", 2), ("<score>2</score>", 2), ("| Score | 2 |", 2)),
    *(("Prediction: 2 full support", 2), ("Prediction: 1 | Confidence: 90%", 1), ("leads me to score it 1.", 1)),
    *(("The rate of 2 is wrong. Prediction: 0", 0), ("The answer [1] is wrong. Prediction: 0", 0)),
    ("What the page says fully supports it, so the score is 2.", 2),
]


@pytest.mark.parametrize(("text", "value"), STYLES)
def test_the_number_behind_a_cue_is_the_score_and_is_where_it_stands(text, value):
    found = find_cued_score(text, DISCRETE)
    assert found is not None
    assert found.value == value
    assert float(text[found.start : found.end]) == value
    if text == AGREEING:
        assert found.start == text.rindex("1")


@pytest.mark.parametrize(
    "text",
    [
        "Prediction: 1\n\nOn reflection, the score should be 2.",
        "A score of 2 would need the year.\nPrediction: 1",
        "2\n\nRating: 1",
        "Score: 3\nPrediction: 2",  # one is off the scale
        *("", "The statement is partially supported.", "I find 2 of its parts in the citation."),
        *("The score lies between 0 and 2.", "A score of 0, 1 or 2 is allowed.", "Score: 0-2", "Score: -1"),
        *("Score: 85%", "Prediction: 1/10", "Prediction: two", "The score is not 2.", "Prediction: 2nd"),
        # What follows the number is a noun, a unit or a condition.
        "The answer is 2 years off, so the citation does not support it.",
        *("The statement scored 2 goals.", "The team scored 2.", "I would rate this 2 stars out of 5."),
        "It would be rated 2 if the year were right. It is not supported.",
        "The predicted 1 million visitors are not in the source.",
        *("The answer is 2 May 2001.", "The answer is 2:30.", "Score: 2/2/2024", "The answer is 2.1.", "Score: 2 of 3"),
        *("The answer is $2 million.", "The score is 2, or 1.", "Score: 2 out of 3", "Is the score 2?", "Score: 2 000"),
        *("The score would be 2, if the year were right.", "The score is 2 (if the year is right)."),
        # What precedes the cue is a negation or a condition.
        *("I would not rate this 2.", "It cannot be rated 2.", "I can't give it a score of 2.", "No page is rated 2."),
        *("If the year were right, it would be rated 2.", "Had it the year, the score would be 2."),
        *("It could be rated 2.", "To be rated 2, it needs the year.", "Otherwise, the score is 2."),
        "For a score of 2, it has to name the year.",
        # A rate of something, an answer's mark or number, what a text says, what a statement falls short of.
        *("The growth rate was 2.", "The answer [2] is not supported.", "See answer 1. It is unrelated."),
        *("Score: 1 -> 2", 'The page says "Score: 2".', "The text tells me to answer 2.", "It fails to score 2."),
        *("Far from a score of 2.", "Rather than a score of 2, it deserves none.", "It falls short of a score of 2."),
        "prediction" + " is" * 40_000,
    ],
)
def test_cues_that_disagree_and_other_numbers_are_no_score(text):
    assert find_cued_score(text, DISCRETE) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Prediction: 0.85", 0.85),
        ("I would score it .7", 0.7),
        ("The prediction is 1.0 (fully supported).", 1.0),
        ("The score is 0.80.\nPrediction: 0.8", 0.8),
        ("Prediction: 7/10", None),
        ("Prediction: 70 %", None),
        ("Prediction: 0.3-0.5", None),
    ],
)
def test_a_share_is_read_on_its_own_scale(text, value):
    found = find_cued_score(text, CONTINUOUS)
    assert (found and found.value) == value
