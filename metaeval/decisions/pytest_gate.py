"""A gate in pytest: `assert_supported(statement, source)`, and `@pytest.mark.citations(FILE)`.

    pytest --citation-gate gate.json

    def test_the_answer_is_supported(assert_supported):
        assert_supported("The bridge is from 1932.", source="The bridge was opened in 1932.")

    @pytest.mark.citations("release.jsonl")
    def test_the_release():
        pass

Without --citation-gate such tests are skipped. A single citation is only flagged or not; the unsupported share of a
release is corrected for the metric's errors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from metaeval.core.config import RunConfig
    from metaeval.decisions.gate_model import Gate


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --citation-gate."""
    group = parser.getgroup("metaeval gate", "metaeval: citations checked against a gate")
    group.addoption("--citation-gate", metavar="FILE", help="Gate that 'metaeval gate fit' wrote.")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of release checks."""
    config.addinivalue_line("markers", "citations(file): check a file of answers against --citation-gate")


@pytest.fixture(scope="session")
def citation_gate(request: pytest.FixtureRequest) -> Gate:
    """Return the gate of --citation-gate; without that option the test is skipped."""
    path = request.config.getoption("--citation-gate")
    if not path:
        pytest.skip("no gate is given: run pytest --citation-gate gate.json")
    from metaeval.core.errors import UserError
    from metaeval.decisions.gate_check import read_gate

    try:
        return read_gate(Path(path))
    except UserError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture(scope="session")
def _gate_run(tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    from metaeval.core.config import RunConfig

    return RunConfig(results=tmp_path_factory.mktemp("citation-gate"))


@pytest.fixture
def assert_supported(citation_gate: Gate, _gate_run: RunConfig) -> Callable[..., float]:
    """Return a function (statement, source) that gives the score, or fails the test for a flagged or blank citation."""
    from metaeval.decisions.gate_check import score_one

    def holds(statement: str, source: str) -> float:
        score = score_one(citation_gate, statement, source, _gate_run)
        if score is None or score < citation_gate.threshold:
            result = "no score" if score is None else f"score {score:.4g}"
            why = f"{citation_gate.metric}: {result}; supported from {citation_gate.threshold:.4g} on"
            pytest.fail(f"Not supported: {statement!r} ({why}).", pytrace=False)
        return score

    return holds


@pytest.fixture(autouse=True)
def _citations(request: pytest.FixtureRequest) -> None:
    marker = request.node.get_closest_marker("citations")
    if marker is None:
        return
    if len(marker.args) != 1:
        raise pytest.UsageError("@pytest.mark.citations takes one file: @pytest.mark.citations('release.jsonl').")
    from metaeval.core.errors import UserError
    from metaeval.decisions.gate_check import check, verdict

    gate, run = request.getfixturevalue("citation_gate"), request.getfixturevalue("_gate_run")
    try:
        outcome = check(request.config.rootpath / marker.args[0], gate, config=run)
        request.node.stash[_MESSAGE] = "" if outcome.passed else verdict(outcome)
    except UserError as error:
        request.node.stash[_MESSAGE] = str(error)


_MESSAGE = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Fail a test, before its body runs, if the release in its marker fails the gate or cannot be read."""
    if message := pyfuncitem.stash.get(_MESSAGE, ""):
        pytest.fail(message, pytrace=False)
