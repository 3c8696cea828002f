"""The explorer's pictures in the docs are those that the page shows today."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="module")
def pictures():
    """The script that takes them."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    return runpy.run_path(str(ROOT / ".ci" / "screenshots.py"))


@pytest.mark.slow
def test_the_pictures_are_of_todays_page(pictures, monkeypatch):
    if shutil.which("chromium") is None:
        pytest.skip("Chromium is not installed")
    if not (DATA / "wice").is_dir():
        pytest.skip("the published files are not in ../shared/data")
    assert pictures["check"](str(DATA)) == 0
