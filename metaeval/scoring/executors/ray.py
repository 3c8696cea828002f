"""A pool of workers that are actors on a Ray cluster, on whatever node has room. Needs the extra `ray`.

The driver owns the texts and the store. Ray places the actors, and says how one ended: by itself or with its node.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from metaeval.core.errors import Shown, UserError, install_extra
from metaeval.scoring.backends import batches
from metaeval.scoring.executors.local import WORKER
from metaeval.scoring.executors.worker_pool import Pool, Worker, WorkerLostError

_log = logging.getLogger("metaeval")
_TOKEN = secrets.token_hex(32)  # of clusters that this process starts; Ray's own would be written to the home folder


_REFUSED = ("AuthenticationError", "Unauthenticated")


class _Actor:
    """The Ray actor on a node: a `Scorer` that uses as many threads as Ray gives it cores. folder: the driver's."""

    def __init__(self, folder: str) -> None:
        if os.path.isdir(folder):  # on a shared file system relative paths mean what they mean to the driver
            os.chdir(folder)
        context = import_module("ray").get_runtime_context()
        self._node = str(context.get_node_id())
        self._scorer: Any = None
        batches.CORES = max(int(context.get_assigned_resources().get("CPU", 0)), 1)
        os.environ["OMP_NUM_THREADS"] = str(batches.CORES)  # of packages that are not imported yet

    def node(self) -> str:
        """Return the id of the actor's node."""
        return self._node

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scorer's reply to one message (see `scoring_worker.Scorer.answer`)."""
        self._scorer = self._scorer or import_module(WORKER).Scorer()
        reply: dict[str, Any] = self._scorer.answer(message)
        return reply


class _Remote(Worker):
    """The driver's handle of an actor. silent: ids of nodes out of reach, of which was warned."""

    def __init__(self, ray: Any, actor: Any, silent: set[str]) -> None:
        super().__init__()
        self._ray, self._actor, self._silent = ray, actor, silent
        self._ask_node = actor.node.options(max_task_retries=-1).remote  # Ray asks until it answers or has ended
        self._node, self._place = "", self._ask_node()

    def send(self, packed: Any) -> Callable[[], dict[str, Any]]:
        return partial(self._reply, self._actor.answer.remote(packed))

    def _reply(self, call: Any) -> dict[str, Any]:
        failed, error = self._ray.exceptions, None
        try:
            self._node = self._node or self._ray.get(self._place)
            reply: dict[str, Any] = self._ray.get(call)
            return reply
        except failed.ActorUnavailableError as unavailable:  # nobody knows which of its calls it has heard
            error = unavailable
            if self._node not in self._silent:
                self._silent.add(self._node)
                _log.warning("The Ray node %s does not answer: waiting until Ray says if it is lost.", self._node[:8])
            try:
                self._ray.get(self._ask_node())
            except failed.RayActorError as ended:
                error = ended
        except (failed.RayActorError, failed.OutOfMemoryError, failed.ObjectLostError) as ended:
            error = ended
        raise self._lost(error) from error

    def _lost(self, error: Any) -> WorkerLostError:
        """Return how the actor ended, in Ray's words, with its node if that is lost or was out of reach."""
        failed, text = self._ray.exceptions, str(error).strip()
        how = Shown(text.splitlines()[-1 if isinstance(error, failed.ActorDiedError) else 0].strip()[:200])
        if isinstance(error, failed.ActorUnavailableError | failed.ObjectLostError):
            return WorkerLostError(f"Node {self._node[:8]} was out of reach ({how})", f"{self._node} for a while")
        nodes = self._ray.nodes()
        lost = [str(each["NodeID"]) for each in nodes if not each["Alive"]]
        node = next((name for name in lost if name == self._node or name in text), "")
        left = f"{len(nodes) - len(lost)} of the cluster's nodes are left"
        return WorkerLostError(f"Node {node[:8]} is lost ({how}), {left}" if node else f"has ended ({how})", node)

    def stop(self) -> None:
        self._ray.kill(self._actor)
        self._waiting.shutdown()


