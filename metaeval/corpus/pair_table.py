"""The pair table: one row per statement and chunk, with its level, its group and the texts a metric reads.

Evidence alignment says which sentences of a document the annotator's evidence stands in; a retrieval pool adds chunks
that a statement's evidence has to be found among.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

from metaeval.core.errors import UserError, shown
from metaeval.corpus.chunks import Chunk, ChunkedCorpus, Chunking, chunk_document, document_sentences
from metaeval.corpus.languages import language_of_pairs, words_of
from metaeval.corpus.model import Citation, Document, Evidence, Statement, SupportLevel
from metaeval.corpus.sentences import split_sentences

_log = logging.getLogger("metaeval")

PAIRS_SCHEMA = "metaeval-pairs/1"  # the form of a job's pairs.jsonl: its judged rows, with the scores of every column


@dataclass(frozen=True, slots=True)
class EvidenceAlignment:
    """Where an evidence set lies in its document.

    sentences: indices of the document's sentences that hold evidence. given: number of its sentences, by index or
    copied. unmatched: number of copied ones that were found nowhere. chunks: the chunk of each copied sentence that was
    found, where these are placed by chunk and not by sentence.
    """

    sentences: frozenset[int]
    given: int
    unmatched: int
    chunks: tuple[int, ...] = ()


def word_set(text: str) -> frozenset[str]:
    """Return the lower-cased words of a text."""
    return frozenset(words_of(text))


def align_evidence(
    evidence: Evidence,
    document: Sequence[frozenset[str]],
    threshold: float,
    chunks: Sequence[frozenset[str]] | None = None,
) -> EvidenceAlignment:
    """Return where the evidence of one evidence set lies in its document.

    document: one set of words per sentence. Indices are used as published. Copied text is split into sentences; each
    that has words goes to the document sentence of highest Jaccard similarity of word sets (the first of equals), if
    that reaches `threshold`. The base paper names Jaccard and no threshold; 0.5 is our default. chunks: one set of
    words per chunk of the document, to which copied sentences go instead, by the same rule.
    """
    placed, in_chunks, places = set(evidence.sentences), list[int](), document if chunks is None else chunks
    marked, unmatched = len(placed), 0
    for text in evidence.texts:
        for sentence in split_sentences(text):
            words = word_set(sentence)
            if not words:
                continue
            marked += 1
            shared = [len(words & other) for other in places]
            similarities = [n / (len(words) + len(other) - n) for n, other in zip(shared, places, strict=True)]
            best = max(similarities, default=0.0)
            if best == 0 or best < threshold:
                unmatched += 1
            elif chunks is None:
                placed.add(similarities.index(best))
            else:
                in_chunks.append(similarities.index(best))
    return EvidenceAlignment(frozenset(placed), marked, unmatched, tuple(in_chunks))


Rule = Literal["touched", "complete", "drop", "whole"]
EvidencePlace = Literal["sentence", "chunk"]

# The names of the counts in `PairTable.evidence`.
GIVEN = "evidence sentences given"
UNMATCHED = "of them found in no document sentence"
UNPLACED = "citations whose chunks have no known level"
WHOLE = "chunks of full citations hold a whole evidence set"
INCOMPLETE = "chunks of full citations hold an incomplete evidence set"


class Pair(NamedTuple):
    """One statement and one chunk.

    Parameters
    ----------
    pair_id : str
        By which scores are given.
    statement_id, document_id : str
        Of the statement, and of the chunk's document.
    chunk : int
        Its index in the document.
    citation_id : str
        The citation that the pair comes from; empty for a chunk that the statement does not cite and that stands in its
        retrieval pool only.
    group : str
        The unit that resampling draws.
    level : SupportLevel or None
        The chunk's gold level; None where it is not known (the document has several chunks, and no evidence says which
        of them supports), and where the rule for evidence leaves the chunk out.
    citation_level : SupportLevel or None
        The citation's level; None where `citation_id` is empty.
    statement, source : str
        The texts.
    held : float, optional
        Share of an evidence set that the chunk holds, of the set of which it holds most: 1 for a whole set and for the
        one chunk of a document, 0 for none of the evidence. None where it is not known where the evidence stands, and
        for chunks that are not cited.
    """

    pair_id: str
    statement_id: str
    document_id: str
    chunk: int
    citation_id: str
    group: str
    level: SupportLevel | None
    citation_level: SupportLevel | None
    statement: str
    source: str
    held: float | None = None

    @property
    def cited(self) -> bool:
        """Return whether the statement cites the chunk's document."""
        return bool(self.citation_id)

    def __repr__(self) -> str:
        level = None if self.level is None else self.level.label
        return f"<Pair {self.pair_id!r}: level {level}, statement {shown(self.statement)}, source {shown(self.source)}>"


