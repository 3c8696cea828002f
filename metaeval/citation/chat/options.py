"""What is asked of which chat model, whatever a pipeline asks it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from metaeval.llm.endpoint import OPENAI, checked_url
from metaeval.llm.exchange import ChatRequest
from metaeval.llm.options import ENDPOINT_OPTIONS, EndpointOptions

Form = Literal["json", "json_schema"]
"""A reply in JSON that the prompt alone asks for, or that the server holds the model to."""

_OURS = frozenset(
    "model messages stream n temperature top_p max_tokens max_completion_tokens seed response_format".split()
)


def checked_extra(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Further fields of a request's body. Raises ValueError for one that another option sets."""
    if taken := sorted(_OURS & extra.keys()):
        raise ValueError(f"extra may not set {', '.join(taken)}: options of their own do")
    return extra


class ChatOptions(EndpointOptions):
    """A model at an address, and the settings of a request; those of `EndpointOptions` cannot change a reply.

    temperature, top_p, seed: None sends none. max_tokens: limit of a reply, reasoning included; a reply that reaches
    it is unparsed. max_tokens_name: `max_completion_tokens` for models that refuse max_tokens. output: the form of the
    reply. role: of the one message that is sent. extra: further fields of the request's body.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1)] = "gpt-3.5-turbo-0125"
    base_url: Annotated[str, AfterValidator(checked_url)] = OPENAI
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = None
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    output: Form = "json"
    role: Literal["user", "system"] = "user"
    extra: Annotated[dict[str, JsonValue], AfterValidator(checked_extra)] = Field(default_factory=dict)

    def request(self, content: str, form: dict[str, Any] | None = None) -> ChatRequest:
        """The request with this message; form: a `response_format`, sent where the output is held to a schema."""
        given = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}
        body: dict[str, Any] = {"model": self.model, self.max_tokens_name: self.max_tokens}
        body |= {name: value for name, value in given.items() if value is not None}
        if form is not None and self.output == "json_schema":
            body["response_format"] = form
        return ChatRequest({**body, **self.extra, "messages": [{"role": self.role, "content": content}]})

    def identity(self) -> dict[str, Any]:
        """What can change a reply and is in use, for a signature.

        The address is not in it: a file of replies does not say where they came from, and a replay gives the same
        signature as the run. Which model answered the replies tell.
        """
        values: dict[str, Any] = self.model_dump(mode="json", exclude={"base_url", *ENDPOINT_OPTIONS})
        return {name: value for name, value in values.items() if value not in (None, {}) or name == "temperature"}
