"""Shards: scored blocks in Parquet files, for tasks that share only a folder.

FOLDER/IDENTITY/PLAN/plan.json describes the metric and the plan; part-FIRST-LAST-HASH-IofN.parquet beside it, a part,
holds whole blocks that task I of N scored, of which FIRST and LAST are the lowest and highest number. Each file appears
whole or not at all, and holds the ids of its metric and plan. The parts are merged into a score store.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metaeval import parsing
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.files import AnyPath, atomic_write, sha256_json, write_text
from metaeval.scoring.block_plan import TextBlock
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.score_store import ScoreStore

NOTE = "plan.json"
ROWS = 4096
"""A part is written as soon as it has this many rows."""
SECONDS = 60.0
"""A part is written this many seconds after its first block: a task that is killed loses at most so much."""
_KEY = b"metaeval"
_BATCH = 100_000

Model = TypeVar("Model", bound=BaseModel)
PartRow = tuple[bytes, float | None, str, int, int]
"""(pair key, score, status, tokens, cut)."""


class StrictNote(BaseModel):
    """Base of the descriptions in a folder of shards: unknown fields and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WindowNote(StrictNote):
    """The windows of a large table that a plan covers. numbers: of the windows, from 0; several if they hold the same
    pairs. table: SHA-256 of the file. of: number of windows that the whole table has.
    """

    table: str
    numbers: list[int] = Field(min_length=1)
    of: int = Field(ge=1)

    def __str__(self) -> str:
        return f"window {' and '.join(map(str, self.numbers))} of {self.of}"


class PlanNote(StrictNote):
    """The content of plan.json. metric: its name. plan: the plan's id. blocks, pairs: their numbers. run: the settings.

    shards: N of the last --shard I/N. windows: one note for each table that is scored in several windows.
    """

    format: Literal["metaeval-plan/1"] = "metaeval-plan/1"
    metric: str
    identity: dict[str, Any]
    plan: str
    block_tokens: int
    blocks: int = Field(ge=0)
    pairs: int = Field(ge=0)
    shards: int = Field(ge=1)
    run: dict[str, Any]
    windows: list[WindowNote] = []

    def holds(self, window: WindowNote | None) -> bool:
        """Return whether the plan covers this window of a table; True without a window, or if the note has none."""
        if window is None or not self.windows:
            return True
        return any(note.table == window.table and set(window.numbers) <= set(note.numbers) for note in self.windows)


class PartBlock(StrictNote):
    """A block in a part: its number in the plan, its id, its number of rows, and how many of these have failed."""

    number: int = Field(ge=0)
    id: str
    rows: int = Field(ge=1)
    failed: int = Field(ge=0)


class PartNote(StrictNote):
    """The description in a part. identity: hash of the metric's identity. plan: the plan's id. blocks: in row order.

    versions: by package. device: model of the device that computed the scores.
    """

    format: Literal["metaeval-shard/1"] = "metaeval-shard/1"
    identity: str
    plan: str
    blocks: list[PartBlock]
    versions: dict[str, str]
    device: str


def plan_folder(folder: AnyPath, identity: Mapping[str, Any], plan: str) -> AnyPath:
    """Return the folder of a metric's plan within a folder of shards. identity: the metric's. plan: the plan's id."""
    return folder / sha256_json(dict(identity))[:16] / plan[:16]


def write_note(place: AnyPath, note: PlanNote) -> None:
    """Write plan.json into a plan's folder, the same for every task; windows that an existing one names are kept."""
    windows: dict[str, WindowNote] = {}
    for window in (*(read_note(place).windows if (place / NOTE).is_file() else ()), *note.windows):
        known = windows[window.table].numbers if window.table in windows else []
        windows[window.table] = window.model_copy(update={"numbers": sorted({*known, *window.numbers})})
    note = note.model_copy(update={"windows": list(windows.values())})
    values = note.model_dump(exclude=None if windows else {"windows"})
    write_text(place / NOTE, json.dumps(values, indent=1, sort_keys=True) + "\n", update=True)


def read_note(place: AnyPath) -> PlanNote:
    """Return the content of plan.json in a plan's folder; raises `UserError` if it is of another metric or plan."""
    path = place / NOTE
    note = checked_note(PlanNote, parsing.read_object(path), path)
    if (sha256_json(note.identity)[:16], note.plan[:16]) != (place.parent.name, place.name):
        raise UserError(f"{path} is of another metric or plan than its folder: move it elsewhere.")
    return note


