"""The signature: one line that pins every choice behind a number. Same signature, same digits."""

from __future__ import annotations

from collections.abc import Mapping


def signature(fields: Mapping[str, object]) -> str:
    """Join fields as name:value, in their order, with bars; bars and line breaks inside a value become slashes."""
    return "|".join(f"{name}:{_clean(value)}" for name, value in fields.items())


def _clean(value: object) -> str:
    return " ".join(str(value).replace("|", "/").split())
