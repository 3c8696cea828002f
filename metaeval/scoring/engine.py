"""The engine scores each unique (source, statement) once, longest first, block by block."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metaeval.core.errors import UserError
from metaeval.core.files import job_memory, sha256_json
from metaeval.scoring.block_claims import BlockClaims, claims_beside
from metaeval.scoring.block_plan import TextBlock, longest_first, make_plan
from metaeval.scoring.contract import Metric, PairScore, Status, TextPair
from metaeval.scoring.executors.contract import BlockTask, Context, Execute, ScoredBlock, Work
from metaeval.scoring.functions import FunctionMetric
from metaeval.scoring.score_store import ScoreStore, pair_key

_log = logging.getLogger("metaeval")
_PAUSE = 0.2  # seconds between checks of blocks that another run has locked

PairProgress = Callable[[int, int], None]
"""Called with the numbers of (scored, all) unique pairs first and after every block; stored pairs count as scored."""


@dataclass(frozen=True)
class ScoredPairs:
    """A metric's results for a job's pairs, in order, and its identity (`job_identity`).

    unique: number of unique pairs. computed: how many of these this run scored; the others were stored.
    """

    answers: list[PairScore]
    identity: Mapping[str, Any]
    unique: int
    computed: int


def score_pairs(
    metric: Metric,
    pairs: Sequence[TextPair],
    store: ScoreStore | None = None,
    progress: PairProgress | None = None,
    execute: Execute | None = None,
) -> ScoredPairs:
    """Return a metric's scores of all pairs: stored ones from the store, others computed and stored block by block.

    store: None stores nothing. execute: scores the blocks; None scores them in this process, one after the other. The
    plan of blocks depends on the job's texts alone, not on the store's content, and a block of which a pair is missing
    is scored whole (unless `Metric.batched` is False): a run that was killed and started again, or that finds some of
    its pairs stored by another job, scores the others exactly as a run with an empty store would. Raises `UserError`
    when the metric breaks its contract (wrong number of results, a score without the status OK).
    """
    return score_jointly([metric], pairs, store, progress, execute)[0]


def score_jointly(
    metrics: Sequence[Metric],
    pairs: Sequence[TextPair],
    store: ScoreStore | None = None,
    progress: PairProgress | None = None,
    execute: Execute | None = None,
) -> list[ScoredPairs]:
    """Return the results of each metric, in order; the metrics share one observation per pair.

    metrics: those with equal `TwoStepMetric.observed`, or a single one of any kind. Other parameters and errors are
    those of `score_pairs`. A block that only some of the metrics lack is scored for those alone. Scores of a metric
    that is not `kept` stay in the memory of the running job.
    """
    store = store if all(metric.kept for metric in metrics) else None
    keys = [pair_key(*pair) for pair in pairs]
    unique = dict(zip(keys, pairs, strict=True))
    shares = []
    for metric in metrics:
        identity, memory = job_identity(metric, unique.values()), dict[bytes, PairScore]()
        answers = store.find(identity, list(unique)) if store else {}
        if not metric.kept:  # by its code itself: another job may have another function of the same name
            code = metric.function if isinstance(metric, FunctionMetric) else type(metric)
            memory = job_memory().setdefault((code, sha256_json(identity)), memory)
            answers = {key: memory[key] for key in unique if key in memory}
        shares.append(_Share(metric, identity, answers, memory))
    stored = [len(share.answers) for share in shares]
    if progress:
        progress(min(stored), len(unique))
    if min(stored) < len(unique):
        plan, metric = make_plan(unique, metrics[0].block_tokens), metrics[0]
        if isinstance(metric, FunctionMetric):  # what lies before the last stored pair was asked for before it
            order = [key for block in plan for key in block.keys]
            last = max((place for place, key in enumerate(order) if key in shares[0].answers), default=0)
            metric.failing = {unique[key] for key in order[:last] if key not in shares[0].answers}
        with claims_beside(store.path if store else None) as claims:
            job = _Job(shares, unique, store, claims)
            reported = -1
            here = metric.run if isinstance(metric, FunctionMetric) else Work(metrics).run
            try:
                for _ in job.run(plan, execute or here):
                    done = min(len(share.answers) for share in shares)
                    if progress and not reported == done == len(unique):
                        progress(done, len(unique))
                    reported = done
            except Exception:
                if any(answer.status is not Status.FAILED for share in shares for answer in share.answers.values()):
                    names = " and ".join(metric.card.name for metric in metrics)
                    _log.warning("%s of what %s scored before is stored.", "All" if store else "Nothing", names)
                raise
        if not getattr(metric, "scored", True) and all(of.status is Status.FAILED for of in shares[0].answers.values()):
            raise UserError(f"{metric.card.name!r} has no score at all: {metric.note() or 'the warnings say why'}.")
    return [
        ScoredPairs([part.answers[key] for key in keys], part.identity, len(unique), part.computed) for part in shares
    ]


@dataclass
class _Share:
    """One metric's part of a joint job: its identity, its results by pair key, and the number of those computed now.

    memory: results that the running job keeps of a metric whose scores are not stored.
    """

    metric: Metric
    identity: Mapping[str, Any]
    answers: dict[bytes, PairScore]
    memory: dict[bytes, PairScore]
    computed: int = 0


def settled_metric(metric: Metric, pairs: Collection[TextPair], options: Mapping[str, Any] | None = None) -> Metric:
    """Return a new metric with the option values that a job's texts determine; the metric itself if there are none.

    options: these values, if known (None: `Metric.settled` returns them for `pairs`).
    """
    options = metric.settled(pairs) if options is None else options
    if not options:
        return metric
    changed = type(metric)(metric.options.model_copy(update=dict(options)))
    changed.origin, changed.kept = metric.origin, metric.kept
    return changed


def job_identity(metric: Metric, pairs: Collection[TextPair]) -> dict[str, Any]:
    """Return the metric's identity; of a corpus-dependent metric also with the hash of the job's sources ("corpus")."""
    identity = metric.identity()
    if metric.corpus_dependent:
        identity["corpus"] = sha256_json(sorted({source for source, _ in pairs}))
    return identity


def context_of(pairs: Collection[TextPair]) -> Context:
    """Return the unique sources and statements of a job's pairs (at least one), each longest first."""
    sources, statements = (sorted(set(side), key=longest_first) for side in zip(*pairs, strict=True))
    return Context(sources, statements)


