"""Chunks: the pieces into which documents are cut for metrics, by whole sentences or by a number of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.core.errors import UserError
from metaeval.corpus.model import Corpus, Document
from metaeval.corpus.sentences import SPLITTER, packed, split_sentences


@dataclass(frozen=True, slots=True)
class Chunking:
    """The rule by which documents are cut into chunks (base paper: whole sentences, at most 150 words).

    `sentences`: whole sentences packed in order; a chunk is closed when the next sentence would pass `size`; a sentence
    of more than `size` words is cut every `size` words. `whole-sentences`: the same, but a longer sentence stays whole
    and is a chunk of its own. `words`: windows of `size` words, across sentences; the last one may be
    shorter. Raises `UserError` for a size below 1.
    """

    size: int = 150
    mode: Literal["sentences", "whole-sentences", "words"] = "sentences"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise UserError(f"The size of a chunk is {self.size} words; allowed: a whole number from 1.")

    def __str__(self) -> str:
        return f"{self.mode}-{self.size}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: its number, from 0, its text, and the indices of the sentences that it has words of."""

    document_id: str
    index: int
    text: str
    sentences: tuple[int, ...]


def document_sentences(document: Document) -> tuple[str, ...]:
    """Return a document's published sentences or, where it has none, those that `split_sentences` finds in its text."""
    return document.sentences or split_sentences(document.text)


def splitter_name(documents: Sequence[Document]) -> str:
    """Return which sentence split the documents that have a text use: "published", `SPLITTER`, or both with "+"."""
    kinds = {"published" if document.sentences else SPLITTER for document in documents if document.text}
    return "+".join(sorted(kinds)) or SPLITTER


def chunk_document(document: Document, chunking: Chunking) -> tuple[Chunk, ...]:
    """Return the chunks of a document, in order; a document without words has none."""
    size = None if chunking.mode == "whole-sentences" else chunking.size
    pieces = [
        (index, words)
        for index, sentence in enumerate(document_sentences(document))
        if (whole := sentence.split())
        for words in ([whole] if size is None else (whole[at : at + size] for at in range(0, len(whole), size)))
    ]
    if chunking.mode == "words":
        pieces = [(index, [word]) for index, words in pieces for word in words]
    parts = packed(pieces, lambda piece: len(piece[1]), chunking.size)
    chunks = []
    for number, part in enumerate(parts):
        text = " ".join(word for _, words in part for word in words)
        chunks.append(Chunk(document.id, number, text, tuple(sorted({index for index, _ in part}))))
    return tuple(chunks)


@dataclass(frozen=True)
class ChunkedCorpus:
    """A corpus and its documents' chunks, by document id: each document is cut once, however often it is cited."""

    corpus: Corpus
    chunking: Chunking
    chunks: Mapping[str, tuple[Chunk, ...]]


def chunk_corpus(corpus: Corpus, chunking: Chunking) -> ChunkedCorpus:
    """Return a corpus with the chunks of all its documents, cited or not: a retrieval pool may take any of them."""
    chunks = {document.id: chunk_document(document, chunking) for document in corpus.documents.values()}
    return ChunkedCorpus(corpus, chunking, chunks)
