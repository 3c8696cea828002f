"""Correlation inside strata: what is left of it when the strata's own means are taken out.

A stratum is, say, the system that wrote the statements. A metric that only knows good systems from bad ones correlates
with the gold over all rows and not inside a system. Taking out a mean per stratum is the partial correlation with one
dummy variable per stratum as covariates.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from metaeval.stats.resample_sums import Floats, Ints
from metaeval.stats.rows import check_finite, check_lengths
from metaeval.stats.ties import tie_blocks

RESIDUAL_TIES = 1e-9
"""Residuals this close, as a share of the largest, are tied when they are ranked: rounding must not order them."""


def within_strata(values: Floats, stratum: Ints) -> Floats:
    """Values (n,) less the mean of their stratum (n,), any codes; exactly 0 where a stratum is constant; (n,).

    Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_lengths(values=values, stratum=stratum)
    check_finite("values", values)
    if values.size == 0:
        return values
    code, n_strata = tie_blocks(stratum.astype(np.float64))
    # Taking one of its own values off a stratum first keeps small differences of large values.
    first = np.empty(n_strata)
    first[code[::-1]] = values[::-1]
    shifted = values - first[code]
    mean = np.bincount(code, weights=shifted) / np.bincount(code)
    return np.asarray(shifted - mean[code])


def partial_pearson(score: Floats, gold: Floats, stratum: Ints) -> float:
    """Pearson correlation of score and gold, (n,) each, controlling for the stratum (n,); in both FRANK and pingouin.

    Pagnoni et al., "Understanding factuality in abstractive summarization with FRANK" (2021). NaN where the score or
    the gold varies in no stratum. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_lengths(score=score, gold=gold, stratum=stratum)
    return _cosine(within_strata(score, stratum), within_strata(gold, stratum))


def partial_spearman(score: Floats, gold: Floats, stratum: Ints) -> float:
    """Spearman correlation of score and gold, (n,) each, controlling for the stratum (n,): ranks first, then means out.

    Midranks over all rows, then the Pearson correlation inside strata; the convention of pingouin's
    `partial_corr(method="spearman")`. NaN and ValueError as in `partial_pearson`.
    """
    check_lengths(score=score, gold=gold, stratum=stratum)
    check_finite("score", score)
    check_finite("gold", gold)
    return partial_pearson(rankdata(score), rankdata(gold), stratum)


def residual_spearman(score: Floats, gold: Floats, stratum: Ints) -> float:
    """Spearman correlation of score and gold, (n,) each, controlling for the stratum (n,): means out first, then ranks.

    The convention of FRANK's published table. It ranks rows of different strata by how far they stand off their
    stratum's mean, so with few gold levels it can be far from `partial_spearman`: .30 v. .20 for FactCC on FRANK.
    NaN and ValueError as in `partial_pearson`.
    """
    check_lengths(score=score, gold=gold, stratum=stratum)
    x, y = rank_residuals(within_strata(score, stratum)), rank_residuals(within_strata(gold, stratum))
    return _cosine(x, y)


def rank_residuals(residual: Floats) -> Floats:
    """Midranks of residuals (n,) less their mean; values that differ by rounding alone are tied; (n,)."""
    if residual.size == 0:
        return residual
    largest = np.abs(residual).max()
    ordered = np.argsort(residual, kind="stable")
    apart = np.diff(residual[ordered]) > RESIDUAL_TIES * largest
    block = np.empty(residual.size)
    block[ordered] = np.concatenate(([0], np.cumsum(apart)))
    return np.asarray(rankdata(block) - (residual.size + 1) / 2)


def _cosine(x: Floats, y: Floats) -> float:
    """Correlation of two centred columns; NaN where one is all zeros."""
    if not (x.any() and y.any()):
        return float("nan")
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    return float(np.clip(x @ y / np.sqrt(x @ x) / np.sqrt(y @ y), -1, 1))
