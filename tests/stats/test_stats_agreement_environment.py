"""The same digits whatever the number of threads, the hash seed and the order of rows."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

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

# Every protocol, its intervals, comparisons of two metrics with unlike missing rows.
DIGITS = """
import hashlib
import numpy as np
from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from metaeval.stats.resampling import bootstrap
from protocols import classification, correlation, decision, retrieval
from protocols.comparison import compared_by
from protocols.contract import Judgements, Resampling

rng = np.random.default_rng(0)
n = 1200
pool = np.sort(rng.integers(0, 200, n))
gold = rng.choice([0.0, 1.0, 2.0], n)
one = np.where(rng.random(n) < 0.02, np.nan, gold + rng.normal(size=n))
other = np.where(rng.random(n) < 0.02, np.nan, np.round(gold + rng.normal(size=n), 1))
graded = np.round(gold + rng.random(n), 2)
system = rng.integers(0, 4, n)
for levels, rated in ((True, gold), (False, graded)):
    pair = [Judgements(rated, score, pool // 5, pool, system if levels else None, levels) for score in (one, other)]
    if not levels:
        pair = [rows.rows(np.arange(n) < 600) for rows in pair]
    for protocol in (correlation, classification, retrieval, decision)[: 4 if levels else 2]:
        resampling = Resampling(n=130)
        outcomes = [protocol.evaluate(rows, resampling, {}) for rows in pair]
        keys = protocol.PROTOCOL.shown(pair[0], {})[:4]
        tested = {name: (rows, outcome) for name, rows, outcome in zip("ab", pair, outcomes)}
        found = significance(protocol.PROTOCOL, {}, resampling, ComparisonConfig(), tested, keys)
        digits = hashlib.sha256()
        codes = np.unique(pair[0].group)
        for rows, outcome in zip(pair, outcomes):
            used = compared_by(protocol.PROTOCOL, rows, ~np.isnan(rows.score), {})
            used = used.with_group(np.searchsorted(codes, used.group))
            replicates = protocol.PROTOCOL.replicate(used, codes.size, bootstrap(codes.size, 130, 0), {}, keys)
            for key, values in replicates.items():
                digits.update(key.encode() + values.tobytes())
            for key, moved in outcome.influence.items():
                digits.update(key.encode() + (moved.parts.tobytes() if moved else b""))
        print(levels, protocol.__name__, digits.hexdigest(), outcomes[0].estimates, found)
"""


def digits(**environment):
    """What a fresh process computes."""
    done = subprocess.run(
        [sys.executable, "-c", DIGITS],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads_and_hash_seed_move_no_digit():
    found = digits(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED="0")
    assert found.count("\n") == 6
    assert digits(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", PYTHONHASHSEED="12345") == found


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
