"""Profiles: presets of a pipeline's options, declared with the options."""

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
    """Declare a dataclass field with its default, and its value in each profile (PROFILE=VALUE) that changes it."""
    return field(default=default, metadata=others)


def profile_of(owner: type[Options], profile: str, **overrides: Any) -> Options:
    """Return options of the class `owner`, set by a profile, and by `overrides` for fields that it leaves alone."""
    preset = {option.name: option.metadata[profile] for option in fields(owner) if profile in option.metadata}
    return owner(**preset, **overrides)


def changed_profile(
    profiles: Mapping[str, Options], profile: str, changes: Mapping[str, Any], pipeline: str
) -> Options:
    """Return a profile with some options changed; `UserError` for an unknown profile, or option of the pipeline."""
    if profile not in profiles:
        raise unknown("profile", profile, profiles)
    known = [option.name for option in fields(profiles[profile]) if option.name != "name"]
    for name in changes:
        if name not in known:
            raise unknown(f"option of {pipeline}", name, known)
    return replace(profiles[profile], **changes)
