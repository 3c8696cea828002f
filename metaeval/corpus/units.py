"""Units of analysis: what one row of a protocol's input is, and how a row's score is made of those of its chunks."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Literal, NamedTuple

from metaeval.core.errors import UserError
from metaeval.corpus.chunks import Chunk, Chunking, chunk_corpus, document_sentences
from metaeval.corpus.model import Corpus, SupportLevel
from metaeval.corpus.pair_table import (
    GIVEN,
    UNMATCHED,
    EvidenceAlignment,
    Pair,
    PairTable,
    align_evidence,
    build_pairs,
    pair_of,
    united,
    why_no_pair,
    word_set,
)

# chunk: a row per statement and chunk. citation, page, evidence: a row per citation: its document's chunks, the whole
# document, or the sentences that the annotator marked. statement: a row per statement, with all that it cites.
Unit = Literal["chunk", "citation", "page", "evidence", "statement"]


class Aggregation(NamedTuple):
    """The rule that aggregates the scores of a row's chunks; most: number of best chunks that take part (None: all)."""

    kind: Literal["max", "mean", "union"]
    most: int | None = None


PAGE = "#page"  # the suffix of a citation's id in the id of the pair with its whole document

_AGGREGATION = re.compile(r"(max|mean)|(mean|union):([1-9]\d*)")


def read_aggregation(text: str) -> Aggregation:
    """Return the rule that a text names: max, mean (of all chunks), mean:K (of the K best), or union:K.

    union:K joins the K best chunks and scores them again. Raises `UserError` for anything else.
    """
    match = _AGGREGATION.fullmatch(text)
    if match is None:
        raise UserError(f"aggregate is {text!r}; allowed: max, mean, mean:K, or union:K with K of 1 or more (union:3).")
    kinds: dict[str, Literal["max", "mean", "union"]] = {"max": "max", "mean": "mean", "union": "union"}
    return Aggregation(kinds[match[1] or match[2]], int(match[3]) if match[3] else None)


def page_pairs(corpus: Corpus, chunking: Chunking, threshold: float) -> PairTable:
    """Return a table of one pair per citation, of its whole document. chunking: for metrics that cannot read it all."""
    table = build_pairs(chunk_corpus(corpus, Chunking(sys.maxsize)), threshold)
    pages = tuple(pair._replace(pair_id=f"{pair.citation_id}{PAGE}") for pair in table.pairs)
    counts = {name: table.evidence[name] for name in (GIVEN, UNMATCHED)}  # the others are about chunks
    return replace(table, pairs=pages, chunking=chunking, evidence=counts)


def statement_pairs(corpus: Corpus, chunking: Chunking, threshold: float) -> PairTable:
    """Return a pair for each statement with all documents that it cites, joined in the order of its citations.

    A document that a statement cites twice stands once; the other fields are those of the first citation. chunking:
    kept in the table, for metrics that cannot read whole documents.
    """
    pages = page_pairs(corpus, chunking, threshold)
    by_statement: dict[str, list[Pair]] = {}
    for pair in pages.pairs:
        by_statement.setdefault(pair.statement_id, []).append(pair)
    joined = tuple(
        cited[0]._replace(pair_id=f"{name}#pages", source=" ".join(dict.fromkeys(pair.source for pair in cited)))
        for name, cited in by_statement.items()
    )
    return replace(pages, pairs=joined)


def statement_levels(corpus: Corpus) -> dict[str, SupportLevel | None]:
    """Return the level of each cited statement: what its citations together support.

    It is the statement's own where somebody judged it, else the highest level of its citations; None (not known) where
    that is partial and there are several citations, whose support may add up.
    """
    cited: dict[str, list[SupportLevel]] = {}
    for citation in corpus.citations:
        cited.setdefault(citation.statement_id, []).append(citation.level)
    known: dict[str, SupportLevel | None] = {}
    for name, levels in cited.items():
        judged, most = corpus.statements[name].level, max(levels)
        in_doubt = most is SupportLevel.PARTIAL and len(levels) > 1
        known[name] = judged if judged is not None else None if in_doubt else most
    return known


NEAREST = "citations at level none without marked evidence: they read the sentences nearest to the statement"
UNMARKED = "no marked evidence"


