"""A job cut into shards: tasks that share nothing but a folder score every n-th block; their parts are put together."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig, changed_run
from metaeval.config_files import check_file
from metaeval.errors import UserError
from metaeval.experiment.answers import reading
from metaeval.experiment.columns import FILE_PREFIX, check_names
from metaeval.experiment.executing import executed, package_versions, worker_pool
from metaeval.experiment.metrics import MetricProgress, load_metric, metric_groups, plug_in
from metaeval.experiment.pair_file import check_windows, pair_file
from metaeval.experiment.prepared_run import Job, prepare
from metaeval.files import sha256_json
from metaeval.reading import parquet_library
from metaeval.scoring.contract import Combination, Metric
from metaeval.scoring.engine import context_of, job_identity
from metaeval.scoring.executors.contract import Task
from metaeval.scoring.executors.notice import Notice, noticed
from metaeval.scoring.executors.pool import Pool
from metaeval.scoring.pace import device_of
from metaeval.scoring.plan import Block, Plan, Texts, make_plan
from metaeval.scoring.shardfile import (
    PartNote,
    PartWriter,
    PlanNote,
    WindowNote,
    part_notes,
    plan_folder,
    plans,
    read_note,
    read_part,
    write_note,
)
from metaeval.scoring.store import pair_key

TOLERANCE = 1e-5
"""Largest difference of a score that another model of device may give."""


@dataclass(frozen=True)
class Shard:
    """Task `index` of `count`, the first being 0."""

    index: int
    count: int

    def blocks(self, plan: Plan) -> Sequence[Block]:
        """Every count-th block: the longest come first, so that the tasks take about the same time."""
        return plan.blocks[self.index :: self.count]


def read_shard(text: str) -> Shard:
    """Read I/N, as in 3/64."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and int(index) < int(count)):
        raise UserError(f"--shard is {text!r}; it should be I/N, task I of N counted from 0: 0/8 to 7/8.")
    return Shard(int(index), int(count))


@dataclass(frozen=True)
class _Sharded:
    """Metrics that share a job, as tasks see it: unique pairs by key, and the plan. window: of a table of several."""

    metrics: Sequence[Metric]
    identities: Sequence[Mapping[str, Any]]
    unique: Mapping[bytes, Texts]
    plan: Plan
    window: WindowNote | None

    def task(self, block: Block, wanted: Sequence[int]) -> Task:
        return Task(block.number, block.keys, [self.unique[key] for key in block.keys], wanted)


def export_shard(
    config: RunConfig, shard: Shard, folder: Path, progress: MetricProgress | None = None
) -> Iterator[str]:
    """Score a shard of the run's blocks with each metric, into parts; yields a line about each metric.

    Blocks that a part in the folder has are not scored again. An interrupted task keeps every finished block. Raises
    `UserError` for a metric that cannot be sharded, before anything is scored, and `EndedError` where SIGTERM came.
    """
    parquet_library()
    names = shardable(config)
    with noticed() as notice, worker_pool(config) as pool:
        for part in _parts(config, names, progress):
            for group in metric_groups(names, config):
                yield from _export_group(group, part, config, shard, folder, pool, notice)
                if notice.given:
                    return
            del part  # before the next window is read
            if pool:
                pool.forget()


@dataclass(frozen=True)
class _Part:
    """What is planned as one job: the whole of a run, or (texts) a table of pairs, or a window of it."""

    whole: Job | None
    texts: Sequence[Texts] = ()
    window: WindowNote | None = None
    progress: MetricProgress | None = None

    def read_by(self, metric: Metric) -> Sequence[Texts]:
        """The pairs that a metric scores."""
        return reading(self.whole, metric).texts if self.whole else self.texts


def _parts(config: RunConfig, names: Sequence[str], progress: MetricProgress | None = None) -> Iterator[_Part]:
    table = pair_file(config)
    if table is None:
        yield _Part(prepare(config), progress=progress)
        return
    check_windows(table, names, config)
    count = len(table.starts)
    for window in table.windows():
        note = WindowNote(table=table.fingerprint, numbers=[window.number], of=count) if count > 1 else None
        part = _Part(None, window.texts, note, table.shifted(progress, window.number))
        del window
        yield part
        del part


def shardable(config: RunConfig) -> list[str]:
    """The run's metrics, each once; `UserError` for one that cannot be scored in shards."""
    if files := [name for name in config.metrics if name.startswith(FILE_PREFIX)]:
        raise UserError(f"{files[0]!r} is scored already: evaluate it with 'metaeval evaluate FILE'.")
    check_names(config)
    names = list(dict.fromkeys(config.metrics))
    for name in names:
        _check_shardable(name, load_metric(name, config))
    return names


def _check_shardable(name: str, metric: Metric) -> None:
    if isinstance(metric, Combination):
        members = ", ".join(metric.members)
        raise UserError(f"{name!r} combines {members}: score these in shards, merge them, and run it with that store.")
    if "budget" in metric.Options.model_fields:
        raise UserError(
            f"{name!r} asks a chat model, and each task would spend the budget anew: score it in one process, which "
            "keeps many requests in flight."
        )


