"""The model that writes claims again: its options, what asking it costs, and its replies, each kept and paid once."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from metaeval.citation.aliice.rewriting import PLACES, RESPONSE_FORMAT, Form, Fragment, Rewriting, request_for, rewrite
from metaeval.errors import UserError
from metaeval.llm.answer import Answer
from metaeval.llm.budget import Estimate, Purse, estimate, prices_of
from metaeval.llm.endpoint import OPENAI, checked_url, open_endpoint
from metaeval.llm.options import ENDPOINT_OPTIONS, EndpointOptions
from metaeval.llm.prompts import Prompt, read_prompt
from metaeval.llm.replies import ReplyStore, replies_path
from metaeval.llm.request import ChatRequest

_OWN = Path(__file__).parent / "prompts" / "rewriting.txt"
_OURS = frozenset("model messages stream n temperature max_tokens max_completion_tokens seed response_format".split())


def _checked_extra(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if taken := sorted(_OURS & extra.keys()):
        raise ValueError(f"extra may not set {', '.join(taken)}: options of their own do")
    return extra


class RewriteOptions(EndpointOptions):
    """What is asked of which model; the names and their meaning are those of the LLM judges' options.

    output: the form of the reply (`Form`). prompt_file: a prompt of one's own with {sentence} and {claim}, and {reply}
    where the form of the reply is to stand. replies: the reply store. The fields of `runtime` cannot change a claim.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    runtime: ClassVar[frozenset[str]] = ENDPOINT_OPTIONS

    model: Annotated[str, Field(min_length=1)] = "gpt-3.5-turbo-0125"
    base_url: Annotated[str, AfterValidator(checked_url)] = OPENAI
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    seed: int | None = None
    max_tokens: Annotated[int, Field(ge=1)] = 512
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    output: Form = "json"
    role: Literal["user", "system"] = "user"
    extra: Annotated[dict[str, JsonValue], AfterValidator(_checked_extra)] = Field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """The body of every request without its message."""
        given = {"temperature": self.temperature, "seed": self.seed}
        settings: dict[str, Any] = {"model": self.model, self.max_tokens_name: self.max_tokens}
        settings |= {name: value for name, value in given.items() if value is not None}
        if self.output == "json_schema":
            settings["response_format"] = RESPONSE_FORMAT
        return {**settings, **self.extra}

    def identity(self) -> dict[str, Any]:
        """The options that can change a claim and are in use, and which wording of the prompt."""
        values: dict[str, Any] = self.model_dump(mode="json", exclude=set(self.runtime))
        used = {name: value for name, value in values.items() if value not in (None, {}) or name == "temperature"}
        return {**used, "prompt": f"{'file' if self.prompt_file else 'own'}@{prompt_of(self).fingerprint}"}


def prompt_of(options: RewriteOptions) -> Prompt:
    """The project's own prompt, or the file that was named; `UserError` when it cannot be read or lacks a place."""
    return read_prompt(options.prompt_file or _OWN, PLACES)


def estimated(cut: Sequence[Fragment], options: RewriteOptions) -> Estimate:
    """What having these claims written again would still cost; sends nothing, and needs no key."""
    prompt, settings = prompt_of(options), options.settings()
    requests = [request_for(each, prompt, options.output, settings, options.role) for each in cut]
    store = ReplyStore(replies_path(options.replies))
    try:
        return estimate(requests, options.base_url, store, prices_of(options.price_in, options.price_out, None))
    finally:
        store.close()


def rewritten(cut: Sequence[Fragment], options: RewriteOptions) -> tuple[list[Rewriting], str]:
    """The claims written again, and one line on what was asked, at what cost, and what went wrong.

    Every reply is kept as it comes: a run that was cut off goes on where it was, and a store that holds all replies
    is read without a key, a server, or the client's packages.

    Raises `UserError` when the endpoint cannot go on, or the budget is spent.
    """
    purse = Purse(prices_of(options.price_in, options.price_out, options.budget), options.budget)
    prompt, notes = prompt_of(options), [""]

    def ask(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        store = ReplyStore(replies_path(options.replies))
        try:
            kept = [store.find(request.key(options.base_url)) for request in requests]
            found = [reply for reply in kept if reply is not None]
            if len(found) == len(requests):
                notes[0] = f"{len(found):,} replies from the reply store"
                return found
            answers, notes[0] = _asked(requests, options, store, purse)
            return answers
        finally:
            store.close()

    found = rewrite(cut, ask, prompt, options.output, options.settings(), options.role)
    return found, notes[0]


def _asked(
    requests: Sequence[ChatRequest], options: RewriteOptions, store: ReplyStore, purse: Purse
) -> tuple[Sequence[Answer], str]:
    if missing := [name for name in ("openai", "aiohttp") if importlib.util.find_spec(name) is None]:
        raise UserError(
            f"Asking a model needs {', '.join(missing)}, not installed here: type \"pip install 'metaeval[llm]'\"."
        )
    endpoint = open_endpoint(options.base_url, options.model, options.api_key_env)
    from metaeval.llm.session import ChatSession

    conduct = options.conduct()
    session = ChatSession(endpoint, conduct, store, purse)
    try:
        return session.ask(requests), session.ledger.note()
    finally:
        session.close()
