"""The engine: each unique (source, statement) once, longest first, block by block, nothing computed twice.

Pair scores are then aggregated to one score per unit of analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from metaeval.corpus.pairs import UnitRow
from metaeval.files import sha256_json
from metaeval.scoring.contract import Metric, PairScore, Status
from metaeval.scoring.executors.contract import Context, Done, Execute, Task
from metaeval.scoring.plan import Plan, Texts, longest_first, make_plan
from metaeval.scoring.store import ScoreStore, pair_key
from metaeval.scoring.work import Work

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
        tasks = _tasks(make_plan(unique, metrics[0].block_tokens), shares, unique)
        for done in (execute or Work(metrics).run)(context_of(unique.values()), tasks):
            _keep(done, shares, store)
            if progress:
                progress(min(len(share.answers) for share in shares), len(unique))
    return [
        Scored([share.answers[key] for key in keys], share.identity, len(unique), len(unique) - before)
        for share, before in zip(shares, stored, strict=True)
    ]


@dataclass(frozen=True)
class _Share:
    """One metric's part of a joint job: its identity, and its answers so far by pair key."""

    metric: Metric
    identity: Mapping[str, Any]
    answers: dict[bytes, PairScore]


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


def _tasks(plan: Plan, shares: Sequence[_Share], unique: Mapping[bytes, Texts]) -> Iterator[Task]:
    """What is left of a plan, block by block, each looked at when it is its turn."""
    for block in plan.blocks:
        missing = [key for key in block.keys if any(key not in share.answers for share in shares)]
        if missing:
            keys = block.keys if shares[0].metric.batched else missing
            wanted = [n for n, share in enumerate(shares) if any(key not in share.answers for key in missing)]
            yield Task(block.number, keys, [unique[key] for key in keys], wanted)


def _keep(done: Done, shares: Sequence[_Share], store: ScoreStore | None) -> None:
    """Store a block's answers for each metric that it was scored for. What a metric has of it stays as it is."""
    for number, answers in zip(done.task.wanted, done.answers, strict=True):
        known, identity = shares[number].answers, shares[number].identity
        new = {key: answer for key, answer in zip(done.task.keys, answers, strict=True) if key not in known}
        if store:
            store.put(identity, new.items())
        known.update(new)


Aggregate = Literal["max", "mean"]
AGGREGATES: tuple[str, ...] = get_args(Aggregate)

# A chunk that could have held the support and was not judged leaves the document unjudged. A chunk in which there was
# nothing to judge does not.
_SPOILS = (Status.FAILED, Status.ABSENT, Status.TOO_LONG, Status.UNPARSED, Status.NOT_FINITE)


def aggregate(
    answers: Sequence[PairScore], rows: Sequence[UnitRow], how: Aggregate, direction: Literal[1, -1]
) -> list[PairScore]:
    """One answer per row, oriented so that higher is more support: the best of the row's chunks, or their mean."""
    return [_combine([answers[number] for number in row.members], how, direction) for row in rows]


def _combine(members: list[PairScore], how: Aggregate, direction: Literal[1, -1]) -> PairScore:
    tokens, cut = sum(member.tokens for member in members), sum(member.cut for member in members)
    scores = [direction * member.score for member in members if member.score is not None]
    status = next((member.status for member in members if member.status in _SPOILS), None)
    if status is None and not scores:
        status = members[0].status
    if status is not None:
        return PairScore(None, status, tokens, cut)
    return PairScore(max(scores) if how == "max" else sum(scores) / len(scores), tokens=tokens, cut=cut)
