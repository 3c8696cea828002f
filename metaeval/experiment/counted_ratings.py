"""Ratings in Parquet beyond memory: read in batches, sorted on disk, and the measures that are made of counts.

A file of more than `MOST_IN_MEMORY` rows has a column `group`, a column `gold` with up to eight values, and the scores
of each metric in a numeric column of its own, or in a score file that has its rows in its order; null is a missing
score. Rows are dealt to files by their score, so that each holds those between two scores and fits in memory; in order,
they are the chunks of `metaeval.stats.group_counts`. No row is kept: memory grows with the number of groups alone.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.config import RunConfig
from metaeval.corpus.loaders.ratings import LEVELS
from metaeval.errors import UserError, shown
from metaeval.experiment.columns import score_path
from metaeval.experiment.evaluation import column_of, named_protocols, resampling_of
from metaeval.files import check_unchanged, marks_of, sha256_file
from metaeval.own_tables import RATING_ROLES, Table, text_of
from metaeval.reading import parquet_batches, parquet_schema, parquet_size
from metaeval.report import result as results
from metaeval.report.grid import count
from metaeval.scoring.contract import Status
from metaeval.scoring.scorefile import ScoreFile, read_manifest
from metaeval.signature import resampled_fields, signature, versions
from metaeval.stats.arrays import Floats
from metaeval.stats.group_counts import group_totals_of
from metaeval.stats.rank_counts import MAX_LEVELS, resampled_orders
from metaeval.stats.ties import Entries, entries_of, run_starts, sorted_entries
from protocols.contract import Estimate, Protocol, Resampling
from protocols.counted import COUNTED, counted

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
    given = ScoreFile(scores, {}, read_manifest(scores))
    statuses = Counter[str]()
    with target.open("wb") as file:
        for batch in parquet_batches(scores, ["score", *(["status"] if "status" in kinds else [])], BATCH):
            score = given.direction * _numbers(scores, batch, "score")
            if "status" in kinds:
                missing = batch.column("status").filter(batch.column("score").is_null())
                for one in missing.value_counts().to_pylist():
                    statuses[one["values"] or str(Status.ABSENT)] += one["counts"]
            score.tofile(file)
    return given.metric, Place(scores, "score", target, given.signed(f"sha256:{sha256_file(scores)[:12]}"), statuses)


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


IN_MEMORY = 2_000_000
"""Rows that are sorted in memory at a time: some 250 MB."""

SAMPLE = 1_000_000
"""Scores, drawn with replacement, that say how the file is dealt."""

NEEDS_ROWS = (
    f"it needs all rows at once, and more than {MOST_IN_MEMORY:,} ratings are counted from disk: take a sample."
)

_ROW = np.dtype([("score", "<f8"), ("group", "<i4"), ("level", "u1")])
_ENTRY = np.dtype([("count", "<u4"), ("group", "<i4"), ("level", "u1"), ("opens", "?")])


def counted_file(config: RunConfig) -> Path | None:
    """The run's data, if they are more ratings in Parquet than are read as objects."""
    path = config.data
    if config.dataset != "ratings" or path is None or path.suffix.lower() != ".parquet" or not path.is_file():
        return None
    return path if parquet_size(path) > MOST_IN_MEMORY else None


def evaluate_counted(config: RunConfig, path: Path) -> tuple[list[results.Result], dict[str, str]]:
    """One result for each protocol of the run that has measures made of counts; of each other one, why it has none.

    Raises `UserError` for a file of another form, and where no protocol is left.
    """
    if config.interval.certify:
        raise UserError("Ratings that are counted from disk have no certificate: take interval.certify out.")
    protocols = named_protocols(config)
    left_out = {name: NEEDS_ROWS for name in protocols if name not in COUNTED}
    if len(left_out) == len(protocols):
        raise UserError(f"No protocol asked for can be counted from disk: ask for {' or '.join(COUNTED)}.")
    resampling, marks = resampling_of(config), marks_of(path)
    with TemporaryDirectory(prefix="metaeval-") as folder:
        _check_space(path, Path(folder), len(config.metrics))
        mapped = {role: heading for role, heading in config.columns.items() if role in ("group", "gold", "id")}
        given = read_counted(path, Path(folder), {**mapped, **config.dataset_options}, config.metrics)
        found = {metric: _estimates(given, metric, Path(folder), resampling) for metric in given.metrics}
    fingerprint = sha256_file(path)
    check_unchanged(path, marks)  # it was read several times
    data = results.Data(
        name=path.stem,
        split="all",
        fingerprint=fingerprint,
        statements=given.rows,
        documents=0,
        citations=0,
        groups=given.n_groups,
        levels={f"{value:g}": members for value, members in given.levels.items()},
    )
    asked = [protocols[name] for name in COUNTED if name in protocols]
    tables = [_result(config, data, protocol, given.metrics, found, resampling) for protocol in asked]
    return tables, left_out


def sorted_chunks(given: CountedRatings, files: list[tuple[Path, bool]]) -> Iterator[Entries]:
    """The rows of each file, sorted and counted, in whose place they are written. See `chunks_of`.

    A file of one score may be larger than memory.
    """
    n_levels, n_groups = len(given.levels), given.n_groups
    for path, one_score in files:
        if one_score:
            cells = np.zeros(n_levels * n_groups, dtype=np.int64)
            with path.open("rb") as file:
                while (rows := np.fromfile(file, _ROW, IN_MEMORY)).size:
                    place = rows["level"].astype(np.int64) * n_groups + rows["group"]
                    cells += np.bincount(place, minlength=cells.size)
            cell = np.flatnonzero(cells)
            level, group = np.divmod(cell, n_groups)
            entries = entries_of(group, level, cells[cell], np.arange(cell.size) == 0)
        else:
            rows = np.fromfile(path, _ROW)
            columns = rows["score"].copy(), rows["level"].astype(np.int64), rows["group"].astype(np.int64)
            entries = sorted_entries(*columns, n_levels, n_groups)
        held = np.empty(entries.group.size, dtype=_ENTRY)
        held["count"], held["group"], held["level"] = entries.count, entries.group, entries.level
        held["opens"] = run_starts(entries.block)
        held.tofile(path)
        yield entries


