"""Functions of the room on wide inputs, with ties, gaps and every edge: all that comes out, held against its record.

The inputs stand in values.json: by record and function the arguments of each call. There a text is the name of an
input, {"text": ...} a text, and any other mapping the result of a call.
"""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

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
