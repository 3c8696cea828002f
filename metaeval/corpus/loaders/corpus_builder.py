"""A corpus in the making: what every loader does with the rows that it has read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.errors import UserError
from metaeval.files import sha256_json


def content_id(*parts: Any) -> str:
    """An id made of content, the same in every split: the first 12 hex digits of its SHA-256."""
    return sha256_json(parts)[:12]


class Draft:
    """Collects documents, statements and citations in file order, and counts what is left out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.documents: dict[str, Document] = {}
        self.statements: dict[str, Statement] = {}
        self.citations: list[Citation] = []
        self.dropped: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()

    def document(
        self, text: str = "", sentences: Sequence[str] = (), title: str = "", url: str = "", **meta: Any
    ) -> str:
        """Add a document and return its id.

        Documents of the same text are one document, with the first one's title, url and meta: twice in a retrieval
        pool, a passage would compete with itself. Documents without text are told apart by their url.
        """
        own = f"d-{content_id(text, list(sentences)) if text or sentences else content_id(url)}"
        if own not in self.documents:
            self.documents[own] = Document(own, text, title, url, tuple(sentences), meta)
        return own

    def statement(self, statement: Statement) -> str:
        """Add a statement and return its id; the same one may come again, another under its id is a `UserError`."""
        known = self.statements.setdefault(statement.id, statement)
        if (known.text, known.group) != (statement.text, statement.group):
            raise UserError(f"{self.name}: the published files give the id {statement.id!r} to two statements.")
        return statement.id

    def next_id(self, statement: str) -> str:
        """The id of the statement's next judgement, STATEMENT:1, STATEMENT:2 and so on.

        Ask for one before leaving a judgement out: so an option that drops some leaves the others' ids alone.
        """
        self._judged[statement] += 1
        return f"{statement}:{self._judged[statement]}"

    def cite(
        self,
        own: str,
        statement: str,
        document: str,
        level: SupportLevel,
        evidence: Evidence = Evidence(),  # noqa: B008 - frozen
        **meta: Any,
    ) -> None:
        """Add a judged citation under the id `own`."""
        self.citations.append(Citation(own, statement, document, level, evidence, meta))

    def drop(self, reason: str, count: int = 1) -> None:
        """Count what is left out, by reason."""
        self.dropped[reason] += count

    def corpus(self) -> Corpus:
        """The corpus as collected; its own checks apply."""
        return Corpus(self.name, self.documents, self.statements, tuple(self.citations), dict(self.dropped))
