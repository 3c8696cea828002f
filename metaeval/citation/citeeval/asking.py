"""The questions to the judge: which prompts, and the chat request of each module for each response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from metaeval.citation.chat.options import chat_request, checked_extra
from metaeval.citation.citeeval.replies import Module, reply_schema
from metaeval.citation.citeeval.splitting import Statement
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Passage
from metaeval.errors import UserError
from metaeval.llm.exchange import ChatRequest, Prompt, read_prompt

PLACES = ("query", "passages", "statements")
"""What a prompt must have a place for."""

MODULES: tuple[Module, ...] = ("attribution", "editing")

PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What is asked of which model; each field can change an answer."""

    model: str
    """Chat model that is asked."""
    temperature: float | None = 0.0
    """Sampling temperature (none: the server's own)."""
    top_p: float | None = 1.0
    """Nucleus sampling (none: the server's own)."""
    seed: int | None = None
    """Seed that is sent with each request (none: no seed)."""
    max_tokens: int = 4096
    """Most tokens in a reply, reasoning included; a reply that reaches it is unparsed."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which the limit is sent; some models refuse max_tokens."""
    output: Literal["json_schema", "json", "tags"] = "json_schema"
    """Form of the reply: json_schema (for a server with structured output), json (the prompt alone asks for JSON),
    or tags (as the official prompts)."""
    attribution_file: Path | None = None
    """A prompt of your own that asks what each statement rests on, with {query}, {passages} and {statements}."""
    editing_file: Path | None = None
    """A prompt of your own that asks for edits and ratings, with {query}, {passages} and {statements}."""
    attribution_tag: str = "attribution"
    """Tag around a statement's context, where replies are in tags."""
    contexts: Literal["always", "where needed", "never"] = "always"
    """When it is asked what a statement rests on: always, where needed (not where each statement has a citation),
    or never (edits alone)."""
    role: Literal["user", "system"] = "user"
    """Role of the one message that is sent."""
    extra: Annotated[dict[str, Any], AfterValidator(checked_extra)] = field(default_factory=dict)
    """Further fields of the request's body."""
    statements_per_request: Annotated[int, Field(ge=1)] | None = None
    """Most statements that are judged at once; a longer response is judged in parts (none: never)."""

    def request(self, content: str, form: dict[str, Any], max_tokens: int | None = None) -> ChatRequest:
        """The request with this message; form: a `response_format`, sent where the output is held to a schema.

        max_tokens: in place of the option's.
        """
        return chat_request(self, content, form, max_tokens or self.max_tokens)


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
        prompts[module] = read_prompt(file or PROMPTS / f"{module}.txt", PLACES)
    return prompts


def parts(statements: Sequence[Statement], asking: Asking) -> list[Sequence[Statement]]:
    """The statements as they are judged together: all of them, or runs of at most `statements_per_request`."""
    size = asking.statements_per_request or max(len(statements), 1)
    return [statements[start : start + size] for start in range(0, len(statements), size)]


def part_prompt() -> Prompt:
    """What is added below the prompt where a response is judged in parts."""
    return read_prompt(PROMPTS / "part.txt", ("first", "last"))


def request_for(
    module: Module,
    response: Response,
    statements: Sequence[Statement],
    prompt: Prompt,
    asking: Asking,
    part: Sequence[Statement] | None = None,
) -> ChatRequest:
    """The request of a module for a response; the statements' citations are shown for editing alone.

    part: those of the statements that are to be judged; None, or all of them: every one.
    """
    own = {one.number for one in part} if part is not None and len(part) < len(statements) else set()
    content = prompt.fill(
        query=shown(response.question),
        passages="\n".join(shown_passage(one, number) for number, one in enumerate(response.passages, start=1)),
        statements="\n".join(_statement(one, module == "editing", one.number in own) for one in statements),
    )
    if own:
        content += f"\n\n{part_prompt().fill(first=str(min(own)), last=str(max(own)))}"
    return asking.request(content, reply_schema(module))


def shown(text: str) -> str:
    """A text that cannot close the tag around it, nor open another."""
    return escape(text, quote=False)


def shown_passage(passage: Passage, number: int | None = None) -> str:
    """A passage in its own tags, on one line, under its number where it has one."""
    title = f"<title>{shown(passage.title)}</title>" if passage.title else ""
    identifier = "" if number is None else f' id="{number}"'
    return f"<passage{identifier}>{title}<text>{shown(passage.text)}</text></passage>"


def _statement(statement: Statement, with_citations: bool, marked: bool) -> str:
    cited = f' cites="{" ".join(map(str, statement.citations))}"' if with_citations else ""
    judged = ' judge="yes"' if marked else ""
    return f'<statement id="{statement.number}"{cited}{judged}>{shown(statement.text)}</statement>'
