"""The rows of a job as the explorer's columns: which are drawn, their texts once, their evidence, ratings in levels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metaeval.corpus.chunks import Chunking
from metaeval.corpus.model import Citation, Rating, Ratings, SupportLevel
from metaeval.corpus.pairs import Placed, place_evidence
from metaeval.corpus.units import UnitRow
from metaeval.experiment.prepared_run import Job, RatedSet
from metaeval.own_tables import TEXT_ROLES, Table
from metaeval.report.explorer import Numbers


class Page:
    """The columns of a page, row by row; texts, statements, documents, groups and systems stand once."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._citations = {citation.id: citation for citation in job.corpus.citations}
        self._texts, self._statements, self._documents = Numbers(), Numbers(), Numbers()
        self._groups, self._systems = Numbers(), Numbers()
        self._rows: list[dict[str, Any]] = []
        self._placed: dict[str, Placed] = {}

    def add(self, row: UnitRow, kept: Mapping[str, Any]) -> None:
        """Add a row, with what the pair file keeps of it."""
        pairs = [self._job.pairs[number] for number in row.members]
        citation = self._citations.get(pairs[0].citation_id)
        placed = self._placed_of(citation) if citation else None
        self._rows.append(
            {
                "id": row.id,
                "statement": self._statements(row.statement_id),
                "document": self._documents(pairs[0].document_id),
                "chunk": pairs[0].chunk,
                "texts": [self._texts(pair.source) for pair in pairs],
                "group": self._groups(row.group),
                "system": self._systems(self._job.corpus.statements[row.statement_id].system),
                "level": -1 if kept["level"] is None else int(kept["level"]),
                "held": row.held,
                "cited": int(row.cited),
                "words": row.words,
                "pool": self._statements(row.statement_id),
                "evidence": [placed.spans(pair) if placed else [] for pair in pairs],
                "unplaced": placed.unplaced if placed else [],
            }
        )

    def columns(self) -> dict[str, Any]:
        """Everything, as columns."""
        corpus = self._job.corpus
        documents = [corpus.documents[name] for name in self._documents.of]
        return {
            "rows": {key: [row[key] for row in self._rows] for key in (self._rows[0] if self._rows else ())},
            "levels": [level.label for level in sorted(SupportLevel)],
            "texts": list(self._texts.of),
            "statementIds": list(self._statements.of),
            "statementTexts": [corpus.statements[name].text for name in self._statements.of],
            "documents": [{"id": one.id, "title": one.title, "url": one.url} for one in documents],
            "groups": list(self._groups.of),
            "systems": list(self._systems.of),
        }

    def _placed_of(self, citation: Citation) -> Placed:
        if citation.id not in self._placed:
            config, document = self._job.config, self._job.corpus.documents[citation.document_id]
            chunking = Chunking(sys.maxsize) if config.unit == "page" else config.chunk.chunking()
            own = None if config.unit == "evidence" else chunking
            self._placed[citation.id] = place_evidence(document, citation, config.evidence.threshold, own)
        return self._placed[citation.id]


AGAINST = "human rating"
"""The human's ratings as a column beside the metrics, which a scatter holds them against."""

_WORDS = 12
"""A group whose name has more words is the text that the ratings are of."""


def rating_levels(ratings: Ratings) -> tuple[dict[str, Any], Callable[[float], int]]:
    """The names of levels 0, 1 and 2, and which ratings are of which, in words; and the level of a rating.

    Ratings on the three-level scale keep it. Of two values each is a level, and the middle one has no name; of more,
    each third of the scale from the lowest rating to the highest.
    """
    values = sorted({row.gold for row in ratings.rows})
    low, high = values[0], values[-1]
    if ratings.levels and {*values} <= {*map(float, SupportLevel)}:
        return {"levels": [level.label for level in sorted(SupportLevel)], "cuts": ""}, int
    if len(values) == 2:
        return {"levels": [f"{low:g}", "", f"{high:g}"], "cuts": ""}, lambda gold: 2 if gold == high else 0
    # A little slack: 1/3 as it is printed is still in the middle.
    first, second = (low + (high - low) * (third + slack) / 3 for third, slack in ((1, -1e-6), (2, 1e-6)))
    words = {"levels": ["low", "middle", "high"], "cuts": f"low: below {first:.3g}, high: above {second:.3g}"}
    return words, lambda gold: 0 if gold < first else 2 if gold > second else 1


def rating_columns(rated: RatedSet, rows: Sequence[Rating]) -> dict[str, Any]:
    """The columns of these ratings, but for their levels; texts, groups and systems stand once.

    The source and the rated text are in the fields that are named for them, as those of a pair are.
    """
    headings = list(dict.fromkeys(name for row in rows for name in row.fields))
    mapped = {role: name for role, name in rated.config.columns.items() if role in TEXT_ROLES and name in headings}
    roles = Table(rated.name, tuple(headings), ()).find(TEXT_ROLES, mapped)
    texts, statements, groups, systems, pools = Numbers(), Numbers(), Numbers(), Numbers(), Numbers()
    made: list[dict[str, Any]] = []
    for row in rows:
        source = row.fields.get(roles.get("source", ""), "") or (row.group if len(row.group.split()) > _WORDS else "")
        statement = row.text or row.fields.get(roles.get("statement", ""), "")
        others = {name: text for name, text in row.fields.items() if text not in ("", source, statement)}
        votes = {name: f"{vote:g}" for name, vote in row.votes.items()}
        made.append(
            {
                **{"id": row.id, "statement": statements(statement), "document": groups(row.group), "chunk": 0},
                **{"texts": [texts(source)] if source else [], "group": groups(row.group)},
                **{"system": systems(row.system), "rating": row.gold, "held": None, "cited": 1},
                **{"words": len(source.split()), "pool": pools(f"{row.group}\0{row.pair}")},
                **{"evidence": [[]] if source else [], "unplaced": [], "more": {**others, **votes}},
            }
        )
    return {
        "rows": {key: [row[key] for row in made] for key in (made[0] if made else ())},
        "texts": list(texts.of),
        "statementIds": list(statements.of),
        "statementTexts": list(statements.of),
        "documents": [{"id": name, "title": "", "url": ""} for name in groups.of],
        "groups": list(groups.of),
        "systems": list(systems.of),
    }
