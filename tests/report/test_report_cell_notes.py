"""What stands below a number: the attainable maximum, the published value, and their notes."""

import pytest

from metaeval.report.result import Column, Row
from metaeval.report.table_notes import asides
from metaeval.stats.estimate import Estimate

PEARSON = Column(key="pearson", label="Pearson r")


def _row(value, kind="metric"):
    return Row(metric="m", kind=kind, values={"pearson": value}, total=1, scored=1, unscored=0, signature="s")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # 0.585 / 0.899 = 0.6507
        (Estimate(0.585, ceiling=0.899), ("65 % of .899",)),
        (Estimate(0.585, ceiling=0.899, published=0.585), ("65 % of .899", "paper .585")),
        (Estimate(-0.09, ceiling=0.9), ("-10 % of .900",)),
        # 0.8984 / 0.8991 = 0.9992 rounds to 100, but 0.898 is not 0.899.
        (Estimate(0.8984, ceiling=0.8991), ("99 % of .899",)),
        (Estimate(0.8990, ceiling=0.8991), ("100 % of .899",)),
        # 0.9996 prints as 1.000: nothing to say.
        (Estimate(0.5, ceiling=0.9996), ()),
        (Estimate(0.5, ceiling=1.0), ()),
        (Estimate(0.0, ceiling=0.0), ()),
        (Estimate(None, ceiling=0.9, published=0.1, note="constant"), ("paper .100",)),
        (Estimate(0.5), ()),
    ],
)
def test_an_aside_is_a_share_of_the_ceiling_then_the_published_value(value, expected):
    assert asides(_row(value), PEARSON) == expected
    assert asides(_row(value, "control"), PEARSON) == ()
