"""Actors on a Ray cluster: one of them for each worker, on whatever node has room. Needs the extra `ray`.

The driver owns the texts and the store. An actor that dies, with its node or alone, is replaced like a dead process.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from metaeval.errors import UserError, install_extra
from metaeval.scoring.executors.local import WORKER
from metaeval.scoring.executors.pool import Child, Piece, Pool

_log = logging.getLogger("metaeval")
_LOOK = 10.0  # seconds between checks of the cluster's nodes
_PATIENCE = 60.0  # seconds that an actor may take to start; a warning when none has started by then


class _Actor:
    """The Ray actor on a node: a `Scorer` with its share of the node's cores."""

    def __init__(self, number: int, cores: int, folder: str) -> None:
        if os.path.isdir(folder):  # on a shared file system relative paths mean what they mean to the driver
            os.chdir(folder)
        if hasattr(os, "sched_setaffinity"):
            cpus = sorted(os.sched_getaffinity(0))
            first = number * cores % len(cpus)
            os.sched_setaffinity(0, (cpus[first:] + cpus[:first])[:cores])
        self._scorer = import_module(WORKER).Scorer()

    def here(self) -> dict[str, Any]:
        """Return an empty answer, once the actor is placed on a node."""
        return {}

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one message."""
        reply: dict[str, Any] = self._scorer.answer(message)
        return reply


class _Remote:
    """The driver's handle of an actor, which answers messages in order. placed: whether it is on a node."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self.pieces: deque[Piece] = deque()
        self.ready = False
        self.placed = False
        self.asked: deque[Any] = deque([actor.here.remote()])
        self.since = time.monotonic()
        self._ray = ray
        self._actor = actor
        self._ended = ""

    def send(self, packed: Any) -> None:
        """Send the actor a message."""
        self.asked.append(self._actor.answer.remote(packed))

    def receive(self) -> list[dict[str, Any]] | None:
        """Return the next answer; None when the actor has ended."""
        try:
            answer = self._ray.get(self.asked.popleft())
            self.placed = True
            return [answer] if answer else []
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.OutOfMemoryError) as error:
            self._ended = str(error).strip().splitlines()[0]
            return None

    def ending(self) -> str:
        """Return, as text, how the actor ended: the first line of Ray's error."""
        return f"has ended ({self._ended})"

    def stop(self) -> None:
        """End the actor."""
        self._ray.kill(self._actor)


def _reach(address: str) -> None:
    """Raise `OSError` if nothing answers at HOST:PORT: Ray itself would try again for ever."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore the handler of SIGTERM: `ray.init` replaces it, and would end the command without a message."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def room(nodes: Sequence[tuple[int, int]], cores: int) -> int:
    """Return how many workers of `cores` cores each there is room for; with GPUs each worker takes one.

    nodes: cores and GPUs of each.
    """
    gpus = any(gpu for _, gpu in nodes)
    return sum(min(core // cores, gpu) if gpus else core // cores for core, gpu in nodes)


def share(nodes: Sequence[tuple[int, int]], workers: int) -> int:
    """Return the largest number of cores that each of the workers can have; 0 for more workers than cores."""
    most = max((core for core, _ in nodes), default=0)
    return next((cores for cores in range(most, 0, -1) if room(nodes, cores) >= workers), 0)


class RayPool(Pool):
    """A pool of actors of a Ray cluster. address: of the cluster; empty: one on this machine, ended with the pool.

    workers: number of actors; 0 for one per GPU of the cluster, or per node if there are no GPUs. most: largest number
    as nodes join, each with the cores of the first ones; 0 for no more than `workers`.

    Raises `UserError` where Ray is not installed, and where the cluster is not there or has no room.
    """

    def __init__(self, address: str, workers: int, most: int = 0) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise UserError(
                f"The executor 'ray' needs Ray, not installed here: type {install_extra('ray')}."
            ) from error
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            try:
                _reach(address)
                started = {} if address else {"include_dashboard": False}
                with _signals_kept():
                    ray.init(address=address or "local", logging_level="error", log_to_driver=False, **started)
            except (OSError, ValueError, RuntimeError) as error:
                raise UserError(
                    f"No Ray cluster answers at {address or 'this machine'} ({error}): start one with 'ray start "
                    "--head', or leave executor.address out for one on this machine."
                ) from error
        nodes = self._nodes()
        gpus = sum(gpu for _, gpu in nodes)
        super().__init__(workers or gpus or len(nodes))
        if gpus and not most and self.size > gpus:
            self.close()
            raise UserError(
                f"executor.workers is {self.size}, and the cluster has {gpus} GPUs, of which each worker takes one: "
                "give fewer workers."
            )
        self._most = most or self.size
        self._gpus = int(bool(gpus))
        self._cores = share(nodes, self.size) or int(bool(most))
        self._began = self._looked = time.monotonic()
        self._told = False

    def _nodes(self) -> list[tuple[int, int]]:
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return [(int(node.get("CPU", 0)), int(node.get("GPU", 0))) for node in alive]

    def start(self, number: int) -> Child:
        """Return a new actor; it is placed where its cores, or its GPU, are free."""
        # Almost no cores where there are more workers than cores, so that all are placed.
        kind = self._ray.remote(
            num_cpus=self._cores or 0.01, num_gpus=self._gpus, max_restarts=0, scheduling_strategy="SPREAD"
        )(_Actor)
        return _Remote(self._ray, kind.remote(number, self._cores, os.getcwd()))

    def unplaced(self, children: Mapping[int, Child]) -> Sequence[int]:
        """Return actors that wait for a place while others have one; checked at most every 10 seconds."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return ()
        self._looked = now
        actors = {number: child for number, child in children.items() if isinstance(child, _Remote)}
        placed = sum(actor.placed for actor in actors.values())
        if not placed:
            if now - self._began > _PATIENCE and not self._told:
                self._told = True
                _log.warning("No actor has a place yet: the cluster may be busy (%s cores for each).", self._cores)
            return ()
        waiting = [number for number, actor in actors.items() if not actor.placed and now - actor.since >= _PATIENCE]
        if self._cores:
            seats = placed if waiting else room(self._nodes(), self._cores)
            self.size = max(min(seats, self._most), 1)
        return waiting

    def pack(self, message: Mapping[str, Any]) -> Any:
        """Return a message for actors.

        A job's texts are put into the cluster's shared memory, so that blocks are small.
        """
        return self._ray.put(dict(message)) if "recipe" in message else dict(message)

    def wait(self, children: Mapping[int, Child]) -> Sequence[int]:
        """Wait for the next answer of each actor, and return the numbers of those that have one."""
        actors = {number: child for number, child in children.items() if isinstance(child, _Remote) and child.asked}
        number_by_call = {child.asked[0]: number for number, child in actors.items()}
        ready, _ = self._ray.wait(list(number_by_call), num_returns=1, timeout=_LOOK)
        return [number_by_call[call] for call in ready]

    def close(self) -> None:
        """End all actors, and the cluster where it was started here."""
        super().close()
        if self._own and self._ray.is_initialized():
            self._ray.shutdown()
