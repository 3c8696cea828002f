"""Columns of a rated set: its published scores, score files, and controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.model import Ratings
from metaeval.corpus.pairs import UnitRow
from metaeval.errors import UserError
from metaeval.experiment.columns import Column, column_of, direction_of
from metaeval.experiment.prepared_run import load_ratings
from metaeval.experiment.scoring import oriented
from metaeval.files import sha256_json
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.controls import CONTROLS
from metaeval.scoring.scorefile import ScoreFile

_ABSENT = PairScore(None, Status.ABSENT)


@dataclass(frozen=True)
class RatedSet:
    """What is judged in one run without pairs: rated texts, and where they are from."""

    config: RunConfig
    name: str
    split: str
    ratings: Ratings


def prepare_ratings(config: RunConfig, ratings: Ratings | None = None) -> RatedSet:
    """Load the run's rated set (or take `ratings`); `UserError` for settings that only pairs can have."""
    for setting, given, default in (("unit", config.unit, "chunk"), ("pool", config.pool, "own")):
        if given != default:
            raise UserError(f"{setting}={given} is about cited documents, and a rated set has none: leave it out.")
    ratings, name, split = (ratings, ratings.name, "given") if ratings else load_ratings(config)
    return RatedSet(config, name, split, ratings)


def published_columns(rated: RatedSet) -> list[Column]:
    """One column per metric whose scores were published with the ratings."""
    columns: list[Column] = []
    for metric, scores in rated.ratings.scores.items():
        given = {rating_id: score for rating_id, score in scores.items() if score is not None}
        answers = [PairScore(given[row.id]) if row.id in given else _ABSENT for row in rated.ratings.rows]
        fields = {"metric": f"{metric}@published", "scores": f"sha256:{sha256_json(given)[:12]}"}
        columns.append(column_of(metric, answers, fields))
    return columns


def rating_column(rated: RatedSet, file: ScoreFile, content: str) -> Column:
    """A column of scores made elsewhere, by rating id; `content` pins them. A rating without a row is absent.

    Raises `UserError` when the file scores what is no rating of the set.
    """
    ids = [row.id for row in rated.ratings.rows]
    strangers = file.answers.keys() - set(ids)
    if strangers:
        raise UserError(
            f"{len(strangers)} of the {len(file.answers)} ids in {file.path} are not ratings of {rated.name} "
            f"({rated.split}), for example {min(strangers)!r} (a rating's id: {ids[0]!r}). Were data set, split and "
            "options the same?"
        )
    sign = direction_of(file)
    answers = [oriented(file.answers.get(rating_id, _ABSENT), sign) for rating_id in ids]
    return column_of(file.metric, answers, {"metric": f"{file.metric}@scores", "file": content})


def rating_controls(rated: RatedSet) -> Iterator[Column]:
    """The controls that need no document; length where every text is known, `system` where the systems repeat."""
    rows = rated.ratings.rows
    units = [UnitRow(row.id, row.id, row.group, None, True, (), row.text, 0, 0) for row in rows]
    gold = np.array([row.gold for row in rows], dtype=np.float64)
    made = {name: CONTROLS[name](units) for name in ("constant", "random")}
    made |= {"oracle": gold, "inverted oracle": -gold}
    if all(row.text for row in rows):
        made["statement length"] = CONTROLS["statement length"](units)
    counts = Counter(row.system for row in rows)
    if len(counts) > 1 and all(counts) and min(counts.values()) > 1:
        # What is known of a text from its system alone: the mean rating of that system's texts, this one included.
        # Leaving the text itself out would order the texts of one system against their own ratings.
        totals = dict.fromkeys(counts, 0.0)
        for system, rating in sorted((row.system, row.gold) for row in rows):
            totals[system] += rating
        made["system"] = np.array([totals[row.system] / counts[row.system] for row in rows])
    for name, score in made.items():
        yield Column(name, "control", score, [Status.OK] * len(rows), {"control": name})