def plans(folder: AnyPath) -> list[AnyPath]:
    """Return the plans' folders in a folder of shards, sorted by path; raises `UserError` where there is none."""
    folders = sorted(path.parent for path in folder.glob(f"*/*/{NOTE}"))
    if not folders:
        raise UserError(f"{folder} holds no shards: 'metaeval score --shard 0/8 -o {folder}' writes the first of 8.")
    return folders


class PartWriter:
    """Collects scored blocks of one metric, and writes them as parts; `close` writes those that are not yet written.

    place: folder of the plan. note: the description of every part, without its blocks. shard: the task that writes.
    """

    def __init__(self, place: AnyPath, note: PartNote, shard: Shard) -> None:
        self._place = place
        self._note = note
        self._task = f"{shard.index}of{shard.count}"
        self._blocks: list[tuple[TextBlock, Sequence[PairScore]]] = []
        self._rows = 0
        self._since = 0.0

    def add(self, block: TextBlock, answers: Sequence[PairScore]) -> None:
        """Add a block with one result per pair, and write the collected blocks if that is due (`ROWS`, `SECONDS`)."""
        if not self._blocks:
            self._since = time.monotonic()
        self._blocks.append((block, answers))
        self._rows += len(answers)
        if self._rows >= ROWS or time.monotonic() - self._since >= SECONDS:
            self.close()

    def close(self) -> None:
        """Write the collected blocks, if there are any, as one part."""
        if not self._blocks:
            return
        pyarrow = parsing.parquet_library()
        blocks = sorted(self._blocks, key=lambda pair: pair[0].number)
        noted = [
            PartBlock(
                number=block.number,
                id=block.id,
                rows=len(answers),
                failed=sum(answer.status is Status.FAILED for answer in answers),
            )
            for block, answers in blocks
        ]
        answers = [answer for _, answers in blocks for answer in answers]
        columns = {
            "pair": pyarrow.array([key for block, _ in blocks for key in block.keys], pyarrow.binary(16)),
            "score": pyarrow.array([answer.score for answer in answers], pyarrow.float64()),
            "status": pyarrow.array([str(answer.status) for answer in answers]).dictionary_encode(),
            "tokens": pyarrow.array([answer.tokens for answer in answers], pyarrow.int32()),
            "cut": pyarrow.array([answer.cut for answer in answers], pyarrow.int32()),
            "block": pyarrow.array(
                [block.number for block, block_answers in blocks for _ in block_answers], pyarrow.int32()
            ),
        }
        note = self._note.model_copy(update={"blocks": noted})
        table = pyarrow.table(columns).replace_schema_metadata({_KEY: json.dumps(note.model_dump()).encode()})
        digest = blake2b("".join(block.id for block in noted).encode(), digest_size=4).hexdigest()
        path = self._place / f"part-{noted[0].number:06}-{noted[-1].number:06}-{digest}-{self._task}.parquet"
        with atomic_write(path) as file:
            pyarrow.parquet.write_table(table, file, compression="zstd")
        self._blocks, self._rows = [], 0


def part_notes(place: AnyPath, shard: Shard | None = None) -> dict[AnyPath, PartNote]:
    """Return the description of each part of a plan, by path, without its rows.

    shard: a task; only parts that may hold its blocks are read (None: all). Raises `UserError` for a file that is not a
    part, and for one of another metric or plan.
    """
    note_by_path = {}
    paths: list[AnyPath] = [*place.glob("part-*.parquet")]
    for path in sorted((path for path in paths if not shard or shard.may_overlap(path.name)), key=str):
        try:
            values = parsing.parse_json(parsing.parquet_metadata(path)[_KEY].decode("utf-8"))
        except (UserError, KeyError, UnicodeDecodeError, parsing.MalformedError) as error:
            raise _broken(path) from error
        note_by_path[path] = note = checked_note(PartNote, values, path)
        if (note.identity[:16], note.plan[:16]) != (place.parent.name, place.name):
            raise UserError(f"{path} is of another metric or plan than its folder: move it elsewhere.")
    return note_by_path


def read_part(path: AnyPath, note: PartNote) -> Iterator[tuple[PartBlock, list[PartRow]]]:
    """Yield the blocks of a part with their rows; raises `UserError` where the rows do not match the description."""
    try:
        columns = parsing.parquet_columns(path, ("pair", "score", "status", "tokens", "cut"))
        rows: list[PartRow] = list(zip(*columns, strict=True))
        first = 0
        for block in note.blocks:
            block_rows = rows[first : first + block.rows]
            first += block.rows
            if TextBlock(block.number, tuple(row[0] for row in block_rows)).id != block.id:
                raise _broken(path)
            yield block, block_rows
    except (UserError, TypeError) as error:
        raise _broken(path) from error
    if first != len(rows):
        raise _broken(path)


