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
    """What a model is shown and asked, one question at a time.

    strategy: "truncated" shows the beginning of every document. "summary" has each document summed up with respect to
        the question, by a request of its own, and shows the summaries that say anything. "two-stage" shows the
        beginnings, asks which documents are needed, and then shows those in full.
    context_words: words of all documents together that one request may show; short documents leave their share to the
        long ones. document_words: words of one document in strategy "truncated". preview_words: words of one document
        in the first stage of "two-stage". summary_words: how long a summary is asked to be. answer_words: the same of
        the answer.
    answer_file: a prompt of one's own with {question} and {documents}, and {words} and {shown} if wanted. summary_file:
        one with {question} and {document}, and {words} if wanted. selection_file: with {question} and {documents}.
    """

    strategy: Strategy = "truncated"
    context_words: int = 3000
    document_words: int = 300
    preview_words: int = 60
    summary_words: int = 80
    answer_words: int = 200
    answer_file: Path | None = None
    summary_file: Path | None = None
    selection_file: Path | None = None

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
