"""Ratings in Parquet beyond memory: the measures that are made of counts, from rows sorted on disk.

A file of more than `MOST_IN_MEMORY` rows has a column `group`, a column `gold` with up to eight values, and the scores
of each metric in a numeric column of its own; null is a missing score. It is read in batches. Rows are dealt to files
by their score, so that each holds those between two scores and fits in memory; in order, they are what
`metaeval.stats.stream` counts. No row is kept: memory grows with the number of groups alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.evaluation import column_of, named_protocols, resampling_of
from metaeval.files import sha256_file
from metaeval.own_tables import RATING_ROLES
from metaeval.reading import parquet_batches, parquet_schema, parquet_size
from metaeval.report import result as results
from metaeval.report.grid import count
from metaeval.signature import resampled_fields, signature, versions
from metaeval.stats.arrays import Floats
from metaeval.stats.rank_counts import MAX_LEVELS
from metaeval.stats.stream import group_totals_of, resampled_wins
from metaeval.stats.ties import Entries, sorted_entries
from protocols.contract import Estimate, Protocol, Resampling
from protocols.counted import COUNTED, counted

MOST_IN_MEMORY = 2_000_000
"""Ratings that are read as objects: some 3 GB."""

IN_MEMORY = 2_000_000
"""Rows that are sorted in memory at a time: some 250 MB."""

BATCH = 500_000
"""Rows that are read at a time."""

SAMPLE = 1_000_000
"""Scores, evenly spread over the file, that say how it is dealt."""

NEEDS_ROWS = (
    f"it needs all rows at once, and more than {MOST_IN_MEMORY:,} ratings are counted from disk: take a sample."
)

_ROW = np.dtype([("score", "<f8"), ("group", "<i4"), ("level", "u1")])


@dataclass(frozen=True)
class CountedRatings:
    """What one pass over the file tells. rows: in all. levels: the gold values, ascending, with the rows of each.

    gold: its column. metrics: the columns of scores. codes: file with a number for the group of each row, int32.
    groups: (G,) the code of each number, in the order of the groups' names, as in memory.
    """

    path: Path
    rows: int
    levels: Mapping[float, int]
    gold: str
    metrics: tuple[str, ...]
    codes: Path
    groups: NDArray[np.int32]

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return self.groups.size


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
    if config.metrics:
        raise UserError(f"Ratings in Parquet are not joined with score files: put the scores into columns of {path}.")
    protocols = named_protocols(config)
    left_out = {name: NEEDS_ROWS for name in protocols if name not in COUNTED}
    if len(left_out) == len(protocols):
        raise UserError(f"No protocol asked for can be counted from disk: ask for {' or '.join(COUNTED)}.")
    resampling = resampling_of(config)
    with TemporaryDirectory(prefix="metaeval-") as folder:
        _check_space(path, Path(folder))
        given = read_counted(path, Path(folder), config.dataset_options)
        found = {metric: _estimates(given, metric, Path(folder), resampling) for metric in given.metrics}
    data = results.Data(
        name=path.stem,
        split="all",
        fingerprint=sha256_file(path),
        statements=given.rows,
        documents=0,
        citations=0,
        groups=given.n_groups,
        levels={f"{value:g}": members for value, members in given.levels.items()},
    )
    tables = [_result(config, data, protocols[name], found, resampling) for name in COUNTED if name in protocols]
    return tables, left_out


def read_counted(path: Path, folder: Path, options: Mapping[str, str]) -> CountedRatings:
    """Number the groups of a file into `folder`, and count its levels; `UserError` where it is no such file.

    options: of the data set; `group`, `gold` and `metrics` name columns.
    """
    kinds = parquet_schema(path)
    chosen = {name: text for name, text in options.items() if text}
    if others := chosen.keys() - {"group", "gold", "metrics"}:
        raise UserError(f"Option {min(others)} of ratings is not known beyond {MOST_IN_MEMORY:,} rows: leave it out.")
    group, gold_name = chosen.get("group", "group"), chosen.get("gold", "gold")
    for name, hint in ((group, "what each row belongs to"), (gold_name, "its rating")):
        if name not in kinds:
            raise UserError(f"{path} has no column {name!r} ({hint}); it has {', '.join(map(repr, kinds))}.")
    roles = {group, gold_name, *(name for names in RATING_ROLES.values() for name in names)}
    found = [name for name, kind in kinds.items() if kind == "number" and name.lower() not in roles]
    asked = [name.strip() for name in chosen.get("metrics", "").split(",") if name.strip()]
    metrics = tuple(dict.fromkeys(asked or found))
    if not metrics or not set(metrics) <= kinds.keys():
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
            gold = _numbers(path, batch, gold_name)
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
    return CountedRatings(path, rows, dict(sorted(levels.items())), gold_name, metrics, at, order)


def chunks_of(given: CountedRatings, files: list[tuple[Path, bool]]) -> Iterator[Entries]:
    """The rows of each file, sorted and counted. A file of one score may be larger than memory."""
    n_levels, n_groups = len(given.levels), given.n_groups
    for path, one_score in files:
        if one_score:
            cells = np.zeros(n_levels * n_groups, dtype=np.int64)
            with path.open("rb") as file:
                while (rows := np.fromfile(file, _ROW, IN_MEMORY)).size:
                    place = rows["level"].astype(np.int64) * n_groups + rows["group"]
                    cells += np.bincount(place, minlength=cells.size)
            held = np.flatnonzero(cells)
            level, group = np.divmod(held, n_groups)
            block = np.zeros(held.size, dtype=np.int64)
            yield Entries(group, level, cells[held], block, block == held.size - 1, np.array([0, held.size]))
        else:
            rows = np.fromfile(path, _ROW)
            columns = rows["score"].copy(), rows["level"].astype(np.int64), rows["group"].astype(np.int64)
            yield sorted_entries(*columns, n_levels, n_groups)


def _deal(given: CountedRatings, metric: str, folder: Path) -> list[tuple[Path, bool]]:
    """Write the scored rows to files by score; in ascending order, and whether all rows of a file have one score."""
    step = max(1, given.rows // SAMPLE)
    # Batches may be shorter than asked for: an offset of their own would favour some rows.
    sample = [score[::step] for score, _ in _scores(given, metric)]
    known = np.concatenate(sample)
    known = known[~np.isnan(known)]
    edges = _edges(known, -(-given.rows // IN_MEMORY))
    paths = [folder / f"rows-{number}" for number in range(edges.size + 1)]
    levels = np.array(list(given.levels))
    with ExitStack() as opened, given.codes.open("rb") as codes:
        files = [opened.enter_context(path.open("wb")) for path in paths]
        for score, gold in _scores(given, metric):
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


def _scores(given: CountedRatings, metric: str) -> Iterator[tuple[Floats, Floats]]:
    at = 0
    for batch in parquet_batches(given.path, [metric, given.gold], BATCH):
        score = _numbers(given.path, batch, metric)
        if np.isinf(score).any():
            row = at + 1 + int(np.flatnonzero(np.isinf(score))[0])
            raise UserError(f"{given.path} row {row}: {metric} is infinite; write null for a missing score.")
        yield score, _numbers(given.path, batch, given.gold)
        at += score.size


def _numbers(path: Path, batch: Any, name: str) -> Floats:
    """A column of Arrow as floats, NaN where it is null."""
    values = batch.column(name).to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "fiu":
        raise UserError(f"{path}: column {name!r} is of type {batch.column(name).type}; it must hold numbers.")
    return np.asarray(values, dtype=np.float64)


def _check_space(path: Path, folder: Path) -> None:
    rows, free = parquet_size(path), shutil.disk_usage(folder).free
    needed = rows * (_ROW.itemsize + np.dtype(np.int32).itemsize)  # and the number of each row's group
    if needed > free:
        raise UserError(
            f"{path} has {rows:,} rows, which take {needed / 2**30:.1f} GiB on disk while they are sorted, "
            f"and {folder.parent} has {free / 2**30:.1f} GiB: set TMPDIR to a larger disk."
        )


@dataclass(frozen=True)
class _Counted:
    """A metric's measures, and how many rows have its score."""

    estimates: Mapping[str, Estimate]
    scored: int


