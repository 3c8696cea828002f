"""What the three protocols share: checks, resamples, and the step from replicated values to an estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.collapse import float32_collapse
from metaeval.stats.resampling import Prepared, Weights, cluster_weights, percentile_interval, replicate
from protocols.contract import Estimate, Judgements, Resampling

# Chance alone makes some of many continuous scores coincide in float32: about 4 % of 300,000 within one octave.
_COLLAPSE_ALARM = 0.05

NO_SCORES = "no scored pairs"


@dataclass(frozen=True)
class Draws:
    """The resamples of one input: every measure of every protocol on the same groups and seed sees these.

    group: (n,) code 0 .. n_groups - 1 of each input row. weights: (1 + B, n_groups), the first row all ones, so that
    the point estimate is the first of the replicated values.
    """

    group: NDArray[np.int64]
    n_groups: int
    weights: Weights
    level: float

    def replicate(self, prepared: Prepared) -> NDArray[np.float64]:
        """Value of a measure on the input itself, then on each resample; (1 + B,)."""
        return replicate(prepared, self.weights)

    def value(self, prepared: Prepared) -> float:
        """Value of a measure on the input itself; NaN where undefined."""
        return float(replicate(prepared, self.weights[:1])[0])


def draw(group: NDArray[np.int64], resampling: Resampling) -> Draws:
    """Draw the resamples of the groups present in `group` (n,), scored or not; ValueError on a bad `Resampling`."""
    if resampling.n < 0 or not 0 < resampling.level < 1:
        raise ValueError(f"resamples must be 0 or more and the level between 0 and 1, got {resampling}")
    codes, compact = np.unique(group, return_inverse=True)
    drawn = cluster_weights(codes.size, resampling.n, resampling.seed)
    weights = np.concatenate((np.ones((1, codes.size), dtype=drawn.dtype), drawn))
    return Draws(compact.astype(np.int64), int(codes.size), weights, resampling.level)


def check(judgements: Judgements) -> None:
    """Raise ValueError, in one sentence, on an infinite score or a level that is not a finite number."""
    infinite = np.flatnonzero(np.isinf(judgements.score))
    if infinite.size:
        value = judgements.score[infinite[0]]
        raise ValueError(
            f"Scores must be finite, or NaN for an unscored pair, but {infinite.size} of {judgements.score.size} are "
            f"infinite (the first is {value} at row {infinite[0]}); clip them or mark the pairs as unscored."
        )
    unusable = np.flatnonzero(~np.isfinite(judgements.gold))
    if unusable.size:
        value = judgements.gold[unusable[0]]
        raise ValueError(f"Gold levels must be finite numbers, but row {unusable[0]} has {value}.")


def estimate(
    values: NDArray[np.float64],
    groups: int,
    level: float,
    *,
    undefined: str,
    ties: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """Turn replicated values (1 + B,) into an estimate.

    groups: groups that the measure's rows come from; with fewer than two there is no interval, because resampling
    one group only repeats it. undefined: the note to give if the value is undefined.
    """
    if np.isnan(values[0]):
        return Estimate(None, bounds=bounds, note=undefined)
    interval, note = _interval(values[1:], groups, level)
    low, high = interval if interval else (None, None)
    return Estimate(float(values[0]), low, high, ties, bounds, note)


def _interval(resampled: NDArray[np.float64], groups: int, level: float) -> tuple[tuple[float, float] | None, str]:
    if resampled.size == 0:
        return None, ""
    if groups < 2:
        return None, "no interval: all pairs come from one group"
    lost = int(np.isnan(resampled).sum())
    interval = percentile_interval(resampled, level)
    if interval is None:
        return None, f"no interval: undefined in {lost} of {resampled.size} resamples"
    return interval, f"interval leaves out {lost} of {resampled.size} resamples, undefined there" if lost else ""


def pair_of_bounds(one: float, other: float) -> tuple[float, float] | None:
    """(worst, best) in ascending order, or None where either is undefined."""
    if np.isnan(one) or np.isnan(other):
        return None
    return float(min(one, other)), float(max(one, other))


def row_numbers(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """The rows where `mask` is true."""
    return tuple(np.flatnonzero(mask).tolist())


def warnings_for(used: Judgements, resampling: Resampling) -> tuple[str, ...]:
    """Warn about scored rows (`used`) that come from one group, or whose scores collapse in float32."""
    found = []
    if resampling.n and np.unique(used.group).size == 1:
        found.append("All scored pairs come from one group, so no interval can be given.")
    collapsed, distinct = float32_collapse(used.score)
    if collapsed >= _COLLAPSE_ALARM * distinct > 0:
        found.append(
            f"{collapsed:,} of {distinct:,} distinct scores share their float32 value with another: tools that store "
            "float32 will see ties that are not there; keep float64, or log-odds in place of probabilities."
        )
    return tuple(found)
