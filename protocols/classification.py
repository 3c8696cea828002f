"""How well a metric's scores tell the human levels apart (base paper, section 3.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.auc import average_precision, roc_auc
from metaeval.stats.refill import extreme_ranks
from metaeval.stats.resampling import Prepared
from protocols.contract import Estimate, Judgements, Measure, Outcome, Protocol, Resampling
from protocols.estimation import NO_SCORES, Draws, check, draw, estimate, pair_of_bounds, row_numbers, warnings_for

LEVELS = {2.0: "FULL", 1.0: "PARTIAL", 0.0: "NONE"}
PAIRS = {"fs_ns": (2.0, 0.0), "fs_ps": (2.0, 1.0), "ps_ns": (1.0, 0.0)}
LABELS = {"fs_ns": "FS-NS", "fs_ps": "FS-PS", "ps_ns": "PS-NS", "overall": "Overall", "ap_full": "AP full"}
OTHER_LEVEL = "gold level other than 0, 1 or 2"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Part:
    """One measure on its two classes: replicated values (1 + B,), groups behind them, bounds, why undefined."""

    values: Floats
    groups: int
    bounds: tuple[float, float] | None
    undefined: str


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """ROC-AUC of FULL v. NONE, FULL v. PARTIAL and PARTIAL v. NONE, and their unweighted mean, as fractions of one.

    Each AUC uses the rows of its two levels; a mean with an undefined part is undefined. Beyond the paper: average
    precision of FULL v. the rest. `bounds` are exact for each AUC and for average precision; those of the mean are the
    mean of the three, which holds but need not be reached, as an unscored PARTIAL row cannot be at both ends at once.
    Raises ValueError on an infinite score or a level not finite.
    """
    check(judgements)
    draws = draw(judgements.group, resampling)
    known = np.isin(judgements.gold, list(LEVELS))
    missing = np.isnan(judgements.score)
    used = judgements.rows(known & ~missing)
    parts = {key: _part(roc_auc, judgements, draws, high, (low,)) for key, (high, low) in PAIRS.items()}
    estimates = {key: _estimate(part, draws.level) for key, part in parts.items()}
    estimates["overall"] = _estimate(_mean(parts), draws.level)
    estimates["ap_full"] = _estimate(_part(average_precision, judgements, draws, 2.0, (1.0, 0.0)), draws.level)
    if not used.score.size:
        estimates = {key: Estimate(None, note=NO_SCORES) for key in estimates}
    other = int((~known).sum())
    return Outcome(
        estimates=estimates,
        total=judgements.score.size,
        scored=used.score.size,
        unscored_rows=row_numbers(known & missing),
        excluded={OTHER_LEVEL: other} if other else {},
        warnings=warnings_for(used, resampling),
    )


def _part(
    measure: Callable[[Floats, NDArray[np.bool_], NDArray[np.int64], int], Prepared],
    judgements: Judgements,
    draws: Draws,
    positive: float,
    negatives: tuple[float, ...],
) -> _Part:
    """Evaluate `measure` on the rows of level `positive` against those of the levels `negatives`."""
    member = np.isin(judgements.gold, (positive, *negatives))
    rows, group = judgements.rows(member), draws.group[member]
    is_positive, missing = rows.gold == positive, np.isnan(rows.score)
    bounds = None
    if missing.any():
        refills = extreme_ranks(rows.score, is_positive)
        bounds = pair_of_bounds(*(draws.value(measure(ranks, is_positive, group, draws.n_groups)) for ranks in refills))
    prepared = measure(rows.score[~missing], is_positive[~missing], group[~missing], draws.n_groups)
    absent = negatives if is_positive[~missing].any() else (positive,)
    undefined = f"no scored {' or '.join(LEVELS[level] for level in absent)} pairs"
    return _Part(draws.replicate(prepared), prepared.groups, bounds, undefined)


def _mean(parts: Mapping[str, _Part]) -> _Part:
    lost = [f"{LABELS[key]} ({part.undefined})" for key, part in parts.items() if np.isnan(part.values[0])]
    bounds = None
    if any(part.bounds for part in parts.values()):
        # A part without unscored rows cannot move: both its bounds are its value.
        ends = [part.bounds or (float(part.values[0]),) * 2 for part in parts.values()]
        bounds = pair_of_bounds(*np.mean(ends, axis=0))
    values = np.mean([part.values for part in parts.values()], axis=0)
    groups = min(part.groups for part in parts.values())
    return _Part(values, groups, bounds, f"undefined: {', '.join(lost)}")


def _estimate(part: _Part, level: float) -> Estimate:
    return estimate(part.values, part.groups, level, undefined=part.undefined, bounds=part.bounds)


PROTOCOL = Protocol(
    name="classification",
    title="Telling the levels apart (ROC-AUC, %)",
    measures=tuple(Measure(key, label, scale=100.0, digits=1) for key, label in LABELS.items()),
    default=("fs_ns", "fs_ps", "ps_ns", "overall"),
    evaluate=evaluate,
)
