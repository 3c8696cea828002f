"""Settings of a pipeline: what --set says, by whose option it is, and which chat model answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from metaeval.citation.chat import ChatOptions, replayed_model
from metaeval.config import RunConfig, option_docs, validated
from metaeval.errors import UserError, did_you_mean

Kind = TypeVar("Kind", bound=ChatOptions)


@dataclass(frozen=True)
class ChatChoice:
    """A model at an address, or the replies in a file. record: where the replies are kept for a replay."""

    model: str | None = None
    base_url: str | None = None
    record: Path | None = None
    replay: Path | None = None

    @property
    def given(self) -> bool:
        """Whether anybody is there to answer."""
        return self.model is not None or self.replay is not None


def model_of(choice: ChatChoice, options: Mapping[str, Any], purpose: str = "judges") -> str:
    """The model that was named, else the one that the file of replies was recorded with; `UserError` without either.

    purpose: what the model does, for the sentence.
    """
    if named := choice.model or options.get("model"):
        return str(named)
    if choice.replay is None:
        raise UserError(
            f"A chat model {purpose}, and none is named: type --model NAME (with export OPENAI_API_KEY=..., or "
            "--base-url http://HOST:PORT/v1 for a server of your own), or --replay FILE for replies that --record "
            "FILE kept."
        )
    return replayed_model(choice.replay)


def chat_options(
    kind: type[Kind],
    choice: ChatChoice,
    options: Mapping[str, Any],
    budget: float | None = None,
    purpose: str = "judges",
    **defaults: Any,
) -> Kind:
    """The options of the chat model: defaults, then options that were set by name, then what the choice says.

    Raises `UserError` for a wrong option, and where no model is named.
    """
    values = {**defaults, **({} if budget is None else {"budget": budget}), **options}
    values["model"] = model_of(choice, options, purpose)
    if choice.base_url is not None:
        values["base_url"] = choice.base_url
    return validated(kind, values, "the options of the chat model")


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
        words = option_docs(owner).get(name, "")
        raise UserError(f"--set {override}: {name} should be {allowed}. {words}".rstrip()) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"--set {override}: the value is not YAML; text is safe in quotes, 'like this'.") from error