def evidence_pairs(corpus: Corpus, chunking: Chunking, threshold: float, window: int) -> PairTable:
    """Return a pair for each citation, whose source is the marked sentences of all evidence sets and those around them.

    window: number of sentences that are added on either side. Where none of the copied evidence is found in a sentence,
    it is the source itself. Where a page supports nothing there is nothing to mark: such a citation reads the sentences
    that share most words with the statement, as many as a citation has marked at the median, which is the best that a
    retriever would find. A supported citation without marked evidence is dropped and counted.

    Raises `UserError` where no evidence is marked at all.
    """
    documents = {id: document_sentences(document) for id, document in corpus.documents.items()}
    placed = dict[str, EvidenceAlignment]()
    for citation in (citation for citation in corpus.citations if citation.evidence):
        words_of = [word_set(sentence) for sentence in documents[citation.document_id]]
        placed[citation.id] = align_evidence(united(citation.evidence), words_of, threshold)
    if not placed:
        raise UserError(f"Corpus {corpus.name!r} has no marked evidence, which unit=evidence needs. Try unit=page.")
    usual = max(1, round(median(len(alignment.sentences) for alignment in placed.values())))
    pairs, dropped = [], Counter[str]()
    counts = {GIVEN: 0, UNMATCHED: 0, NEAREST: 0}
    for citation in corpus.citations:
        statement, sentences = corpus.statements[citation.statement_id], documents[citation.document_id]
        alignment = placed.get(citation.id, EvidenceAlignment(frozenset(), 0, 0))
        counts[GIVEN] += alignment.given
        counts[UNMATCHED] += alignment.unmatched
        nearest = citation.level is SupportLevel.NONE and not citation.evidence
        chosen = alignment.sentences
        if nearest:
            claim = word_set(statement.text)
            shared = [len(claim & word_set(sentence)) for sentence in sentences]
            order = sorted(range(len(sentences)), key=shared.__getitem__, reverse=True)  # of equals the first is first
            chosen = frozenset(order[:usual])
        kept = {near for index in chosen for near in range(index - window, index + window + 1)}
        words = (word for index in sorted(kept & {*range(len(sentences))}) for word in sentences[index].split())
        source = " ".join(words) or " ".join(united(citation.evidence).texts)
        if reason := why_no_pair(statement, any(map(str.split, sentences))) or ("" if source else UNMARKED):
            dropped[reason] += 1
            continue
        counts[NEAREST] += nearest
        chunk = Chunk(citation.document_id, 0, source, tuple(sorted(chosen)))
        pairs.append(pair_of(statement, chunk, f"{citation.id}#evidence", citation.level, citation, 1.0))
    return PairTable(tuple(pairs), chunking, threshold, evidence=counts, dropped=dropped)


class UnitRow(NamedTuple):
    """One judged row: its gold level (None: not known), and the pairs from whose scores its score is computed.

    id: the pair id (unit chunk), the statement id (unit statement) or the citation id. cited: whether the statement
    cites the document. members: the pairs' numbers in the pair table. words: number of words of their sources.
    position: the (first) chunk's index in its document. held: `Pair.held` with unit chunk, else None.
    """

    id: str
    statement_id: str
    group: str
    level: int | None
    cited: bool
    members: tuple[int, ...]
    statement: str
    words: int
    position: int
    held: float | None = None


def unit_rows(
    table: PairTable, unit: Unit, statements: Mapping[str, SupportLevel | None] | None = None
) -> list[UnitRow]:
    """Return the rows in table order: one per pair (unit chunk), or one over all pairs of a statement or citation.

    statements: the statements' levels with unit statement (`statement_levels`); None: a row per citation. Raises
    `UserError` for a table with a retrieval pool unless the unit is chunk.
    """
    of_chunks = unit == "chunk"
    if not of_chunks and table.pool != "own":
        raise UserError(f"pool={table.pool} adds chunks that nobody cites, so it needs unit=chunk (unit is {unit!r}).")
    members: dict[int | str, list[int]] = {}
    for number, pair in enumerate(table.pairs):
        whole = pair.citation_id if statements is None else pair.statement_id
        members.setdefault(number if of_chunks else whole, []).append(number)
    rows = []
    for name, numbers in members.items():
        pair = table.pairs[numbers[0]]
        level = pair.citation_level if statements is None else statements[pair.statement_id]
        rows.append(
            UnitRow(
                id=pair.pair_id if of_chunks else str(name),
                statement_id=pair.statement_id,
                group=pair.group,
                level=pair.level if of_chunks else level,
                cited=pair.cited,
                members=tuple(numbers),
                statement=pair.statement,
                words=sum(len(table.pairs[number].source.split()) for number in numbers),
                position=pair.chunk,
                held=pair.held if of_chunks else None,
            )
        )
    return rows
