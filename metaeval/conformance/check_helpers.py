"""Helpers of the contract checks: errors, and functions that raise them with one sentence that says what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from metaeval.core.errors import UserError

Found = TypeVar("Found")


class ContractError(AssertionError):
    """Raised when an object breaks a rule of its contract."""


class NotCheckedError(Exception):
    """Raised when a check cannot be made here; the message says why."""


def need(holds: object, sentence: str) -> None:
    """Raise `ContractError` with the sentence unless `holds`."""
    if not holds:
        raise ContractError(sentence)


def need_name(whose: str, name: str, registered: str) -> None:
    """Raise `ContractError` unless an object has the name under which it is registered ("": none)."""
    if registered and name != registered:
        refuse(f"{whose} name is {name!r} and the entry point's {registered!r}: give both the same name.")


def checks_of(module: Mapping[str, object]) -> tuple[Callable[[Any], None], ...]:
    """Return the checks in a module's globals, in order: the functions whose only parameter is called `subject`."""
    functions = filter(inspect.isfunction, module.values())
    return tuple(function for function in functions if [*inspect.signature(function).parameters] == ["subject"])


def refuse(sentence: str, cause: BaseException | None = None) -> NoReturn:
    """Raise `ContractError` with the sentence."""
    raise ContractError(sentence) from cause


def runs(what: str, call: Callable[[], Found]) -> Found:
    """Return the result of a call; raises `ContractError` in place of an exception. what: what is called, in words."""
    try:
        return call()
    except (ContractError, NotCheckedError):
        raise
    except UserError as error:
        refuse(f"{what} ended with: {error}", error)
    except Exception as error:  # noqa: BLE001 (someone else's code: anything can come out of it)
        refuse(f"{what} raised {type(error).__name__}: {error}. See the traceback.", error)
