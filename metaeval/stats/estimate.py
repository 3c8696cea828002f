"""The value of a set of rows, answers or systems, with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """The value of a set, with its interval and further facts; None where undefined or not known.

    Parameters
    ----------
    value : float, optional
        The value, or the difference of two values.
    low, high : float, optional
        The ends of its interval.
    worst, best : float, optional
        The values if all missing scores or verdicts were as bad, or as good, as they can be.
    n : int, optional
        Number of rows or answers that the value is of.
    note : str
        Why there is no value, or no interval.
    p : float, optional
        The two-sided p of a difference.
    effective : float, optional
        Effective groups behind the interval, where it comes from a standard error.
    ties : tuple of float, optional
        The worst and the best value over all orders of tied scores, for measures that depend on them.
    ceiling : float, optional
        The highest value of these scores in any arrangement, for measures whose maximum ties keep below 1.
    published : float, optional
        What a paper reports in its place.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    best: float | None = None
    n: int | None = None
    note: str = ""
    p: float | None = None
    effective: float | None = None
    ties: tuple[float, float] | None = None
    ceiling: float | None = None
    published: float | None = None

    @property
    def ends(self) -> tuple[float | None, float | None, float | None]:
        """Return (value, low, high)."""
        return self.value, self.low, self.high

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return (low, high); None without an interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Return (worst, best); None where there are none."""
        return None if self.worst is None or self.best is None else (self.worst, self.best)

    def record(self, name: str) -> dict[str, float | None]:
        """Return the fields NAME, NAME_low and NAME_high of a record."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}
