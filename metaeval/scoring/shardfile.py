"""Shards: scored blocks in Parquet files, for tasks that share nothing but a folder.

FOLDER/IDENTITY/PLAN/plan.json says what the metric and the plan are, part-FIRST-LAST-HASH.parquet holds whole blocks.
Every file appears whole or not at all, and says in itself what it belongs to.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metaeval import reading
from metaeval.errors import UserError
from metaeval.files import atomic_write, sha256_json, write_text
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.plan import Block, Plan

NOTE = "plan.json"
ROWS = 4096
"""Rows from which on a part is closed."""
SECONDS = 60.0
"""Seconds from its first block after which a part is closed: so much is lost with a task that is killed."""
_KEY = b"metaeval"

Model = TypeVar("Model", bound=BaseModel)
Row = tuple[bytes, float | None, str, int, int]
"""(pair key, score, status, tokens, cut)."""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WindowNote(_File):
    """The rows of a table that a plan is of: windows, from 0, of so many; several where they hold the same pairs.

    table: SHA-256 of the file.
    """

    table: str
    numbers: list[int] = Field(min_length=1)
    of: int = Field(ge=1)

    def __str__(self) -> str:
        return f"window {' and '.join(map(str, self.numbers))} of {self.of}"


class PlanNote(_File):
    """What plan.json says. blocks, pairs: how many the plan has. shards: tasks that it was cut for, the last time.

    run: the settings of the run, as its manifest would hold them. windows: of tables that are scored in several, a note
    a table.
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
        """Whether the plan is of this window; of a note or a job without windows, it may be."""
        return (
            window is None
            or not self.windows
            or any(one.table == window.table and set(window.numbers) <= set(one.numbers) for one in self.windows)
        )


class PartBlock(_File):
    """A block of a part: its number, its id, its rows, and how many of those have failed."""

    number: int = Field(ge=0)
    id: str
    rows: int = Field(ge=1)
    failed: int = Field(ge=0)


class PartNote(_File):
    """What a part says of itself. device: the model of what computed it."""

    format: Literal["metaeval-shard/1"] = "metaeval-shard/1"
    identity: str
    plan: str
    blocks: list[PartBlock]
    versions: dict[str, str]
    device: str


def plan_folder(folder: Path, identity: Mapping[str, Any], plan: Plan) -> Path:
    """Where the parts of a metric's plan stand."""
    return folder / sha256_json(dict(identity))[:16] / plan.id[:16]


def write_note(place: Path, note: PlanNote) -> None:
    """Write plan.json; every task of a plan writes the same. The windows that it names already stay in it."""
    windows: dict[str, WindowNote] = {}
    for one in (*(read_note(place).windows if (place / NOTE).is_file() else ()), *note.windows):
        known = windows[one.table].numbers if one.table in windows else []
        windows[one.table] = one.model_copy(update={"numbers": sorted({*known, *one.numbers})})
    note = note.model_copy(update={"windows": list(windows.values())})
    values = note.model_dump(exclude=None if windows else {"windows"})
    write_text(place / NOTE, json.dumps(values, indent=1, sort_keys=True) + "\n")


def read_note(place: Path) -> PlanNote:
    """Read plan.json; `UserError` where it is not what its folder is named by."""
    path = place / NOTE
    note = _checked(PlanNote, reading.read_object(path), path)
    if (sha256_json(note.identity)[:16], note.plan[:16]) != (place.parent.name, place.name):
        raise UserError(f"{path} belongs to another metric or plan than its folder: move it out.")
    return note


def plans(folder: Path) -> list[Path]:
    """The folders of plans, in the order of their names; `UserError` where there is none."""
    found = sorted(path.parent for path in folder.glob(f"*/*/{NOTE}"))
    if not found:
        raise UserError(
            f"{folder} holds no shards: 'metaeval score --shard 0/8 -o {folder}' writes the first of eight."
        )
    return found


