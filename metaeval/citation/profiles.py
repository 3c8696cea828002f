"""Profiles, presets of a pipeline's options: each option's value under them stands where the option is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from metaeval.errors import unknown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Options = TypeVar("Options", bound="DataclassInstance")


def by_profile(default: T, **others: T) -> T:
    """An option of a dataclass with its default, and with its value under the profiles that set it otherwise."""
    return field(default=default, metadata=others)


def profile_of(owner: type[Options], profile: str, **given: Any) -> Options:
    """The options as a profile sets them."""
    return owner(**{one.name: one.metadata[profile] for one in fields(owner) if profile in one.metadata}, **given)


def differing(options: DataclassInstance, base: DataclassInstance) -> list[str]:
    """NAME=VALUE of each option that has another value than in the base."""
    own = {one.name: getattr(options, one.name) for one in fields(options)}
    return [f"{name}={value}" for name, value in own.items() if value != getattr(base, name)]


def changed_profile(
    profiles: Mapping[str, Options], profile: str, changes: Mapping[str, Any], pipeline: str
) -> Options:
    """A profile with some options changed. Raises `UserError` on an unknown profile, or option of the pipeline."""
    if profile not in profiles:
        raise unknown("profile", profile, profiles)
    known = [one.name for one in fields(profiles[profile]) if one.name != "name"]
    for name in changes:
        if name not in known:
            raise unknown(f"option of {pipeline}", name, known)
    return replace(profiles[profile], **changes)
