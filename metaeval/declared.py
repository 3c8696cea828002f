"""What annotations declare: the types in one, the values they name, the words of each field, what a call may give."""

from __future__ import annotations

import ast
import inspect
import reprlib
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from itertools import pairwise
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from metaeval.errors import UserError

Params = ParamSpec("Params")
Returned = TypeVar("Returned")


def kinds_of(annotation: Any) -> Iterator[Any]:
    """A type and every type in it: of tuple[str, ...] | None the union, the tuple, str, ... and None."""
    yield annotation
    for part in () if get_origin(annotation) is Literal else get_args(annotation):
        yield from kinds_of(part)


def named_values(annotation: Any) -> list[str]:
    """The values that the Literals of a type name, as text."""
    return [str(value) for kind in kinds_of(annotation) if get_origin(kind) is Literal for value in get_args(kind)]


@cache
def option_docs(owner: type) -> Mapping[str, str]:
    """The words of each option of a class, its bases' too: the text under its field, or its pydantic description."""
    found = {name: text for base in reversed(owner.__mro__) for name, text in _texts_of(base)}
    fields = owner.model_fields if issubclass(owner, BaseModel) else {}
    return found | {name: one.description for name, one in fields.items() if one.description}


def _texts_of(owner: type) -> Iterator[tuple[str, str]]:
    if owner.__module__.partition(".")[0] in ("builtins", "abc", "pydantic"):
        return
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):  # a class that was typed into a session
        return
    (tree,) = ast.parse(textwrap.dedent(source)).body
    for field, below in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ()):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield ast.unparse(field.target), " ".join(str(below.value.value).split())


def typed(function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """The function, with `UserError` for an argument that is not of the type that its parameter declares.

    Types of the standard library and classes of its module's names are checked; `Any` and all others take anything.
    """
    parameters = inspect.signature(function)

    @wraps(function)
    def checked(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        kinds = _kinds(function)
        for name, given in parameters.bind(*args, **kwargs).arguments.items():
            several = parameters.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            for value in given if several and name in kinds else (given,):
                if name in kinds and not _fits(value, kinds[name]):
                    raise UserError(f"{name} is {reprlib.repr(value)}; allowed: {_in_words(kinds[name])}.")
        return function(*args, **kwargs)

    return checked


@cache
def _kinds(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The types of the parameters, without those of keywords that have no name of their own."""
    found: dict[str, Any] = {}
    for name, one in inspect.signature(function).parameters.items():
        if one.kind is not inspect.Parameter.VAR_KEYWORD:
            with suppress(NameError):  # a type that is imported for type checkers alone
                found |= get_type_hints(SimpleNamespace(__annotations__={name: one.annotation}), function.__globals__)
    return found


_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    Path: "a path",
    NoneType: "None",
}


def _fits(value: object, kind: Any) -> bool:
    """Whether a value is of a type; of a list also what is in it, where that is of one plain type."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (UnionType, Union):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is Sequence:
        items = value if isinstance(value, list | tuple) and parts[0] in _WORDS else ()
        return (
            isinstance(value, Iterable)
            and not isinstance(value, str | bytes | Mapping)
            and all(_fits(item, parts[0]) for item in items)
        )
    if origin is Mapping:
        return isinstance(value, Mapping)
    if kind is bool:  # numpy has its own
        return isinstance(value, int) or type(value).__name__ in ("bool", "bool_")
    wider = {int: Integral, float: Real, Path: PathLike}.get(kind, kind)
    return not isinstance(wider, type) or isinstance(value, wider)


def _in_words(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        return " or ".join(dict.fromkeys(map(_in_words, parts)))
    if origin is Literal:
        return ", ".join(map(repr, parts))
    if origin is Sequence:
        return f"a list, each {_WORDS[parts[0]]}" if parts[0] in _WORDS else "a list"
    if origin is Mapping:
        return "a mapping"
    return _WORDS.get(kind) or f"a {getattr(kind, '__name__', 'value of another kind')}"
