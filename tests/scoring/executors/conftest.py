"""A current folder with metrics of one's own in it."""

import shutil
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with the metrics in it."""
    shutil.copy(Path(__file__).with_name("toys.py"), tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "toys", raising=False)
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path
