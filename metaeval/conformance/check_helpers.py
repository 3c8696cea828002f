"""Helpers of the contract checks: errors, and functions that raise them with one sentence that says what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from metaeval.errors import UserError

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


def instance_of(value: Any, kind: type[Found], what: str) -> Found:
    """Return the registered object if it is of this kind, else raise `ContractError`. what: the kind in words."""
    if not isinstance(value, kind):
        article = "an" if what.startswith("a") else "a"
        refuse(f"{value!r} is not {article} {what}: give an instance of {kind.__module__}.{kind.__name__}.")
    return value


def raises(expected: type[Exception], call: Callable[[], object], sentence: str) -> str:
    """Return the message of the `expected` error; raise `ContractError` with `sentence` if there is none or another."""
    try:
        call()
    except expected as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 (someone else's code: anything can come out of it)
        refuse(f"{sentence} It raised {type(error).__name__}: {error}.", error)
    refuse(f"{sentence} It raised nothing.")


def runs(
    what: str, call: Callable[[], Found], allowed: type[Exception] = ContractError, then: str = "See the traceback."
) -> Found:
    """Return the result of a call; raises `ContractError` in place of an exception other than `allowed`.

    what, then: what is called, and what to do about an exception, for the message.
    """
    try:
        return call()
    except (ContractError, NotCheckedError, allowed):
        raise
    except UserError as error:
        refuse(f"{what} ended with: {error}", error)
    except Exception as error:  # noqa: BLE001 (as above)
        refuse(f"{what} raised {type(error).__name__}: {error}. {then}", error)
