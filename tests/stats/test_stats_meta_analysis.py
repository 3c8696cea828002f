"""Effects that are shrunk towards their mean: as written out, with the variance of statsmodels and metafor."""

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.meta_analysis import combine_effects

from metaeval.stats.significance import _between, shrunken

# Thirteen trials of the BCG vaccine (Colditz et al. 1994), as in metafor's data set dat.bcg: cases and others of the
# vaccinated, then of the rest.
BCG = np.array(
    [
        *((4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761)),
        *((180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232)),
        *((17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825)),
    ],
    dtype=float,
)


def log_risks():
    """Log risk ratios and their standard errors."""
    cases, others, cases_apart, others_apart = BCG.T
    vaccinated, rest = cases + others, cases_apart + others_apart
    variance = 1 / cases - 1 / vaccinated + 1 / cases_apart - 1 / rest
    return np.log((cases / vaccinated) / (cases_apart / rest)), np.sqrt(variance)


def test_the_variance_between_trials_is_that_of_metafor_and_statsmodels():
    # metafor, rma(yi, vi, method="PM"): tau^2 0.3181.
    effects, errors = log_risks()
    found = _between(effects, errors)
    assert found == pytest.approx(0.3181, abs=5e-5)
    theirs = combine_effects(effects, errors**2, method_re="iterated", atol=1e-13)
    assert found == pytest.approx(theirs.tau2, abs=1e-9)
    assert _between(effects / 10, errors) == 0  # Cochran's Q is below its degrees of freedom


def test_effects_are_drawn_towards_their_mean_as_written_out():
    # Morris (1983): the weight of the mean is (k - 3) / (k - 1) s^2 / (s^2 + tau^2).
    effects, errors = np.array([0.2, 0.9, 1.4, 2.0, 1.1]), np.full(5, 0.3)
    spread = effects.var(ddof=1)
    weight = 2 / 4 * 0.09 / spread
    found = shrunken(effects, errors)
    assert [value for value, _ in found] == pytest.approx(effects + weight * (effects.mean() - effects), abs=1e-9)
    own = 0.09 * (1 - 4 / 5 * weight) + 2 / 2 * weight**2 * (effects - effects.mean()) ** 2
    assert [high - value for value, (_, high) in found] == pytest.approx(norm.ppf(0.975) * np.sqrt(own), abs=1e-9)
    with pytest.raises(ValueError, match="four or more with errors above 0, got 3"):
        shrunken(effects[:3], errors[:3])