@dataclass
class _Job:
    """A job whose missing blocks are scored, each by one of the runs that share the store.

    That run stores the block before it releases its claim. unique: the pairs by key. busy: blocks that another run had
    claimed when it was their turn. others_write: whether another run was seen to write to the store.
    """

    shares: Sequence[_Share]
    unique: Mapping[bytes, TextPair]
    store: ScoreStore | None
    claims: BlockClaims
    busy: list[TextBlock] = field(default_factory=list)
    others_write: bool = False

    def run(self, blocks: Sequence[TextBlock], execute: Execute) -> Iterator[None]:
        """Score the missing blocks, wait for those that other runs score, and yield after each block and each wait."""
        context, owner = context_of(self.unique.values()), sha256_json([share.identity for share in self.shares])
        named = {block.number: sha256_json([owner, block.id]) for block in blocks}
        by_number = {block.number: block for block in blocks}
        waiting = reported = False
        while True:
            self.busy, scored = [], False
            for done in execute(context, self._tasks(blocks, named)):
                scored = True
                self._keep(done)
                if not self._missing(by_number[done.task.block]):  # else a part of it
                    self.claims.release(named[done.task.block])
                yield
            if waiting:
                yield
            if not self.busy:
                return
            if not (scored or reported):  # else others may have scored some of `busy` since it was their turn
                _log.info("Another run with this store has locked %s of the blocks: waiting for it.", len(self.busy))
                reported = True
            blocks, waiting = self.busy, True
            time.sleep(_PAUSE)

    def _tasks(self, blocks: Sequence[TextBlock], named: Mapping[int, str]) -> Iterator[BlockTask]:
        """Yield tasks for the blocks of which a pair is missing; each block is checked and claimed when it is its turn.

        Blocks that another run has claimed are added to `busy` instead. named: names of the claims, by block number.
        """
        for block in blocks:
            if not self._missing(block):
                continue
            if not self.claims.take(named[block.number]):
                self.busy.append(block)
                continue
            missing = self._missing(block)
            if self.store and (self.others_write or self.store.changed()):
                self.others_write = True  # another run may have scored any block that is not claimed here
                for share in self.shares:
                    share.answers.update(self.store.find(share.identity, missing))
                missing = self._missing(block)
            if not missing:
                self.claims.release(named[block.number])
                continue
            keys = block.keys if self.shares[0].metric.batched else missing
            wanted = [n for n, share in enumerate(self.shares) if any(key not in share.answers for key in missing)]
            yield BlockTask(block.number, keys, [self.unique[key] for key in keys], wanted)

    def _missing(self, block: TextBlock) -> list[bytes]:
        return [key for key in block.keys if any(key not in share.answers for share in self.shares)]

    def _keep(self, done: ScoredBlock) -> None:
        """Store the results in a scored block, for each metric that it was scored for; existing results stay."""
        for number, answers in zip(done.task.wanted, done.answers, strict=True):
            share = self.shares[number]
            new = {key: answer for key, answer in zip(done.task.keys, answers, strict=True) if key not in share.answers}
            if self.store:
                self.store.put(share.identity, new.items())
            share.memory.update(new)
            share.answers.update(new)
            share.computed += len(new)
