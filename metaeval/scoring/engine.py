"""The engine: each unique (source, statement) once, longest first, block by block, nothing computed twice.

Pair scores are then aggregated to one score per unit of analysis.

Runs that share a store score no block twice: each claims what it has in hand. A claim is a lock on one byte of a file
beside the store. The system lets it go when its process ends, however that ends: no claim outlives who made it, and no
clock is asked.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Literal

from metaeval.corpus.units import Aggregation, UnitRow
from metaeval.files import sha256_json
from metaeval.scoring.contract import Metric, PairScore, Status
from metaeval.scoring.executors.contract import Context, Done, Execute, Task, Work
from metaeval.scoring.plan import TextBlock, Texts, longest_first, make_plan
from metaeval.scoring.store import ScoreStore, pair_key

_log = logging.getLogger("metaeval")
_PAUSE = 0.2  # seconds between looks at blocks that another run has in hand

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: runs that share a store there score a block that two of them lack twice
    fcntl = None

Progress = Callable[[int, int], None]
"""Called with (pairs done, pairs in all) after every block; pairs served from the store count as done."""


@dataclass(frozen=True)
class Scored:
    """Answers aligned with the pairs asked for, and the work it took: unique pairs, how many of them were computed."""

    answers: list[PairScore]
    identity: Mapping[str, Any]
    unique: int
    computed: int


def score_pairs(
    metric: Metric,
    pairs: Sequence[Texts],
    store: ScoreStore | None = None,
    progress: Progress | None = None,
    execute: Execute | None = None,
) -> Scored:
    """Score every pair, serving what the store has and storing each block as soon as it is done.

    execute: where blocks are scored; None for this process, one after the other.

    The plan of blocks depends on the job's texts alone, not on what is stored, and a block of which a pair is missing
    is scored whole (see `Metric.batched`): a run that was killed and started again, or that finds some of its pairs
    stored by another job, scores the others exactly as a run with an empty store would.

    Raises `UserError` when a plug-in breaks its contract (wrong number of answers, a score that is no number).
    """
    return score_jointly([metric], pairs, store, progress, execute)[0]


def score_jointly(
    metrics: Sequence[Metric],
    pairs: Sequence[Texts],
    store: ScoreStore | None = None,
    progress: Progress | None = None,
    execute: Execute | None = None,
) -> list[Scored]:
    """Score every pair with metrics that share an observation (`TwoStepMetric.observed`): each pair observed once.

    One metric alone may be of any kind. A block that only some of the metrics still need is observed for those.
    """
    keys = [pair_key(*pair) for pair in pairs]
    unique = dict(zip(keys, pairs, strict=True))
    shares = []
    for metric in metrics:
        identity = job_identity(metric, unique.values())
        shares.append(_Share(metric, identity, store.find(identity, list(unique)) if store else {}))
    stored = [len(share.answers) for share in shares]
    if progress:
        progress(min(stored), len(unique))
    if min(stored) < len(unique):
        with claims_beside(store.path if store else None) as claims:
            job = _Job(shares, unique, store, claims)
            reported = -1
            for _ in job.run(make_plan(unique, metrics[0].block_tokens).blocks, execute or Work(metrics).run):
                done = min(len(share.answers) for share in shares)
                if progress and not reported == done == len(unique):
                    progress(done, len(unique))
                reported = done
    return [
        Scored([share.answers[key] for key in keys], share.identity, len(unique), share.computed) for share in shares
    ]


@dataclass
class _Share:
    """One metric's part of a joint job: its identity, its answers so far by pair key, how many were computed here."""

    metric: Metric
    identity: Mapping[str, Any]
    answers: dict[bytes, PairScore]
    computed: int = 0


def job_identity(metric: Metric, pairs: Collection[Texts]) -> dict[str, Any]:
    """The metric's identity, and for a corpus-dependent metric the hash of the job's sources with it."""
    identity = metric.identity()
    if metric.corpus_dependent:
        identity["corpus"] = sha256_json(sorted({source for source, _ in pairs}))
    return identity


def context_of(pairs: Collection[Texts]) -> Context:
    """What the metrics of a job are prepared for."""
    sources, statements = (sorted(set(side), key=longest_first) for side in zip(*pairs, strict=True))
    return Context(sources, statements)


