"""The nouns: support level, document, statement, citation, corpus; and rated sets, whose texts come without sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from math import isfinite
from typing import Any

from metaeval.errors import UserError, shown
from metaeval.files import sha256_json

Meta = Mapping[str, Any]


class SupportLevel(IntEnum):
    """The degree to which a source supports a statement. The numbers are the gold values: higher is more support.

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

    `sentences` is the published sentence split, where the data have one; empty means that `text` has still to be
    split. When sentences are given, `text` is those sentences joined by one space.
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
        return f"<Document {self.id!r}{named}: {len(self.text.split()):,} words>"


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or claim of an answer, without its citation marks.

    `group` is the unit that resampling draws (query, response or source document): statements that share one are
    not independent. `system` names the generator, where known.
    """

    id: str
    text: str
    group: str
    system: str = ""
    meta: Meta = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One evidence set, as an annotator marked it: what is needed together to judge the statement.

    0-based indices into `Document.sentences`, or copied text. Both empty: nothing was marked.
    """

    sentences: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sentences or self.texts)


@dataclass(frozen=True, slots=True)
class Citation:
    """A statement cites a document, and a human judged how far it supports the statement.

    evidence: the alternative evidence sets, of which each is enough by itself; empty where nothing was marked. A single
    `Evidence` is one set. Sets that mark nothing are left out.
    """

    id: str
    statement_id: str
    document_id: str
    level: SupportLevel
    evidence: tuple[Evidence, ...] = ()
    meta: Meta = field(default_factory=dict)

    def __post_init__(self) -> None:
        sets = (self.evidence,) if isinstance(self.evidence, Evidence) else self.evidence
        object.__setattr__(self, "evidence", tuple(one for one in sets if one))


