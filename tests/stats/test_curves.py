"""ROC points: those of scikit-learn's roc_curve with every threshold kept, and a threshold's point by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from metaeval.stats.classification import roc_points

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: len({positive for _, positive in rows}) == 2
)


@given(ROWS)
def test_the_points_are_those_of_scikit_learn(rows):
    score, positive = (np.array(column) for column in zip(*rows, strict=True))
    x, y = roc_points(score.astype(float), positive)
    expected = roc_curve(positive, score, drop_intermediate=False)
    np.testing.assert_allclose(x, expected[0])
    np.testing.assert_allclose(y, expected[1])
    np.testing.assert_allclose(np.trapezoid(y, x), roc_auc_score(positive, score))
