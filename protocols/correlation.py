"""Correlation of a metric's scores with the human levels (base paper, section 3.2.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metaeval.stats.pearson import pearson
from metaeval.stats.rank_correlation import kendall, spearman
from metaeval.stats.refill import extreme_scores
from protocols.contract import Estimate, Judgements, Measure, Outcome, Protocol, Resampling
from protocols.estimation import NO_SCORES, Draws, check, draw, estimate, pair_of_bounds, row_numbers, warnings_for

COEFFICIENTS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def evaluate(judgements: Judgements, resampling: Resampling, options: Mapping[str, str]) -> Outcome:
    """Pearson's r, Spearman's rho and Kendall's tau-b of score against level, over the scored rows.

    Undefined, with a note, where the score or the level is constant. `bounds` give each unscored row the lowest or
    the highest observed score, against or with its level: a bound by assignment of observed extremes, not a proof
    (see `metaeval.stats.refill.extreme_scores`). Raises ValueError on an infinite score or a level not finite.
    """
    check(judgements)
    draws = draw(judgements.group, resampling)
    scored = ~np.isnan(judgements.score)
    used = judgements.rows(scored)
    return Outcome(
        estimates={key: _estimate(key, judgements, draws) for key in COEFFICIENTS},
        total=judgements.score.size,
        scored=int(scored.sum()),
        unscored_rows=row_numbers(~scored),
        warnings=warnings_for(used, resampling),
    )


def _estimate(key: str, judgements: Judgements, draws: Draws) -> Estimate:
    coefficient = COEFFICIENTS[key]
    scored = ~np.isnan(judgements.score)
    used, group = judgements.rows(scored), draws.group[scored]
    if not scored.any():
        return Estimate(None, note=NO_SCORES)
    bounds = None
    if not scored.all():
        refills = extreme_scores(judgements.score, judgements.gold)
        ends = [draws.value(coefficient(score, judgements.gold, draws.group, draws.n_groups)) for score in refills]
        bounds = pair_of_bounds(*ends)
    prepared = coefficient(used.score, used.gold, group, draws.n_groups)
    return estimate(
        draws.replicate(prepared), prepared.groups, draws.level, undefined=_why_undefined(used), bounds=bounds
    )


def _why_undefined(used: Judgements) -> str:
    if used.score.size < 2:
        return "fewer than two scored pairs"
    return "constant score" if np.ptp(used.score) == 0 else "one gold level only"


PROTOCOL = Protocol(
    name="correlation",
    title="Correlation with human levels",
    measures=(
        Measure("pearson", "Pearson"),
        Measure("spearman", "Spearman"),
        Measure("kendall", "Kendall"),
    ),
    default=("pearson", "spearman", "kendall"),
    evaluate=evaluate,
)
