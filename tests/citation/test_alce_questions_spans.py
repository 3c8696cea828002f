"""The best span of one window, by hand."""

import numpy as np
import pytest

from metaeval.citation.alce.qa_model import best_span


def logits(*shares):
    return np.log(np.array(shares, dtype=np.float32))


@pytest.mark.parametrize(
    ("start", "end", "first", "last", "score", "none"),
    [
        # Token 1 is the question's. Open shares 0.2, 0.5, 0.3 and 0.4, 0.1, 0.5; best 0.5 x 0.5; none 0.2 x 0.4.
        ((0.2, 9, 0.5, 0.3), (0.4, 9, 0.1, 0.5), 2, 3, 0.25, 0.08),
        # It ends before it begins in 0.6 x 0.6 (3 to 2): what is left is 2 to 2, 0.2 x 0.6, and 3 to 3, 0.6 x 0.2.
        ((0.2, 9, 0.2, 0.6), (0.2, 9, 0.6, 0.2), 2, 2, 0.12, 0.04),
        # None is no answer's beginning: 0.8 x 0.5 (0 to 2) does not count, 2 to 2 has 0.1 x 0.5.
        ((0.8, 9, 0.1, 0.1), (0.4, 9, 0.5, 0.1), 2, 2, 0.05, 0.32),
    ],
)
def test_the_best_span_by_hand(start, end, first, last, score, none):
    found = best_span(logits(*start), logits(*end), np.array([True, False, True, True]))
    assert found[:2] == (first, last)
    assert found[2:] == (pytest.approx(score, rel=1e-6), pytest.approx(none, rel=1e-6))


def test_an_answer_has_at_most_15_tokens():
    # 1 to 16 has 0.6 x 0.9 and 16 tokens; 2 to 16 has 0.3 x 0.9 and 15. The rest share 0.1 on each side.
    start, end = np.full(17, 0.1 / 15), np.full(17, 0.1 / 16)
    start[1], start[2], end[16] = 0.6, 0.3, 0.9
    found = best_span(logits(*start), logits(*end), np.ones(17, dtype=bool))
    assert found[:3] == (2, 16, pytest.approx(0.27, rel=1e-6))
