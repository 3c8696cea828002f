"""The contract checks as tests: one test for each check of each object that `--metric` and `--protocol` name."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metaeval.conformance import metric, protocol
from metaeval.conformance.check_helpers import ContractError, NotCheckedError
from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.scoring.functions import as_class

Checks = tuple[Callable[[Any], None], ...]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Generate one test for each check of each named object; pytest ends with exit code 2 if none is named."""
    cases = list(_cases(metafunc.config))
    if not cases:
        raise pytest.Collector.CollectError("Nothing to check: give --metric or --protocol, as module:NAME.")
    metafunc.parametrize(("checks", "subject"), [case[1:] for case in cases], ids=[case[0] for case in cases])


def _cases(config: pytest.Config) -> Iterator[tuple[str, Checks, Any]]:
    """Yield for each test its name, its check with the checks that precede it, and the object to check."""
    options = dict(text.partition("=")[::2] for text in config.getoption("option"))
    kinds: tuple[tuple[registry.Kind, Any, type, tuple[Any, ...]], ...] = (
        ("metric", metric.CHECKS, metric.MetricSubject, (options,)),
        ("protocol", protocol.CHECKS, protocol.ProtocolSubject, ()),
    )
    for kind, checks, subject_of, arguments in kinds:
        for name in config.getoption(kind):
            try:
                value = as_class(registry.find(kind, name, code=True))
            except UserError as error:
                raise pytest.Collector.CollectError(str(error)) from error
            subject = subject_of(value, *arguments, "" if ":" in name else name)
            yield from ((f"{name}-{check.__name__}", checks[: n + 1], subject) for n, check in enumerate(checks))


def test_contract(checks: Checks, subject: Any) -> None:
    """Run the last of the checks; if it crashes, first the earlier ones, whose failures explain that, are run."""
    *before, check = checks
    try:
        try:
            return check(subject)
        except (NotCheckedError, ContractError):
            raise
        except Exception:
            for earlier in before:  # it takes for granted what they say
                earlier(subject)
            raise
    except NotCheckedError as error:
        pytest.skip(str(error))
    except ContractError as error:
        broken = error
    cause = broken.__cause__
    if cause is not None and not isinstance(cause, UserError):
        print("".join(traceback.format_exception(cause)[-12:]))  # noqa: T201 (pytest shows it with the failure)
    pytest.fail(str(broken), pytrace=False)
