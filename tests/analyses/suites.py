"""What tests of suites share: a suite as its command reads it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.analyses.run import RUN
from metaeval.analyses.run import read_suite as suite_of_options
from metaeval.analyses.suites.suite_runs import Suite


def read_suite(
    path: Path | None, settings: Mapping[str, Any], overrides: Sequence[str] = (), datasets: Sequence[str] = ()
) -> Suite:
    """The suite of `run --suite -c PATH -d DATASETS` with these settings."""
    named = {"dataset": list(datasets)} if datasets else {}
    return suite_of_options(RUN.options_of({"config": path, "suite": True, **named, **settings}, overrides))
