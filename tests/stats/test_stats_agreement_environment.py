"""The same digits whatever the number of threads, the hash seed and the order of rows."""

import dataclasses

import numpy as np
import pytest

from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from metaeval.stats.resampling import bootstrap
from protocols import classification, correlation, decision, preference, retrieval, systems
from protocols.comparison import compared_by
from protocols.contract import Judgements, Resampling

PROTOCOLS = [
    *(correlation.PROTOCOL, classification.PROTOCOL, retrieval.PROTOCOL, decision.PROTOCOL),
    *(preference.PROTOCOL, systems.PROTOCOL),
]


def _sample():
    rng = np.random.default_rng(3)
    pool = np.sort(rng.integers(0, 150, 800))
    gold = rng.choice([0.0, 1.0, 2.0], 800)
    scores = gold + rng.normal(size=800), np.round(gold + rng.normal(size=800), 1)
    one, other = (Judgements(gold, np.where(rng.random(800) < 0.05, np.nan, s), pool // 4, pool) for s in scores)
    return one, other


def _of_systems(rows):
    return dataclasses.replace(rows, system=np.arange(rows.gold.size) % 4)


def _shuffled(rows):
    order = np.random.default_rng(1).permutation(rows.gold.size)
    columns = {name: getattr(rows, name) for name in ("gold", "score", "group", "pool", "system")}
    return dataclasses.replace(rows, **{name: own[order] for name, own in columns.items() if own is not None})


ADDED = ("pearson", "sys_pearson", "input_pearson")
"""Add products in the order of the rows, which may move the last bit; they are held to 1e-12 elsewhere."""


def _replicates(protocol, rows, keys):
    """The values under 60 resamples of groups, by measure."""
    codes = np.unique(rows.group)
    used = compared_by(protocol, rows, ~np.isnan(rows.score), {})
    used = used.with_group(np.searchsorted(codes, used.group))
    values = protocol.replicate(used, codes.size, bootstrap(codes.size, 60, 0), {}, keys)
    return {key: column.tobytes() for key, column in values.items()}


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_order_of_rows_moves_no_digit(protocol):
    found = []
    sample = _sample()
    if protocol is systems.PROTOCOL:
        sample = _of_systems(sample[0]), _of_systems(sample[1])
    for pair in (sample, tuple(_shuffled(rows) for rows in sample)):
        resampling = Resampling(n=60)
        outcomes = [protocol.evaluate(rows, resampling, {}) for rows in pair]
        keys = [key for key in protocol.shown(pair[0], {}) if key not in ADDED]
        tested = {name: (rows, outcome) for name, rows, outcome in zip("ab", pair, outcomes, strict=True)}
        held = significance(protocol, {}, resampling, ComparisonConfig(permutations=79), tested, keys)
        replicates = [_replicates(protocol, rows, keys) for rows in pair]
        found.append((replicates, [{key: outcome.estimates[key] for key in keys} for outcome in outcomes], held))
        assert found[0] == found[-1]