@dataclass(frozen=True)
class PairTable:
    """Pairs in corpus order, with counts of how they were made.

    `evidence` counts evidence sentences given (once, in however many alternative sets they stand) and unmatched,
    citations whose support no chunk could be given, and chunks of full citations by what they hold.
    `dropped` counts citations that gave no pair, by reason.
    """

    pairs: tuple[Pair, ...]
    chunking: Chunking
    threshold: float
    rule: Rule = "complete"
    pool: str = "own"
    evidence: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)


def build_pairs(
    chunked: ChunkedCorpus, threshold: float = 0.5, rule: Rule = "complete", place: EvidencePlace = "sentence"
) -> PairTable:
    """Pair every statement with every chunk of the documents that it cites.

    Annotators judge a whole document, and evidence is spread over it: a chunk that holds a part of an evidence set of a
    FULL citation need not support the statement fully by itself. A chunk with none of the evidence is NONE, and all of
    a NONE citation's chunks are. The rule chooses the level of a chunk with a part of the evidence, or all of it:

    touched: the citation's level (the base paper's rule).
    complete: the citation's level, but PARTIAL for a chunk that holds no whole set of a FULL citation.
    drop: the citation's level, but None (left out) for a chunk that holds no whole set of a FULL citation.
    whole: the citation's level for a chunk that holds a whole set, else None, for FULL and PARTIAL citations alike.

    A chunk holds a whole set where it holds each of its sentences from end to end; a copied text of which a sentence is
    found nowhere is whole nowhere. Sentences without words are no evidence. In a document of one chunk that chunk takes
    the level under every rule, evidence or not: it is what was judged. Where the corpus marks no evidence at all, no
    chunk of a longer document has a known level, of a NONE citation neither: to keep those and lose the supported ones
    would make long documents look unsupported.

    place: whether a copied evidence sentence goes to the sentence or to the chunk of highest Jaccard similarity, from
    `threshold` on. In a chunk it counts as a whole sentence there.

    The rule says nothing about rows of the unit citation, which have the citation's own level, nor about the chunks
    that a retrieval pool adds.

    Raises `UserError` when no pair comes out.
    """
    corpus = chunked.corpus
    marked = any(citation.evidence for citation in corpus.citations)

    @cache
    def words(document_id: str) -> tuple[frozenset[str], ...]:
        return tuple(word_set(sentence) for sentence in document_sentences(corpus.documents[document_id]))

    @cache
    def chunk_words(document_id: str) -> tuple[frozenset[str], ...] | None:
        return tuple(word_set(chunk.text) for chunk in chunked.chunks[document_id]) if place == "chunk" else None

    pairs: list[Pair] = []
    counts = dict.fromkeys((GIVEN, UNMATCHED, UNPLACED, WHOLE, INCOMPLETE), 0)
    dropped: Counter[str] = Counter()
    for citation in corpus.citations:
        statement = corpus.statements[citation.statement_id]
        chunks = chunked.chunks[citation.document_id]
        if reason := why_no_pair(statement, bool(chunks)):
            dropped[reason] += 1
            continue
        sentences = words(citation.document_id) if any(evidence_set.texts for evidence_set in citation.evidence) else ()
        places = (sentences, threshold, chunk_words(citation.document_id))
        sets = [align_evidence(evidence_set, *places) for evidence_set in citation.evidence]
        union = sets[0] if len(sets) == 1 else align_evidence(united(citation.evidence), *places)
        counts[GIVEN] += union.given
        counts[UNMATCHED] += union.unmatched
        shares = _largest_shares(chunks, sets) if marked or len(chunks) == 1 else [None] * len(chunks)
        if citation.level is not SupportLevel.NONE and not any(shares):
            shares = [None] * len(chunks)  # nothing marked, nothing matched, or only sentences without words
        counts[UNPLACED] += None in shares
        for chunk, held in zip(chunks, shares, strict=True):
            if held and citation.level is SupportLevel.FULL and sets:
                counts[WHOLE if held == 1 else INCOMPLETE] += 1
            level = _level(citation.level, held, rule)
            pairs.append(pair_of(statement, chunk, f"{citation.id}#{chunk.index}", level, citation, held))
    if not pairs:
        number = len(corpus.citations)
        why = ", ".join(f"{count} of {number} citations have {reason}" for reason, count in dropped.items())
        left_out = [f"{n} left out: {reason}" for reason, n in corpus.dropped.items()]
        why = why if number else "; ".join(["it has no citations", *left_out])
        cure = "Choose another split or data set (metaeval data list)"
        raise UserError(f"Corpus {corpus.name!r} has no pair to judge: {why}. {cure}.")
    return PairTable(tuple(pairs), chunked.chunking, threshold, rule, evidence=counts, dropped=dropped)


