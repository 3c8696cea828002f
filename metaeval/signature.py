"""The signature: one line that pins every choice behind a number. Same signature, same digits."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version


def signature(fields: Mapping[str, object]) -> str:
    """Join fields as name:value, in their order, with bars; bars and line breaks inside a value become slashes."""
    return "|".join(f"{name}:{_clean(value)}" for name, value in fields.items())


def resampled_fields(level: float, resamples: int, seed: int, method: str = "percentile") -> dict[str, object]:
    """The fields that pin cluster intervals."""
    return {"interval": f"cluster-{method}-{level}", "by": "group", "B": resamples, "seed": seed}


def versions(*packages: str) -> dict[str, str]:
    """The fields that pin installed packages."""
    return {package: version(package) for package in packages}


def parse(text: str) -> dict[str, str]:
    """The fields of a signature, in its order: `parse(signature(fields))` has the names and the cleaned values.

    A value may hold colons, a name may not. Raises ValueError, in one sentence, for text that is no signature.
    """
    fields: dict[str, str] = {}
    for part in text.strip().split("|"):
        name, colon, value = part.partition(":")
        name = name.strip()
        if not name or not colon:
            raise ValueError(f"a signature is name:value fields with bars between them, and {part!r} is no such field")
        if name in fields:
            raise ValueError(f"a signature has each field once, and {name!r} stands in it twice")
        fields[name] = _clean(value)
    return fields


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """The fields whose values differ, with both values; None for a field that only one of the two has."""
    names = dict.fromkeys([*one, *other])
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}


def _clean(value: object) -> str:
    return " ".join(str(value).replace("|", "/").split())
