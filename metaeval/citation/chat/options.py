"""What is asked of which chat model, whatever a pipeline asks it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from metaeval.llm.endpoint import ENDPOINT_OPTIONS, OPENAI, EndpointOptions, checked_url
from metaeval.llm.exchange import ChatRequest

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


def chat_request(asked: Any, content: str, form: dict[str, Any] | None, max_tokens: int) -> ChatRequest:
    """The request with this message. asked: options with the names of `ChatOptions`; form: a `response_format`."""
    given = {"temperature": asked.temperature, "top_p": asked.top_p, "seed": asked.seed}
    body: dict[str, Any] = {"model": asked.model, asked.max_tokens_name: max_tokens}
    body |= {name: value for name, value in given.items() if value is not None}
    if form is not None and asked.output == "json_schema":
        body["response_format"] = form
    return ChatRequest({**body, **asked.extra, "messages": [{"role": asked.role, "content": content}]})


class ChatOptions(EndpointOptions):
    """A model at an address, and the settings of a request; those of `EndpointOptions` cannot change a reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1)] = "gpt-3.5-turbo-0125"
    """Chat model that is asked."""
    base_url: Annotated[str, AfterValidator(checked_url)] = OPENAI
    """Address of the server, http://HOST:PORT/v1."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    """Sampling temperature (none: the server's own)."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Nucleus sampling (none: the server's own)."""
    seed: int | None = None
    """Seed that is sent with each request (none: no seed)."""
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Most tokens in a reply, reasoning included; a reply that reaches it is unparsed."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which the limit is sent; some models refuse max_tokens."""
    output: Form = "json"
    """Form of the reply: json (the prompt alone asks for JSON), or json_schema (for a server with structured
    output)."""
    role: Literal["user", "system"] = "user"
    """Role of the one message that is sent."""
    extra: Annotated[dict[str, JsonValue], AfterValidator(checked_extra)] = Field(default_factory=dict)
    """Further fields of the request's body."""

    def request(self, content: str, form: dict[str, Any] | None = None) -> ChatRequest:
        """The request with this message; form: a `response_format`, sent where the output is held to a schema."""
        return chat_request(self, content, form, self.max_tokens)

    def identity(self) -> dict[str, Any]:
        """What can change a reply and is in use, for a signature.

        The address is not in it: a file of replies does not say where they came from, and a replay gives the same
        signature as the run. Which model answered the replies tell.
        """
        values: dict[str, Any] = self.model_dump(mode="json", exclude={"base_url", *ENDPOINT_OPTIONS})
        return {name: value for name, value in values.items() if value not in (None, {}) or name == "temperature"}
