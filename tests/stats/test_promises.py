"""The promises of tables, sentences and gates, in a short form of `python -m benchmarks.promises`."""

import pytest

from benchmarks.promises.__main__ import all_cells, row
from benchmarks.promises.cells import Cell, Goal, measured

SAMPLES = 250


@pytest.mark.slow
@pytest.mark.parametrize("cell", [pytest.param(cell, id=f"{cell.promise}: {cell.name}") for cell in all_cells()])
def test_the_promise_is_kept(cell):
    for result in measured(cell, SAMPLES, 1):
        # Of several hundred goals at their bound some lie two errors away by chance, and hardly one lies four away.
        slack = 4 * result.error
        bounds = result.goal.least - slack, result.goal.most + slack
        assert result.samples < 20 or result.goal.unreachable or bounds[0] <= result.share <= bounds[1], row(result)


def _cell(*goals):
    return Cell("coin", "fair", lambda rng: {"heads": float(rng.random() < 0.5), "never": float("nan")}, goals)


def test_a_mean_beyond_two_errors_misses_its_goal():
    goals = Goal("heads", least=0.45, most=0.55), Goal("heads", least=0.9), Goal("heads", most=0.1), Goal("never", 1.0)
    fair, low, high, never = measured(_cell(*goals), 1000, 1)
    assert fair.share == pytest.approx(0.5, abs=0.06)
    # Of a share of 1,000, with one hit and one miss more: .5 * .5 / 1,000 is .0158 squared.
    assert fair.error == pytest.approx(0.0158, abs=1e-4)
    assert (fair.met, low.met, high.met, never.met, never.samples) == (True, False, False, True, 0)


def test_a_share_of_one_has_a_monte_carlo_error():
    (always,) = measured(Cell("coin", "two heads", lambda rng: {"heads": 1.0}, (Goal("heads", most=0.99),)), 98, 1)
    # 99 of 100, with one hit and one miss more: sqrt(.99 * .01 / 98) is .01005.
    assert (always.share, always.error) == (1.0, pytest.approx(0.01005, abs=1e-5))
    assert always.met
