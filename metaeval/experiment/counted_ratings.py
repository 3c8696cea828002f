"""Ratings in Parquet beyond memory: sorted on disk, and the measures that are made of counts.

The file is read as `metaeval.scoring.large_tables` says. Rows are dealt to files by their score, so that each holds
those between two scores and fits in memory; in order, they are the chunks of `metaeval.stats.group_counts`. No row is
kept: memory grows with the number of groups alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.columns import score_path
from metaeval.experiment.evaluation import column_of, named_protocols, resampling_of
from metaeval.files import check_unchanged, marks_of, sha256_file
from metaeval.reading import parquet_size
from metaeval.report import result as results
from metaeval.scoring.large_tables import MOST_IN_MEMORY, CountedRatings, Place, read_counted, scores_of
from metaeval.signature import resampled_fields, signature, versions
from metaeval.stats.arrays import Floats
from metaeval.stats.group_counts import group_totals_of
from metaeval.stats.rank_counts import MAX_LEVELS, resampled_orders
from metaeval.stats.ties import Entries, entries_of, run_starts, sorted_entries
from protocols.contract import Estimate, Protocol, Resampling
from protocols.counted import COUNTED, counted

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
        options = {**mapped, **config.dataset_options}
        given = read_counted(path, Path(folder), options, MAX_LEVELS, [*map(score_path, config.metrics)])
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
