"""The cache: what can be fetched or asked for again, kept outside results folders and shared by all runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """METAEVAL_CACHE when set, else `metaeval` in the user's cache folder (XDG_CACHE_HOME, by default ~/.cache)."""
    if given := os.environ.get("METAEVAL_CACHE"):
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "metaeval"