def _estimates(given: CountedRatings, metric: str, folder: Path, resampling: Resampling) -> _Counted:
    files = _deal(given, metric, folder)
    totals = group_totals_of(chunks_of(given, files), len(given.levels), given.n_groups)
    found = counted(totals, lambda draws: resampled_wins(lambda: chunks_of(given, files), totals, draws), resampling)
    for path, _ in files:
        path.unlink()
    return _Counted(found, int(totals.members.sum()))


def _result(
    config: RunConfig,
    data: results.Data,
    protocol: Protocol,
    found: Mapping[str, _Counted],
    resampling: Resampling,
) -> results.Result:
    keys = [key for key in COUNTED[protocol.name] if all(key in one.estimates for one in found.values())]
    how = resampled_fields(resampling.level, resampling.n, resampling.seed, resampling.method, resampling.fewest)
    shared = {"data": f"{data.name}/all@{data.fingerprint[:12]}", "unit": "rating", "counted": "from disk"}
    signed = {**shared, "protocol": protocol.name, **how, **versions("metaeval", "numpy", "scipy")}
    rows = [
        results.Row(
            metric=name,
            kind="metric",
            values={key: results.Value(**vars(one.estimates[key])) for key in keys},
            total=data.statements,
            scored=one.scored,
            unscored=data.statements - one.scored,
            statuses={"absent": data.statements - one.scored} if one.scored < data.statements else {},
            signature=signature({"metric": f"{name}@published", **signed}),
        )
        for name, one in found.items()
    ]
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