def chunks_of(files: list[tuple[Path, bool]]) -> Iterator[Entries]:
    """What `sorted_chunks` wrote."""
    for path, _ in files:
        held = np.fromfile(path, _ENTRY)
        group, level, rows = (held[name].astype(np.int64) for name in ("group", "level", "count"))
        yield entries_of(group, level, rows, held["opens"])


def _deal(given: CountedRatings, metric: str, folder: Path) -> list[tuple[Path, bool]]:
    """Write the scored rows to files by score; in ascending order, and whether all rows of a file have one score."""
    # Drawn, and not every k-th row: what files repeat, such as systems or missing scores, may have a period of k.
    generator, sample, drawn = np.random.default_rng(0), [np.zeros(0)], min(SAMPLE, given.rows)
    for score, _ in scores_of(given, metric):
        known = score[~np.isnan(score)]
        if known.size:
            sample.append(known[generator.integers(known.size, size=-(-known.size * drawn // given.rows))])
    edges = _edges(np.concatenate(sample), -(-given.rows // IN_MEMORY))
    paths = [folder / f"rows-{number}" for number in range(edges.size + 1)]
    levels = np.array(list(given.levels))
    with ExitStack() as opened, given.codes.open("rb") as codes:
        files = [opened.enter_context(path.open("wb")) for path in paths]
        for score, gold in scores_of(given, metric):
            rows = np.empty(score.size, dtype=_ROW)
            rows["score"], rows["level"] = score, np.searchsorted(levels, gold)
            rows["group"] = given.groups[np.fromfile(codes, np.int32, score.size)]
            rows = rows[~np.isnan(score)]
            bucket = np.searchsorted(edges, rows["score"], side="right")
            order = np.argsort(bucket.astype(np.min_scalar_type(edges.size)), kind="stable")
            starts = np.searchsorted(bucket[order], np.arange(edges.size + 2))
            for number, file in enumerate(files):
                rows[order[starts[number] : starts[number + 1]]].tofile(file)
    alone = np.append(np.append(False, np.nextafter(edges[:-1], np.inf) == edges[1:]), False) if edges.size else [False]
    return [(path, bool(one)) for path, one in zip(paths, alone, strict=True) if path.stat().st_size]


def _edges(sample: Floats, parts: int) -> Floats:
    """Scores at which files begin. One that fills a file or more has a file of its own."""
    if parts < 2 or not sample.size:
        return np.zeros(0)
    quantiles = np.quantile(sample, np.arange(1, parts) / parts, method="inverted_cdf")
    values, counts = np.unique(quantiles, return_counts=True)
    return np.unique(np.append(values, np.nextafter(values[counts > 1], np.inf)))


def _check_space(path: Path, folder: Path, score_files: int) -> None:
    rows, free = parquet_size(path), shutil.disk_usage(folder).free
    of_row = _ROW.itemsize + np.dtype(np.int32).itemsize + score_files * np.dtype(np.float64).itemsize
    needed = rows * of_row  # sorted, with the number of the row's group, and its scores of files
    if needed > free:
        raise UserError(
            f"{path} has {rows:,} rows, which take {needed / 2**30:.1f} GiB on disk while they are sorted, "
            f"and {folder.parent} has {free / 2**30:.1f} GiB: set TMPDIR to a larger disk."
        )


_Counted = tuple[Mapping[str, Estimate], int]
"""A metric's measures, and how many rows have its score."""


def _estimates(given: CountedRatings, metric: str, folder: Path, resampling: Resampling) -> _Counted:
    files = _deal(given, metric, folder)
    totals = group_totals_of(sorted_chunks(given, files), len(given.levels), given.n_groups)
    found = counted(totals, lambda draws: resampled_orders(lambda: chunks_of(files), totals, draws), resampling)
    for path, _ in files:
        path.unlink()
    return found, int(totals.members.sum())


def _result(
    config: RunConfig,
    data: results.Data,
    protocol: Protocol,
    places: Mapping[str, Place],
    found: Mapping[str, _Counted],
    resampling: Resampling,
) -> results.Result:
    keys = [key for key in COUNTED[protocol.name] if all(key in measures for measures, _ in found.values())]
    how = resampled_fields(resampling.level, resampling.n, resampling.seed, resampling.method, resampling.fewest)
    shared = {"data": f"{data.name}/all@{data.fingerprint[:12]}", "unit": "rating", "counted": "from disk"}
    signed = {**shared, "protocol": protocol.name, **how, **versions("metaeval", "numpy", "scipy")}
    rows = []
    for name, (measures, scored) in found.items():
        unscored = data.statements - scored
        row = results.Row(
            metric=name,
            kind="metric",
            values={key: results.Value(**vars(measures[key])) for key in keys},
            total=data.statements,
            scored=scored,
            unscored=unscored,
            statuses=dict(places[name].statuses) or ({"absent": unscored} if unscored else {}),
            signature=signature({**places[name].fields, **signed}),
        )
        rows.append(row)
    return results.Result(
        protocol=protocol.name,
        title=protocol.title,
        unit="rating",
        settings={"counted": "from disk: no controls, tests or bounds"},
        data=data,
        interval=results.Interval(**config.interval.model_dump()),
        columns=[column_of(measure) for measure in map(protocol.measure, keys)],
        rows=rows,
    )
