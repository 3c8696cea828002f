"""The notice of a batch system that a task will be ended: what is in hand is finished where there is time for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from metaeval.scoring.executors.contract import Task

GRACE = 20.0
"""Seconds that a task takes at most behind SIGTERM where nobody says how long it has: batch systems kill after 30."""
EXIT_CODE = 75
"""Of a task that was ended in time and goes on when it is started again: EX_TEMPFAIL of sysexits.h."""
_SPARE = 10.0  # seconds that writing and leaving may take


class EndedError(Exception):
    """The task was asked to end, and has written what was finished."""


class _TimeIsUp(KeyboardInterrupt):
    """No block can be finished any more. Where no task runs any more, it is handled as Ctrl-C is."""


class Notice:
    """What a task knows of its end. given: it was asked to end. keep: writes what is finished."""

    def __init__(self) -> None:
        self.given = False
        self.keep: Callable[[], None] = lambda: None
        self._begun: dict[int, float] = {}
        self._longest = 0.0  # seconds of the last block, from when it was given to a worker
        self._writing = False

    def until(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """The tasks, as they are begun; none any more from the notice on."""
        for task in tasks:
            if self.given:
                return
            self._begun[task.block] = time.monotonic()
            yield task

    @contextmanager
    def writing(self, task: Task) -> Iterator[None]:
        """Take what was scored, and let no signal write in between; all of it is written from the notice on."""
        self._longest = time.monotonic() - self._begun.pop(task.block)
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
        if self.given:
            self.keep()

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Take the signal: go on with what is in hand if there is time for another one of its kind, else stop here."""
        left = seconds_left()
        if self.given or self._longest > left:
            raise _TimeIsUp
        self.given = True
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.1))
        if not self._writing:
            self.keep()  # whoever kills sooner than said takes a block, and not a minute's


def seconds_left() -> float:
    """Seconds until the task is killed, less what writing takes: until the end that Slurm tells, where it is near."""
    end = os.environ.get("SLURM_JOB_END_TIME", "")
    left = float(end) - time.time() - _SPARE if end.isdecimal() else 0.0
    return left if 0 < left < 600 else GRACE  # a task that is ended long before its time is preempted, or cancelled


@contextmanager
def noticed() -> Iterator[Notice]:
    """Take SIGTERM as a notice while the block runs; raises `EndedError` at its end where one came."""
    notice = Notice()
    main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not main or signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        yield notice
        return
    before = {number: signal.signal(number, notice.handle) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        yield notice
    except _TimeIsUp:
        notice.given = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if notice.given:
        raise EndedError