class PartWriter:
    """Collects scored blocks of one metric, and writes them in parts; `close` writes what is left.

    place: folder of the plan. note: what every part says, without its blocks.
    """

    def __init__(self, place: Path, note: PartNote) -> None:
        self._place = place
        self._note = note
        self._blocks: list[tuple[Block, Sequence[PairScore]]] = []
        self._rows = 0
        self._since = 0.0

    def add(self, block: Block, answers: Sequence[PairScore]) -> None:
        """Take a block with one answer per pair."""
        if not self._blocks:
            self._since = time.monotonic()
        self._blocks.append((block, answers))
        self._rows += len(answers)
        if self._rows >= ROWS or time.monotonic() - self._since >= SECONDS:
            self.close()

    def close(self) -> None:
        """Write what was collected as one part."""
        if not self._blocks:
            return
        pyarrow = reading.parquet_library()
        blocks = sorted(self._blocks, key=lambda pair: pair[0].number)
        noted = [
            PartBlock(number=block.number, id=block.id, rows=len(answers), failed=sum(map(_failed, answers)))
            for block, answers in blocks
        ]
        answers = [answer for _, answers in blocks for answer in answers]
        columns = {
            "pair": pyarrow.array([key for block, _ in blocks for key in block.keys], pyarrow.binary(16)),
            "score": pyarrow.array([answer.score for answer in answers], pyarrow.float64()),
            "status": pyarrow.array([str(answer.status) for answer in answers]).dictionary_encode(),
            "tokens": pyarrow.array([answer.tokens for answer in answers], pyarrow.int32()),
            "cut": pyarrow.array([answer.cut for answer in answers], pyarrow.int32()),
            "block": pyarrow.array([block.number for block, own in blocks for _ in own], pyarrow.int32()),
        }
        note = self._note.model_copy(update={"blocks": noted})
        table = pyarrow.table(columns).replace_schema_metadata({_KEY: json.dumps(note.model_dump()).encode()})
        own = blake2b("".join(one.id for one in noted).encode(), digest_size=4).hexdigest()
        path = self._place / f"part-{noted[0].number:06}-{noted[-1].number:06}-{own}.parquet"
        with atomic_write(path) as file:
            pyarrow.parquet.write_table(table, file, compression="zstd")
        self._blocks, self._rows = [], 0


def _failed(answer: PairScore) -> bool:
    return answer.status is Status.FAILED


def part_notes(place: Path) -> dict[Path, PartNote]:
    """What each part of a plan says of itself; its rows are not read.

    Raises `UserError` for a file that is no part, and for one of another metric or plan.
    """
    found = {}
    for path in sorted(place.glob("part-*.parquet")):
        try:
            values = reading.parse_json(reading.parquet_metadata(path)[_KEY].decode("utf-8"))
        except (UserError, KeyError, UnicodeDecodeError, reading.MalformedError) as error:
            raise _broken(path) from error
        found[path] = note = _checked(PartNote, values, path)
        if (note.identity[:16], note.plan[:16]) != (place.parent.name, place.name):
            raise UserError(f"{path} belongs to another metric or plan than its folder: move it out.")
    return found


def read_part(path: Path, note: PartNote) -> Iterator[tuple[PartBlock, list[Row]]]:
    """The blocks of a part with their rows; `UserError` where these are not the pairs that the part speaks of."""
    try:
        columns = reading.parquet_columns(path, ("pair", "score", "status", "tokens", "cut"))
        rows: list[Row] = list(zip(*columns, strict=True))
        first = 0
        for block in note.blocks:
            own = rows[first : first + block.rows]
            first += block.rows
            if Block(block.number, tuple(row[0] for row in own)).id != block.id:
                raise _broken(path)
            yield block, own
    except (UserError, TypeError) as error:
        raise _broken(path) from error
    if first != len(rows):
        raise _broken(path)


def _checked(model: type[Model], values: Any, path: Path) -> Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _broken(path) from error


def _broken(path: Path) -> UserError:
    return UserError(f"{path} is damaged, or none of ours: delete it, and run the task that wrote it again.")
