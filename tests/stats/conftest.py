"""Both ways to the same digits: the loops of a machine without numba, and the compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from metaeval.stats import arrays


@pytest.fixture
def choose_path(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Force "numpy" or "compiled", however little work there is."""

    def absent() -> None:
        return None

    absent.cache_info = lambda: SimpleNamespace(currsize=0)  # type: ignore[attr-defined]

    def choose(path: str) -> None:
        monkeypatch.undo()
        if path == "numpy":
            monkeypatch.setattr(arrays, "_loops", absent)
            assert arrays.compiled(10**9) is None
        else:
            pytest.importorskip("numba")
            monkeypatch.setattr(arrays, "_ENOUGH_WORK", 0)
            assert arrays.compiled(1) is not None

    return choose


@pytest.fixture(params=["numpy", "compiled"])
def both_paths(request: pytest.FixtureRequest, choose_path: Callable[[str], None]) -> None:
    """Run the test on either path."""
    choose_path(request.param)