def checked_note(model: type[Model], values: Any, path: AnyPath) -> Model:
    """Return the JSON values of a description as a `model`; raises `UserError` about `path` if they do not fit it."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _broken(path) from error


def _broken(path: AnyPath) -> UserError:
    return UserError(f"{path} is damaged, or not a shard's file: delete it, and run the task that wrote it again.")


@dataclass(frozen=True)
class Shard:
    """Task `index` of `count` tasks that score the shards of a plan, counted from 0."""

    index: int
    count: int

    def blocks(self, count: int) -> Sequence[int]:
        """Return the numbers of the task's blocks in a plan of `count` blocks: every n-th block for n tasks.

        A plan has its longest texts first, so the tasks take about the same time.
        """
        return range(count)[self.index :: self.count]

    def may_overlap(self, part: str) -> bool:
        """Return whether a part of this name may hold the task's blocks; True for a name that does not say its task."""
        of = re.search(r"-(\d+)of(\d+)\.parquet$", part)
        return of is None or (int(of[1]) - self.index) % math.gcd(int(of[2]), self.count) == 0


def read_shard(text: str) -> Shard:
    """Return the task that a text I/N names, as 3/64: task I of N, from 0. Raises `UserError` for any other text."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and int(index) < int(count)):
        raise UserError(f"--shard is {text!r}; allowed: I/N, task I of N tasks, counted from 0 (0/8 to 7/8).")
    return Shard(int(index), int(count))


@dataclass(frozen=True)
class PlanState:
    """The progress of a metric's plan in a folder of shards. place: folder of the plan. note: its plan.json.

    missing: numbers of the blocks that no part has. unbegun: the windows of its tables for which no task has written a
    plan, one note for each table. rows: number of pairs in parts; failed: how many of these failed. devices: models of
    the devices that scored, sorted.
    """

    place: AnyPath
    note: PlanNote
    missing: Sequence[int]
    unbegun: Sequence[WindowNote]
    rows: int
    failed: int
    devices: Sequence[str]

    @property
    def complete(self) -> bool:
        """Return whether nothing is left to score, neither blocks of the plan nor windows of the table."""
        return not (self.missing or self.unbegun)

    @property
    def progress(self) -> str:
        """Return, as text, how many blocks and pairs of all are scored, and how many pairs failed, if any did."""
        done = self.note.blocks - len(self.missing)
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{done:,} of {self.note.blocks:,} blocks, {self.rows:,} of {self.note.pairs:,} pairs{failed}"

    def __repr__(self) -> str:
        left = f"; left of {self.note.shards}: --array={self.array}" if self.missing else ""
        begun = f"; {count(len(self.unbegun), 'window')} not begun" if self.unbegun else ""
        return f"<{self.note.metric}: {self.progress}{left}{begun}>"

    @property
    def array(self) -> str:
        """Return the tasks that have missing blocks in the form of Slurm's option --array (0-2,5); "" if none has."""
        left = sorted({number % self.note.shards for number in self.missing})
        spans: list[list[int]] = []
        for task in left:
            if spans and task == spans[-1][-1] + 1:
                spans[-1] = [spans[-1][0], task]
            else:
                spans.append([task])
        return ",".join("-".join(map(str, span)) for span in spans)


def shard_states(folder: AnyPath) -> list[PlanState]:
    """Return the progress of each plan in a folder of shards, by path; raises `UserError` if there is none."""
    notes = {place: read_note(place) for place in plans(folder)}
    begun: dict[tuple[str, str], set[int]] = {}
    for place, note in notes.items():
        for window in note.windows:
            begun.setdefault((place.parent.name, window.table), set()).update(window.numbers)
    states = []
    for place, note in notes.items():
        parts = part_notes(place).values()
        blocks = {block.number: block for part in parts for block in part.blocks}
        missing = [number for number in range(note.blocks) if number not in blocks]
        unbegun = [
            window.model_copy(update={"numbers": sorted(left)})
            for window in note.windows
            if (left := set(range(window.of)) - begun[place.parent.name, window.table])
        ]
        rows, failed = sum(block.rows for block in blocks.values()), sum(block.failed for block in blocks.values())
        devices = sorted({part.device for part in parts})
        states.append(PlanState(place, note, missing, unbegun, rows, failed, devices))
    return states


