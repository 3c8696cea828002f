"""The data model: support levels, documents, statements, citations, and the corpus that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

from metaeval.core.errors import UserError, count, shown
from metaeval.core.files import sha256_json

Meta = Mapping[str, Any]


class SupportLevel(IntEnum):
    """The degree to which a source supports a statement. The numbers are the gold values: higher is more support.

    Attributes
    ----------
    NONE, PARTIAL, FULL : int
        0, 1 and 2.

    Notes
    -----
    The base paper (arXiv 2406.15264) maps {full, partial, none} to {0, 1, 2} in its section 3.2.1 and to {2, 1, 0} in
    3.2.3 while it reports positive correlations; 2 / 1 / 0 is the reading that its numbers follow.
    """

    NONE = 0
    PARTIAL = 1
    FULL = 2

    @property
    def label(self) -> str:
        """The level's name in files: full, partial or none."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Document:
    """A cited page or passage.

    Parameters
    ----------
    id : str
        Its key in `Corpus.documents`.
    text : str
        The text; when sentences are given, these joined by one space.
    title, url : str
        Empty where not known.
    sentences : tuple of str
        The published sentence split, where the data have one; empty means that `text` has still to be split.
    meta : mapping
        Further fields of the data.
    """

    id: str
    text: str = ""
    title: str = ""
    url: str = ""
    sentences: tuple[str, ...] = ()
    meta: Meta = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sentences:
            object.__setattr__(self, "text", " ".join(self.sentences))

    def __repr__(self) -> str:
        named = f" {shown(self.title)}" if self.title else ""
        return f"<Document {self.id!r}{named}: {count(len(self.text.split()), 'word')}>"


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or claim of an answer, without its citation marks.

    Parameters
    ----------
    id : str
        Its key in `Corpus.statements`.
    text : str
        The text.
    group : str
        The unit that resampling draws (query, response or source document): statements that share one are not
        independent.
    system : str
        The generator, where known.
    meta : mapping
        Further fields of the data.
    level : SupportLevel, optional
        The support that all of its citations give it together, where somebody judged that.
    """

    id: str
    text: str
    group: str
    system: str = ""
    meta: Meta = field(default_factory=dict)
    level: SupportLevel | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One evidence set as an annotator marked it: the sentences that are needed together to judge the statement.

    It is false if nothing was marked, that is, if both are empty.

    Parameters
    ----------
    sentences : tuple of int
        0-based indices into `Document.sentences`.
    texts : tuple of str
        Copied text.
    """

    sentences: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sentences or self.texts)


@dataclass(frozen=True, slots=True)
class Citation:
    """A judged citation: a statement, the document that it cites, and the human level of support.

    Parameters
    ----------
    id : str
        Unique in its corpus.
    statement_id, document_id : str
        Of the statement, and of the document that it cites.
    level : SupportLevel
        The human level of support.
    evidence : tuple of Evidence
        The alternative evidence sets, of which each is enough by itself; empty where nothing was marked. A single
        `Evidence` may be given for one set. Sets that mark nothing are left out.
    meta : mapping
        Further fields of the data.
    """

    id: str
    statement_id: str
    document_id: str
    level: SupportLevel
    evidence: tuple[Evidence, ...] = ()
    meta: Meta = field(default_factory=dict)

    def __post_init__(self) -> None:
        sets = (self.evidence,) if isinstance(self.evidence, Evidence) else self.evidence
        object.__setattr__(self, "evidence", tuple(evidence_set for evidence_set in sets if evidence_set))


@dataclass(frozen=True)
class Corpus:
    """Documents, statements and judged citations, by id and in their file order.

    Parameters
    ----------
    name : str
        Name of the data.
    documents : mapping of str to Document
        By id.
    statements : mapping of str to Statement
        By id.
    citations : tuple of Citation
        In their file order.
    dropped : mapping of str to int
        Number of what the loader left out, by reason.
    demo : bool
        The labels are made up (`Dataset.demo`).
    scores : mapping of str to mapping
        Published with the data, by metric and then by citation id, None where one is missing.

    Raises
    ------
    UserError
        When a citation names an unknown statement or document, two citations have one id, or an evidence sentence lies
        outside its document.
    """

    name: str
    documents: Mapping[str, Document]
    statements: Mapping[str, Statement]
    citations: tuple[Citation, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
    demo: bool = False
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = (self.documents, "documents"), (self.statements, "statements"), (self.citations, "citations")
        return f"<Corpus {self.name!r}: {', '.join(f'{len(held):,} {name}' for held, name in counts)}>"

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for citation in self.citations:
            name, where = citation.id, f"Corpus {self.name!r}: citation {citation.id!r}"
            if name in seen:
                raise UserError(f"Corpus {self.name!r}: citation id {name!r} is used twice; ids must be unique.")
            seen.add(name)
            if (statement := citation.statement_id) not in self.statements:
                raise UserError(f"{where} names statement {statement!r}, which is not in the corpus: add it.")
            document = self.documents.get(citation.document_id)
            if document is None:
                raise UserError(f"{where} names document {citation.document_id!r}, which is not in the corpus: add it.")
            held = len(document.sentences)
            for evidence_set in citation.evidence:
                if any(not 0 <= index < held for index in evidence_set.sentences):
                    what = f"marks evidence sentences {list(evidence_set.sentences)}"
                    raise UserError(f"{where} {what}, but document {document.id!r} has {held} published.")

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 of ids, texts, groups, systems, levels and evidence, in whatever order they come."""
        documents = ([d.id, d.text, list(d.sentences)] for d in self.documents.values())
        statements = (
            [s.id, s.text, s.group, s.system, *([] if s.level is None else [int(s.level)])]
            for s in self.statements.values()
        )
        citations = ([c.id, c.statement_id, c.document_id, int(c.level), *_hashed(c.evidence)] for c in self.citations)
        return sha256_json([sorted(documents), sorted(statements), sorted(citations)])

    def level_counts(self) -> dict[str, int]:
        """Return the number of citations at each level, FULL first."""
        return {
            level.label: sum(citation.level is level for citation in self.citations)
            for level in sorted(SupportLevel, reverse=True)
        }


def _hashed(evidence: Sequence[Evidence]) -> list[Any]:
    """Return evidence sets as they are hashed: [sets], but one set or none as its two lists, as in earlier versions."""
    sets = [[list(evidence_set.sentences), list(evidence_set.texts)] for evidence_set in evidence]
    return [sets] if len(sets) > 1 else sets[0] if sets else [[], []]
