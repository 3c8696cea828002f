"""A pool of workers that score whole blocks side by side: it distributes the blocks and replaces workers that die."""

from __future__ import annotations

import logging
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from metaeval.core.errors import UserError
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.executors.contract import BlockTask, Context, ScoredBlock, WorkerRecipe

_log = logging.getLogger("metaeval")

AHEAD = 2  # most blocks that a worker has at a time, so that it has the next block when it has scored one
KILLS = 3
"""Number of workers that die over one block before it is halved, or at their start before no more are started."""


@dataclass
class Piece:
    """A block to score, or a part of one over which workers died: the pairs numbered `first` to `end` (excluded).

    work: the state of the whole block. kills: how many workers have died while they scored the piece.
    """

    work: _TaskState
    first: int
    end: int
    kills: int = 0


@dataclass
class _TaskState:
    """The state of a task: results per wanted metric and pair (FAILED until they arrive); left: pairs without any."""

    task: BlockTask
    answers: list[list[PairScore]]
    left: int


class WorkerLostError(Exception):
    """The end of a worker: how it ended. place: the machine that was lost with it; "" if none was."""

    def __init__(self, how: str, place: str = "") -> None:
        super().__init__(how)
        self.place = place


class Worker(ABC):
    """A running worker. A thread waits for its replies, in the order of what it was asked.

    asked: replies that are awaited, each with its piece (a job's: None). ready: whether it has begun the job.
    """

    def __init__(self) -> None:
        self.asked: deque[tuple[Future[dict[str, Any]], Piece | None]] = deque()
        self.ready = False
        self._waiting = ThreadPoolExecutor(1)

    def ask(self, packed: Any, piece: Piece | None = None) -> None:
        """Send a packed message, and await its reply."""
        self.asked.append((self._waiting.submit(self.send(packed)), piece))

    @abstractmethod
    def send(self, packed: Any) -> Callable[[], dict[str, Any]]:
        """Send a packed message; return what waits for the reply, and raises `WorkerLostError` if there is none."""

    @abstractmethod
    def stop(self) -> None:
        """End the worker; only its unfinished pieces are lost."""


