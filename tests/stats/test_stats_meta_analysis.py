"""Random-effects meta-analysis: statsmodels, metafor's example, and the prediction interval written out."""

import numpy as np
import pytest
from scipy.stats import norm, t
from statsmodels.stats.meta_analysis import combine_effects

from metaeval.stats.significance import pooled, shrunken

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


def test_the_vaccine_trials_are_those_of_metafor():
    # metafor, rma(yi, vi, method="PM"): tau^2 0.3181, estimate -0.7150, standard error 0.1809, Q(df = 12) = 152.2330;
    # I^2 of Q.
    found = pooled(*log_risks())

    assert found.tau**2 == pytest.approx(0.3181, abs=5e-5)
    assert found.between == pytest.approx(0.9212, abs=5e-5)
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.mean == pytest.approx(-0.7150, abs=5e-5)
    assert found.normal == pytest.approx((-0.7150 - 1.96 * 0.1809, -0.7150 + 1.96 * 0.1809), abs=2e-4)
    assert found.p < 1e-4


def error_of_weights(tau2, errors):
    """Kackar and Harville's addition to the variance of the mean, Paule and Mandel's variance having that of Q."""
    weight = 1 / (errors**2 + tau2)
    total, squares, cubes = (np.sum(weight**power) for power in (1, 2, 3))
    of_tau2 = 2 * (errors.size - 1) / (total - squares / total) ** 2
    return of_tau2 * (cubes - squares**2 / total) / total**2


@pytest.mark.parametrize("studies", [2, 3, 13])
def test_agrees_with_statsmodels(studies):
    effects, errors = (one[:studies] for one in log_risks())
    effects = 4 * effects  # so far apart that the variance between studies is above 0, where statsmodels does not cut
    found = pooled(effects, errors)
    theirs = combine_effects(effects, errors**2, method_re="iterated", atol=1e-13)

    assert found.mean == pytest.approx(theirs.mean_effect_re, abs=1e-9)
    assert found.tau**2 == pytest.approx(theirs.tau2, abs=1e-9)
    assert found.q == pytest.approx(theirs.q, abs=1e-9)
    assert found.weights == pytest.approx(theirs.weights_rel_re, abs=1e-9)
    assert found.normal == pytest.approx(theirs.conf_int(use_t=False)[1], abs=1e-9)
    # Hartung and Knapp's factor is 1 at this variance, so that both of their standard errors are the same.
    assert theirs.sd_eff_w_re_hksj == pytest.approx(theirs.sd_eff_w_re, rel=1e-9)
    assert found.p == pytest.approx(2 * norm.sf(abs(theirs.mean_effect_re) / theirs.sd_eff_w_re), rel=1e-9)
    error = np.sqrt(theirs.sd_eff_w_re**2 + error_of_weights(theirs.tau2, errors))
    assert found.p_hartung_knapp == pytest.approx(2 * t.sf(abs(theirs.mean_effect_re) / error, studies - 1), rel=1e-9)
    reach = t.ppf(0.975, studies - 1) * error
    assert found.hartung_knapp == pytest.approx((found.mean - reach, found.mean + reach), abs=1e-9)
    assert found.heterogeneity == pytest.approx(theirs.test_homogeneity().pvalue, abs=1e-12)
    assert (found.prediction is None) == (studies == 2)


def test_studies_that_agree_have_one_effect():
    effects, errors = log_risks()
    alike = effects.mean() + (effects - effects.mean()) / 10
    found = pooled(alike, errors)

    # Cochran's Q below its degrees of freedom: each study weighs the inverse of its own variance, and Hartung and
    # Knapp's factor, below 1, is 1 in the modified form.
    assert (found.tau, found.between) == (0.0, 0.0)
    assert found.mean == pytest.approx(np.average(alike, weights=errors**-2), abs=1e-12)
    error = 1 / np.sqrt((errors**-2).sum())
    assert found.normal[1] - found.mean == pytest.approx(1.959963984540054 * error, abs=1e-12)
    assert found.hartung_knapp[1] - found.mean > t.ppf(0.975, 12) * error


def test_the_prediction_interval_is_as_written_out():
    # Higgins, Thompson and Spiegelhalter (2009), equation 12: mean +- t(k - 2) sqrt(tau^2 + error^2).
    found = pooled(*log_risks())
    error = (found.normal[1] - found.mean) / 1.959963984540054
    reach = t.ppf(0.975, 11) * np.sqrt(found.tau**2 + error**2)
    assert found.prediction == pytest.approx((found.mean - reach, found.mean + reach), abs=1e-12)
    assert found.prediction[0] < found.hartung_knapp[0] < found.mean


def test_what_cannot_be_combined():
    with pytest.raises(ValueError, match="two effects or more"):
        pooled(np.array([1.0]), np.array([1.0]))
    with pytest.raises(ValueError, match="errors above 0"):
        pooled(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="effects must be finite"):
        pooled(np.array([1.0, np.nan]), np.array([1.0, 1.0]))
    assert pooled(np.array([0.0, 0.0]), np.array([1.0, 1.0])).p_hartung_knapp == 1.0


def test_equal_errors_need_no_addition():
    effects, errors = np.array([0.3, 1.9, -0.4, 2.2]), np.full(4, 0.2)
    mean, error = effects.mean(), effects.std(ddof=1) / 2
    found = pooled(effects, errors)
    # The plain t-test of four effects, for errors that are alike have weights that are known.
    assert found.p_hartung_knapp == pytest.approx(2 * t.sf(mean / error, 3), rel=1e-9)


def test_effects_are_drawn_towards_their_mean_as_written_out():
    # Morris (1983): the weight of the mean is (k - 3) / (k - 1) s^2 / (s^2 + tau^2).
    effects, errors = np.array([0.2, 0.9, 1.4, 2.0, 1.1]), np.full(5, 0.3)
    spread = effects.var(ddof=1)
    weight = 2 / 4 * 0.09 / spread
    found = shrunken(effects, errors)
    assert [value for value, _ in found] == pytest.approx(effects + weight * (effects.mean() - effects), abs=1e-9)
    own = 0.09 * (1 - 4 / 5 * weight) + 2 / 2 * weight**2 * (effects - effects.mean()) ** 2
    assert [high - value for value, (_, high) in found] == pytest.approx(norm.ppf(0.975) * np.sqrt(own), abs=1e-9)
    with pytest.raises(ValueError, match="four or more, got 3"):
        shrunken(effects[:3], errors[:3])
