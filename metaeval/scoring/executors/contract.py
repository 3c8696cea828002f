"""The contract of executors: the tasks that they get, the blocks that they return, and how a block is scored.

The same plan, the same model of device and the same versions give the same bytes, whatever the executor, the number of
workers, the order in which they end, and the workers that are killed. So a block is always scored whole, by one worker,
and all that a worker computes from the job's texts depends on the job alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from metaeval.scoring.contract import Metric, PairScore, TextPair, TwoStepMetric, check_count, checked_answer


@dataclass(frozen=True)
class Context:
    """The unique texts of a job, longest first: the arguments of `Metric.prepare`."""

    sources: Sequence[str]
    statements: Sequence[str]


class BlockTask(NamedTuple):
    """A block to score: its number in the plan, its pairs and their keys.

    wanted: the metrics that lack a score of one of these pairs, as numbers in the list of metrics that share the job.
    """

    block: int
    keys: Sequence[bytes]
    pairs: Sequence[TextPair]
    wanted: Sequence[int]


class ScoredBlock(NamedTuple):
    """A scored block. answers: for each metric in `task.wanted`, in that order, one result per pair."""

    task: BlockTask
    answers: Sequence[Sequence[PairScore]]


Execute = Callable[[Context, Iterable[BlockTask]], Iterator[ScoredBlock]]
"""Scores the tasks of one job and yields the scored blocks in any order; takes a task when a worker can begin it."""


@dataclass(frozen=True)
class WorkerRecipe:
    """A recipe from which another process makes the metrics of a job, as JSON.

    names: of the metrics that share the job. settings: those of the run that metrics depend on. identities: the hash of
    each metric's identity, and versions: of the packages that scores depend on; a process in which they differ refuses
    to score.
    """

    names: tuple[str, ...]
    settings: Mapping[str, Any]
    identities: tuple[str, ...]
    versions: Mapping[str, str]


class Work:
    """Scoring of one job in this process. metrics: several that share an observation, or one metric of any kind."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self._prepared: Context | None = None

    def prepare(self, context: Context) -> None:
        """Prepare the first metric, which makes the observations, unless that was done for this very `context`."""
        if self._prepared is not context:
            self.metrics[0].prepare(context.sources, context.statements)
            self._prepared = context

    def run(self, context: Context, tasks: Iterable[BlockTask]) -> Iterator[ScoredBlock]:
        """Score tasks one after the other in this process, and yield the scored blocks."""
        for task in tasks:
            self.prepare(context)
            yield self.score(task)

    def score(self, task: BlockTask) -> ScoredBlock:
        """Return the block scored by each wanted metric, all from the same observations.

        Raises `UserError` when a metric breaks its contract (wrong number of results, a score without the status OK).
        """
        leader = self.metrics[0]
        texts = [source for source, _ in task.pairs], [statement for _, statement in task.pairs]
        observations: Sequence[Any] = []
        if isinstance(leader, TwoStepMetric):
            observations = leader.observe(*texts)
            check_count(leader, observations, len(task.pairs))
        answers_by_metric = []
        for metric in (self.metrics[number] for number in task.wanted):
            answers = metric.judge(observations) if isinstance(metric, TwoStepMetric) else metric.score(*texts)
            check_count(metric, answers, len(task.pairs))
            answers_by_metric.append([checked_answer(metric, answer) for answer in answers])
        return ScoredBlock(task, answers_by_metric)
