"""Which chat model answers, as it is typed: its name and address, or a file of replies; and its options from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from metaeval.citation.chat.opening import replayed_model
from metaeval.citation.chat.options import ChatOptions
from metaeval.config import validated
from metaeval.errors import UserError

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
