"""Stored plans of tables: the first task of a job in shards reads and plans its table, the others read their blocks.

FOLDER/tables/HASH/table.json says where the windows of a table begin; BLOCK_TOKENS-WINDOW.parquet beside it holds the
pairs of a window in the order of its plan, a row group for each block. HASH is of the table's content, of the headings
and of all that decides where windows begin. Each file appears whole or not at all.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar

from metaeval import parsing
from metaeval.errors import UserError
from metaeval.files import AnyPath, atomic_write, check_unchanged, marks_of, sha256_file, sha256_json, write_text
from metaeval.scoring import large_pair_tables
from metaeval.scoring.block_claims import claims_beside
from metaeval.scoring.block_plan import PairsInMemory, PlannedPairs, TextBlock, plan_id
from metaeval.scoring.contract import Metric, TextPair
from metaeval.scoring.large_pair_tables import PairFile, read_pair_file
from metaeval.scoring.score_store import pair_key
from metaeval.scoring.shards import StrictNote, checked_note

FOLDER = "tables"
_NOTE = "table.json"
_FORMAT = "metaeval-table/1"
_KEY = b"metaeval"
_PAUSE = 0.2  # seconds between looks for a plan that another task makes
_log = logging.getLogger("metaeval")

Stored = TypeVar("Stored")


class TableNote(StrictNote):
    """The content of table.json: the fields of a `PairFile`, and what it was read with.

    version: of metaeval. wanted: the heading of each role that the run names. limits: most rows, most characters.
    """

    format: Literal["metaeval-table/1"] = "metaeval-table/1"
    version: str
    wanted: dict[str, str]
    limits: list[int]
    fingerprint: str
    marks: list[int]
    columns: dict[str, str]
    rows: int
    starts: list[int]

    @property
    def key(self) -> str:
        """Return 16 hex digits of a hash over the table's content and all that its windows depend on."""
        return sha256_json(self.model_dump(include={"format", "version", "wanted", "limits", "fingerprint"}))[:16]


class WindowPlanNote(StrictNote):
    """The description in a window's file. table: `TableNote.key`. blocks: the ids of the plan's blocks, in order."""

    format: Literal["metaeval-window/1"] = "metaeval-window/1"
    table: str
    window: int
    block_tokens: int
    blocks: list[str]


class PlannedTable:
    """A table of pairs whose plan is stored in a folder of shards by the first process that needs it.

    path: of the table. headings: by role; "" for a role that the run does not name. Errors: as in `read_pair_file`.
    """

    def __init__(self, folder: AnyPath, path: Path, headings: Mapping[str, str]) -> None:
        self._folder, self._path = folder / FOLDER, path
        self._wanted = {role: name for role, name in sorted(headings.items()) if name}
        self._marks = marks_of(path)
        self.note = self._find_or_make(self._known, self._read_table)
        self.place = self._folder / self.note.key
        note = self.note
        self.file = PairFile(path, note.columns, note.fingerprint, self._marks, note.rows, tuple(note.starts))

    def window(self, number: int, block_tokens: int, sizes: Sequence[int]) -> PlannedPairs:
        """Return the plan of window `number` with this block size; if no file holds it, all windows are planned first.

        sizes: the block sizes, in tokens, with which they are planned; `block_tokens` is among them.
        """
        path = self._window_path(number, block_tokens)
        return self._find_or_make(partial(self._stored, path, number, block_tokens), partial(self._plan, sizes))

    def determined(self, number: int, sizes: Sequence[int], metric: Metric) -> Mapping[str, Any]:
        """Return the options that the texts of window `number` determine for a metric; {} if it has no such options.

        The first process that needs them stores them. sizes: as in `window`.
        """
        if type(metric).settled is Metric.settled:
            return {}
        path = self.place / f"options-{number:06}-{sha256_json(metric.identity())[:16]}.json"
        planned = self.window(number, sizes[0], sizes)

        def store() -> None:
            pairs = [pair for _, part in planned.read(range(len(planned.sizes))) for pair in part]
            write_text(path, json.dumps(dict(metric.settled(pairs)), sort_keys=True) + "\n", update=True)

        return self._find_or_make(lambda: parsing.read_object(path) if path.is_file() else None, store)

    def _find_or_make(self, find: Callable[[], Stored | None], make: Callable[[], None]) -> Stored:
        """Return what `find` finds stored; while that is None, one process calls `make`, and others wait for it."""
        place = self._folder if isinstance(self._folder, Path) else None  # object stores have no locks
        if place:
            place.mkdir(parents=True, exist_ok=True)
        name = sha256_json([self._wanted, self._marks])
        while (stored := find()) is None:
            with claims_beside(place) as claims:
                if not claims.take(name):
                    time.sleep(_PAUSE)
                elif find() is None:
                    make()
        return stored

    def _known(self) -> TableNote | None:
        """Return the stored description of this table, found by the file's marks, else by its content; else None."""
        notes = []
        paths: list[AnyPath] = [*self._folder.glob(f"*/{_NOTE}")]
        for path in sorted(paths, key=str):
            values = parsing.read_object(path)
            if values.get("format") != _FORMAT:  # of another version, which made it for itself
                continue
            note = checked_note(TableNote, values, path)
            if path.parent.name == note.key and self._fits(note):
                notes.append(note)
        by_marks = (note for note in notes if note.marks == self._marks)
        by_content = (note for note in notes if note.fingerprint == self._fingerprint)
        return next(by_marks, None) or next(by_content, None)

    def _fits(self, note: TableNote) -> bool:
        return (note.version, note.wanted, note.limits) == (version("metaeval"), self._wanted, _limits())

    @cached_property
    def _fingerprint(self) -> str:
        return sha256_file(self._path)

    def _read_table(self) -> None:
        _log.info("The table %s is read and planned, once for all tasks; tasks that start meanwhile wait.", self._path)
        table = read_pair_file(self._path, self._wanted)
        check_unchanged(self._path, self._marks)
        note = TableNote(
            version=version("metaeval"),
            wanted=self._wanted,
            limits=_limits(),
            fingerprint=table.fingerprint,
            marks=self._marks,
            columns=dict(table.columns),
            rows=table.rows,
            starts=list(table.starts),
        )
        text = json.dumps(note.model_dump(), indent=1, sort_keys=True) + "\n"
        write_text(self._folder / note.key / _NOTE, text, update=True)

    def _window_path(self, number: int, block_tokens: int) -> AnyPath:
        return self.place / f"{block_tokens}-{number:06}.parquet"

    def _stored(self, path: AnyPath, number: int, block_tokens: int) -> PlannedPairs | None:
        return PairsInFile(path, self.note.key, number, block_tokens) if path.is_file() else None

    def _plan(self, sizes: Sequence[int]) -> None:
        """Plan all windows with each block size, except those that a file holds (of a process that was killed)."""
        for window in self.file.windows():
            paths = {size: self._window_path(window.number, size) for size in sorted(set(sizes))}
            lacking = {size: path for size, path in paths.items() if not path.is_file()}
            unique = {pair_key(*pair): pair for pair in window.texts} if lacking else {}
            for size, path in lacking.items():
                write_window(path, self.note.key, window.number, PairsInMemory(unique, size))
            del window, unique  # before the next window is read


