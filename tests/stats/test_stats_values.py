"""Functions of the room on wide inputs, with ties, gaps and every edge: all that comes out, held against its record.

The inputs stand in values.json: by record and function the arguments of each call. There a text is the name of an
input, {"text": ...} a text, and any other mapping the result of a call.
"""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from metaeval.stats import correlations, systems
from metaeval.stats.agreement import rank_correlation_matrix
from metaeval.stats.influence import t_interval, t_test
from metaeval.stats.resampling import Draws, Prepared, bootstrap, jackknife, replicate

VALUES = json.loads(Path(__file__).with_name("values.json").read_text(encoding="utf-8"))


def told(influence):
    """What influence values are, with intervals and tests at several levels."""
    spread = influence.standard_error, influence.effective_groups, influence.groups, influence.parts.sum(axis=0)
    ends = [t_interval(influence, level) for level in (0.5, 0.95)]
    return influence.value, influence.ends, *spread, ends, [t_test(influence, null) for null in (0.0, 0.4, 0.9)]


def model(fitted):
    """What a model of scores is, in short."""
    return fitted.shares, fitted.icc, fitted.freedom, np.unique(fitted.spread), fitted.mean[:6], fitted.cell[:9]


def short(share):
    """What an estimated share is, its parts by sums alone."""
    parts = np.abs(share.parts).sum(), share.parts @ np.arange(share.parts.size)
    return share.value, share.low, share.high, share.variance, share.lam, share.df, share.unseen, parts


OWN = {
    "short": short,
    "told": told,
    "model": model,
    "called": lambda function, *arguments: function(*arguments),
    "ends": lambda estimate: (estimate.ends, estimate.interval, estimate.bounds),
    "text": str,
    "tuple": lambda *members: tuple(members),
}


def function(name):
    """The function of this file, of numpy or of the room that has this name."""
    module, *names = name.split(".")
    found = OWN.get(name) or import_module(module if module == "numpy" else f"metaeval.stats.{module}")
    for part in names:
        found = getattr(found, part)
    return found


def given(value):
    match value:
        case dict():
            ((name, arguments),) = value.items()
            return arguments if name == "text" else function(name)(*map(given, arguments))
        case str():
            return float(value) if value in ("inf", "nan") else given(VALUES["given"][value])
        case list():
            return np.array(value, dtype=float if "inf" in str(value) or "None" in str(value) or not value else None)
    return value


def result(name, arguments):
    """What a call gives: a measure by its values under resamples and without each group, draws by their weights."""
    try:
        found = function(name)(*map(given, arguments))
    except ValueError as error:
        return ["refused", str(error)]
    if isinstance(found, Prepared):
        return [*(replicate(found, draws) for draws in (bootstrap(9, 3, 1), jackknife(9))), found.groups]
    return np.concatenate([*found], axis=1) if isinstance(found, Draws) else found


@pytest.mark.parametrize("name", VALUES["calls"])
def test_what_functions_give_is_that_of_their_record(name, recorded):
    calls = VALUES["calls"][name].items()
    recorded.held(name, {of: [result(of, arguments) for arguments in each] for of, each in calls})


def test_no_correlation_leaves_its_range_by_rounding():
    """On columns that are each a line of the other; without the cut, each passes 1 or -1 for a quarter of the seeds."""
    for seed in range(80):
        rng = np.random.default_rng(seed)
        n = 2 * int(rng.integers(3, 15))
        slope = rng.choice([-3.3, 3.3])
        x, group, stratum = rng.normal(size=n), np.arange(n), rng.integers(0, 2, n)
        y, pairs, halves = slope * x + 0.7, x.reshape(2, -1).T, np.arange(2)
        prepared = (
            correlations.pearson(x, y, group, n),
            correlations.rank_correlations(x, y, group, n),
            *(correlations.partial_correlation(x, y, stratum, group, n, ranks) for ranks in (False, True)),
            systems.system_level(pairs, slope * pairs + 0.7, halves, 2),
        )
        found = [np.ravel(each.evaluate(np.ones((n if each.groups > 2 else 2, 1), np.int64))) for each in prepared]
        found.append(rank_correlation_matrix(np.stack([x, y])).ravel())
        found.append(systems.disattenuated(pairs, slope * pairs + 0.7, halves, 2)[:1])
        values = np.abs(np.concatenate(found))
        assert np.nanmax(values) <= 1
        np.testing.assert_allclose(values[~np.isnan(values)], 1, atol=1e-12)
