"""What an executor is given, and what it gives back.

The contract: the same plan, the same model of device and the same versions give the same bytes, whatever the executor,
the number of workers, the order in which they end, and whoever of them is killed. So a block is always scored whole, by
one worker, and all that a worker computes from the job's texts depends on the job alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from metaeval.scoring.contract import PairScore
from metaeval.scoring.plan import Texts


@dataclass(frozen=True)
class Context:
    """The unique texts of a job, longest first: what `Metric.prepare` is given."""

    sources: Sequence[str]
    statements: Sequence[str]


class Task(NamedTuple):
    """A block to score: its number in the plan, its pairs and their keys.

    wanted: numbers of the metrics that lack one of these pairs, of those that share the job.
    """

    block: int
    keys: Sequence[bytes]
    pairs: Sequence[Texts]
    wanted: Sequence[int]


class Done(NamedTuple):
    """A scored block: one answer per pair for each wanted metric, in the order of `wanted`."""

    task: Task
    answers: Sequence[Sequence[PairScore]]


Execute = Callable[[Context, Iterable[Task]], Iterator[Done]]
"""Scores the tasks of one job and gives them back in any order. A task is drawn when somebody is free to begin it."""


@dataclass(frozen=True)
class Recipe:
    """What another process makes the metrics of a job from, as JSON.

    names: of the metrics that share the job. settings: those of the run that metrics depend on. identities: the hash of
    each metric's identity, and versions: of the packages that scores depend on; a process in which they differ refuses
    to score.
    """

    names: tuple[str, ...]
    settings: Mapping[str, Any]
    identities: tuple[str, ...]
    versions: Mapping[str, str]