def _limits() -> list[int]:
    return [large_pair_tables.WINDOW_ROWS, large_pair_tables.WINDOW_CHARACTERS]


def write_window(path: AnyPath, table: str, number: int, planned: PlannedPairs) -> None:
    """Write the pairs of a window, a row group for each block. table: `TableNote.key`. number: of the window."""
    pyarrow = parsing.parquet_library()
    binary = pyarrow.binary()
    schema = pyarrow.schema([("pair", pyarrow.binary(16)), ("source", binary), ("statement", binary)])
    options = {"compression": "zstd", "write_statistics": False, "write_page_checksum": True}
    with (
        atomic_write(path, update=True) as file,
        pyarrow.parquet.ParquetWriter(file, schema, use_dictionary=["source"], **options) as writer,
    ):
        ids = []
        for block, pairs in planned.read(range(len(planned.sizes))):
            ids.append(block.id)
            encoded = {source: source.encode("utf-8", "surrogatepass") for source in {pair[0] for pair in pairs}}
            columns = [
                block.keys,
                [encoded[source] for source, _ in pairs],
                [statement.encode("utf-8", "surrogatepass") for _, statement in pairs],
            ]
            arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
        note = WindowPlanNote(table=table, window=number, block_tokens=planned.block_tokens, blocks=ids)
        writer.add_key_value_metadata({_KEY: json.dumps(note.model_dump())})


class PairsInFile(PlannedPairs):
    """The plan of window `number` in a file; blocks are read when they are needed. table: `TableNote.key`.

    Raises `UserError` for a damaged file, and for one of another table, window or block size.
    """

    def __init__(self, path: AnyPath, table: str, number: int, block_tokens: int) -> None:
        self._path, self.block_tokens = path, block_tokens
        with parsing.parquet_file(path) as (_, parquet):
            groups = parquet.metadata
            values = (groups.metadata or {}).get(_KEY, b"null")
            self.sizes = [groups.row_group(group).num_rows for group in range(groups.num_row_groups)]
        try:
            note = checked_note(WindowPlanNote, parsing.parse_json(values.decode("utf-8")), path)
        except (parsing.MalformedError, UnicodeDecodeError) as error:
            raise self._damaged from error
        described = note.table, note.window, note.block_tokens, len(note.blocks)
        if described != (table, number, block_tokens, len(self.sizes)):
            raise self._damaged
        self._ids = note.blocks
        self.plan = plan_id(block_tokens, note.blocks)

    @property
    def _damaged(self) -> UserError:
        return UserError(
            f"{self._path} is damaged, or not the plan of this table: delete this file, and run the same task again."
        )

    def read(self, numbers: Sequence[int]) -> Iterator[tuple[TextBlock, list[TextPair]]]:
        """Yield the blocks with these numbers, each with its pairs of texts; only their row groups are read."""
        pyarrow = parsing.parquet_library()
        if not numbers:
            return
        options = {"page_checksum_verification": True, "read_dictionary": ["source"]}
        with parsing.parquet_file(self._path) as (file, parquet):
            try:
                coded = pyarrow.parquet.ParquetFile(file, metadata=parquet.metadata, **options)
                for number in numbers:
                    table = coded.read_row_group(number, use_threads=False)
                    block = TextBlock(number, tuple(table.column("pair").to_pylist()))
                    if block.id != self._ids[number]:
                        raise self._damaged
                    yield block, list(zip(_texts(table, "source"), _texts(table, "statement"), strict=True))
            except (pyarrow.ArrowException, OSError) as error:
                raise self._damaged from error


def _texts(table: Any, name: str) -> list[str]:
    """Return a column of UTF-8 bytes as texts; of a dictionary-encoded one, each distinct value is decoded once."""
    texts: list[str] = []
    for chunk in table.column(name).chunks:
        coded = hasattr(chunk, "dictionary")
        values = [
            value.decode("utf-8", "surrogatepass") for value in (chunk.dictionary if coded else chunk).to_pylist()
        ]
        texts += [values[code] for code in chunk.indices.to_pylist()] if coded else values
    return texts
