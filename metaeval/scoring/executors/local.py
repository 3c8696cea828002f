"""Several processes of this machine, each of which scores whole blocks; this one alone opens the store.

A worker is a program that reads lines from this process and writes lines to it (`metaeval.experiment.worker`). It ends
when this process does, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from metaeval.errors import UserError
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.executors.contract import Context, Done, Recipe, Task

_log = logging.getLogger("metaeval")

WORKER = "metaeval.experiment.worker"
AHEAD = 2
"""Most blocks that a worker has at a time: the next one is there when it has scored the one before."""
KILLS = 3
"""Deaths of workers over one block before its pairs are looked at more closely; and in a row over none."""


@dataclass(frozen=True)
class Place:
    """Where a worker runs. environment: what its environment has besides ours. cores: of the CPU; empty for all."""

    environment: Mapping[str, str]
    cores: frozenset[int]


def places(workers: int, devices: Sequence[str] = ()) -> list[Place]:
    """A place for each worker: its own share of the cores that this process may use, and its own device.

    devices: numbers of CUDA devices, as this process counts them.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    seen = [name.strip() for name in given.split(",")] if given else []
    found = []
    for number in range(workers):
        device = devices[number % len(devices)] if devices else ""
        name = seen[int(device)] if device and seen else device
        part = cores[len(cores) * number // workers : len(cores) * (number + 1) // workers]
        own = part or ([cores[number % len(cores)]] if cores else [])
        found.append(Place({"CUDA_VISIBLE_DEVICES": name} if device else {}, frozenset(own)))
    return found


@dataclass
class _Piece:
    """A block in hand, or a part of one that kills workers: pairs `first` to `end` of it. kills: deaths over it."""

    work: _Block
    first: int
    end: int
    kills: int = 0


@dataclass
class _Block:
    """A task, the answers to its pairs so far (one list per wanted metric), and how many pairs lack theirs."""

    task: Task
    answers: list[list[PairScore]]
    left: int


class _Child:
    """A running worker, and the pieces that it was sent and has not answered."""

    def __init__(self, place: Place) -> None:
        self.pieces: deque[_Piece] = deque()
        self.ready = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the worker)
        self._rest = b""
        # -P: no file of the current folder takes the place of an installed package.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **place.environment},
            start_new_session=True,  # Ctrl-C is for this process, which then ends the worker
        )
        if place.cores:
            with contextlib.suppress(OSError):  # it has ended, or the system knows better
                os.sched_setaffinity(self._process.pid, place.cores)

    def fileno(self) -> int:
        """The worker's output."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def send(self, line: bytes) -> None:
        """Send a line; that the worker has ended is seen on its output."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def receive(self) -> list[dict[str, Any]] | None:
        """What has come of whole lines; None when the worker has ended."""
        content = os.read(self.fileno(), 1 << 20)
        if not content:
            return None
        *lines, self._rest = (self._rest + content).split(b"\n")
        return [json.loads(line) for line in lines]

    def ending(self) -> str:
        """How the worker ended, in words, with the last line of its standard error."""
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        self._errors.seek(max(self._errors.seek(0, os.SEEK_END) - 2000, 0))
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f"{how} ({said[-1].strip()})" if said else how

    def stop(self) -> None:
        """End the worker and whatever it has started; nothing is lost with it but what it has in hand."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError):
                pipe.close() if pipe else None


@dataclass
class ProcessPool:
    """Workers that score the jobs they are given, one job after the other; started by the first of them."""

    places: Sequence[Place]
    _children: dict[int, _Child] = field(default_factory=dict)
    _job: bytes = b""
    _numbers: Sequence[Mapping[str, int]] = ()
    _of: tuple[Recipe, Context] | None = None
    _deaths: int = 0  # in a row, of workers that had scored nothing yet

    def run(self, recipe: Recipe, context: Context, tasks: Iterable[Task]) -> Iterator[Done]:
        """Score tasks; a block is given back when its worker has scored it.

        A worker that dies is replaced, and its blocks are scored again. A block that has killed `KILLS` workers is
        halved until the pair is found that does it; that pair is FAILED, which a warning says. An error sentence of a
        worker is raised as it is.
        """
        if self._of is None or self._of[0] != recipe or self._of[1] is not context:
            self._of = recipe, context
            self._begin(recipe, context)
        drawn, waiting = iter(tasks), deque[_Piece]()
        try:
            while True:
                self._hand_out(drawn, waiting)
                if not any(child.pieces for child in self._children.values()):
                    return
                yield from self._listen(waiting)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all workers."""
        for child in self._children.values():
            child.stop()
        self._children.clear()
        self._of = None

    def _begin(self, recipe: Recipe, context: Context) -> None:
        """Tell the workers that are there of a new job; those that start later are told then."""
        texts = {"sources": context.sources, "statements": context.statements}
        self._numbers = [{text: number for number, text in enumerate(side)} for side in texts.values()]
        self._job = _line({"recipe": asdict(recipe), "path": sys.path, "context": texts})
        for child in self._children.values():
            child.ready = False
            child.send(self._job)

    def _hand_out(self, drawn: Iterator[Task], waiting: deque[_Piece]) -> None:
        """Give every worker what it can take, one piece to each before any has two."""
        for count in range(AHEAD):
            for number in range(len(self.places)):
                child = self._children.get(number)
                if child is not None and len(child.pieces) > count:
                    continue
                piece = waiting.popleft() if waiting else _whole(next(drawn, None))
                if piece is None:
                    return
                if child is None:
                    child = self._children[number] = _Child(self.places[number])
                    child.send(self._job)
                child.pieces.append(piece)
                child.send(self._order(piece))

    def _order(self, piece: _Piece) -> bytes:
        """A piece as a worker gets it: numbers of the job's texts."""
        (sources, statements), task = self._numbers, piece.work.task
        pairs = [(sources[source], statements[statement]) for source, statement in task.pairs[piece.first : piece.end]]
        return _line({"pairs": pairs, "wanted": list(task.wanted)})

    def _listen(self, waiting: deque[_Piece]) -> Iterator[Done]:
        """Wait until a worker has something to say, or ends."""
        with selectors.DefaultSelector() as selector:
            for number, child in self._children.items():
                selector.register(child, selectors.EVENT_READ, number)
            heard = [key.data for key, _ in selector.select()]
        error = ""
        for number in heard:
            child = self._children[number]
            messages = child.receive()
            if messages is None and self._bury(number, waiting):
                yield from self._give_up(waiting)
            for message in messages or ():
                if "error" in message:
                    error = error or message["error"]
                elif "ready" in message:
                    child.ready = True
                else:
                    self._deaths = 0
                    done = _filled(child.pieces.popleft(), message["answers"])
                    if done is not None:
                        yield done
        if error:
            raise UserError(error)

    def _bury(self, number: int, waiting: deque[_Piece]) -> bool:
        """Take a dead worker out; what it had in hand waits for another one. Whether the first of that killed many."""
        child = self._children.pop(number)
        how = child.ending()
        child.stop()
        if not child.ready:
            self._deaths += 1
            if self._deaths >= KILLS:
                raise UserError(
                    f"A worker {how} before it scored anything, {self._deaths} times in a row. Every finished block is "
                    "stored. If memory is short, ask for fewer processes with --set executor.workers=NUMBER."
                )
        elif child.pieces:
            child.pieces[0].kills += 1
        pairs = sum(piece.end - piece.first for piece in child.pieces)
        _log.warning("A worker %s. Another one scores the %s pairs that it had in hand.", how, f"{pairs:,}")
        waiting.extendleft(reversed(child.pieces))
        return child.ready and bool(child.pieces) and child.pieces[0].kills >= KILLS

    def _give_up(self, waiting: deque[_Piece]) -> Iterator[Done]:
        """Halve the piece that has killed too many workers; where it is one pair, that pair has failed."""
        piece = waiting.popleft()
        middle = (piece.first + piece.end) // 2
        if middle > piece.first:
            waiting.extendleft(
                _Piece(piece.work, *part, piece.kills) for part in ((middle, piece.end), (piece.first, middle))
            )
            return
        source, statement = piece.work.task.pairs[piece.first]
        _log.warning(
            "A pair kills every worker that scores it, and has no score: source %r, statement %r. It is not stored; "
            "the next run tries it again.",
            *(text if len(text) <= 60 else f"{text[:59]}…" for text in (source, statement)),
        )
        failed = [[[None, str(Status.FAILED), 0, 0]] for _ in piece.work.answers]
        done = _filled(piece, failed)
        if done is not None:
            yield done


def _whole(task: Task | None) -> _Piece | None:
    """A block that nobody has begun."""
    if task is None:
        return None
    count = len(task.pairs)
    empty = [[PairScore(None, Status.FAILED)] * count for _ in task.wanted]
    return _Piece(_Block(task, empty, count), 0, count)


def _filled(piece: _Piece, answers: Sequence[Sequence[Sequence[Any]]]) -> Done | None:
    """Put a worker's answers in their places; the block, where it is complete."""
    work = piece.work
    for place, found in zip(work.answers, answers, strict=True):
        place[piece.first : piece.end] = [PairScore(score, Status(status), *counts) for score, status, *counts in found]
    work.left -= piece.end - piece.first
    return None if work.left else Done(work.task, work.answers)


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode("ascii") + b"\n"
