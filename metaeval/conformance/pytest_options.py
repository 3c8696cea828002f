"""The pytest plug-in with the options of `pytest --pyargs metaeval.conformance`; other pytest runs do not get them."""

from __future__ import annotations

import pytest


@pytest.hookimpl
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Add the command-line options if conformance tests are requested; `--metric` may mean something else elsewhere."""
    if not any(arg.startswith("metaeval.conformance") for arg in args):
        return
    group = parser.getgroup("metaeval", "metaeval: contract checks of your own")
    for kind in ("metric", "protocol"):
        text = f"The {kind} to check: module:NAME, or a registered name. Repeatable."
        group.addoption(f"--{kind}", action="append", default=[], metavar="NAME", help=text)
    group.addoption("--option", action="append", default=[], metavar="KEY=VALUE", help="An option of the metric.")
