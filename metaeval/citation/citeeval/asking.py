"""The questions to the judge: which prompts, and the chat request of each module for each response."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.citeeval.splitting import Statement
from metaeval.citation.citeeval.structured import Module, reply_schema
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Passage
from metaeval.errors import UserError
from metaeval.llm.answer import Answer
from metaeval.llm.prompts import Prompt, read_prompt
from metaeval.llm.request import ChatRequest

PLACES = ("query", "passages", "statements")
"""What a prompt must have a place for."""

MODULES: tuple[Module, ...] = ("attribution", "editing")

Ask = Callable[[Sequence[ChatRequest]], Sequence[Answer]]
"""Requests to their answers, in order: `ChatSession.ask`, or a replay."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What is asked of which model; each field can change an answer.

    temperature, top_p, seed: None sends none. output: "json_schema" for a server with structured output, "json" where
    the prompt alone asks for JSON, "tags" for the form of the official prompts. attribution_file, editing_file:
    prompts of one's own with {query}, {passages} and {statements}. attribution_tag: what the context of a statement
    stands in where the output is in tags. extra: further fields of the request's body.
    contexts: the context of every response's statements is asked for "always", or "where needed": not where each
    statement has a citation, since no value then depends on it.
    """

    model: str
    temperature: float | None = 0.0
    top_p: float | None = 1.0
    seed: int | None = None
    max_tokens: int = 4096
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    output: Literal["json_schema", "json", "tags"] = "json_schema"
    attribution_file: Path | None = None
    editing_file: Path | None = None
    attribution_tag: str = "attribution"
    contexts: Literal["always", "where needed"] = "always"
    extra: Mapping[str, Any] = field(default_factory=dict)


def load_prompts(asking: Asking) -> dict[Module, Prompt]:
    """The prompt of each module: the project's own, or the file that was named.

    Raises `UserError` when a file cannot be read or lacks a place, and when tags are awaited of the project's own
    prompts, which ask for JSON.
    """
    prompts: dict[Module, Prompt] = {}
    for module, file in zip(MODULES, (asking.attribution_file, asking.editing_file), strict=True):
        if file is None and asking.output == "tags":
            raise UserError(
                f"The prompt of {module} asks for JSON, not for tags: name a prompt file that asks for tags in "
                f"{module}_file, or set output=json."
            )
        prompts[module] = read_prompt(file or Path(__file__).parent / "prompts" / f"{module}.txt", PLACES)
    return prompts


def request_for(
    module: Module, response: Response, statements: Sequence[Statement], prompt: Prompt, asking: Asking
) -> ChatRequest:
    """The one request of a module for a response; the statements' citations are shown for editing alone."""
    content = prompt.fill(
        query=_escaped(response.question),
        passages="\n".join(_passage(number, one) for number, one in enumerate(response.passages, start=1)),
        statements="\n".join(_statement(one, module == "editing") for one in statements),
    )
    body: dict[str, Any] = {
        "model": asking.model,
        asking.max_tokens_name: asking.max_tokens,
        "messages": [{"role": "user", "content": content}],
    }
    given = {"temperature": asking.temperature, "top_p": asking.top_p, "seed": asking.seed}
    body |= {name: value for name, value in given.items() if value is not None}
    if asking.output == "json_schema":
        body["response_format"] = reply_schema(module)
    return ChatRequest({**body, **asking.extra})


def _passage(number: int, passage: Passage) -> str:
    title = f"<title>{_escaped(passage.title)}</title>" if passage.title else ""
    return f'<passage id="{number}">{title}<text>{_escaped(passage.text)}</text></passage>'


def _statement(statement: Statement, with_citations: bool) -> str:
    cited = f' cites="{" ".join(map(str, statement.citations))}"' if with_citations else ""
    return f'<statement id="{statement.number}"{cited}>{_escaped(statement.text)}</statement>'


def _escaped(text: str) -> str:
    # A passage that closes its own tag, or opens an instruction in another, must stay a passage.
    return escape(text, quote=False)