def _export_group(
    group: Sequence[str], part: _Part, config: RunConfig, shard: Shard, folder: Path, pool: Pool | None, notice: Notice
) -> Iterator[str]:
    label, progress = " + ".join(group), part.progress
    metrics = [load_metric(name, config) for name in group]
    with plug_in(label):
        job = _sharded(metrics, part)
        own, device = shard.blocks(job.plan), device_of(metrics[0])
        places = [plan_folder(folder, identity, job.plan) for identity in job.identities]
        lacking: dict[int, list[int]] = {block.number: [] for block in own}
        for number, (name, place, identity) in enumerate(zip(group, places, job.identities, strict=True)):
            write_note(place, _plan_note(name, identity, job, shard, config))
            done = {block.number for note in part_notes(place).values() for block in note.blocks}
            for block in lacking.keys() - done:
                lacking[block].append(number)
        left = [block for block in own if lacking[block.number]]
        total = sum(len(block.keys) for block in own)
        scored = total - sum(len(block.keys) for block in left)
        if progress:
            progress(label, scored, total)
        execute = executed(pool, group, metrics, config)
        with ExitStack() as stack:
            writers: list[PartWriter] = []
            for place, identity in zip(places, job.identities, strict=True):
                note = PartNote(
                    identity=sha256_json(dict(identity)),
                    plan=job.plan.id,
                    blocks=[],
                    versions=dict(package_versions()),
                    device=device,
                )
                writers.append(PartWriter(place, note))
                stack.callback(writers[-1].close)  # whatever ends the task

            def keep() -> None:
                for writer in writers:
                    writer.close()

            notice.keep = keep
            tasks = (job.task(block, lacking[block.number]) for block in left)
            for task, answers in execute(context_of(job.unique.values()), notice.until(tasks)):
                with notice.writing(task):
                    for number, found in zip(task.wanted, answers, strict=True):
                        writers[number].add(job.plan.blocks[task.block], found)
                scored += len(task.keys)
                if progress:
                    progress(label, scored, total)
    for name, place in zip(group, places, strict=True) if not notice.given else ():
        window = f"{job.window}, " if job.window else ""
        count = f"{len(own):,} of {len(job.plan.blocks):,} blocks"
        yield f"{place}: {name}, {window}shard {shard.index} of {shard.count}: {count}"


def _sharded(metrics: Sequence[Metric], part: _Part) -> _Sharded:
    unique = {pair_key(*pair): pair for pair in part.read_by(metrics[0])}
    identities = [job_identity(metric, unique.values()) for metric in metrics]
    plan = make_plan(unique, metrics[0].block_tokens)
    return _Sharded(metrics, identities, unique, plan, part.window)


def _plan_note(name: str, identity: Mapping[str, Any], job: _Sharded, shard: Shard, config: RunConfig) -> PlanNote:
    return PlanNote(
        metric=name,
        identity=dict(identity),
        plan=job.plan.id,
        block_tokens=job.plan.block_tokens,
        blocks=len(job.plan.blocks),
        pairs=len(job.unique),
        shards=shard.count,
        run=config.model_dump(mode="json"),
        windows=[job.window] if job.window else [],
    )


@dataclass(frozen=True)
class PlanState:
    """How far the shards of a metric's plan are.

    missing: numbers of the blocks that no part has. unbegun: windows of its tables of which no task has written a plan,
    a note a table. rows: scored pairs; failed: how many of them have failed. devices: models of device that scored.
    """

    place: Path
    note: PlanNote
    missing: Sequence[int]
    unbegun: Sequence[WindowNote]
    rows: int
    failed: int
    devices: Sequence[str]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to score, in windows of its tables that are to come neither."""
        return not (self.missing or self.unbegun)

    @property
    def progress(self) -> str:
        """Blocks and pairs that are done, of all, and how many have failed."""
        done = self.note.blocks - len(self.missing)
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{done:,} of {self.note.blocks:,} blocks, {self.rows:,} of {self.note.pairs:,} pairs{failed}"

    def __repr__(self) -> str:
        left = f"; left of {self.note.shards}: --array={self.array}" if self.missing else ""
        begun = f"; {len(self.unbegun):,} windows not begun" if self.unbegun else ""
        return f"<{self.note.metric}: {self.progress}{left}{begun}>"

    @property
    def array(self) -> str:
        """The tasks that are left, as the --array option of a Slurm command takes them; empty where none is."""
        left = sorted({number % self.note.shards for number in self.missing})
        spans: list[list[int]] = []
        for task in left:
            if spans and task == spans[-1][-1] + 1:
                spans[-1] = [spans[-1][0], task]
            else:
                spans.append([task])
        return ",".join("-".join(map(str, span)) for span in spans)


def shard_states(folder: Path) -> list[PlanState]:
    """How far each metric's plan in a folder of shards is."""
    notes = {place: read_note(place) for place in plans(folder)}
    begun: dict[tuple[str, str], set[int]] = {}
    for place, note in notes.items():
        for one in note.windows:
            begun.setdefault((place.parent.name, one.table), set()).update(one.numbers)
    found = []
    for place, note in notes.items():
        parts = part_notes(place).values()
        blocks = {block.number: block for part in parts for block in part.blocks}
        missing = [number for number in range(note.blocks) if number not in blocks]
        unbegun = [
            one.model_copy(update={"numbers": sorted(left)})
            for one in note.windows
            if (left := set(range(one.of)) - begun[place.parent.name, one.table])
        ]
        rows, failed = sum(one.rows for one in blocks.values()), sum(one.failed for one in blocks.values())
        devices = sorted({part.device for part in parts})
        found.append(PlanState(place, note, missing, unbegun, rows, failed, devices))
    return found


