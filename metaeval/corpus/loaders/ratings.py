"""A rated set of the user's own: one JSON object per line::

    {"id": "r1", "group": "article-1", "gold": 0.5, "system": "bart", "scores": {"mine": 0.73, "theirs": null}}

:id, group: strings, not empty; ids are unique. Texts that share a group are not independent: one article, one query.
:gold: the human rating, any finite number, more is more faithful.
:system: optional: the generator. With two or more, correlations are also given with the systems held constant.
:subset: optional: the part of the set; text: optional: what was rated.
:scores: optional: a metric's name to its score, higher is more faithful, or null where it has none.

Other fields are errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metaeval.corpus.dataset import own_file
from metaeval.corpus.loaders.rows import Row, finite, finite_or_none, read_rows
from metaeval.corpus.model import Rating, Ratings

FIELDS = ("id", "group", "gold", "system", "subset", "text", "scores")


def read_ratings(path: Path) -> Ratings:
    """Read a rated set; `UserError` names the line, the field, the value and what is allowed."""
    rows: list[Rating] = []
    scores: dict[str, dict[str, float | None]] = {}
    for row in read_rows(path, "write one object with id, group and gold per line"):
        row.only(FIELDS)
        optional = {name: row.optional_text(name) for name in ("system", "subset", "text")}
        rows.append(Rating(row.identifier("id"), row.identifier("group"), _number(row, "gold"), **optional))
        for metric, score in _scores(row):
            scores.setdefault(metric, {})[rows[-1].id] = score
    return Ratings(path.stem, tuple(rows), scores)


def _number(row: Row, name: str) -> float:
    if isinstance(row.fields.get(name), str):
        raise row.error(name, "a finite number")
    return finite(row, name)


def _scores(row: Row) -> Iterator[tuple[str, float | None]]:
    if row.fields.get("scores") is None:
        return
    scores = row.row("scores")
    for metric in scores.fields:
        if not metric or isinstance(scores.fields[metric], str):
            raise scores.error(metric, "a finite number or null, under a metric's name")
        yield metric, finite_or_none(scores, metric)


DATASET = own_file(
    read_ratings,
    "ratings",
    "A file of human ratings of your own",
    "metaeval-ratings/1",
    wanted='one {"id": ..., "group": ..., "gold": ...} per line',
    note="metaeval.corpus.loaders.ratings. Without documents: for scores that exist already.",
    kind="ratings",
)
