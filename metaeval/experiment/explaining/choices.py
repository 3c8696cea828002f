"""Several choices in one field of a signature, `name=value,name=value`: read back, and as --set takes them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

from metaeval.citation.marks import MarkStyles

_CHOICE = re.compile(r"(?P<name>\w+)(?P<sign>[=@])(?P<value>.*)", re.DOTALL)
_NEXT = re.compile(r",\s*(?=\w+[=@])")
_OPENING, _CLOSING = "([{", ")]}"


def read_choices(text: str) -> dict[str, str]:
    """The choices of a field by name, in order; empty for a text that is no list of them.

    Values may hold commas: a choice ends at a comma outside brackets with a further name behind it.
    """
    found: dict[str, str] = {}
    for part in _parts(text):
        match = _CHOICE.fullmatch(part)
        if match is None:
            return {}
        found[match["name"]] = match["value"]
    return found


def _parts(text: str) -> Iterator[str]:
    start = 0
    for match in _NEXT.finditer(text):
        before = text[start : match.start()]
        if sum(map(before.count, _OPENING)) == sum(map(before.count, _CLOSING)):
            yield before
            start = match.end()
    yield text[start:]


def typed(value: str) -> str:
    """A value of a signature as --set reads it: Python's None, True and {'a': 1} as YAML, words as they are."""
    try:
        known = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    return value if isinstance(known, str | int | float) and not isinstance(known, bool) else json.dumps(known)


def defaults_of(owner: type | object) -> dict[str, str]:
    """What every option of an options class, or of one of its values, says in a signature."""
    one: Any = owner() if isinstance(owner, type) else owner
    values = one.model_dump(mode="json") if isinstance(one, BaseModel) else asdict(one)
    return {name: str(value) for name, value in values.items()}


def changed(choices: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """The choices that are not the default, as they are typed. Marks that stand by name become one choice, `styles`."""
    styles = {name: value for name, value in choices.items() if name in MarkStyles.__dataclass_fields__}
    found = {
        name: typed(value)
        for name, value in choices.items()
        if name in defaults and name not in styles and value != defaults[name]
    }
    if styles and "styles" in defaults:
        found["styles"] = json.dumps({name: ast.literal_eval(value) for name, value in styles.items()})
    return found
