"""What a class declares of its options: the types in an annotation, the values they name, the words of each field."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel


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
