"""The signal of a batch system that a task will be ended: blocks that have begun are finished if there is time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from metaeval.scoring.executors.contract import BlockTask

GRACE = 20.0
"""Most seconds that a task goes on after SIGTERM where its end is not known: batch systems kill after 30."""
EXIT_CODE = 75
"""Exit code of a task that was ended in time and goes on when it is started again: EX_TEMPFAIL of sysexits.h."""
_SPARE = 10.0  # seconds that writing and leaving may take


class EndedError(Exception):
    """Raised when a task was asked to end and has written its finished blocks."""


class _TimeIsUp(KeyboardInterrupt):
    """Raised when no further block can be finished in time; outside a task it is handled as Ctrl-C is."""


class Notice:
    """A request that the task end, sent as SIGTERM. given: whether it came. keep: writes the finished blocks."""

    def __init__(self) -> None:
        self.given = False
        self.keep: Callable[[], None] = lambda: None
        self._begun: dict[int, float] = {}
        self._longest = 0.0  # seconds of the last block, from when it was given to a worker
        self._writing = False

    def until(self, tasks: Iterable[BlockTask]) -> Iterator[BlockTask]:
        """Yield the tasks until the request to end arrives."""
        for task in tasks:
            if self.given:
                return
            self._begun[task.block] = time.monotonic()
            yield task

    @contextmanager
    def writing(self, task: BlockTask) -> Iterator[None]:
        """Delay signals while a scored block is stored; after the request to end, write each block at once."""
        self._longest = time.monotonic() - self._begun.pop(task.block)
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
        if self.given:
            self.keep()

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Handle the signal: go on if there is time for another block as long as the last one, else stop here."""
        left = seconds_left()
        up, self.given = self.given or self._longest > left, True
        if up:
            raise _TimeIsUp
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.1))
        if not self._writing:
            self.keep()  # a kill before the announced end loses a block, and not a minute of blocks


def seconds_left() -> float:
    """Return the seconds until the task is killed, minus the time to write.

    The end of the Slurm job counts if it is near, else the usual grace period after SIGTERM.
    """
    end = os.environ.get("SLURM_JOB_END_TIME", "")
    left = float(end) - time.time() - _SPARE if end.isdecimal() else 0.0
    return left if 0 < left < 600 else GRACE  # a task that is ended long before its time is preempted, or cancelled


@contextmanager
def noticed() -> Iterator[Notice]:
    """Treat SIGTERM in the with-block as a request to end; raises `EndedError` after the block if it came."""
    notice = Notice()
    main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not main or signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        yield notice
        return
    before = {number: signal.signal(number, notice.handle) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        yield notice
    except KeyboardInterrupt:  # of any kind: Ray raises a plain one, whatever the handler of a signal raises
        if not notice.given:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if notice.given:
        raise EndedError