@dataclass(frozen=True)
class Merged:
    """Counts of one metric's merged rows. rows: all that did not fail. new: those that were added to the store.

    kept: those of which the store has, and keeps, another result. failed: rows that were left out. devices: models of
    the devices that scored, sorted.
    """

    metric: str
    rows: int
    new: int
    kept: int
    failed: int
    devices: Sequence[str]


def merge_shards(folder: AnyPath, store: ScoreStore) -> Iterator[Merged]:
    """Add all parts of a folder to a score store, and yield one record of counts per metric; repeating changes nothing.

    The store keeps the scores that it has. Raises `UserError`, and stores nothing, for a file that is not a part or is
    of another metric, and for a pair with different scores in two parts or plans (except in windows of one table, where
    the first window's score is stored). A part with damaged rows raises it only when it is read: parts before it may
    have been stored.
    """
    by_metric: dict[str, list[AnyPath]] = {}
    for place in plans(folder):
        by_metric.setdefault(place.parent.name, []).append(place)
    for places in by_metric.values():
        _check_overlaps(places)
    for places in by_metric.values():
        numbers = {place: [number for note in read_note(place).windows for number in note.numbers] for place in places}
        # Of a pair in several windows, the first window's score is kept.
        places.sort(key=lambda place: min(numbers[place], default=0))
        note, counts, devices = read_note(places[0]), Counter[str](), set[str]()
        for rows in _batches(places, devices):
            kept = sorted((row for row in rows if row[2] != Status.FAILED), key=itemgetter(0))
            counts.update(_merge_rows(places[0].parent, note.identity, kept, store))
            counts.update(failed=len(rows) - len(kept), rows=len(kept))
        yield Merged(note.metric, counts["rows"], counts["new"], counts["kept"], counts["failed"], sorted(devices))


def _batches(places: Sequence[AnyPath], devices: set[str]) -> Iterator[list[PartRow]]:
    """Yield a metric's rows in large batches, which are stored faster. devices: is filled with models of devices."""
    rows: list[PartRow] = []
    for place in places:
        for path, part in part_notes(place).items():
            devices.add(part.device)
            rows += [row for _, block_rows in read_part(path, part) for row in block_rows]
            if len(rows) >= _BATCH:
                yield rows
                rows = []
    yield rows


def _merge_rows(
    place: AnyPath, identity: Mapping[str, Any], rows: Sequence[PartRow], store: ScoreStore
) -> dict[str, int]:
    try:
        new = store.add(identity, rows)
    except ValueError as error:
        raise UserError(
            f"A part in {place} holds {error}: delete this folder, which holds the metric's shards, and run the tasks "
            "that wrote them again."
        ) from error
    if new == len(rows):
        return {"new": new}
    known = store.find(identity, [row[0] for row in rows])
    return {"new": new, "kept": sum(tuple(known[row[0]]) != row[1:] for row in rows if row[0] in known)}


def _check_overlaps(places: Sequence[AnyPath]) -> None:
    """Raise `UserError` if parts of one metric hold a pair twice with different scores, except in windows of one table.

    It is also raised for blocks that a plan does not have. places: folders of the plans. Failed pairs differ from none.
    Rows are read only where a block or a plan can have duplicates.
    """
    jobs = {place: {window.table for window in read_note(place).windows} or {str(place)} for place in places}
    several = not set.intersection(*jobs.values())
    seen: dict[bytes, tuple[AnyPath, PartRow]] = {}
    for place in places:
        note, parts = read_note(place), part_notes(place)
        times = Counter(block.number for part in parts.values() for block in part.blocks)
        if any(number >= note.blocks for number in times):
            raise UserError(
                f"{place} has parts with blocks that its plan.json lacks: delete this folder, and run its tasks again."
            )
        for path, part in parts.items():
            if not several and all(times[block.number] == 1 for block in part.blocks):
                continue
            for block, rows in read_part(path, part):
                for row in rows if several or times[block.number] > 1 else ():
                    other, first_row = seen.setdefault(row[0], (path, row))
                    if other.parent != place and jobs[other.parent] & jobs[place]:
                        continue
                    if first_row != row and Status.FAILED not in (first_row[2], row[2]):
                        raise UserError(
                            f"{other} and {path} have different scores for the same pair ({first_row[1]} and "
                            f"{row[1]}), which happens with two models of device or two plans: remove one of these "
                            "files."
                        )
