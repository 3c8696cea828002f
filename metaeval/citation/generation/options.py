"""How an answer is generated: the strategy, what of the documents a model is shown, and how long an answer may be."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from metaeval.errors import UserError, unknown

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
