"""One question about one statement: its prompt, the form of its reply, and which of the choices a reply takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.citeeval.splitting import Statement
from metaeval.citation.model import Answer as Response
from metaeval.citation.model import Passage
from metaeval.llm.exchange import (
    Answer,
    ChatRequest,
    Prompt,
    Trouble,
    object_schema,
    read_object,
    read_prompt,
    response_format,
    text_of,
)

Make = Callable[[str, dict[str, Any]], ChatRequest]
"""The request with this message, for a reply of this form."""

State = Literal["read"] | Trouble


@dataclass(frozen=True)
class Kind:
    """A kind of question. name: of its prompt's file, and of the form. field: of the reply, with one of `choices`.

    places: what its prompt must have a place for.
    """

    name: str
    field: str
    choices: tuple[str, ...]
    places: tuple[str, ...] = ("query", "statement", "passages")

    @property
    def form(self) -> dict[str, Any]:
        """The `response_format` that is asked for: an object of the thinking and, after it, the choice."""
        properties = {"thinking": {"type": "string"}, self.field: {"type": "string", "enum": list(self.choices)}}
        return response_format(self.name, object_schema(**properties))

    def prompt(self) -> Prompt:
        """The project's own wording."""
        return read_prompt(Path(__file__).parent / "prompts" / f"{self.name}.txt", self.places)

    def read(self, answer: Answer) -> tuple[str | None, State]:
        """The choice in a reply that keeps to the form to the letter, or what stands in its way."""
        text, trouble = text_of(answer)
        if text is None or trouble is not None:
            return None, trouble or "unparsed"
        body = read_object(text, "thinking", self.field)
        if body is None or not isinstance(body["thinking"], str) or body[self.field] not in self.choices:
            return None, "unparsed"
        return body[self.field], "read"


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question that is asked. response, statement, citation: places, from 0, in what was given; None: of no one."""

    kind: Kind
    response: int
    statement: int
    citation: int | None
    request: ChatRequest


Choices = Mapping[tuple[str, int, int, int | None], tuple[str | None, State]]
"""What was said, by kind, response, statement and citation: the choice or None, and what became of the question."""


def read_choices(inquiries: Sequence[Inquiry], answers: Sequence[Answer]) -> Choices:
    """What was said to each question. Raises ValueError if the lengths differ."""
    return {
        (one.kind.name, one.response, one.statement, one.citation): one.kind.read(answer)
        for one, answer in zip(inquiries, answers, strict=True)
    }


def citable(statement: Statement, response: Response) -> list[tuple[int, Passage]]:
    """The citations, by place from 0, of passages that hold text, each with its passage."""
    found = [
        (place, response.passages[n - 1])
        for place, n in enumerate(statement.citations)
        if 1 <= n <= len(response.passages)
    ]
    return [(place, passage) for place, passage in found if has_text(passage)]


def has_text(passage: Passage) -> bool:
    """Whether there is anything in a passage that could support a statement."""
    return bool(passage.text.strip() or passage.title.strip())


def shown(text: str) -> str:
    """A text that cannot close the tag around it, nor open another."""
    return escape(text, quote=False)


def shown_passages(passages: Sequence[Passage]) -> str:
    """Passages, one a line, each in its own tags."""
    return "\n".join(f"<passage>{_titled(passage)}<text>{shown(passage.text)}</text></passage>" for passage in passages)


def _titled(passage: Passage) -> str:
    return f"<title>{shown(passage.title)}</title>" if passage.title else ""
