"""Options of generation: the strategies, the documents of a question, and how the model is shown the documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from metaeval.errors import UserError, unknown

Strategy = Literal["truncated", "summary", "two-stage"]
Text = Literal["text", "snippet", "summary"]
Focus = Literal["question", "document"]

STRATEGIES: tuple[Strategy, ...] = ("truncated", "summary", "two-stage")

_LEAST = {"negatives": 0, "shuffle": 0}
_WORDS = ("context_words", "document_words")
_SIZE: Mapping[Strategy, str] = {
    "truncated": "document_words",
    "summary": "summary_words",
    "two-stage": "summary_words",
}
_SETTING = (
    "tokenizer",
    "documents",
    "document_text",
    "oracle",
    "negatives",
    "shuffle",
    "samples",
    "layout",
    "summary_model",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """Options for choosing and cutting the documents that a chat model is shown, for one question at a time."""

    strategy: Strategy = "truncated"
    """What of the documents the model is shown: their beginnings (truncated), a summary of each (summary), or summaries
    by which it chooses documents for one sentence after the other (two-stage, as SCiFi's paper)."""
    context_words: int = 3000
    """Most words of all documents in one request, shared equally with the worked examples; short documents leave
    their share to the long ones."""
    document_words: int = 300
    """Words of each document that are shown, in the strategy truncated."""
    context_tokens: int | None = None
    """Most tokens, of four characters each, of all documents in one request, those of worked examples included, in
    place of context_words and document_words: documents are cut to the largest equal size that fits (none: words)."""
    tokenizer: str | None = None
    """What counts context_tokens: hub id or folder of a tokenizer, or 'words' (none: four characters a token)."""
    summary_words: int = 80
    """Length that is asked of a summary, in words."""
    answer_words: int = 200
    """Length that is asked of an answer, in words, where it is written at once."""
    most_sentences: int = 10
    """Most sentences of an answer, in the strategy two-stage; answers that this limit ends are counted."""
    documents: int | None = None
    """Number of documents that a question has, the first of the file (none: all)."""
    document_text: Text = "text"
    """Text of a document that is shown: text, or the snippet or summary that ALCE's files hold (fields extraction and
    summary); the pipelines always judge by the text."""
    oracle: bool = False
    """Show only the documents that the text in the file cites, such as those of a SCiFi paragraph."""
    negatives: int | None = None
    """Number of random documents that are shown beside those that the text in the file cites: the question's own, then
    those of other questions (none: all documents)."""
    shuffle: int | None = None
    """Seed by which negatives are drawn and documents shuffled (none: the file's order, and seed 0 for negatives)."""
    samples: int = 1
    """Answers that are asked for to each question, with seeds of their own."""
    layout: Literal["json", "plain"] = "json"
    """Layout of question and documents in a prompt: json, or plain text under 'Document [1] (Title: ...)'."""
    shots: Path | None = None
    """File of answers with marks that are shown as worked examples before each question, with documents by the same
    settings (oracle, negatives, shuffle), their marks renumbered."""
    summary_model: str | None = None
    """Chat model, at the same address, that writes the summaries (none: the model that writes the answers)."""
    summary_focus: Focus | None = None
    """What a summary is for: the question, or the document alone, so that it serves all questions (none: document in
    two-stage, else question)."""
    answer_file: Path | None = None
    """A prompt of your own that asks for the answer, with {question} and {documents}, and {words} and {shown} if
    wanted."""
    summary_file: Path | None = None
    """A prompt of your own that asks for a summary, with {document} or {text}, and {title}, {question} and {words} if
    wanted."""
    choice_file: Path | None = None
    """A prompt of your own that asks which documents the next sentence needs, with {question}, {documents}, {steps}
    (earlier choices) and {written} (the answer so far)."""
    sentence_file: Path | None = None
    """A prompt of your own that asks for the next sentence, with {question}, {documents} and {written}."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise unknown("strategy", self.strategy, STRATEGIES)
        for name, value in self._numbers().items():
            if value < (least := _LEAST.get(name, 1)):
                raise UserError(f"{name} is {value}; allowed: a whole number from {least}.")
        if self.oracle and self.negatives:
            raise UserError("oracle=true shows no negatives: give only one of oracle and negatives.")
        if self.documents is not None and (self.oracle or self.negatives is not None):
            raise UserError(
                "documents takes the first documents of the file, and oracle and negatives take those that its text "
                "cites: give only one of these options."
            )
        if self.context_tokens is not None and (words := [name for name in _WORDS if self._changed(name)]):
            raise UserError(f"context_tokens replaces {words[0]}: give only one of the two.")
        if self.tokenizer is not None and self.context_tokens is None:
            raise UserError(
                "tokenizer counts the tokens of context_tokens, which is not set: set that, or leave tokenizer out."
            )

    def _numbers(self) -> dict[str, int]:
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        return {name: value for name, value in values.items() if type(value) is int}

    def _changed(self, name: str) -> bool:
        return bool(getattr(self, name) != next(option.default for option in fields(self) if option.name == name))

    def shared_by(self, shown: int) -> GenerationOptions:
        """Return the options for each of `shown` questions in one request: with an equal share of the context."""
        name = "context_words" if self.context_tokens is None else "context_tokens"
        return replace(self, **{name: max(1, getattr(self, name) // shown)})

    @property
    def focus(self) -> Focus:
        """What a summary is for: "question", or "document" (the document alone, so that it serves all questions)."""
        return self.summary_focus or ("document" if self.strategy == "two-stage" else "question")

    @property
    def beginning(self) -> int:
        """Number of words of a document's beginning, or of its summary, where the strategy first shows the document."""
        return int(getattr(self, _SIZE[self.strategy]))

    @property
    def in_use(self) -> dict[str, Any]:
        """Return the limits that the strategy uses, and other settings that are not at their default, by name."""
        names = ["context_words", _SIZE[self.strategy]]
        names += ["most_sentences" if self.strategy == "two-stage" else "answer_words"]
        if self.context_tokens is not None:
            names = ["context_tokens", *(name for name in names if name not in _WORDS)]
        return {name: getattr(self, name) for name in (*names, *filter(self._changed, _SETTING))}

    @property
    def condition(self) -> str:
        """Return how the documents differ from the default ("10-snippet"), for the system's name; else empty."""
        parts = [
            str(self.documents or ""),
            "" if self.document_text == "text" else self.document_text,
            "oracle" * self.oracle,
        ]
        return "-".join(filter(None, parts))
