"""How many labels an interval takes."""

from __future__ import annotations

from metaeval.errors import UserError
from metaeval.stats.prediction_powered import wilson

SHARES = (0.05, 0.1, 0.2, 0.5)
"""Shares that are planned for where no pilot says which."""

_MOST = 10_000_000


def labels_needed(half_width: float, share: float, items: int | None = None) -> int | None:
    """The least number of labels with which a share's 95 % interval reaches at most `half_width` to either side.

    items: of the set that is estimated (None: a process without end). The labels are independent, and there is no
    metric. None: more labels than there are items, or than can be counted.

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
        variance = share * (1 - share) / n * correction
        if variance <= 0:
            return True
        low, high = wilson(share, variance, n, 1e9, 0.95)
        return max(share - low, high - share) <= half_width

    if not reached(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return low
