"""Ratings in Parquet beyond memory, read in batches: groups are numbered, levels counted, and scores found.

A file of more than `MOST_IN_MEMORY` rows has a column `group`, a column `gold` with up to eight values, and the scores
of each metric in a numeric column of its own, or in a score file that has its rows in its order; null is a missing
score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.corpus.loaders.ratings import LEVELS
from metaeval.errors import UserError, shown
from metaeval.experiment.columns import direction_of, score_path
from metaeval.files import sha256_file
from metaeval.own_tables import RATING_ROLES, Table, text_of
from metaeval.reading import parquet_batches, parquet_schema, parquet_size
from metaeval.report.grid import count
from metaeval.scoring.contract import Status
from metaeval.scoring.scorefile import ScoreFile, read_manifest
from metaeval.stats.arrays import Floats
from metaeval.stats.rank_counts import MAX_LEVELS

MOST_IN_MEMORY = 2_000_000
"""Ratings that are read as objects: some 3 GB."""

BATCH = 500_000
"""Rows that are read at a time."""


@dataclass(frozen=True)
class Place:
    """Where the scores of a metric stand: a column of the ratings, or a file of float64 in their order.

    path: of the ratings, or of the score file. fields: of its signature. statuses: why scores are missing, where that
    is known.
    """

    path: Path
    column: str
    file: Path | None
    fields: Mapping[str, object]
    statuses: Mapping[str, int]


@dataclass(frozen=True)
class CountedRatings:
    """What one pass over the file tells. rows: in all. levels: the gold values, ascending, with the rows of each.

    gold: its column. metrics: where each metric's scores stand, by name. codes: file with a number for the group of
    each row, int32. groups: (G,) the code of each number, in the order of the groups' names, as in memory.
    """

    path: Path
    rows: int
    levels: Mapping[float, int]
    gold: str
    metrics: Mapping[str, Place]
    codes: Path
    groups: NDArray[np.int32]

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return self.groups.size


def read_counted(
    path: Path, folder: Path, options: Mapping[str, str], score_files: Sequence[str] = ()
) -> CountedRatings:
    """Number the groups of a file into `folder`, and count its levels; `UserError` where it is no such file.

    options: of the data set; `id`, `group`, `gold` and `metrics` name columns. score_files: as metrics are named.
    """
    kinds = parquet_schema(path)
    chosen = {name: text for name, text in options.items() if text}
    if others := chosen.keys() - {"id", "group", "gold", "metrics"}:
        raise UserError(f"Option {min(others)} of ratings is not known beyond {MOST_IN_MEMORY:,} rows: leave it out.")
    group, gold_name = chosen.get("group", "group"), chosen.get("gold", "gold")
    for name, hint in ((group, "what each row belongs to"), (gold_name, "its rating")):
        if name not in kinds:
            raise UserError(f"{path} has no column {name!r} ({hint}); it has {', '.join(map(repr, kinds))}.")
    roles = {group, gold_name, *(name for names in RATING_ROLES.values() for name in names)}
    found = [name for name, kind in kinds.items() if kind == "number" and name.lower() not in roles]
    asked = [name.strip() for name in chosen.get("metrics", "").split(",") if name.strip()]
    metrics = tuple(dict.fromkeys(asked or found))
    if not (metrics or score_files) or not set(metrics) <= kinds.keys():
        missing = min(set(metrics) - kinds.keys(), default="of numbers beside group and gold")
        raise UserError(f"{path} has no column {missing}: name the columns of scores with dataset_options.metrics.")
    codes: dict[Any, int] = {}
    levels: dict[float, int] = {}
    rows, at = 0, folder / "groups"
    with at.open("wb") as file:
        for batch in parquet_batches(path, [group, gold_name], BATCH):
            if lacking := batch.column(group).is_null(nan_is_null=True).true_count:
                raise UserError(f"{path}: {count(lacking, 'row')} from row {rows + 1} on: no group is given.")
            encoded = batch.column(group).dictionary_encode()
            known = [codes.setdefault(value, len(codes)) for value in encoded.dictionary.to_pylist()]
            np.array(known, dtype=np.int32)[encoded.indices.to_numpy(zero_copy_only=False)].tofile(file)
            gold = _numbers(path, batch, gold_name, LEVELS)
            if not np.isfinite(gold).all():
                row = rows + 1 + int(np.flatnonzero(~np.isfinite(gold))[0])
                raise UserError(
                    f"{path} row {row}: gold is {batch.column(gold_name)[row - rows - 1]}; it must be a finite number."
                )
            for value, members in zip(*np.unique(gold, return_counts=True), strict=True):
                levels[float(value)] = levels.get(float(value), 0) + int(members)
            if len(levels) > MAX_LEVELS:
                raise UserError(
                    f"{path}: gold has more than {MAX_LEVELS} values, which are not counted from disk. "
                    "Round it to fewer, or take a sample."
                )
            rows += gold.size
    if len(levels) < 2:
        raise UserError(f"{path}: all {rows} rows have one gold value; nothing tells one row from another.")
    order = np.empty(len(codes), dtype=np.int32)
    order[[codes[name] for name in sorted(codes, key=str)]] = np.arange(len(codes))
    places = {name: Place(path, name, None, {"metric": f"{name}@published"}, {}) for name in metrics}
    own = Table(str(path), tuple(kinds), ()).find(RATING_ROLES, {"id": chosen["id"]} if "id" in chosen else None)
    for number, asked_name in enumerate(dict.fromkeys(score_files)):
        scores = score_path(asked_name)
        name, place = _joined(path, own.get("id", ""), rows, scores, folder / f"scores-{number}")
        places[f"{name} ({scores})" if name in places else name] = place
    return CountedRatings(path, rows, dict(sorted(levels.items())), gold_name, places, at, order)


def _joined(path: Path, heading: str, rows: int, scores: Path, target: Path) -> tuple[str, Place]:
    """A score file's metric, and its scores, higher is more support, in the order of the ratings.

    heading: of the ratings' ids; empty where they are "row 1", "row 2" ... Raises `UserError` for another file, and
    where it has other rows, or another order.
    """
    if scores.suffix != ".parquet":
        raise UserError(
            f"{scores}: ratings that are counted from disk take score files in Parquet ('metaeval score --format "
            "parquet')."
        )
    kinds = parquet_schema(scores)
    if lacking := [name for name in ("pair_id", "score") if name not in kinds]:
        raise UserError(f"{scores} has no column {lacking[0]} (columns: {', '.join(map(repr, kinds))}): name one so.")
    _check_order(path, heading, rows, scores)
    manifest = read_manifest(scores)
    sign = direction_of(ScoreFile(scores, {}, manifest))
    statuses = Counter[str]()
    with target.open("wb") as file:
        for batch in parquet_batches(scores, ["score", *(["status"] if "status" in kinds else [])], BATCH):
            score = sign * _numbers(scores, batch, "score")
            if "status" in kinds:
                missing = batch.column("status").filter(batch.column("score").is_null())
                for one in missing.value_counts().to_pylist():
                    statuses[one["values"] or str(Status.ABSENT)] += one["counts"]
            score.tofile(file)
    name = str(manifest.get("metric") or scores.stem)
    fields = {"metric": f"{name}@scores", "file": f"sha256:{sha256_file(scores)[:12]}"}
    return name, Place(scores, "score", target, fields, statuses)


def _check_order(path: Path, heading: str, rows: int, scores: Path) -> None:
    """Refuse a score file that has not the ratings' ids in their order."""
    cure = "score the same file, or put the scores into a column of it"
    if (theirs := parquet_size(scores)) != rows:
        raise UserError(f"{scores} has {theirs:,} rows, and {path} has {rows:,}: {cure}.")
    named = chain.from_iterable(batch.column(0).to_pylist() for batch in parquet_batches(scores, ["pair_id"], BATCH))
    at = 0
    for own in _ids(path, heading, rows):
        found = list(islice(named, len(own)))
        if found != own:
            place = next(number for number, pair in enumerate(zip(own, found, strict=True)) if pair[0] != pair[1])
            raise UserError(
                f"{scores} row {at + place + 1} is of {shown(found[place])}, and in {path} this row is "
                f"{shown(own[place])}: {cure}."
            )
        at += len(own)


