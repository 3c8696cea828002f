"""How an answer is generated: the options, what a request shows of the documents, each stage's request and reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.chat import ChatOptions
from metaeval.citation.model import Passage
from metaeval.citation.sentences import sentence_spans
from metaeval.errors import UserError, unknown
from metaeval.llm.exchange import ChatRequest, Prompt, object_schema, read_object, read_prompt, response_format

Strategy = Literal["truncated", "summary", "two-stage"]

STRATEGIES: tuple[Strategy, ...] = ("truncated", "summary", "two-stage")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """What a model is shown and asked, one question at a time."""

    strategy: Strategy = "truncated"
    """What of the documents the model is shown: their beginnings (truncated), a summary of each (summary), or in
    full those that it chose by their beginnings (two-stage)."""
    context_words: int = 3000
    """Most words of all documents in one request; short documents leave their share to the long ones."""
    document_words: int = 300
    """Words of each document that are shown, in the strategy truncated."""
    preview_words: int = 60
    """Words of each document by which the model chooses, in the strategy two-stage."""
    summary_words: int = 80
    """Length that is asked of a summary, in words."""
    answer_words: int = 200
    """Length that is asked of an answer, in words."""
    answer_file: Path | None = None
    """A prompt of your own that asks for the answer, with {question} and {documents}, and {words} and {shown} if
    wanted."""
    summary_file: Path | None = None
    """A prompt of your own that asks for a summary, with {question} and {document}, and {words} if wanted."""
    selection_file: Path | None = None
    """A prompt of your own that asks which documents are needed, with {question} and {documents}."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise unknown("strategy", self.strategy, STRATEGIES)
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name.endswith("_words") and value < 1:
                raise UserError(f"{one.name} is {value}; allowed: a whole number from 1.")

    @property
    def in_use(self) -> dict[str, int]:
        """The numbers of words that the strategy heeds."""
        shown = {
            "truncated": ("context_words", "document_words"),
            "summary": ("context_words", "summary_words"),
            "two-stage": ("context_words", "preview_words"),
        }
        return {name: getattr(self, name) for name in (*shown[self.strategy], "answer_words")}


_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as a request shows it; number: its place among the question's documents, from 1."""

    number: int
    title: str
    text: str


def whole_documents(passages: Sequence[Passage]) -> list[Document]:
    """Every document as it is."""
    return [Document(number, one.title, one.text) for number, one in enumerate(passages, start=1)]


def fitted(documents: Sequence[Document], total: int, each: int | None = None) -> list[Document]:
    """Documents cut to a total of words, no one to more than `each`: short ones stay whole, the others end alike.

    Where there are more documents than words, each keeps a word.
    """
    limit = level([_words(one.text) for one in documents], total)
    limit = limit if each is None else min(limit, each)
    return [Document(one.number, one.title, cut(one.text, limit)) for one in documents]


def level(lengths: Sequence[int], total: int) -> int:
    """The greatest limit, from 1, under which the lengths, each cut to it, add up to no more than the total."""
    left, open_ = total, len(lengths)
    for length in sorted(lengths):
        if length * open_ > left:
            return max(1, left // open_)
        left, open_ = left - length, open_ - 1
    return max(1, *lengths, total) if lengths else max(1, total)


def cut(text: str, words: int) -> str:
    """The beginning of a text: as many whole sentences as have no more than so many words, verbatim.

    A first sentence that is longer ends behind its last word that fits.
    """
    if _words(text) <= words:
        return text
    end, so_far = 0, 0
    for span in sentence_spans(text):
        so_far += _words(span.text)
        if so_far > words:
            break
        end = span.end
    if end:
        return text[:end]
    found = list(_WORD.finditer(text))
    return text[: found[words - 1].end()]


def _words(text: str) -> int:
    return len(text.split())


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
    own = Path(__file__).parent / "prompts"
    return {
        stage: read_prompt(getattr(options, f"{stage}_file") or own / f"{stage}.txt", _PLACES[stage])
        for stage in STAGES[options.strategy]
    }


class Setup:
    """What a strategy works with. Raises `UserError` as `load_prompts`."""

    def __init__(self, options: GenerationOptions, chat: ChatOptions) -> None:
        self.options, self._chat, self._prompts = options, chat, load_prompts(options)

    def request(self, stage: Stage, question: str, documents: Sequence[Document]) -> ChatRequest:
        """Ask for the summary of one document, for the documents that are needed, or for the answer with its marks."""
        lines = "\n".join(
            _json({"document": one.number, **({"title": one.title} if one.title else {}), "text": one.text})
            for one in documents
        )
        form: dict[str, Any] | None = None
        if stage == "summary":
            form, texts = _SUMMARY, {"document": lines, "words": str(self.options.summary_words)}
        elif stage == "selection":
            form, texts = _SELECTION, {"documents": lines}
        else:
            texts = {"documents": lines or "(none)", "words": str(self.options.answer_words)}
            texts["shown"] = _SHOWN[self.options.strategy]
        content = self._prompts[stage].fill(question=_json(question), **texts)
        return self._chat.request(content, form and response_format(stage, form))


def read_summary(text: str) -> str | None:
    """The summary in a reply, empty where the document says nothing; None for a reply of another form."""
    body = read_object(text, _SUMMARY)
    return body["summary"].strip() if body else None


def read_selection(text: str) -> list[int] | None:
    """The numbers in a reply, each once, in order; None for a reply of another form."""
    body = read_object(text, _SELECTION)
    return sorted(set(body["documents"])) if body else None


def _json(value: Any) -> str:
    # As JSON, no text can end before its end and go on as an instruction.
    return json.dumps(value, ensure_ascii=False)