@dataclass(frozen=True)
class Corpus:
    """Documents, statements and judged citations, by id and in their file order.

    `dropped` counts what the loader left out, by reason. Raises `UserError` when a citation names an unknown
    statement or document, an id is used twice, or evidence points outside its document.
    """

    name: str
    documents: Mapping[str, Document]
    statements: Mapping[str, Statement]
    citations: tuple[Citation, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = (self.documents, "documents"), (self.statements, "statements"), (self.citations, "citations")
        return f"<Corpus {self.name!r}: {', '.join(f'{len(held):,} {name}' for held, name in counts)}>"

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for citation in self.citations:
            if citation.id in seen:
                raise UserError(f"Corpus {self.name!r}: citation id {citation.id!r} is used twice; ids must be unique.")
            seen.add(citation.id)
            self._check(citation)

    def _check(self, citation: Citation) -> None:
        where = f"Corpus {self.name!r}: citation {citation.id!r}"
        if citation.statement_id not in self.statements:
            raise UserError(f"{where} names statement {citation.statement_id!r}, which is not in the corpus.")
        document = self.documents.get(citation.document_id)
        if document is None:
            raise UserError(f"{where} names document {citation.document_id!r}, which is not in the corpus.")
        last = len(document.sentences) - 1
        for one in citation.evidence:
            if any(not 0 <= index <= last for index in one.sentences):
                raise UserError(
                    f"{where} marks evidence sentences {list(one.sentences)}, but document "
                    f"{document.id!r} has {last + 1} published sentences (indices start at 0)."
                )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that can change a result: ids, texts, groups, levels, evidence (not `meta`)."""
        documents = ([d.id, d.text, list(d.sentences)] for d in self.documents.values())
        statements = ([s.id, s.text, s.group, s.system] for s in self.statements.values())
        citations = ([c.id, c.statement_id, c.document_id, int(c.level), *_hashed(c.evidence)] for c in self.citations)
        return sha256_json([sorted(documents), sorted(statements), sorted(citations)])

    def level_counts(self) -> dict[str, int]:
        """Number of citations at each level, FULL first."""
        return {
            level.label: sum(citation.level is level for citation in self.citations)
            for level in sorted(SupportLevel, reverse=True)
        }


def _hashed(evidence: Sequence[Evidence]) -> list[Any]:
    """Evidence as it is hashed: a single set as its two lists, so that the hash of such data has never changed."""
    sets = [[list(one.sentences), list(one.texts)] for one in evidence]
    return [sets] if len(sets) > 1 else sets[0] if sets else [[], []]


@dataclass(frozen=True, slots=True)
class Rating:
    """One rated text. `gold` is any finite number, more is more faithful.

    group: what resampling draws, and whose texts are ranked against each other: the article that they are made from.
    system: the generator; subset: the part of the set that the text comes from; pair: within a group, which texts are
    ranked against each other, as a text and its minimally changed copy. Empty where not known. fields: whatever else is
    known of it, by name. votes: by annotator, on the scale of the gold.
    """

    id: str
    group: str
    gold: float
    system: str = ""
    subset: str = ""
    text: str = ""
    pair: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Ratings:
    """Rated texts in their file order, and the scores that metrics gave them.

    scores: for each metric, rating id to score, higher is more faithful; None, or an id left out, is a missing score.
    dropped: what the loader left out, by reason. levels: the gold is on the three-level scale.

    Raises `UserError` for fewer than two ratings, an id that is empty or used twice, an empty group, a gold rating
    that is not finite or is the same everywhere, a pair that lies in two groups, and a score or vote that is not finite
    or a score that belongs to no rating.
    """

    name: str
    rows: tuple[Rating, ...]
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    levels: bool = False

    def __repr__(self) -> str:
        return f"<Ratings {self.name!r}: {len(self.rows):,} ratings, scores of {len(self.scores):,} metrics>"

    def __post_init__(self) -> None:
        where = f"Rated set {self.name!r}"
        seen: set[str] = set()
        groups: dict[str, str] = {}
        for row in self.rows:
            if not row.id or not row.group:
                raise UserError(
                    f"{where}: rating {row.id!r} of group {row.group!r} needs an id and a group, not empty."
                )
            if row.id in seen:
                raise UserError(
                    f"{where}: rating id {row.id!r} is used twice; ids must be unique, unless a column "
                    "annotator says whose each row is."
                )
            seen.add(row.id)
            if not isfinite(row.gold):
                raise UserError(f"{where}: rating {row.id!r} has gold {row.gold}; it must be a finite number.")
            if not all(map(isfinite, row.votes.values())):
                raise UserError(f"{where}: rating {row.id!r} has a vote that is not a finite number.")
            if row.pair and groups.setdefault(row.pair, row.group) != row.group:
                raise UserError(
                    f"{where}: pair {row.pair!r} has texts in the groups {groups[row.pair]!r} and {row.group!r}; "
                    "a pair lies within one group."
                )
        if len(self.rows) < 2:
            raise UserError(f"{where} holds {len(self.rows)} ratings; no metric can be judged with fewer than two.")
        if len({row.gold for row in self.rows}) == 1:
            raise UserError(
                f"{where}: all {len(self.rows)} ratings are {self.rows[0].gold:g}; "
                "nothing tells one text from another, so no metric can be judged."
            )
        for metric, scores in self.scores.items():
            self._check(f"{where}: metric {metric!r}", scores, seen)

    def _check(self, where: str, scores: Mapping[str, float | None], ids: set[str]) -> None:
        for rating_id, score in scores.items():
            if rating_id not in ids:
                raise UserError(f"{where} has a score for {rating_id!r}, which is no rating of the set.")
            if score is not None and not isfinite(score):
                raise UserError(
                    f"{where} has the score {score} for {rating_id!r}; it must be finite, or null where it is missing."
                )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over what the ratings are: ids, groups, gold, systems, texts, and pairs if any; in any order.

        Scores and votes are not hashed.
        """
        return sha256_json(
            sorted(
                [*(row.id, row.group, float(row.gold), row.system, row.text), *([row.pair] if row.pair else [])]
                for row in self.rows
            )
        )

    def level_counts(self, most: int = 10) -> dict[str, int]:
        """Number of texts at each gold value, highest first; empty where there are more than `most` values."""
        counts = Counter(row.gold for row in self.rows)
        if self.levels:
            return {level.label: counts[level] for level in sorted(SupportLevel, reverse=True)}
        return {} if len(counts) > most else {f"{gold:g}": counts[gold] for gold in sorted(counts, reverse=True)}