def _ids(path: Path, heading: str, rows: int) -> Iterator[list[str]]:
    """The ids of ratings, some at a time."""
    if not heading:
        for at in range(0, rows, BATCH):
            yield [f"row {number}" for number in range(at + 1, min(at + BATCH, rows) + 1)]
        return
    at = 1
    for batch in parquet_batches(path, [heading], BATCH):
        yield [text_of(value) or f"row {number}" for number, value in enumerate(batch.column(0).to_pylist(), at)]
        at += batch.num_rows


def scores_of(given: CountedRatings, metric: str) -> Iterator[tuple[Floats, Floats]]:
    """A metric's scores beside the gold, some rows at a time."""
    place, at = given.metrics[metric], 0
    columns = [given.gold] if place.file else [place.column, given.gold]
    with place.file.open("rb") if place.file else nullcontext() as file:
        for batch in parquet_batches(given.path, columns, BATCH):
            gold = _numbers(given.path, batch, given.gold, LEVELS)
            score = np.fromfile(file, np.float64, gold.size) if file else _numbers(given.path, batch, place.column)
            if np.isinf(score).any():
                row = at + 1 + int(np.flatnonzero(np.isinf(score))[0])
                raise UserError(f"{place.path} row {row}: {metric} is infinite; write null for a missing score.")
            yield score, gold
            at += gold.size


def _numbers(path: Path, batch: Any, name: str, words: Mapping[str, float] = MappingProxyType({})) -> Floats:
    """A column of Arrow as floats, NaN where it is null. words: that stand for numbers."""
    column = batch.column(name)
    if words and str(column.type) in ("string", "large_string"):
        encoded = column.dictionary_encode()
        known = {text: words.get(text.strip().casefold()) for text in encoded.dictionary.to_pylist()}
        if wrong := [text for text, number in known.items() if number is None]:
            raise UserError(f"{path}: {name} is {shown(wrong[0], 40)}; allowed: numbers, or {', '.join(words)}.")
        numbers = np.array([*known.values(), math.nan], dtype=np.float64)
        codes = encoded.indices.fill_null(len(known)).to_numpy()
        return np.asarray(numbers[codes], dtype=np.float64)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "fiu":
        raise UserError(f"{path}: column {name!r} is of type {column.type}; it must hold numbers.")
    return np.asarray(values, dtype=np.float64)
