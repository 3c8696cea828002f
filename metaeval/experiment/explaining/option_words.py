"""What each option decides, in the words that stand under its field, and what else it could have been."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

from metaeval.citation.aliice.rewriter import RewriteOptions
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.options import BaselineOptions, CiteEvalOptions
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.marks import MarkStyles
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.experiment.citing.meta.ratings import MetaOptions

OWNERS: tuple[type, ...] = (
    *(ScifiOptions, CiteEvalOptions, BaselineOptions, Asking, GenerationOptions, MetaOptions, MarkStyles),
    *(ChatOptions, RewriteOptions),
)
"""Every class whose options signatures name."""


@cache
def option_docs(owner: type) -> Mapping[str, str]:
    """The words of each option of a class, its bases' too: the text under its field."""
    return {name: text for base in reversed(owner.__mro__) for name, text in _texts(base)}


def _texts(owner: type) -> Iterator[tuple[str, str]]:
    if owner.__module__.partition(".")[0] in ("builtins", "abc", "pydantic"):
        return
    (tree,) = ast.parse(inspect.getsource(owner)).body
    for field, below in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ()):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield ast.unparse(field.target), " ".join(str(below.value.value).split())


def option_words(name: str, value: str, chat: bool = False) -> str:
    """What the option decides, and what else it could have been than this value; empty for one that is not known.

    chat: of a command whose chat model is asked with `ChatOptions`.
    """
    for owner in (ChatOptions, *OWNERS) if chat else OWNERS:
        if text := option_docs(owner).get(name):
            return _sentence(text, _others(get_type_hints(owner)[name], value))
    return ""


def _sentence(text: str, else_: str) -> str:
    begin = text[0].lower() if text[1].islower() else text[0]  # "ALCE" stays as it is
    return f"{begin}{text[1:].removesuffix('.')}" + (f" (else {else_})" if else_ else "")


def _others(kind: Any, value: str) -> str:
    """What else an option could have been, in words; empty where any text or number could stand."""
    if kind is bool:
        return str(value != "True")
    kinds = get_args(kind) if get_origin(kind) is not Literal else (kind,)
    named = [str(one) for kind in kinds if get_origin(kind) is Literal for one in get_args(kind)]
    return " or ".join(one for one in named if one != value)
