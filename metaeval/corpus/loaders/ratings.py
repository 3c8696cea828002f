"""A rated set of the user's own: one JSON object per line.

    {"id": "r1", "group": "article-1", "gold": 0.5, "system": "bart", "scores": {"mine": 0.73, "theirs": null}}

id, group   strings, not empty; ids are unique. Texts that share a group are not independent: one article, one query.
gold        the human rating, any finite number, more is more faithful.
system      optional: the generator. With two or more, correlations are also given with the systems held constant.
subset      optional: the part of the set; text: optional: what was rated.
scores      optional: a metric's name to its score, higher is more faithful, or null where it has none.

Other fields are errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from metaeval.corpus.dataset import own_file
from metaeval.corpus.loaders.rows import Row, finite, finite_or_none
from metaeval.corpus.model import Rating, Ratings
from metaeval.errors import UserError, shown
from metaeval.files import read_text

FIELDS = ("id", "group", "gold", "system", "subset", "text", "scores")


def read_ratings(path: Path) -> Ratings:
    """Read a rated set; `UserError` names the line, the field, the value and what is allowed."""
    rows: list[Rating] = []
    scores: dict[str, dict[str, float | None]] = {}
    for row in _lines(path):
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


def _lines(path: Path) -> Iterator[Row]:
    # Only "\n" separates lines: str.splitlines would also cut at separators that may stand inside a string.
    for number, line in enumerate(read_text(path).removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where} is not JSON ({error}): write one object per line.") from error
        if not isinstance(value, dict):
            raise UserError(f"{where} is {shown(value)}; allowed: an object with id, group and gold.")
        yield Row(where, value)


DATASET = own_file(
    read_ratings,
    "ratings",
    "A file of human ratings of your own",
    "metaeval-ratings/1",
    wanted='one {"id": ..., "group": ..., "gold": ...} per line',
    note="metaeval.corpus.loaders.ratings. Without documents: for scores that exist already.",
    kind="ratings",
)
