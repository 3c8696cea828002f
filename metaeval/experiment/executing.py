"""Where a run scores: in this process, or in several that are made from the run's settings."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from importlib.metadata import version

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.scoring.contract import Metric
from metaeval.scoring.executors.contract import Execute, Recipe, Work
from metaeval.scoring.executors.local import ProcessPool, devices_of, places
from metaeval.scoring.executors.pool import Pool
from metaeval.scoring.pace import timed

_VERSIONED = ("metaeval", "numpy", "torch", "transformers", "tokenizers")


@contextmanager
def worker_pool(config: RunConfig) -> Iterator[Pool | None]:
    """The processes in which the run scores, started when they are needed; None where this one does."""
    if config.executor.name == "ray":
        from metaeval.scoring.executors.ray import RayPool

        asked = config.executor
        with closing(RayPool(asked.address, asked.workers, asked.most)) as actors:
            yield actors
        return
    if config.executor.alone:
        yield None
        return
    workers, devices = config.executor.workers, devices_of(config.executor.devices)
    if devices and workers not in (0, len(devices)):
        raise UserError(
            f"executor.workers is {workers} and executor.devices names {len(devices)}: one process runs on "
            "each device, so leave executor.workers out."
        )
    if os.name != "posix":
        raise UserError("Several processes need Linux or macOS: leave executor.workers and executor.devices out.")
    with closing(ProcessPool(places(workers or len(devices), devices))) as processes:
        yield processes


def executed(pool: Pool | None, names: Sequence[str], metrics: Sequence[Metric], config: RunConfig) -> Execute:
    """Where metrics that share a job are scored: in the pool, but for a metric that one process alone may run.

    How fast they are is kept.
    """
    if pool is None or any(metric.where == "driver" for metric in metrics):
        return timed(Work(metrics).run, metrics)
    asked = partial(pool.run, recipe_of(names, metrics, config))
    if config.executor.name == "ray":  # its workers may be on other machines
        return asked
    return timed(asked, metrics, pool.size, pool.size if config.executor.devices else 1)


def recipe_of(names: Sequence[str], metrics: Sequence[Metric], config: RunConfig) -> Recipe:
    """What another process makes these metrics from."""
    settings = config.model_dump(mode="json", include={"metric_options", "budget"})
    identities = tuple(sha256_json(metric.identity()) for metric in metrics)
    return Recipe(tuple(names), {**settings, "trust_config": config.trust_config}, identities, package_versions())


def package_versions() -> Mapping[str, str]:
    """The versions of the packages that scores depend on."""
    return {name: version(name) if importlib.util.find_spec(name) else "none" for name in _VERSIONED}