@contextmanager
def _joining(address: str) -> Iterator[None]:
    """Restore what `ray.init` changes: the handler of SIGTERM, and variables of the environment.

    An existing cluster is asked twice whether it can be joined, instead of 20 times. A new one gets a token that Ray
    writes nowhere. What Ray's own libraries print on standard error meanwhile is dropped: its exceptions say the same.
    """
    before, environment = signal.getsignal(signal.SIGTERM), dict(os.environ)
    printed, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    changed = {"RAY_gcs_server_port_wait_time_s": "2"} if address else {"RAY_AUTH_TOKEN": _TOKEN}
    os.environ.update(changed | environment)
    try:
        yield
    except SystemExit:  # Ray's handler of SIGTERM
        if callable(before):
            before(signal.SIGTERM, None)
        raise
    finally:
        os.dup2(printed, 2)
        os.close(printed)
        os.close(nowhere)
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
        os.environ.clear()
        os.environ.update(environment)


def share(nodes: Sequence[tuple[int, int]], workers: int) -> int:
    """Return the largest number of cores that every worker can have; 0 where that many workers do not fit.

    nodes: (cores, GPUs) of each node; if any node has GPUs, each worker takes one.
    """
    gpus = any(gpu for _, gpu in nodes)
    for cores in range(max((core for core, _ in nodes), default=0), 0, -1):
        if sum(min(core // cores, gpu if gpus else core) for core, gpu in nodes) >= workers:
            return cores
    return 0


class RayPool(Pool):
    """A pool of actors of a Ray cluster. address: of the cluster; empty: one on this machine, ended with the pool.

    workers: number of actors; 0 for one per GPU of the cluster, or per node if there are no GPUs. most: largest number,
    which Ray places as nodes join, each with the cores of the first ones; 0 for no more than `workers`.

    Raises `UserError` where Ray is not installed, and where the cluster is not there or has no room.
    """

    def __init__(self, address: str, workers: int, most: int = 0) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise UserError(f"The executor 'ray' needs Ray: type {install_extra('ray')}.") from error
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            started = {} if address else {"include_dashboard": False}
            try:
                # Where nothing listens at HOST:PORT, Ray itself would try for ever.
                host, _, port = address.rpartition("://")[2].rpartition(":")
                if host and port.isdecimal():
                    socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
                with _joining(address):
                    ray.init(address=address or "local", logging_level="error", log_to_driver=False, **started)
            except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
                if any(word in f"{error!r} {error.__cause__!r}" for word in _REFUSED):
                    raise UserError(
                        f"The Ray cluster at {address} asks for a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN."
                    ) from error
                raise UserError(
                    f"No Ray cluster answers at {address or 'this machine'} ({error}): type 'ray start --head'."
                ) from error
            # Ray would print what nodes report on standard output, whatever it is told of logs.
            self._ray._private.worker._worker_logs_enabled = False
        alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        nodes = [(int(node.get("CPU", 0)), int(node.get("GPU", 0))) for node in alive]
        gpus = sum(gpu for _, gpu in nodes)
        super().__init__(workers or gpus or len(nodes), most)
        if gpus and not most and self.size > gpus:
            self.close()
            raise UserError(f"executor.workers is {self.size}; allowed: up to {gpus}, a GPU of the cluster for each.")
        # Almost no cores where there are more workers than cores, so that all are placed.
        cores = share(nodes, self.size) or int(bool(most)) or 0.01
        self._silent: set[str] = set()
        self._each = {"num_cpus": cores, "num_gpus": int(bool(gpus))}
        free = ray.available_resources()
        if free.get("CPU", 0) < cores or (gpus and free.get("GPU", 0) < 1):
            _log.warning("The Ray cluster is busy: workers wait until %s of its CPU cores, or a GPU, are free.", cores)

    def start(self, number: int) -> Worker:
        """Return the handle of a new actor; Ray places it where its cores and its GPU, if any, are free."""
        kind = self._ray.remote(max_restarts=0, scheduling_strategy="SPREAD", **self._each)(_Actor)
        return _Remote(self._ray, kind.remote(os.getcwd()), self._silent)

    def pack(self, message: Mapping[str, Any]) -> Any:
        """Return a message as a dict; that of a job as a reference to the cluster's memory, where its texts are put."""
        return self._ray.put(dict(message)) if "recipe" in message else dict(message)

    def close(self) -> None:
        """End all actors, and the cluster that was started here; after Ctrl-C Ray ends it when the process exits."""
        super().close()
        if self._own and self._ray.is_initialized() and not isinstance(sys.exception(), KeyboardInterrupt):
            self._ray.shutdown()