@dataclass
class _Job:
    """What is left of a job: each block is scored by one of the runs that share the store, and stored before the claim
    to it is let go. busy: blocks that another run had in hand when it was their turn.
    """

    shares: Sequence[_Share]
    unique: Mapping[bytes, Texts]
    store: ScoreStore | None
    claims: BlockClaims
    busy: list[TextBlock] = field(default_factory=list)
    others_write: bool = False

    def run(self, blocks: Sequence[TextBlock], execute: Execute) -> Iterator[None]:
        """Score the blocks, and wait for those of other runs; stops after each that was kept, and while it waits."""
        context, owner = context_of(self.unique.values()), sha256_json([share.identity for share in self.shares])
        named = {block.number: sha256_json([owner, block.id]) for block in blocks}
        waiting = False
        while True:
            self.busy = []
            for done in execute(context, self._tasks(blocks, named)):
                self._keep(done)
                self.claims.release(named[done.task.block])
                yield
            if waiting:
                yield
            if not self.busy:
                return
            if not waiting:
                _log.info("Another run with this store has %s of the blocks in hand: waiting for it.", len(self.busy))
            blocks, waiting = self.busy, True
            time.sleep(_PAUSE)

    def _tasks(self, blocks: Sequence[TextBlock], named: Mapping[int, str]) -> Iterator[Task]:
        """Blocks of which a pair is missing, each looked at and claimed when it is its turn."""
        for block in blocks:
            if not self._missing(block):
                continue
            if not self.claims.take(named[block.number]):
                self.busy.append(block)
                continue
            missing = self._missing(block)
            if self.store and (self.others_write or self.store.changed()):
                self.others_write = True  # they may have done any block, until it is claimed here
                for share in self.shares:
                    share.answers.update(self.store.find(share.identity, missing))
                missing = self._missing(block)
            if not missing:
                self.claims.release(named[block.number])
                continue
            keys = block.keys if self.shares[0].metric.batched else missing
            wanted = [n for n, share in enumerate(self.shares) if any(key not in share.answers for key in missing)]
            yield Task(block.number, keys, [self.unique[key] for key in keys], wanted)

    def _missing(self, block: TextBlock) -> list[bytes]:
        return [key for key in block.keys if any(key not in share.answers for share in self.shares)]

    def _keep(self, done: Done) -> None:
        """Store a block's answers for each metric that it was scored for. What a metric has of it stays as it is."""
        for number, answers in zip(done.task.wanted, done.answers, strict=True):
            share = self.shares[number]
            new = {key: answer for key, answer in zip(done.task.keys, answers, strict=True) if key not in share.answers}
            if self.store:
                self.store.put(share.identity, new.items())
            share.answers.update(new)
            share.computed += len(new)


class BlockClaims:
    """The claims of this process. Without locks on the file system every claim is granted, to every process."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file

    def take(self, name: str) -> bool:
        """Claim a block by its name in hexadecimal digits; whether no other process has it."""
        if fcntl is None or self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def release(self, name: str) -> None:
        """Let a block go."""
        if fcntl is not None and self._file is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))


@contextlib.contextmanager
def claims_beside(path: Path | None) -> Iterator[BlockClaims]:
    """The claims of runs that share the store at `path`. The file of locks is deleted by the last one of them."""
    if path is None or fcntl is None:
        yield BlockClaims(None)
        return
    place = path.with_name(f".{path.name}.claims")
    try:
        file = place.open("ab")
    except OSError:  # a folder in which nothing can be written: the store says so
        yield BlockClaims(None)
        return
    with file:
        try:
            yield BlockClaims(file)
        finally:
            # Whoever has the whole file is alone. Who opens it between these lines scores a block twice, and no more.
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place.unlink()


def _place(name: str) -> int:
    return int(name[:16], 16) % (1 << 62)


# A chunk that could have held the support and was not judged leaves the document unjudged. A chunk in which there was
# nothing to judge does not.
_SPOILS = (Status.FAILED, Status.ABSENT, Status.TOO_LONG, Status.UNPARSED, Status.NOT_FINITE)


def aggregate(
    answers: Sequence[PairScore], rows: Sequence[UnitRow], how: Aggregation, direction: Literal[1, -1]
) -> list[PairScore]:
    """One answer per row, oriented so that higher is more support: the best of the row's chunks, or a mean of them.

    Of a union, it is the best too: the joined chunks (`best_members`) have still to be scored.
    """
    return [_combine([answers[number] for number in row.members], how, direction) for row in rows]


def best_members(
    answers: Sequence[PairScore], members: Iterable[int], most: int | None, direction: Literal[1, -1]
) -> list[int]:
    """The numbers of the best answers among a row's members, at most `most`, in their order; the first of equals."""
    scored = [(number, score) for number in members if (score := answers[number].score) is not None]
    best = sorted(scored, key=lambda member: -direction * member[1])[:most]
    return sorted(number for number, _ in best)


def _combine(members: list[PairScore], how: Aggregation, direction: Literal[1, -1]) -> PairScore:
    tokens, cut = sum(member.tokens for member in members), sum(member.cut for member in members)
    best = best_members(members, range(len(members)), how.most if how.kind == "mean" else None, direction)
    scores = [direction * score for number in best if (score := members[number].score) is not None]
    status = next((member.status for member in members if member.status in _SPOILS), None)
    if status is None and not scores:
        status = members[0].status
    if status is not None:
        return PairScore(None, status, tokens, cut)
    score = sum(scores) / len(scores) if how.kind == "mean" else max(scores)
    return PairScore(score, tokens=tokens, cut=cut)
