"""`UserError`, the error that users see (what happened, what is allowed, what to type next), and its wording."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, get_args

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

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
        from pydantic_core import core_schema

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
    plural = re.sub("(?<=s)$", "e", re.sub("(?<![aeiou])y$", "ie", noun))
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural}s"


class UserError(Exception):
    """An error in what the user gave. The message is one clear sentence; the command line exits with code 2."""

    def __init__(self, sentence: str) -> None:
        # It quotes files, servers and names, and whoever catches it prints it; a word without end would hide the rest.
        super().__init__(Shown(_ENDLESS.sub(lambda match: f"{match[0][:60]}…", sentence)))


class ColumnsError(UserError):
    """An error about mapped columns. columns: headings by role that the same command should map instead."""

    def __init__(self, sentence: str, columns: Mapping[str, str]) -> None:
        super().__init__(sentence)
        self.columns = columns


class NoModelError(UserError):
    """An error about a model of the hub that is not here. metric: the metric that reads it; "" where none does."""

    def __init__(self, model: str, download: str, why: str, metric: str = "") -> None:
        self.about, self.metric, self.folder = (model, download, why), metric, f"./{model.rpartition('/')[2]}"
        named = f"name it in the metric ({metric}:{self.folder})" if metric else "name it in place of the model"
        super().__init__(
            f"The model {model} ({download}) is not on this machine and could not be downloaded ({why}): put its files "
            f"into a folder, and {named}."
        )


class RequestsWritten(UserError):  # noqa: N818 (what was asked for is done)
    """Raised when the requests of a run were written to a file; the run continues once they are answered."""


def install_extra(extra: str) -> str:
    """Return the quoted pip command that installs an extra, with the words "in metaeval's folder"."""
    return f"\"pip install -e '.[{extra}]'\" in metaeval's folder"


_ENDLESS = re.compile(r"[^\s'\"]{300,}")


@contextmanager
def as_value_error() -> Iterator[None]:
    """Turn a `UserError` of the block into the ValueError that pydantic expects for a wrong value."""
    try:
        yield
    except UserError as error:
        raise ValueError(str(error)) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'X'?" for the most similar known name; an empty string if none is similar."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def unknown(kind: str, name: str, known: Iterable[str], then: str = "") -> UserError:
    """Return the error for an unknown name: the name, the nearest known one, advice (`then`), and the known names."""
    names = sorted(known)
    advice = f" {then}" if then else ""
    near, listed = did_you_mean(name, names), ", ".join(names) or "none"
    return UserError(f"Unknown {kind} {name!r}.{near}{advice} Known: {listed}.")


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a file. line: number, from 1. field: its name. value: what is there. allowed: what may be there."""

    line: int
    field: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.field} is {self.value}; allowed: {self.allowed}"


def shown(value: Any, width: int = 60) -> str:
    """Return a value as JSON, cut to `width` characters to keep a message short."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def shown_with_hint(value: Any, known: Iterable[str]) -> str:
    """Return a value as JSON; for a text that is similar to a known name with "(did you mean 'X'?)" behind it."""
    hint = did_you_mean(value, known).strip() if isinstance(value, str) else ""
    return f"{shown(value)} (d{hint[1:]})" if hint else shown(value)
