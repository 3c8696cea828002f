"""Options of generation: the strategy, the documents of a question, and how much the model is shown and writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from metaeval.core.errors import UserError

Strategy = Literal["truncated", "summary", "two-stage"]
Text = Literal["text", "snippet", "summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """Options for choosing and cutting the documents that a chat model is shown; `cite generate` has the first nine.

    strategy: the model sees the documents' beginnings (truncated), a summary of each (summary), or summaries by which
    it chooses documents for one sentence after the other (two-stage, as SCiFi's paper). documents: the first of the
    file (None: all). document_text: the field that is shown; the pipelines always judge by the text. negatives: number
    of random documents beside those that the text in the file cites (0: these alone, None: all documents). shuffle:
    seed by which negatives are drawn and documents shuffled (None: the file's order, and seed 0 for negatives).
    samples: answers to each question. shots: file of worked examples. prompts: folder of prompts in place of our own,
    STAGE.txt each. summary_model: writes the summaries (None: the model that writes the answers).

    context_words: most words of all documents in one request, shared equally with the worked examples.
    document_words: of a document, in the strategy truncated. summary_words, answer_words: lengths that are asked for.
    most_sentences: of an answer, in the strategy two-stage; answers that this limit ends are counted.
    """

    strategy: Strategy = "truncated"
    documents: int | None = None
    document_text: Text = "text"
    negatives: int | None = None
    shuffle: int | None = None
    samples: int = 1
    shots: Path | None = None
    prompts: Path | None = None
    summary_model: str | None = None
    context_words: int = 3000
    document_words: int = 300
    summary_words: int = 80
    answer_words: int = 200
    most_sentences: int = 10

    def __post_init__(self) -> None:
        if self.documents is not None and self.negatives is not None:
            raise UserError("Give documents (the first ones) or negatives (beside those that a text cites), not both.")

    @property
    def of_document_alone(self) -> bool:
        """Whether a summary is of the document alone, and so serves all questions, or else of what helps a question."""
        return self.strategy == "two-stage"

    @property
    def beginning(self) -> int:
        """Number of words of a document's beginning, or of its summary, where the strategy first shows the document."""
        return self.document_words if self.strategy == "truncated" else self.summary_words

    @property
    def in_use(self) -> dict[str, Any]:
        """Return the limits that the strategy uses, and the settings of documents that were given, by name."""
        size = "document_words" if self.strategy == "truncated" else "summary_words"
        limits = ["context_words", size, "most_sentences" if self.strategy == "two-stage" else "answer_words"]
        defaults = GenerationOptions()
        settings = ("documents", "document_text", "negatives", "shuffle", "samples", "summary_model")
        changed = [name for name in settings if getattr(self, name) != getattr(defaults, name)]
        return {name: getattr(self, name) for name in (*limits, *changed)}

    @property
    def condition(self) -> str:
        """Return how the documents differ from the default ("10-snippet"), for the system's name; else empty."""
        text = "" if self.document_text == "text" else self.document_text
        return "-".join(filter(None, (str(self.documents or ""), text, "oracle" if self.negatives == 0 else "")))
