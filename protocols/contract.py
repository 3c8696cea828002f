"""The protocol contract: judgements in, estimates and counts out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Judgements:
    """Aligned columns, one row per judged pair (n rows).

    gold: (n,) float64, more is more support (three-level gold: 2 full, 1 partial, 0 none).
    score: (n,) float64, the metric's score, higher is more support; NaN where it has none.
    group: (n,) int, code of the resampling unit, 0 .. G-1.
    pool: (n,) int, code of the retrieval pool (the statement), 0 .. P-1. A pool lies within one group.
    """

    gold: NDArray[np.float64]
    score: NDArray[np.float64]
    group: NDArray[np.int64]
    pool: NDArray[np.int64]

    def __post_init__(self) -> None:
        shapes = {self.gold.shape, self.score.shape, self.group.shape, self.pool.shape}
        if len(shapes) != 1 or self.gold.ndim != 1:
            raise ValueError(f"gold, score, group and pool must be vectors of one length, got {sorted(shapes)}")

    def rows(self, keep: NDArray[np.bool_]) -> Judgements:
        """The rows where `keep` is true; group and pool codes stay as they are."""
        return Judgements(self.gold[keep], self.score[keep], self.group[keep], self.pool[keep])


@dataclass(frozen=True)
class Resampling:
    """Cluster bootstrap: `n` resamples of whole groups, percentile interval at `level`. n = 0: no interval."""

    n: int = 1000
    seed: int = 0
    level: float = 0.95


@dataclass(frozen=True)
class Estimate:
    """One number with what qualifies it. `value` None means undefined, and `note` says why (never 0, never NaN).

    low, high: the interval's ends (None without resampling, or when most resamples are undefined).
    ties: (worst, best) value over all orders of tied scores, for rank measures that depend on them.
    bounds: (worst, best) value that the unscored pairs could have led to; None when every pair has a score.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    ties: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a protocol returns: scored + unscored + sum(excluded) = total, in rows of its `Judgements`.

    `unscored_rows` are the numbers of the rows that lack a score and would have counted; `excluded` counts rows that
    the protocol cannot use, scored or not, by reason. `warnings` are whole sentences.
    """

    estimates: Mapping[str, Estimate]
    total: int
    scored: int
    unscored_rows: tuple[int, ...]
    excluded: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def unscored(self) -> int:
        """How many rows lack a score and would have counted."""
        return len(self.unscored_rows)


@dataclass(frozen=True)
class Measure:
    """A column of the protocol's table. Values are stored raw and printed times `scale` with `digits` decimals."""

    key: str
    label: str
    scale: float = 1.0
    digits: int = 3


@dataclass(frozen=True)
class Protocol:
    """A protocol as the registry knows it.

    `default` names the measures shown when none are asked for; `uses_pool` says that rows added to the retrieval
    pools only (not cited by the statement) belong to its input.
    """

    name: str
    title: str
    measures: tuple[Measure, ...]
    default: tuple[str, ...]
    evaluate: Callable[[Judgements, Resampling, Mapping[str, str]], Outcome]
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uses_pool: bool = False
