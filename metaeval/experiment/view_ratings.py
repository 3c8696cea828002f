"""The rows of a rated set as the explorer's columns: ratings in levels, and the texts that the set has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metaeval.corpus.model import Rating, Ratings, SupportLevel
from metaeval.experiment.prepared_run import RatedSet
from metaeval.experiment.view_rows import Numbers
from metaeval.own_tables import TEXT_ROLES, Table

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
