"""The documents of a question as a chat model is shown them: numbered, and cut to fit a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metaeval.citation.data_model import Passage
from metaeval.citation.generation.options import Text
from metaeval.citation.marks_and_sentences import split, whole
from metaeval.llm.messages import quoted


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document as shown in a request; number: its position among the question's documents, from 1."""

    number: int
    title: str
    text: str


def whole_documents(passages: Sequence[Passage], text: Text = "text") -> list[ShownDocument]:
    """Return every document in full, numbered from 1. text: the field to show; where that is empty, the text."""
    return [
        ShownDocument(number, passage.title, getattr(passage, text) or passage.text)
        for number, passage in enumerate(passages, start=1)
    ]


def fit(documents: Sequence[ShownDocument], total: int, each: int | None = None) -> list[ShownDocument]:
    """Return the documents cut to `total` words together, and to `each` at most.

    Long documents are cut to one limit (see `cut`), short ones stay whole. Every document keeps at least its first
    word, even if total is exceeded.
    """
    limit = level([len(document.text.split()) for document in documents], total)
    limit = limit if each is None else min(limit, each)
    return [replace(document, text=cut(document.text, limit)) for document in documents]


def level(lengths: Sequence[int], total: int) -> int:
    """Return the greatest limit, at least 1, for which documents of these lengths, cut to it, fit `total` together."""
    left, open_ = total, len(lengths)
    for length in sorted(lengths):
        if length * open_ > left:
            return max(1, left // open_)
        left, open_ = left - length, open_ - 1
    return total


def cut(text: str, limit: int) -> str:
    """Return as many whole sentences from the beginning of a text, verbatim, as have at most `limit` words.

    If the first sentence is longer, it is cut after its last word that fits.
    """
    if len(text.split()) <= limit:
        return text
    end, so_far = 0, 0
    for sentence in split(whole(text)):
        so_far += len(sentence.text.split())
        if so_far > limit:
            break
        _, end = sentence.span()
    return text[:end] if end else text[: [match.end() for match in re.finditer(r"\S+", text)][limit - 1]]


def in_json(documents: Sequence[ShownDocument]) -> str:
    """Return the documents as JSON objects (document, title if there is one, text), one a line."""
    return "\n".join(
        quoted({"document": each.number, **({"title": each.title} if each.title else {}), "text": each.text})
        for each in documents
    )


def in_plain_text(documents: Sequence[ShownDocument]) -> str:
    """Return the documents as text, each under its number and title, with an empty line between them."""
    return "\n\n".join(
        f"Document [{document.number}]{f' (Title: {document.title})' if document.title else ''}\n{document.text}"
        for document in documents
    )