@dataclass(frozen=True)
class PlacedEvidence:
    """A citation's evidence located in its document.

    pieces: by chunk index, the text in it of each document sentence with evidence. unplaced: copied evidence texts of
    which a sentence was found nowhere.
    """

    pieces: Mapping[int, set[str]]
    unplaced: list[str]

    def spans(self, pair: Pair) -> list[int]:
        """Return the offsets of the evidence in a pair's `source`, in characters: start, end, start, end and so on."""
        places = [(pair.source.find(piece), len(piece)) for piece in self.pieces.get(pair.chunk, ())]
        return [place for start, length in sorted(places) if start >= 0 for place in (start, start + length)]


def place_evidence(
    document: Document, citation: Citation, threshold: float, chunking: Chunking | None
) -> PlacedEvidence:
    """Return the location of a citation's evidence in the chunks of its document.

    threshold: lowest Jaccard similarity at which a copied sentence counts as found. chunking: of the document; None if
    the whole document is one chunk.
    """
    sentences = document_sentences(document)
    whole = united(citation.evidence)
    words = [word_set(sentence) for sentence in sentences] if whole.texts else []
    texts = ((text, align_evidence(Evidence(texts=(text,)), words, threshold)) for text in whole.texts)
    lost = [text for text, alignment in texts if alignment.unmatched]
    marked = align_evidence(whole, words, threshold).sentences
    if chunking is None:
        return PlacedEvidence({0: {" ".join(sentences[number].split()) for number in marked}}, lost)
    # Chunks are the document's words in order, so that a word's place tells its sentence.
    of_word = [number for number, sentence in enumerate(sentences) for _ in sentence.split()]
    pieces: dict[int, set[str]] = {}
    first = 0
    for chunk in chunk_document(document, chunking):
        held = list(zip(of_word[first:], chunk.text.split(" "), strict=False))
        first += len(held)
        by_sentence = {number: [word for _, word in of] for number, of in groupby(held, key=itemgetter(0))}
        pieces[chunk.index] = {" ".join(by_sentence[number]) for number in marked & by_sentence.keys()}
    return PlacedEvidence(pieces, lost)


def why_no_pair(statement: Statement, has_text: bool) -> str:
    """Return why a citation of `statement` gives no pair; empty if it gives one. has_text: its document has words."""
    if not has_text:
        return "no document text"
    return "" if statement.text.strip() else "no statement text"


def united(sets: Sequence[Evidence]) -> Evidence:
    """Return the union of several evidence sets."""
    indices = {index for evidence_set in sets for index in evidence_set.sentences}
    texts = dict.fromkeys(text for evidence_set in sets for text in evidence_set.texts)
    return Evidence(tuple(sorted(indices)), tuple(texts))


def _largest_shares(chunks: Sequence[Chunk], sets: Sequence[EvidenceAlignment]) -> list[float | None]:
    """Return for each chunk the largest share that it holds of any evidence set.

    sets: where each evidence set lies in the document. A sentence that is cut over n chunks counts 1/n in each of them;
    one that was found nowhere is held by none. The only chunk of a document holds all: 1.
    """
    if len(chunks) == 1:
        return [1.0]
    parts = Counter(index for chunk in chunks for index in chunk.sentences)
    placed = [(alignment.sentences & parts.keys(), alignment.chunks, alignment.unmatched) for alignment in sets]
    return [
        max(
            (
                (sum(1 / parts[index] for index in present.intersection(chunk.sentences)) + chosen.count(chunk.index))
                / (len(present) + len(chosen) + unmatched)
                for present, chosen, unmatched in placed
                if present or chosen
            ),
            default=0.0,
        )
        for chunk in chunks
    ]


def _level(citation: SupportLevel, held: float | None, rule: Rule) -> SupportLevel | None:
    """Return a chunk's level by its citation's and `rule`. held: share of an evidence set that it holds; None: None."""
    if held is None:
        return None
    if held == 0:
        return SupportLevel.NONE
    if held == 1 or rule == "touched" or citation is SupportLevel.NONE:
        return citation
    if rule == "complete":
        return SupportLevel.PARTIAL
    return None if rule == "whole" or citation is SupportLevel.FULL else citation


def pair_of(
    statement: Statement,
    chunk: Chunk,
    pair_id: str,
    level: SupportLevel | None,
    citation: Citation | None = None,
    held: float | None = None,
) -> Pair:
    """Return the pair of a statement and a chunk. citation: where it comes from; None for a chunk of a retrieval pool.

    held: share of an evidence set that the chunk holds.
    """
    return Pair(
        pair_id=pair_id,
        statement_id=statement.id,
        document_id=chunk.document_id,
        chunk=chunk.index,
        citation_id=citation.id if citation else "",
        group=statement.group,
        level=level,
        citation_level=citation.level if citation else None,
        statement=statement.text,
        source=chunk.text,
        held=held,
    )


