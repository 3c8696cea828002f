"""`Shown`, the type of text that people see (in a terminal, a table, a page, an error), and counts with their nouns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, get_args

from pydantic_core import CoreSchema, core_schema

# Control characters with tab and line breaks, line and paragraph separators, direction overrides, lone surrogates.
_UNSEEN = "\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"

Given = TypeVar("Given")
Kept = TypeVar("Kept")


class Shown(str):
    """A text of one line of visible characters, made from any text; unprintable characters become spaces.

    Escape sequences could control the reader's terminal, direction overrides could show another text than the actual
    one, and line breaks could leave a table's cell or a comment. Functions that display text require this type.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Shown:
        """Return the text as `Shown`, made by `visible`; a `Shown` is returned unchanged."""
        return text if isinstance(text, Shown) else super().__new__(cls, visible(text))


class ShownField(Generic[Given, Kept]):
    """A field of a frozen dataclass that accepts any text, or tuples of texts, and stores them as `Shown`."""

    def __init__(self, default: Given) -> None:
        self._default = _all_shown(default)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        """Return the schema that validates the type that is accepted, and then makes its texts `Shown`."""
        return core_schema.no_info_after_validator_function(_all_shown, handler(get_args(source)[0]))

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, obj: object, owner: type | None = None) -> Kept:
        return cast(Kept, self._default if obj is None else obj.__dict__[self._name])

    def __set__(self, obj: object, value: Given) -> None:
        obj.__dict__[self._name] = _all_shown(value)


Words = ShownField[str, Shown]
Texts = ShownField[tuple[str, ...], tuple[Shown, ...]]
Bounds = ShownField[tuple[str, str] | None, tuple[Shown, Shown] | None]
Items = ShownField[tuple[tuple[str, str], ...], tuple[tuple[Shown, Shown], ...]]


def visible(text: str, keep: str = "") -> str:
    """Return the text with a space for each control or direction character and line separator that is not in `keep`."""
    return re.sub(f"[{_UNSEEN}]", lambda match: match[0] if match[0] in keep else " ", text)


def _all_shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_all_shown, value))
    return Shown(value) if isinstance(value, str) else value


def count(number: int, noun: str) -> str:
    """Return a count with thousands separators and its noun, plural except after 1: 1,200 groups, 2 replies."""
    plural = re.sub("(?<![aeiou])y$", "ie", noun)
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural}s"
