"""Worker processes on this machine (`metaeval.runs.scoring_worker`) score blocks; only this one opens the store."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from metaeval.scoring.executors.worker_pool import Pool, Worker, WorkerLostError

WORKER = "metaeval.runs.scoring_worker"


@dataclass(frozen=True)
class Place:
    """The resources of a worker process. environment: added to this process's. cores: usable CPU cores; empty: all."""

    environment: Mapping[str, str]
    cores: frozenset[int]


def places(workers: int, devices: Sequence[str] = ()) -> list[Place]:
    """Return the resources of each worker process: its share of the cores that this process may use, and a device.

    workers: number of processes. devices: numbers of CUDA devices, as this process counts them, given out in turn.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    seen = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    worker_places = []
    for number in range(workers):
        device = devices[number % len(devices)] if devices else ""
        name = seen[int(device)] if device and seen else device
        part = cores[len(cores) * number // workers : len(cores) * (number + 1) // workers]
        worker_cores = part or ([cores[number % len(cores)]] if cores else [])
        worker_places.append(Place({"CUDA_VISIBLE_DEVICES": name} if device else {}, frozenset(worker_cores)))
    return worker_places


class _Process(Worker):
    """A running worker process, which exchanges lines of JSON with this one."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the worker)
        # -P: no file of the current folder takes the place of an installed package.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **place.environment},
            start_new_session=True,  # Ctrl-C is for this process, which then ends the worker
        )
        self._in, self._out = filter(None, (self._process.stdin, self._process.stdout))
        if place.cores:
            with contextlib.suppress(OSError):  # it has ended, or the system knows better
                os.sched_setaffinity(self._process.pid, place.cores)

    def send(self, packed: bytes) -> Callable[[], dict[str, Any]]:
        with contextlib.suppress(OSError):  # it has ended, which its reply tells
            self._in.write(packed)
            self._in.flush()
        return self._reply

    def _reply(self) -> dict[str, Any]:
        line = self._out.readline()
        if line.endswith(b"\n"):
            reply: dict[str, Any] = json.loads(line)
            return reply
        code = self._process.wait()
        how = f"ended with exit code {code}"
        if code < 0:
            known = {number.value for number in signal.Signals}
            how = f"was killed by {signal.Signals(-code).name if -code in known else f'signal {-code}'}"
        self._errors.seek(max(self._errors.seek(0, os.SEEK_END) - 2000, 0))
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        raise WorkerLostError(f"{how} ({lines[-1].strip()})" if lines else how)

    def stop(self) -> None:
        """End the worker and its child processes; only its unfinished pieces are lost."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._waiting.shutdown()
        for pipe in (self._in, self._out, self._errors):
            with contextlib.suppress(OSError):
                pipe.close()


class ProcessPool(Pool):
    """A pool of worker processes on this machine, each with its own share of the resources."""

    def __init__(self, worker_places: Sequence[Place]) -> None:
        super().__init__(len(worker_places))
        self._places = worker_places

    def start(self, number: int) -> Worker:
        """Return a new worker process with this number."""
        return _Process(self._places[number])

    def pack(self, message: Mapping[str, Any]) -> bytes:
        """Return the message as a line of JSON."""
        # Not escaped: of a large job in another script than Latin the message would be three times its texts.
        return f"{json.dumps(message, ensure_ascii=False)}\n".encode("utf-8", "surrogatepass")
