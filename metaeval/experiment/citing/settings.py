"""What --set says, sorted by whose option it is: a pipeline's, the chat model's, or the run's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, get_type_hints

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from metaeval.config import RunConfig
from metaeval.errors import UserError, did_you_mean


def sort_settings(overrides: Sequence[str], owners: Mapping[str, type]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Overrides (name=value) as checked values by owner and name; and those of the run, as they are.

    owners: dataclasses, or pydantic models, whose fields the names are, under names of one's choice; the first that
    has a field has it.

    Raises `UserError` for a name that nobody has, and for a value of the wrong kind.
    """
    sorted_: dict[str, dict[str, Any]] = {owner: {} for owner in owners}
    of_run: list[str] = []
    for override in overrides:
        name = override.partition("=")[0].strip()
        owner = next((key for key, kind in owners.items() if name in fields_of(kind)), None)
        if owner is not None:
            sorted_[owner][name] = _value(owners[owner], override)
        elif name.partition(".")[0] in RunConfig.model_fields or not name:
            of_run.append(override)
        else:
            known = [*(field for kind in owners.values() for field in fields_of(kind)), *RunConfig.model_fields]
            raise UserError(f"Unknown setting {name!r} in --set.{did_you_mean(name, known)}")
    return sorted_, of_run


def fields_of(owner: type) -> tuple[str, ...]:
    """The names of an owner's options."""
    if issubclass(owner, BaseModel):
        return tuple(owner.model_fields)
    if not is_dataclass(owner):
        raise TypeError(f"{owner.__name__} has no fields")
    return tuple(owner.__dataclass_fields__)


def _value(owner: type, override: str) -> Any:
    """What an option is set to, read as YAML and checked against its type."""
    name, equals, text = (part.strip() for part in override.partition("="))
    if not equals:
        raise UserError(f"--set {override}: write name=value.")
    try:
        kind = get_type_hints(owner, include_extras=True)[name]
        return TypeAdapter(kind).validate_python(yaml.safe_load(text))
    except ValidationError as error:
        allowed = error.errors()[0]["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        raise UserError(f"--set {override}: {name} should be {allowed}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"--set {override}: the value is not YAML; text is safe in quotes, 'like this'.") from error
