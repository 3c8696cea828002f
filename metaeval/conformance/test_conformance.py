"""The contract checks of what `--metric`, `--dataset` and `--protocol` name, one test each."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metaeval import registry
from metaeval.conformance import dataset, metric, pipeline, protocol
from metaeval.conformance.sentences import ContractError, NotCheckedError
from metaeval.errors import UserError


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each check of each thing that is named."""
    cases = list(_cases(metafunc.config))
    if not cases:
        pytest.exit(
            "Nothing to check: give --metric, --dataset, --protocol or --pipeline, as module:NAME.", returncode=4
        )
    metafunc.parametrize(("check", "subject"), [case[1:] for case in cases], ids=[case[0] for case in cases])


def _cases(config: pytest.Config) -> Iterator[tuple[str, Callable[[Any], None], Any]]:
    options = dict(text.partition("=")[::2] for text in config.getoption("option"))
    data = Path(given) if (given := config.getoption("data")) else None
    for name in config.getoption("metric"):
        subject = metric.MetricSubject(_find("metric", name), options, _registered(name))
        yield from ((f"{name}-{check.__name__}", check, subject) for check in metric.CHECKS)
    for name in config.getoption("dataset"):
        of = dataset.DatasetSubject(_find("dataset", name), data, _registered(name))
        yield from ((f"{name}-{check.__name__}", check, of) for check in dataset.CHECKS)
    for name in config.getoption("pipeline"):
        judged = pipeline.PipelineSubject(_find("pipeline", name), options, data, _registered(name))
        yield from ((f"{name}-{check.__name__}", check, judged) for check in pipeline.CHECKS)
    for name in config.getoption("protocol"):
        over = protocol.ProtocolSubject(_find("protocol", name), _registered(name))
        yield from ((f"{name}-{check.__name__}", check, over) for check in protocol.CHECKS)


def _registered(name: str) -> str:
    return "" if ":" in name else name


def _find(kind: registry.Kind, name: str) -> Any:
    try:
        return registry.find(kind, name)
    except UserError as error:
        pytest.exit(str(error), returncode=4)


def test_contract(check: Callable[[Any], None], subject: Any) -> None:
    """One check; where it fails, one sentence says what to do."""
    try:
        check(subject)
        return
    except NotCheckedError as error:
        pytest.skip(str(error))
    except ContractError as error:
        broken = error
    cause = broken.__cause__
    if cause is not None and not isinstance(cause, UserError):
        print("".join(traceback.format_exception(cause)[-12:]))  # noqa: T201 (pytest shows it with the failure)
    pytest.fail(str(broken), pytrace=False)
