"""Shared steps of the protocols: checks, resamples, and estimates from replicated values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.arrays import Ints, distinct, numbered
from metaeval.stats.influence import Ends, Influence, of_left_out
from metaeval.stats.intervals import Resampling, studentised
from metaeval.stats.resampling import Draws, itself, jackknife
from metaeval.stats.ties import float32_collapse
from protocols.contract import Estimate, Influences, Judgements, Outcome, Replicates

# Chance alone makes some of many continuous scores coincide in float32: about 4 % of 300,000 within one octave.
_COLLAPSE_ALARM = 0.05

NO_SCORES = "no scored pairs"
ONE_LEVEL = "one gold level only"


@dataclass(frozen=True)
class Qualities:
    """The context of one measure's value, which its `Estimate` reports.

    groups: number of groups with rows of the measure; below two there is no interval, because resampling one group only
    repeats it. undefined: the note to give if the value is undefined. ties, bounds, ceiling: those of the `Estimate`.
    """

    groups: int
    undefined: str
    ties: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    ceiling: float | None = None


def regroup(judgements: Judgements) -> tuple[Judgements, int]:
    """Return the rows with groups renumbered from 0 to G - 1, and G: only groups that occur, scored or not, count."""
    compact, n_groups = numbered(judgements.group)
    return judgements.with_group(compact), n_groups


def outcome(
    judgements: Judgements,
    used: Judgements,
    unscored: NDArray[np.bool_],
    run: Callable[[Draws], Replicates],
    qualities: Mapping[str, Qualities],
    n_groups: int,
    resampling: Resampling,
    *,
    excluded: Mapping[str, int] | None = None,
    warnings: tuple[str, ...] = (),
    ceilings: Mapping[str, Mapping[str, float]] | None = None,
    influence: Callable[[], Influences] | None = None,
) -> Outcome:
    """Return a protocol's outcome. run: returns its measures for weightings of the groups. qualities: their context.

    judgements: all n rows. used: the rows that have a score and count. unscored: (n,) whether a row would count and has
    none. excluded: numbers of other rows by reason; a reason without rows is left out. warnings: in addition to those
    about a single group and about scores that become equal in float32. influence: the measures' influence values, by
    default the jackknife's.
    """
    values = run(itself(n_groups))
    moved: Influences = {}
    if resampling.n:
        moved = influence() if influence else jackknifed(run, used.group, n_groups)
    return Outcome(
        estimates={
            key: estimate(float(values[key][0]), moved.get(key), quality, resampling)
            for key, quality in qualities.items()
        },
        total=judgements.score.size,
        scored=used.score.size,
        unscored_rows=tuple(np.flatnonzero(unscored).tolist()),
        excluded={reason: count for reason, count in (excluded or {}).items() if count},
        warnings=(*warnings, *warnings_for(used, resampling)),
        ceilings=ceilings or {},
        influence=moved,
    )


def jackknifed(
    run: Callable[[Draws], Replicates], group: Ints, n_groups: int, ends: Callable[[str], Ends | None] = lambda _: None
) -> Influences:
    """Return the groups' jackknife influence values on measures. run: returns measures for weightings of the groups.

    group: (n,) group of each unit, row or pool. ends: measure key -> (lowest, highest) possible value; None: no range.
    """
    counts = np.bincount(group, minlength=n_groups)
    return {key: of_left_out(values, counts, ends(key)) for key, values in run(jackknife(n_groups)).items()}


def opened(judgements: Judgements, resampling: Resampling) -> tuple[Judgements, int]:
    """Check a protocol's input; return the rows with their groups renumbered from 0, and the number of groups.

    Raises ValueError, in one sentence, for an infinite score, gold that is not finite, or a wrong `Resampling`.
    """
    if min(resampling.n, resampling.seed) < 0 or not 0 < resampling.level < 1:
        raise ValueError(f"resamples and seed must be 0 or more and the level between 0 and 1, got {resampling}")
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
    return regroup(judgements)


def estimate(value: float, influence: Influence | None, quality: Qualities, resampling: Resampling) -> Estimate:
    """Return a measure's estimate: its value, NaN where undefined, with its interval from the groups' influence."""
    worst, best = quality.bounds or (None, None)
    if np.isnan(value):
        return Estimate(None, worst=worst, best=best, note=quality.undefined)
    known = studentised(value, influence, quality.groups, resampling)
    return replace(known, worst=worst, best=best, ties=quality.ties, ceiling=quality.ceiling)


def pair_of_bounds(first: float, other: float) -> tuple[float, float] | None:
    """Return two values of a measure as (worst, best), ascending; None if they are NaN, as both are then."""
    if np.isnan(first):
        return None
    return float(min(first, other)), float(max(first, other))


def warnings_for(used: Judgements, resampling: Resampling) -> tuple[str, ...]:
    """Return warnings about scored rows (`used`) that come from one group, or whose scores become equal in float32."""
    warnings = []
    if resampling.n and distinct(used.group).size == 1:
        warnings.append("All scored pairs come from one group, so no interval can be given.")
    collapsed, different = float32_collapse(used.score)
    if collapsed >= _COLLAPSE_ALARM * different > 0:
        warnings.append(
            f"{collapsed:,} of {different:,} distinct scores share their float32 value with another: tools that store "
            "float32 will see ties that are not there; keep float64, or log-odds in place of probabilities."
        )
    return tuple(warnings)
