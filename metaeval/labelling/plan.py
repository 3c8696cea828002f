"""How many labels an interval takes."""

from __future__ import annotations

from dataclasses import dataclass

from metaeval.errors import UserError
from metaeval.stats.prediction_powered import wilson

SHARES = (0.05, 0.1, 0.2, 0.5)
"""Shares that are planned for where no pilot says which."""

_MOST = 10_000_000


@dataclass(frozen=True)
class LabelPlan:
    """Labels that an interval of a share takes; None: more than there are items, or than can be counted."""

    share: float
    half_width: float
    factor: float
    labels: int | None


def labels_needed(
    half_width: float, share: float = 0.5, items: int | None = None, factor: float = 1.0, level: float = 0.95
) -> LabelPlan:
    """The least number of labels with which a share's interval reaches at most `half_width` to either side.

    items: of the set that is estimated (None: a process without end). factor: variance of the estimate against that of
    independent labels without a metric: above 1 for citations of one answer, below 1 for a metric that tells.

    Raises `UserError` for a half width outside 0 .. 0.5, a share outside 0 .. 1, and fewer than 2 items.
    """
    if not 0 < half_width < 0.5:
        raise UserError(f"--interval is {half_width:g}; allowed: above 0 and below 0.5 (0.1: plus or minus 10 points).")
    if not 0 < share < 1:
        raise UserError(f"--share is {share:g}; allowed: above 0 and below 1.")
    if items is not None and items < 2:
        raise UserError(f"--items is {items}; allowed: 2 or more.")
    most = items or _MOST

    def reached(n: int) -> bool:
        correction = 1 - n / items if items else 1.0
        variance = factor * share * (1 - share) / n * correction
        if variance <= 0:
            return True
        low, high = wilson(share, variance, n, 1e9, level)
        return max(share - low, high - share) <= half_width

    if not reached(most):
        return LabelPlan(share, half_width, factor, None)
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return LabelPlan(share, half_width, factor, low)
