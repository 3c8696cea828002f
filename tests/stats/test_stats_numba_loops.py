"""The loops that numba compiles, run by Python: no index leaves its array, which compiled code would not notice."""

import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from metaeval.stats import arrays
from metaeval.stats.pools import ndcg_at
from metaeval.stats.resampling import bootstrap
from protocols import classification, correlation, decision, retrieval
from protocols.contract import Judgements, Resampling

PROTOCOLS = [correlation.PROTOCOL, classification.PROTOCOL, retrieval.PROTOCOL, decision.PROTOCOL]


@pytest.fixture
def interpreted(monkeypatch):
    """Put the loops as they are written in the place of the compiled ones."""
    source = arrays.__file__.replace("arrays.py", "numba_loops.py")
    uncompiled = SimpleNamespace(njit=lambda **_: lambda function: function)

    def choose():
        loops = ModuleType("interpreted_loops")
        with monkeypatch.context() as patch, open(source, encoding="utf-8") as text:
            patch.setitem(sys.modules, "numba", uncompiled)
            exec(compile(text.read(), source, "exec"), loops.__dict__)

        def given():
            return loops

        given.cache_info = lambda: SimpleNamespace(currsize=1)
        monkeypatch.setattr(arrays, "_loops", given)

    return choose


def judgements(levels=3):
    """Tied and continuous scores in pools of 1 to 100 rows, of which the largest are sorted by merging."""
    rng = np.random.default_rng(5)
    pool = np.repeat(np.arange(9), (1, 2, 3, 100, 7, 1, 66, 12, 30))
    gold = rng.integers(levels, size=pool.size).astype(float)
    score = gold + rng.normal(size=pool.size)
    return Judgements(gold, np.where(pool % 2 == 0, score.round(), score), pool // 2, pool, np.arange(pool.size) % 3)


# Gold of many levels is a rating, which the first alone reads: its ranks are counted by another loop.
@pytest.mark.parametrize(("protocol", "levels"), [*((protocol, 3) for protocol in PROTOCOLS), (PROTOCOLS[0], 40)])
def test_the_loops_stay_inside_their_arrays_and_give_the_same_digits(protocol, levels, choose_path, interpreted):
    rows, keys = judgements(levels), protocol.shown(judgements(levels), {})

    def run():
        outcome = protocol.evaluate(rows, Resampling(n=6, fewest=2), {})
        codes, group = np.unique(rows.group, return_inverse=True)
        judged = protocol.judge(rows, {}) if protocol.judge else rows
        draws = bootstrap(codes.size, 6, 0)
        return outcome, protocol.replicate(judged.with_group(group), codes.size, draws, {}, keys)

    choose_path("numpy")
    expected, of_numpy = run()
    interpreted()
    found, of_loops = run()
    assert found.estimates == expected.estimates
    for key, values in of_numpy.items():
        np.testing.assert_array_equal(of_loops[key], values, err_msg=key)


def test_ndcg_of_each_pool_stays_inside_its_arrays(choose_path, interpreted):
    rows = judgements()
    choose_path("numpy")
    expected = ndcg_at(rows.score, rows.gold, rows.pool, (1, 5, 70))
    interpreted()
    np.testing.assert_array_equal(ndcg_at(rows.score, rows.gold, rows.pool, (1, 5, 70)), expected)


SUMS = """
import os, time
from pathlib import Path
import numpy as np
from numba import njit
from numba.core.caching import IndexDataCacheFile
from metaeval.stats.arrays import _one_at_a_time

@njit(cache=True)
def total(x):
    found = 0.0
    for value in x:
        found += value
    return found

def run(own, other):
    save_index, save_data = IndexDataCacheFile._save_index, IndexDataCacheFile._save_data

    def when_both_have_read_it(cache, index):
        Path(f"{own}.read").touch()
        for _ in range(100):  # the other one cannot read the index where all is well
            time.sleep(0.0 if Path(f"{other}.read").exists() else 0.02)
        save_index(cache, index)

    def last(cache, name, data):
        time.sleep(0.5 * (own == "float64"))
        save_data(cache, name, data)

    IndexDataCacheFile._save_index, IndexDataCacheFile._save_data = when_both_have_read_it, last
    total(np.arange(5, dtype=own))
    os._exit(0)

total.compile = _one_at_a_time(total.compile, Path(total.stats.cache_path))
kinds = ("float64", "int64")
for own, other in (kinds, kinds[::-1]):
    os.fork() or run(own, other)
for _ in kinds:
    os.wait()
print(*(total(np.arange(5, dtype=kind)) for kind in kinds), sum(total.stats.cache_hits.values()))
"""


def test_processes_that_compile_at_once_leave_each_type_its_own_code(tmp_path):
    pytest.importorskip("numba")
    (tmp_path / "sums.py").write_text(SUMS)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "sums.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "10.0 10.0 2\n"  # both from the cache


@pytest.mark.slow
def test_compiling_is_said_once_and_not_where_the_cache_is_warm(tmp_path):
    pytest.importorskip("numba")
    code = """
import logging, sys
logging.basicConfig(level=sys.argv[1], format="%(message)s")
from metaeval.stats import loops
loops.tell_of_compiling()
loops.numba.njit(lambda one: one)(1)
import numpy as np
for kind in (np.uint8, np.uint16):
    loops.sum_groups(np.ones((5, 2)), np.arange(5), np.ones((5, 3), dtype=kind), np.zeros((2, 3)))
"""

    def said(level):
        ran = subprocess.run(
            [sys.executable, "-c", code, level],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )
        return [line for line in ran.stderr.splitlines() if "Compiling" in line]

    assert len(said("INFO")) == 1
    assert said("INFO") == []
