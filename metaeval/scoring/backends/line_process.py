"""A program that exchanges lines of text with this process; threads write and read its pipes, so no side blocks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import weakref
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO

_GRACE = 2.0


class ProgramEndedError(Exception):
    """Raised when the program has closed its standard output: it has ended, or is about to."""


class SilentError(Exception):
    """Raised when the program wrote no line of output before the timeout."""


class LineProcess:
    """A running program. One thread sends lines and others read them, in any order.

    It runs in the current folder. When this object is deleted the program's input ends, and a program that does not end
    then is killed after two seconds. Raises `OSError` when it cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        # A Python program whose output is a pipe buffers its lines up to 8 kB.
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
        )
        self._out: SimpleQueue[bytes | None] = SimpleQueue()
        self._in: SimpleQueue[bytes | None] = SimpleQueue()
        self._last_error: list[str] = []
        Thread(target=_write, args=(self._process.stdin, self._in), daemon=True).start()
        Thread(target=_read, args=(self._process.stdout, self._out), daemon=True).start()
        self._errors = Thread(target=_keep, args=(self._process.stderr, self._last_error), daemon=True)
        self._errors.start()
        self.stop = weakref.finalize(self, _stop, self._process, self._in)
        """End the program; may be called again."""

    def send(self, lines: Sequence[str]) -> None:
        """Queue lines (ASCII, without line ends) for the program, and return at once."""
        self._in.put("".join(f"{line}\n" for line in lines).encode("ascii"))

    def read(self, seconds: float) -> str:
        """Return the program's next line. Raises `SilentError` after so many seconds, or `ProgramEndedError`."""
        try:
            line = self._out.get(timeout=seconds)
        except Empty:
            raise SilentError from None
        if line is None:
            self._out.put(None)
            raise ProgramEndedError
        return line.decode("utf-8", "replace").rstrip("\r\n")

    def last_error(self) -> str:
        """Return the last line of the program's standard error that is not blank, cut to 500 characters; "" if none."""
        if self._process.poll() is not None:
            self._errors.join(timeout=1.0)
        return "".join(self._last_error)

    def ending(self) -> str:
        """Return how the program ended (see `how_ended`), or that it closed its standard output and still runs."""
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "closed its standard output"
        return how_ended(code)


def how_ended(code: int) -> str:
    """Return how a process with this return code ended: "ended with exit code 1", "was killed by SIGKILL"."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _write(pipe: IO[bytes], lines: SimpleQueue[bytes | None]) -> None:
    # The reader of its output notices a program that has ended.
    with contextlib.suppress(OSError):
        while (block := lines.get()) is not None:
            pipe.write(block)
            pipe.flush()
    with contextlib.suppress(OSError):
        pipe.close()


def _read(pipe: IO[bytes], lines: SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)


def _keep(pipe: IO[bytes], last_error: list[str]) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        for line in pipe:
            if text := line.decode("utf-8", "replace").strip():
                last_error[:] = [text[-500:]]


def _stop(process: subprocess.Popen[bytes], lines: SimpleQueue[bytes | None]) -> None:
    lines.put(None)
    try:
        process.wait(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            # The program's own children go with it: it was started as the head of a process group.
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        process.wait()