class Pool(ABC):
    """A pool of workers that score one job after the other; the first job starts them.

    size: number of workers. most: largest number, of which those beyond `size` begin as machines join; 0: `size`.
    """

    def __init__(self, size: int, most: int = 0) -> None:
        self.size = size
        self._most = max(size, most)
        self._children: dict[int, Worker] = {}
        self._job: Any = None
        self._numbers: Sequence[Mapping[str, int]] = ()
        self._of: tuple[WorkerRecipe, Context] | None = None
        self._deaths = 0  # in a row, of workers that had not begun the job
        self._lost: set[str] = set()

    @abstractmethod
    def start(self, number: int) -> Worker:
        """Return a new worker with this number."""

    @abstractmethod
    def pack(self, message: Mapping[str, Any]) -> Any:
        """Return a message in the form in which it is sent; a job's message is packed once for all workers."""

    def run(self, recipe: WorkerRecipe, context: Context, tasks: Iterable[BlockTask]) -> Iterator[ScoredBlock]:
        """Score tasks, and yield each block when it is scored.

        A worker that dies is replaced, and its blocks are scored again; a block that kills workers is halved (see
        `_give_up`). A worker's error is raised as `UserError`, in its words. If there was nothing to score, all workers
        are ended: runs that share a store wait for each other, and need each other's room.
        """
        if self._of is None or self._of[0] != recipe or self._of[1] is not context:
            self._of = recipe, context
            texts = {"sources": context.sources, "statements": context.statements}
            self._numbers = [{text: number for number, text in enumerate(side)} for side in texts.values()]
            # Running workers get the job now, others when they start.
            self._job = self.pack({"recipe": asdict(recipe), "path": sys.path, "context": texts})
            for child in self._children.values():
                child.ready = False
                child.ask(self._job)
        drawn, waiting = iter(tasks), deque[Piece]()
        working = False
        try:
            while True:
                self._hand_out(drawn, waiting)
                if not waiting and not any(piece for child in self._children.values() for _, piece in child.asked):
                    break
                working = True
                yield from self._listen(waiting)
            if not working:
                Pool.close(self)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all workers."""
        for child in self._children.values():
            child.stop()
        self._children.clear()
        self._of = None

    def _hand_out(self, drawn: Iterator[BlockTask], waiting: deque[Piece]) -> None:
        """Give every worker that has begun the job up to `AHEAD` pieces, one to each before any gets a second.

        Then start workers, as long as there are pieces; for each of the first `size` that start, a piece is put into
        `waiting`, from which an idle worker may take it. drawn: tasks that are not begun. waiting: pieces to score.
        """
        ready = [child for _, child in sorted(self._children.items()) if child.ready]
        starting = len(self._children) - len(ready)
        for held in range(AHEAD):
            for child in ready:
                if len(child.asked) > held:
                    continue
                if len(waiting) <= starting and not self._draw(drawn, waiting) and (held or not waiting):
                    break
                piece = waiting.popleft()
                # A worker is told the texts by their numbers in the job.
                (sources, statements), task = self._numbers, piece.work.task
                pairs = task.pairs[piece.first : piece.end]
                numbered = [(sources[source], statements[statement]) for source, statement in pairs]
                child.ask(self.pack({"pairs": numbered, "wanted": list(task.wanted)}), piece)
        starting = 0
        for number in range(self._most):
            if number in self._children and self._children[number].ready:
                continue
            starting += 1
            if len(waiting) < min(starting, self.size) and not self._draw(drawn, waiting):
                break
            if number not in self._children:
                self._children[number] = self.start(number)
                self._children[number].ask(self._job)

    def _draw(self, drawn: Iterator[BlockTask], waiting: deque[Piece]) -> bool:
        """Put the next task into `waiting`; return False if there is none."""
        for task in islice(drawn, 1):
            empty = [[PairScore(None, Status.FAILED)] * len(task.pairs) for _ in task.wanted]
            waiting.append(Piece(_TaskState(task, empty, len(task.pairs)), 0, len(task.pairs)))
            return True
        return False

    def _listen(self, waiting: deque[Piece]) -> Iterator[ScoredBlock]:
        """Yield the blocks that replies complete; put dead workers' pieces back; raise a worker's `UserError`."""
        error = ""
        wait([child.asked[0][0] for child in self._children.values() if child.asked], return_when=FIRST_COMPLETED)
        for number, child in list(self._children.items()):
            while child.asked and child.asked[0][0].done():
                reply, piece = child.asked[0]
                if isinstance(lost := reply.exception(), WorkerLostError):
                    if self._bury(number, lost, waiting):
                        yield from self._give_up(waiting)
                    break
                message = reply.result()
                child.asked.popleft()
                for text in message.get("said", ()):
                    _log.warning("%s", text)
                error = error or message.get("error", "")
                if "ready" in message:
                    child.ready, self._deaths = True, 0
                elif piece and "answers" in message:
                    yield from _store_results(piece, message)
        if error:
            raise UserError(error)

    def _bury(self, number: int, lost: WorkerLostError, waiting: deque[Piece]) -> bool:
        """Put a dead worker's pieces into `waiting`; return whether its first piece has now killed `KILLS` workers."""
        child = self._children.pop(number)
        child.stop()
        pieces = [piece for _, piece in child.asked if piece]
        waiting.extendleft(reversed(pieces))
        if lost.place:
            if lost.place not in self._lost:
                _log.warning("%s. Others score what its workers had not finished.", lost)
            self._lost.add(lost.place)
            return False
        pairs = sum(piece.end - piece.first for piece in pieces)
        _log.warning("A worker %s. Another one scores the %s pairs that it had not finished.", lost, f"{pairs:,}")
        if pieces:  # no worker gets any before it is ready
            pieces[0].kills += 1
            return pieces[0].kills >= KILLS
        self._deaths += not child.ready
        begun = sum(other.ready for other in self._children.values())
        if self._deaths >= KILLS and not begun:
            raise UserError(f"A worker process {lost} before it scored, {KILLS} times: lower executor.workers.")
        if self._deaths >= KILLS:
            self._deaths, self.size, self._most = 0, begun, begun
            _log.warning("%s workers in a row have ended before they scored anything: %s others go on.", KILLS, begun)
        return False

    def _give_up(self, waiting: deque[Piece]) -> Iterator[ScoredBlock]:
        """Halve the first piece of `waiting`, which has killed too many workers; a single pair gets the status FAILED.

        Yields the block if this pair was the last that it lacked.
        """
        piece = waiting.popleft()
        middle = (piece.first + piece.end) // 2
        if middle > piece.first:
            halves = (middle, piece.end), (piece.first, middle)
            waiting.extendleft(Piece(piece.work, *part, piece.kills) for part in halves)
            return
        source, statement = piece.work.task.pairs[piece.first]
        _log.warning(
            "A pair kills every worker that scores it, and has no score: source %r, statement %r. It is not stored; "
            "the next run tries it again.",
            *(text if len(text) <= 60 else f"{text[:59]}…" for text in (source, statement)),
        )
        failed = [[[None, str(Status.FAILED), 0, 0]] for _ in piece.work.answers]
        yield from _store_results(piece, {"answers": failed})


def _store_results(piece: Piece, message: Mapping[str, Any]) -> Iterator[ScoredBlock]:
    """Store the results in a worker's message in the piece's block, and yield the block if it is complete."""
    work, task, rows = piece.work, piece.work.task, message["answers"]
    answers = [[PairScore(score, Status(status), *counts) for score, status, *counts in row] for row in rows]
    for place, scored in zip(work.answers, answers, strict=True):
        place[piece.first : piece.end] = scored
    work.left -= piece.end - piece.first
    if not work.left:
        yield ScoredBlock(task, work.answers)
