"""How a check fails: with one sentence that says what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from metaeval.errors import UserError

Found = TypeVar("Found")


class ContractError(AssertionError):
    """A contract that does not hold."""


class NotCheckedError(Exception):
    """A check that cannot be made here, and why."""


def need(holds: object, sentence: str) -> None:
    """Raise `ContractError` with the sentence unless `holds`."""
    if not holds:
        raise ContractError(sentence)


def need_name(whose: str, name: str, registered: str) -> None:
    """Raise `ContractError` unless a thing has the name that it is registered under ("": none)."""
    if registered and name != registered:
        refuse(f"{whose} name is {name!r} and the entry point's {registered!r}: give both the same name.")


def checks_of(module: Mapping[str, object]) -> tuple[Callable[[Any], None], ...]:
    """The checks of a module in their order: its functions that take a subject and nothing else."""
    functions = filter(inspect.isfunction, module.values())
    return tuple(function for function in functions if [*inspect.signature(function).parameters] == ["subject"])


def refuse(sentence: str, cause: BaseException | None = None) -> NoReturn:
    """Raise `ContractError` with the sentence."""
    raise ContractError(sentence) from cause


def instance_of(value: Any, kind: type[Found], what: str) -> Found:
    """What a name stands for, where it is of this kind; `ContractError` else."""
    if not isinstance(value, kind):
        article = "an" if what.startswith("a") else "a"
        refuse(f"{value!r} is not {article} {what}: give an instance of {kind.__module__}.{kind.__name__}.")
    return value


def raises(expected: type[Exception], call: Callable[[], object], sentence: str) -> str:
    """What the expected error says; `ContractError` with the sentence where the call raises none or another."""
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
    """What a call returns; `ContractError`, with the error and what to do, where it raises one not `allowed`."""
    try:
        return call()
    except (ContractError, NotCheckedError, allowed):
        raise
    except UserError as error:
        refuse(f"{what} ended with: {error}", error)
    except Exception as error:  # noqa: BLE001 (as above)
        refuse(f"{what} raised {type(error).__name__}: {error}. {then}", error)
