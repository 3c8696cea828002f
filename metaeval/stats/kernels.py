"""The inner loops, compiled where numba is installed. Each has a numpy twin that gives the same digits.

The twins stand beside the measures that use them (`level_wins`, `auc`, `sums`, `pools`); tests hold them together.
Integers are exact whatever the order; floats are added in the same order here and there, and without fused
multiply-add, which numba leaves off.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

_ENOUGH_WORK = 1_000_000
"""Row-weightings from which loading the compiled loops (about half a second) pays."""


def compiled(work: int) -> Any:
    """The compiled loops, or None: numba is not installed, or `work` (rows x weightings) is too small to load it.

    Once loaded they serve every later call.
    """
    return _loops() if work >= _ENOUGH_WORK or _loops.cache_info().currsize else None


@cache
def _loops() -> Any:
    if find_spec("numba") is None:
        return None
    from metaeval.stats import loops

    return loops
