"""The judges' options: what is asked of which model, and how the endpoint is treated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, JsonValue

from metaeval.llm.endpoint import OPENAI, checked_url
from metaeval.llm.options import ENDPOINT_OPTIONS, EndpointOptions
from metaeval.scoring.contract import MetricOptions

_OURS = frozenset({"model", "messages", "stream", "n", "temperature", "max_tokens", "max_completion_tokens", "seed"})


def _checked_extra(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if taken := sorted(_OURS & extra.keys()):
        raise ValueError(f"extra may not set {', '.join(taken)}: the judge does, from options of its own")
    return extra


class LLMOptions(EndpointOptions, MetricOptions):
    """What can change a score, and so is part of the metric's identity:

    model, base_url: one name can stand for different models on different servers. temperature: None sends none, for
    models that take none. samples: replies per pair, each asked for on its own; the score is the mean of those that
    hold one. seed: sent as seed + sample number. max_tokens: limit of a reply, reasoning included; a reply that
    reaches it is unparsed. max_tokens_name: `max_completion_tokens` for models that refuse max_tokens. mode: `reply`
    reads the number in the text; `logprob` replaces it by its expectation (see `metaeval.llm.score_parsing`). output:
    `text`, or `json_schema` for a server with structured output; one that refuses it is an error, never a silent
    change. role: of the one message that is sent. extra: further fields of the request's body, such as top_p.

    What cannot: api_key_env names the environment variable that holds the key; prompt_file, a prompt of one's own
    with {statement} and {citation} (its content is in the identity); replies, the reply store. requests_per_minute,
    concurrency, timeout (seconds), retries, backoff (seconds, doubled each time); price_in and price_out (USD per
    million tokens), budget (USD for one run).
    """

    runtime: ClassVar[frozenset[str]] = ENDPOINT_OPTIONS | {"prompt_file"}

    prompt_file: Path | None = None
    model: Annotated[str, Field(min_length=1)] = "gpt-3.5-turbo-0125"
    base_url: Annotated[str, AfterValidator(checked_url)] = OPENAI
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    samples: Annotated[int, Field(ge=1, le=100)] = 1
    seed: int | None = None
    max_tokens: Annotated[int, Field(ge=1)] = 512
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    mode: Literal["reply", "logprob"] = "reply"
    output: Literal["text", "json_schema"] = "text"
    role: Literal["user", "system"] = "user"
    extra: Annotated[dict[str, JsonValue], AfterValidator(_checked_extra)] = Field(default_factory=dict)

    def score_options(self) -> dict[str, Any]:
        """The options that can change a score, without those that are not in use."""
        values: dict[str, Any] = self.model_dump(mode="json", exclude=set(self.runtime))
        return {name: value for name, value in values.items() if value not in (None, {}) or name == "temperature"}


class ContinuousOptions(LLMOptions):
    """As `LLMOptions`, without the mode `logprob`: 0.85 is several tokens, and no one token's chances are its."""

    mode: Literal["reply"] = "reply"
