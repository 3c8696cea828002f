"""The signature: one line that pins every choice behind a number. Same signature, same digits."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version


def signature(fields: Mapping[str, object]) -> str:
    """Return fields as name:value, in their order, joined by bars; bars and line breaks in a value become slashes."""
    return "|".join(f"{name}:{' '.join(str(value).replace('|', '/').split())}" for name, value in fields.items())


def resampled_fields(level: float, resamples: int, seed: int, fewest: float = 6) -> dict[str, object]:
    """Return the signature fields of cluster intervals. fewest: effective groups that an interval needs."""
    interval = {"interval": f"cluster-t-{level}", "fewest": f"{fewest:g}"}
    return {**interval, "by": "group", "B": resamples, "seed": seed}


def versions(*packages: str) -> dict[str, str]:
    """Return the installed version of each package, by package, as signature fields."""
    return {package: version(package) for package in packages}