@dataclass(frozen=True)
class Checked:
    """Blocks of a plan that were scored again here. differing: pairs; largest: difference of their scores.

    same_device: whether a part was computed by the model of device that is here: then no digit may differ.
    """

    metric: str
    blocks: int
    pairs: int
    differing: int
    largest: float
    same_device: bool

    @property
    def agrees(self) -> bool:
        """Whether the scores are what they should be."""
        return not self.differing if self.same_device else self.largest <= TOLERANCE


def verify_shards(
    folder: Path,
    settings: Mapping[str, Any],
    overrides: Sequence[str],
    count: int,
    seed: int,
    progress: MetricProgress | None = None,
) -> Iterator[Checked]:
    """Score `count` random blocks of each plan again, and hold them against the parts. A table is read once a metric.

    settings, overrides: as of `load_run`, in place of those that plan.json holds. Where the tasks were executed is not
    taken from it. Raises `UserError` where the data, the metric or the plan are not to be had here as they were.
    """
    if count < 1:
        raise UserError(f"blocks is {count}; it should be 1 or more.")
    if others := [one for one in overrides if not one.strip().startswith("executor.")]:
        raise UserError(
            f"The settings are those of the shards, and --set {others[0]} would make others: only the "
            "executor's can be set, as executor.workers=2."
        )
    jobs: dict[str, tuple[RunConfig, dict[Path, PlanNote]]] = {}
    for place in plans(folder):
        note = read_note(place)
        noted = {**note.run, "metrics": (note.metric,)}
        noted.pop("executor", None)
        if not settings.get("trust_config"):
            check_file(place, {key: value for key, value in noted.items() if key not in settings})
        config = changed_run(noted, settings, overrides, str(place))
        jobs.setdefault(config.model_dump_json(), (config, {}))[1][place] = note
    for config, notes in jobs.values():
        for part in _parts(config, config.metrics):
            for place, note in list(notes.items()):
                if note.holds(part.window):
                    del notes[place]
                    yield _verify_plan(place, note, part, config, count, seed, progress)
            del part  # before the next window is read
        for place, note in notes.items():
            raise _made_of_others(place, note)


def _made_of_others(place: Path, note: PlanNote) -> UserError:
    return UserError(
        f"{place} is not what this machine makes of {note.metric!r}: the data, the code or the model's files are "
        "others here."
    )


def _verify_plan(
    place: Path, note: PlanNote, part: _Part, config: RunConfig, count: int, seed: int, progress: MetricProgress | None
) -> Checked:
    metric = load_metric(note.metric, config)
    with plug_in(note.metric):
        job, device = _sharded([metric], part), device_of(metric)
    if plan_folder(place.parents[1], job.identities[0], job.plan) != place:
        raise _made_of_others(place, note)
    ids = {block.number: block.id for block in job.plan.blocks}
    known = {}
    if not (parts := part_notes(place)):
        raise UserError(
            f"{place} ({note.metric}) has no part yet, so there is nothing to compare: score a shard first."
        )
    for path, scored in parts.items():
        for block, rows in read_part(path, scored):
            if ids.get(block.number) != block.id:
                raise UserError(f"{path} holds a block that its plan does not have: delete it, and score it again.")
            known[block.number] = scored.device, rows
    chosen = sorted(random.Random(seed).sample(sorted(known), min(count, len(known))))
    differing, largest, pairs = 0, 0.0, 0
    with worker_pool(config) as pool, plug_in(note.metric):
        execute = executed(pool, [note.metric], [metric], config)
        tasks = (job.task(job.plan.blocks[number], (0,)) for number in chosen)
        for task, (answers,) in execute(context_of(job.unique.values()), tasks):
            for answer, row in zip(answers, known[task.block][1], strict=True):
                pairs += 1
                if tuple(answer) != row[1:]:
                    differing += 1
                    both = answer.score is not None and row[1] is not None
                    largest = max(largest, abs((answer.score or 0) - (row[1] or 0)) if both else float("inf"))
            if progress:
                progress(note.metric, pairs, sum(len(job.plan.blocks[number].keys) for number in chosen))
    same = all(known[number][0] == device for number in chosen)
    return Checked(note.metric, len(chosen), pairs, differing, largest, same)
