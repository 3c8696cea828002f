"""Shards as a whole: the blocks of each task, how far they are, and their parts put into a store, each pair once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from metaeval.errors import UserError
from metaeval.scoring.contract import Status
from metaeval.scoring.plan import Block, Plan
from metaeval.scoring.shardfile import PlanNote, Row, WindowNote, part_notes, plans, read_note, read_part
from metaeval.scoring.store import ScoreStore

_BATCH = 100_000


@dataclass(frozen=True)
class Shard:
    """Task `index` of `count`, the first being 0."""

    index: int
    count: int

    def blocks(self, plan: Plan) -> Sequence[Block]:
        """Every count-th block: the longest come first, so that the tasks take about the same time."""
        return plan.blocks[self.index :: self.count]


def read_shard(text: str) -> Shard:
    """Read I/N, as in 3/64."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and int(index) < int(count)):
        raise UserError(f"--shard is {text!r}; it should be I/N, task I of N counted from 0: 0/8 to 7/8.")
    return Shard(int(index), int(count))


@dataclass(frozen=True)
class PlanState:
    """How far the shards of a metric's plan are.

    missing: numbers of the blocks that no part has. unbegun: windows of its tables of which no task has written a plan,
    a note a table. rows: scored pairs; failed: how many of them have failed. devices: models of device that scored.
    """

    place: Path
    note: PlanNote
    missing: Sequence[int]
    unbegun: Sequence[WindowNote]
    rows: int
    failed: int
    devices: Sequence[str]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to score, in windows of its tables that are to come neither."""
        return not (self.missing or self.unbegun)

    @property
    def progress(self) -> str:
        """Blocks and pairs that are done, of all, and how many have failed."""
        done = self.note.blocks - len(self.missing)
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{done:,} of {self.note.blocks:,} blocks, {self.rows:,} of {self.note.pairs:,} pairs{failed}"

    def __repr__(self) -> str:
        left = f"; left of {self.note.shards}: --array={self.array}" if self.missing else ""
        begun = f"; {len(self.unbegun):,} windows not begun" if self.unbegun else ""
        return f"<{self.note.metric}: {self.progress}{left}{begun}>"

    @property
    def array(self) -> str:
        """The tasks that are left, as the --array option of a Slurm command takes them; empty where none is."""
        left = sorted({number % self.note.shards for number in self.missing})
        spans: list[list[int]] = []
        for task in left:
            if spans and task == spans[-1][-1] + 1:
                spans[-1] = [spans[-1][0], task]
            else:
                spans.append([task])
        return ",".join("-".join(map(str, span)) for span in spans)


def shard_states(folder: Path) -> list[PlanState]:
    """How far each metric's plan in a folder of shards is."""
    notes = {place: read_note(place) for place in plans(folder)}
    begun: dict[tuple[str, str], set[int]] = {}
    for place, note in notes.items():
        for one in note.windows:
            begun.setdefault((place.parent.name, one.table), set()).update(one.numbers)
    found = []
    for place, note in notes.items():
        parts = part_notes(place).values()
        blocks = {block.number: block for part in parts for block in part.blocks}
        missing = [number for number in range(note.blocks) if number not in blocks]
        unbegun = [
            one.model_copy(update={"numbers": sorted(left)})
            for one in note.windows
            if (left := set(range(one.of)) - begun[place.parent.name, one.table])
        ]
        rows, failed = sum(one.rows for one in blocks.values()), sum(one.failed for one in blocks.values())
        devices = sorted({part.device for part in parts})
        found.append(PlanState(place, note, missing, unbegun, rows, failed, devices))
    return found


@dataclass(frozen=True)
class Merged:
    """What was put into the store for one metric. kept: rows that it had with other last digits, and that stayed."""

    metric: str
    rows: int
    new: int
    kept: int
    failed: int
    devices: Sequence[str]


def merge_shards(folder: Path, store: ScoreStore) -> Iterator[Merged]:
    """Put all parts of a folder into a score store; what it has stays. Done again, it changes nothing.

    Raises `UserError`, and stores nothing, for a file that is no part or of another metric, a block that two parts have
    with different scores, and a pair that two plans of a metric have so. Rows that are damaged are found when they are
    read: what was read before them is stored.
    """
    by_metric: dict[str, list[Path]] = {}
    for place in plans(folder):
        by_metric.setdefault(place.parent.name, []).append(place)
    for places in by_metric.values():
        _check_overlaps(places)
    for places in by_metric.values():
        numbers = {place: [one for note in read_note(place).windows for one in note.numbers] for place in places}
        # Of a pair that stands in several windows, the first one's score is kept.
        places.sort(key=lambda place: min(numbers[place], default=0))
        note, counts, devices = read_note(places[0]), Counter[str](), set[str]()
        for rows in _batches(places, devices):
            kept = sorted((row for row in rows if row[2] != Status.FAILED), key=itemgetter(0))
            counts.update(_merge_rows(places[0].parent, note.identity, kept, store))
            counts.update(failed=len(rows) - len(kept), rows=len(kept))
        yield Merged(note.metric, counts["rows"], counts["new"], counts["kept"], counts["failed"], sorted(devices))


def _batches(places: Sequence[Path], devices: set[str]) -> Iterator[list[Row]]:
    """The rows of a metric's parts, some at a time: the store takes many in one transaction faster than few in each."""
    rows: list[Row] = []
    for place in places:
        for path, part in part_notes(place).items():
            devices.add(part.device)
            rows += [row for _, own in read_part(path, part) for row in own]
            if len(rows) >= _BATCH:
                yield rows
                rows = []
    yield rows


def _merge_rows(place: Path, identity: Mapping[str, Any], rows: Sequence[Row], store: ScoreStore) -> dict[str, int]:
    try:
        new = store.add(identity, rows)
    except ValueError as error:
        raise UserError(f"{place} holds {error}: delete it, and run the tasks that wrote it again.") from error
    if new == len(rows):
        return {"new": new}
    known = store.find(identity, [row[0] for row in rows])
    return {"new": new, "kept": sum(tuple(known[row[0]]) != row[1:] for row in rows if row[0] in known)}


def _check_overlaps(places: Sequence[Path]) -> None:
    """Refuse parts of one metric that hold a pair twice with different scores, but for windows of one table.

    Rows are read only where something is there twice.
    """
    jobs = {place: {one.table for one in read_note(place).windows} or {str(place)} for place in places}
    several = not set.intersection(*jobs.values())
    seen: dict[bytes, tuple[Path, Row]] = {}
    for place in places:
        note, parts = read_note(place), part_notes(place)
        times = Counter(block.number for part in parts.values() for block in part.blocks)
        if any(number >= note.blocks for number in times):
            raise UserError(f"{place} has parts of more blocks than its plan: delete it, and score it again.")
        for path, part in parts.items():
            if not several and all(times[block.number] == 1 for block in part.blocks):
                continue
            for block, rows in read_part(path, part):
                for row in rows if several or times[block.number] > 1 else ():
                    other, found = seen.setdefault(row[0], (path, row))
                    if other.parent != place and jobs[other.parent] & jobs[place]:
                        continue
                    if found != row and Status.FAILED not in (found[2], row[2]):
                        raise UserError(
                            f"{other} and {path} give one pair different scores ({found[1]} and {row[1]}), as two "
                            "models of device or two plans do: move one of the two folders or files away."
                        )
