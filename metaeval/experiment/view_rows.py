"""The rows of a job as the explorer's columns: which are drawn, their texts once, their evidence, ratings in levels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from metaeval.corpus.chunks import Chunking
from metaeval.corpus.model import Rating, Ratings, SupportLevel
from metaeval.corpus.pairs import Placed, place_evidence
from metaeval.corpus.units import UnitRow
from metaeval.experiment.prepared_run import Job, RatedSet
from metaeval.own_tables import TEXT_ROLES, Table
from metaeval.report.explorer import Numbers


def pair_columns(job: Job, rows: Sequence[UnitRow], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of these rows of a job; texts, statements, documents, groups and systems stand once.

    kept: what the pair file keeps of each row, by its id.
    """
    corpus, config = job.corpus, job.config
    citations = {citation.id: citation for citation in corpus.citations}
    texts, statements, documents, groups, systems = Numbers(), Numbers(), Numbers(), Numbers(), Numbers()

    @cache
    def placed(citation_id: str) -> Placed:
        citation = citations[citation_id]
        chunking = Chunking(sys.maxsize) if config.unit == "page" else config.chunk.chunking()
        own = None if config.unit == "evidence" else chunking
        return place_evidence(corpus.documents[citation.document_id], citation, config.evidence.threshold, own)

    made: list[dict[str, Any]] = []
    for row in rows:
        pairs, level = [job.pairs[number] for number in row.members], kept[row.id]["level"]
        first = pairs[0]
        evidence = placed(first.citation_id) if first.citation_id in citations else Placed({}, [])
        system = corpus.statements[row.statement_id].system
        made.append(
            {
                **{"id": row.id, "statement": statements(row.statement_id), "document": documents(first.document_id)},
                **{"chunk": first.chunk, "texts": [texts(pair.source) for pair in pairs], "group": groups(row.group)},
                **{"system": systems(system), "level": -1 if level is None else int(level), "held": row.held},
                **{"cited": int(row.cited), "words": row.words, "pool": statements(row.statement_id)},
                **{"evidence": [evidence.spans(pair) for pair in pairs], "unplaced": evidence.unplaced},
            }
        )
    shown = [corpus.documents[name] for name in documents.of]
    return {
        "rows": {key: [row[key] for row in made] for key in (made[0] if made else ())},
        "levels": [level.label for level in sorted(SupportLevel)],
        "texts": list(texts.of),
        "statementIds": list(statements.of),
        "statementTexts": [corpus.statements[name].text for name in statements.of],
        "documents": [{"id": one.id, "title": one.title, "url": one.url} for one in shown],
        "groups": list(groups.of),
        "systems": list(systems.of),
    }


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
