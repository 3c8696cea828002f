"""The promises of tables, sentences and gates, in a short form of `python -m benchmarks.promises`."""

import pytest

from benchmarks.promises.__main__ import all_cells, row
from benchmarks.promises.cells import measured

SAMPLES = 250


@pytest.mark.slow
@pytest.mark.parametrize("cell", [pytest.param(cell, id=f"{cell.promise}: {cell.name}") for cell in all_cells()])
def test_the_promise_is_kept(cell):
    for result in measured(cell, SAMPLES, 1):
        # Of several hundred goals at their bound some lie two errors away by chance, and hardly one lies four away.
        slack = 4 * result.error
        bounds = result.goal.least - slack, result.goal.most + slack
        assert result.samples < 20 or result.goal.unreachable or bounds[0] <= result.share <= bounds[1], row(result)
