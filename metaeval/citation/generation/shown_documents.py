"""The documents of a question as a chat model is shown them: numbered, and cut to fit a request."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from metaeval.citation.data_model import Passage
from metaeval.citation.generation.options import GenerationOptions, Text
from metaeval.citation.marks_and_sentences import split, whole
from metaeval.citation.scifi.fact_entailment import counter
from metaeval.llm.messages import CHARACTERS_PER_TOKEN, quoted


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


def in_words(text: str) -> int:
    """Return the number of words of a text."""
    return len(text.split())


def in_tokens(text: str) -> int:
    """Return the number of tokens of a text, estimated as a quarter of its characters, rounded up."""
    return ceil(len(text) / CHARACTERS_PER_TOKEN)


def token_counter(tokenizer: str | None) -> Callable[[str], int]:
    """Return the function that counts a text's tokens (None: `in_tokens`); `UserError` if it cannot be loaded."""
    return in_tokens if tokenizer is None else counter(tokenizer, "tokenizer")


def fitted(
    documents: Sequence[ShownDocument], total: int, each: int | None = None, size: Callable[[str], int] = in_words
) -> list[ShownDocument]:
    """Return the documents cut to the size `total` together, and to `each` at most. size: returns the size of a text.

    Long documents are cut to one limit (see `cut`), short ones stay whole. Every document keeps at least its first
    word, even if total is exceeded.
    """
    limit = level([size(document.text) for document in documents], total)
    limit = limit if each is None else min(limit, each)
    return [replace(document, text=cut(document.text, limit, size)) for document in documents]


def fit(documents: Sequence[ShownDocument], options: GenerationOptions, each: int | None = None) -> list[ShownDocument]:
    """Return the documents cut so that together they fit the options' context_words or context_tokens.

    each: largest number of words of a document (None: no limit); ignored in the strategy truncated where the context
    is counted in tokens.
    """
    if options.context_tokens is None:
        return fitted(documents, options.context_words, each)
    if each is not None and options.strategy != "truncated":
        documents = [replace(document, text=cut(document.text, each)) for document in documents]
    return fitted(documents, options.context_tokens, size=token_counter(options.tokenizer))


def level(lengths: Sequence[int], total: int) -> int:
    """Return the greatest limit, at least 1, for which documents of these lengths, cut to it, fit `total` together."""
    left, open_ = total, len(lengths)
    for length in sorted(lengths):
        if length * open_ > left:
            return max(1, left // open_)
        left, open_ = left - length, open_ - 1
    return max(1, *lengths, total) if lengths else max(1, total)


def cut(text: str, limit: int, size: Callable[[str], int] = in_words) -> str:
    """Return as many whole sentences from the beginning of a text, verbatim, as fit the size `limit`.

    If the first sentence is longer, it is cut after the last word that fits; its first word always stays. size: returns
    the size of a text.
    """
    if size(text) <= limit:
        return text
    end, so_far = 0, 0
    for sentence in split(whole(text)):
        so_far += size(sentence.text)
        if so_far > limit:
            break
        _, end = sentence.span()
    if end:
        return text[:end]
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return text[: ends[max(1, bisect_right(ends, limit, key=lambda place: size(text[:place]))) - 1]]


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
