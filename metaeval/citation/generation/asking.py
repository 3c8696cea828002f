"""The questions to the model that writes: which prompts, and the chat request of each stage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.generation.documents import Document
from metaeval.citation.generation.options import GenerationOptions, Strategy
from metaeval.llm.exchange import (
    ChatRequest,
    Prompt,
    object_schema,
    read_object,
    read_prompt,
    response_format,
)

Stage = Literal["summary", "selection", "answer"]

STAGES: Mapping[Strategy, tuple[Stage, ...]] = {
    "truncated": ("answer",),
    "summary": ("summary", "answer"),
    "two-stage": ("selection", "answer"),
}
"""What a strategy asks, in order."""

_PLACES: Mapping[Stage, tuple[str, ...]] = {
    "summary": ("question", "document"),
    "selection": ("question", "documents"),
    "answer": ("question", "documents"),
}
_SHOWN: Mapping[Strategy, str] = {
    "truncated": "of a long one you see the beginning",
    "summary": "of each you see a summary of what it says about the question",
    "two-stage": "those that were taken as needed, among more",
}
_SUMMARY = object_schema(summary={"type": "string"})
_SELECTION = object_schema(documents={"type": "array", "items": {"type": "integer"}})


def load_prompts(options: GenerationOptions) -> dict[Stage, Prompt]:
    """The prompts of the strategy's stages: the project's own, or the files that were named.

    Raises `UserError` when a file cannot be read or lacks a place.
    """
    files: Mapping[Stage, Path | None] = {
        "summary": options.summary_file,
        "selection": options.selection_file,
        "answer": options.answer_file,
    }
    own = Path(__file__).parent / "prompts"
    return {
        stage: read_prompt(files[stage] or own / f"{stage}.txt", _PLACES[stage]) for stage in STAGES[options.strategy]
    }


def summary_request(
    question: str, document: Document, prompt: Prompt, options: GenerationOptions, chat: ChatOptions
) -> ChatRequest:
    """Ask for the summary of one document."""
    content = prompt.fill(question=_json(question), document=_line(document), words=str(options.summary_words))
    return chat.request(content, response_format("summary", _SUMMARY))


def selection_request(question: str, documents: Sequence[Document], prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Ask which documents are needed."""
    content = prompt.fill(question=_json(question), documents=_lines(documents))
    return chat.request(content, response_format("selection", _SELECTION))


def answer_request(
    question: str, documents: Sequence[Document], prompt: Prompt, options: GenerationOptions, chat: ChatOptions
) -> ChatRequest:
    """Ask for the answer: plain text, with marks."""
    content = prompt.fill(
        question=_json(question),
        documents=_lines(documents) or "(none)",
        words=str(options.answer_words),
        shown=_SHOWN[options.strategy],
    )
    return chat.request(content)


def read_summary(text: str) -> str | None:
    """The summary in a reply, empty where the document says nothing; None for a reply of another form."""
    body = read_object(text, _SUMMARY)
    return body["summary"].strip() if body else None


def read_selection(text: str) -> list[int] | None:
    """The numbers in a reply, each once, in order; None for a reply of another form."""
    body = read_object(text, _SELECTION)
    return sorted(set(body["documents"])) if body else None


def _lines(documents: Sequence[Document]) -> str:
    return "\n".join(_line(one) for one in documents)


def _line(document: Document) -> str:
    fields: dict[str, Any] = {"document": document.number}
    if document.title:
        fields["title"] = document.title
    return _json({**fields, "text": document.text})


def _json(value: Any) -> str:
    # As JSON, no text can end before its end and go on as an instruction.
    return json.dumps(value, ensure_ascii=False)
