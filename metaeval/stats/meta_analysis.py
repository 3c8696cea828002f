"""One effect that was measured in several studies: random-effects meta-analysis, and the effect in a new study.

DerSimonian and Laird, "Meta-analysis in clinical trials" (1986); Hartung and Knapp, "A refined method for the
meta-analysis of controlled clinical trials with binary outcome" (2001); Higgins, Thompson and Spiegelhalter, "A
re-evaluation of random-effects meta-analysis" (2009) for the prediction interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import chdtrc, ndtr, ndtri, stdtr, stdtrit

from metaeval.stats.arrays import Floats, check_finite, check_lengths

Ends = tuple[float, float]


@dataclass(frozen=True)
class Pooled:
    """The mean effect over studies that differ in truth, and what an effect elsewhere may be.

    tau: standard deviation of the true effects. weights: of the studies, summing to 1. normal, p: the interval and
    two-sided p of DerSimonian and Laird; hartung_knapp, p_hartung_knapp: of Hartung and Knapp, with the quantile of
    Student's t at one study less. prediction: where the true effect of a new study lies; None for two studies.
    heterogeneity: p of Cochran's Q, that all studies have one effect. between: share of the variance of the effects
    that is not the studies' own error (I squared).
    """

    mean: float
    tau: float
    weights: tuple[float, ...]
    normal: Ends
    p: float
    hartung_knapp: Ends
    p_hartung_knapp: float
    prediction: Ends | None
    q: float
    heterogeneity: float
    between: float


def pooled(effects: Floats, errors: Floats, level: float = 0.95) -> Pooled:
    """Combine effects (k,) with their standard errors (k,), k at least 2, by a random-effects model.

    The variance between studies is DerSimonian and Laird's. Agrees with statsmodels' `combine_effects` and metafor's
    `rma(method="DL")`. Raises ValueError for fewer than two effects, one not finite, or an error not above 0.
    """
    check_lengths(effects=effects, errors=errors)
    check_finite("effects", effects)
    check_finite("errors", errors)
    studies = effects.size
    if studies < 2 or errors.min() <= 0:
        raise ValueError(f"a meta-analysis takes two effects or more with errors above 0, got {studies} effects")
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1, got {level}")
    own = 1 / errors**2
    fixed = (own * effects).sum() / own.sum()
    q = float((own * (effects - fixed) ** 2).sum())
    excess = (q - (studies - 1)) / (own.sum() - (own**2).sum() / own.sum())
    variance = max(float(excess), 0.0)
    weight = 1 / (errors**2 + variance)
    mean, error = float((weight * effects).sum() / weight.sum()), 1 / math.sqrt(float(weight.sum()))
    spread = float((weight * (effects - mean) ** 2).sum()) / (studies - 1)
    refined = error * math.sqrt(spread)
    freedom, upper = studies - 1, (1 + level) / 2
    prediction = None
    if studies > 2:
        prediction = _around(mean, float(stdtrit(studies - 2, upper)) * math.hypot(math.sqrt(variance), error))
    return Pooled(
        mean=mean,
        tau=math.sqrt(variance),
        weights=tuple((weight / weight.sum()).tolist()),
        normal=_around(mean, float(ndtri(upper)) * error),
        p=float(2 * ndtr(-abs(mean) / error)),
        hartung_knapp=_around(mean, float(stdtrit(freedom, upper)) * refined),
        p_hartung_knapp=float(2 * stdtr(freedom, -abs(mean) / refined)) if refined > 0 else float(mean == 0),
        prediction=prediction,
        q=q,
        heterogeneity=float(chdtrc(freedom, q)),
        between=max(0.0, 1 - freedom / q) if q > 0 else 0.0,
    )


def _around(mean: float, reach: float) -> Ends:
    return mean - reach, mean + reach
