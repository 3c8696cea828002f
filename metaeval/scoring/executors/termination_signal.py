"""Handling of SIGTERM, by which a batch system asks a task to end: begun blocks are finished if there is time."""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from types import FrameType

from metaeval.scoring.executors.contract import BlockTask, ScoredBlock

_log = logging.getLogger("metaeval")

GRACE = 20.0
"""Most seconds that a task goes on after SIGTERM where its end is not known: batch systems kill after 30."""
EXIT_CODE = 75
"""Exit code of a task that ended on request, and goes on when it is started again: EX_TEMPFAIL of sysexits.h."""
_SPARE = 10.0  # seconds that writing and leaving may take


class EndedError(Exception):
    """Raised when a task was asked to end and has written its finished blocks."""


class Notice:
    """The state of a task that SIGTERM may ask to end. given: whether the request came."""

    def __init__(self) -> None:
        self.given = False
        self._keep: Callable[[], None] = lambda: None
        self._in_hand, self._seconds = 0, math.inf  # blocks that have begun; how long the last one took to score
        self._writing = False

    @contextmanager
    def job(self, keep: Callable[[], None]) -> Iterator[None]:
        """Call `keep`, which writes a job's finished blocks, on the request to end, and when the with-block ends."""
        self._keep, self._in_hand, self._seconds = keep, 0, math.inf
        try:
            yield
        finally:
            self._writing = True
            keep()
            self._writing = False

    def until(self, tasks: Iterable[BlockTask]) -> Iterator[BlockTask]:
        """Yield the tasks of a job until the request to end arrives."""
        for task in takewhile(lambda _: not self.given, tasks):
            self._in_hand += 1
            yield task

    @contextmanager
    def writing(self, done: ScoredBlock) -> Iterator[None]:
        """Delay signals in the with-block, which stores a scored block; after the request to end, write it at once."""
        self._writing, self._seconds = True, done.seconds
        yield
        self._writing, self._in_hand = False, self._in_hand - 1
        if self.given:
            self._keep()

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Handle the signal: go on if blocks have begun and there is time for one like the last, else interrupt."""
        left = seconds_left()
        up, self.given = self.given or not self._in_hand or self._seconds > left, True
        if up and not self._writing:
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, 0.1 if up else max(left, 0.1))
        if not up:
            _log.warning(
                "Asked to end by SIGTERM: begun blocks are finished first, if that takes at most %.0f s.", left
            )
        if not self._writing:
            self._keep()  # a kill before the announced end loses a block, and not a minute of blocks


def seconds_left() -> float:
    """Return the seconds until the end of the Slurm job, minus `_SPARE`, if between 0 and 600; else `GRACE`."""
    end = os.environ.get("SLURM_JOB_END_TIME", "")
    left = float(end) - time.time() - _SPARE if end.isdecimal() else 0.0
    return left if 0 < left < 600 else GRACE  # a task that is ended long before its time is preempted, or cancelled


@contextmanager
def sigterm_notice() -> Iterator[Notice]:
    """Treat SIGTERM in the with-block as a request to end; raise `EndedError` after the block if it came."""
    notice = Notice()
    main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not main or signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        yield notice
        return
    before = {number: signal.signal(number, notice.handle) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        yield notice
    except KeyboardInterrupt:
        if not notice.given:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if notice.given:
        raise EndedError
