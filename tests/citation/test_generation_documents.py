"""What of the documents is shown: cut to words, at ends of sentences, with their numbers."""

import random

import pytest

from metaeval.citation.data_model import Passage
from metaeval.citation.generation.shown_documents import cut, fit, level, whole_documents

TEXT = "Rain fell. Snow fell too, and stayed. Then came the sun."  # 2, 5 and 4 words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (11, TEXT),
        (10, "Rain fell. Snow fell too, and stayed."),
        (7, "Rain fell. Snow fell too, and stayed."),
        (6, "Rain fell."),
        (2, "Rain fell."),
        (1, "Rain"),
    ],
)
def test_a_text_is_cut_behind_its_last_whole_sentence_that_fits(words, expected):
    assert cut(TEXT, words) == expected


def test_what_is_kept_is_verbatim():
    text = "  Rain  fell\nhere. \n\n Snow fell there. Fog."
    assert cut(text, 6) == "  Rain  fell\nhere. \n\n Snow fell there."
    assert cut(text, 7) == text


@pytest.mark.parametrize(
    ("lengths", "total", "expected"),
    [
        ([4, 4, 4], 12, 12),  # all fit: no limit below the total
        ([10, 10, 10], 12, 4),  # equal shares
        ([2, 10, 10], 12, 5),  # the short one leaves 2 of its 4: (12 - 2) / 2
        ([1, 3, 20, 20], 14, 5),  # (14 - 1 - 3) / 2
        ([9, 9, 9], 2, 1),  # never nothing
        ([], 5, 5),
        ([0, 0, 7], 5, 5),
    ],
)
def test_short_documents_leave_their_share_to_long_ones(lengths, total, expected):
    assert level(lengths, total) == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_limit_is_the_greatest_that_fits(seed):
    rng = random.Random(seed)
    for _ in range(100):
        lengths = [rng.randint(0, 12) for _ in range(rng.randint(1, 6))]
        total = rng.randint(len(lengths), 40)
        limit = level(lengths, total)
        assert sum(min(length, limit) for length in lengths) <= total
        if limit < max(lengths):
            assert sum(min(length, limit + 1) for length in lengths) > total


def test_documents_keep_their_numbers_and_titles():
    passages = (Passage(TEXT, "Weather"), Passage("Fog."), Passage(TEXT))
    shown = fit(whole_documents(passages)[::2], 9)
    # Two texts of 11 words and 9 words to show: 4 each, of which the first sentence has 2.
    assert [(one.number, one.title, one.text) for one in shown] == [(1, "Weather", "Rain fell."), (3, "", "Rain fell.")]
    assert [one.text for one in fit(whole_documents(passages), 100, 7)] == [
        "Rain fell. Snow fell too, and stayed.",
        "Fog.",
        "Rain fell. Snow fell too, and stayed.",
    ]