_POOL = re.compile(r"(?:bm25:(?P<words>[1-9]\d*)|dense:(?P<dense>[1-9]\d*)(?::(?P<encoder>cosine:\S+))?)")

# Ranks chunks for statements, from the texts of both: for each statement chunk numbers, best first.
RankChunks = Callable[[Sequence[str], Sequence[str]], Iterable[Iterable[int]]]


def check_pool(pool: str) -> int:
    """Return the number of chunks that a pool rule adds (`own`: 0); raises `UserError` for an unknown rule."""
    if pool == "own":
        return 0
    match = _POOL.fullmatch(pool)
    if match is None:
        rules = "own, or bm25:K with K of 1 or more (for example bm25:20), or dense:K, or dense:K:cosine:MODEL"
        raise UserError(f"pool is {pool!r}; allowed: {rules}.")
    return int(match["words"] or match["dense"])


def pool_encoder(pool: str) -> str:
    """Return the metric whose encoder ranks the chunks of a dense pool (minilm-cosine by default); else empty."""
    match = _POOL.fullmatch(pool)
    return (match["encoder"] or "minilm-cosine") if match and match["dense"] else ""


def add_pool(table: PairTable, chunked: ChunkedCorpus, pool: str, rank: RankChunks | None = None) -> PairTable:
    """Return the table with the best-ranked chunks of documents that a statement does not cite added, at level NONE.

    pool: "own" adds nothing, "bm25:k" and "dense:k" k chunks to each statement, fewer if there are no more. rank: ranks
    the chunks of a dense pool; None for BM25. Chunks with the text of one of the statement's own are skipped: a copy in
    another document would be evidence under the wrong level. That no other added chunk supports the statement is an
    assumption, the base paper's. Raises `UserError` for an unknown pool, and where two pairs would have one id.
    """
    k = check_pool(pool)
    if k == 0:
        return replace(table, pool=pool)
    chunks = [chunk for chunks in chunked.chunks.values() for chunk in chunks]
    sources: dict[str, set[str]] = {}
    for pair in table.pairs:
        sources.setdefault(pair.statement_id, set()).add(pair.source)
    statements = [chunked.corpus.statements[statement_id] for statement_id in sources]
    ranked = (rank or _by_words)([chunk.text for chunk in chunks], [statement.text for statement in statements])
    added = list[Pair]()
    for statement, order in zip(statements, ranked, strict=True):
        added += _pool_rows(statement, (chunks[number] for number in order), k, sources[statement.id])
    counts = Counter(pair.statement_id for pair in added)
    least = min((counts[name] for name in sources), default=k)
    if least < k:
        _log.warning(
            "pool=%s: the data have too few other chunks: some statements get only %s more, not %s.", pool, least, k
        )
    ((pair_id, times),) = Counter(pair.pair_id for pair in (*table.pairs, *added)).most_common(1)
    if times > 1:
        why = "because ids of statements, documents or citations contain '+'"
        raise UserError(f"Two pairs would have the same id {pair_id!r}, {why}. Rename these ids.")
    return replace(table, pairs=(*table.pairs, *added), pool=pool)


def _by_words(chunks: Sequence[str], statements: Sequence[str]) -> Iterator[Iterable[int]]:
    """Rank chunks by BM25 (bm25s with its defaults: Lucene variant, k1 = 1.5, b = 0.75), equal ones in their order."""
    import bm25s
    import numpy as np  # which a help text does not need

    # It sets its logger to DEBUG, which any program with a log handler then prints.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    language, index = language_of_pairs(statements, chunks), bm25s.BM25()
    documents = [words_of(text, language) for text in chunks]
    known = frozenset(token for tokens in documents for token in tokens)
    if known:
        index.index(documents, show_progress=False)
    for statement in statements:
        tokens = [token for token in words_of(statement, language) if token in known]
        scores = index.get_scores(tokens) if tokens else np.zeros(len(chunks))
        yield iter(np.argsort(-scores, kind="stable"))


def _pool_rows(statement: Statement, chunks: Iterable[Chunk], k: int, sources: set[str]) -> Iterator[Pair]:
    taken: set[str] = set()
    for chunk in chunks:
        if chunk.text in sources or chunk.text in taken:
            continue
        taken.add(chunk.text)
        pair_id = f"{statement.id}+{chunk.document_id}#{chunk.index}"
        yield pair_of(statement, chunk, pair_id, SupportLevel.NONE)
        if len(taken) == k:
            return
