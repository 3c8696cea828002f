"""A job cut into shards: tasks that share nothing but a folder score every n-th block; their parts are put together."""

from __future__ import annotations

import platform
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig, changed_run
from metaeval.errors import UserError
from metaeval.experiment.answers import reading
from metaeval.experiment.columns import FILE_PREFIX, check_names
from metaeval.experiment.executing import executed, package_versions, worker_pool
from metaeval.experiment.metrics import MetricProgress, load_metric, metric_groups, plug_in
from metaeval.experiment.notice import Notice, noticed
from metaeval.experiment.prepared_run import prepare
from metaeval.files import sha256_json
from metaeval.reading import parquet_library, read_text
from metaeval.scoring.contract import Combination, Metric, Status
from metaeval.scoring.engine import context_of, job_identity
from metaeval.scoring.executors.contract import Task
from metaeval.scoring.executors.pool import Pool
from metaeval.scoring.plan import Block, Plan, Texts, make_plan
from metaeval.scoring.shardfile import (
    PartNote,
    PartWriter,
    PlanNote,
    Row,
    part_notes,
    plan_folder,
    plans,
    read_note,
    read_part,
    write_note,
)
from metaeval.scoring.store import ScoreStore, pair_key
from metaeval.trust import check_file

_BATCH = 100_000
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
    """Metrics that share a job, as tasks see it: unique pairs by key, and the plan."""

    metrics: Sequence[Metric]
    identities: Sequence[Mapping[str, Any]]
    unique: Mapping[bytes, Texts]
    plan: Plan

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
    whole = prepare(config)
    with noticed() as notice, worker_pool(config) as pool:
        for group in metric_groups(names, config):
            texts = reading(whole, load_metric(group[0], config)).texts
            yield from _export_group(group, texts, config, shard, folder, progress, pool, notice)
            if notice.given:
                break


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
    group: Sequence[str],
    texts: Sequence[Texts],
    config: RunConfig,
    shard: Shard,
    folder: Path,
    progress: MetricProgress | None,
    pool: Pool | None,
    notice: Notice,
) -> Iterator[str]:
    label = " + ".join(group)
    metrics = [load_metric(name, config) for name in group]
    with plug_in(label):
        job = _sharded(metrics, texts)
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
        yield f"{place}: {name}, shard {shard.index} of {shard.count}: {len(own):,} of {len(job.plan.blocks):,} blocks"


def _sharded(metrics: Sequence[Metric], texts: Sequence[Texts]) -> _Sharded:
    unique = {pair_key(*pair): pair for pair in texts}
    identities = [job_identity(metric, unique.values()) for metric in metrics]
    return _Sharded(metrics, identities, unique, make_plan(unique, metrics[0].block_tokens))


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
    )


def device_of(metric: Metric) -> str:
    """The model of the device that a metric computes on, in words."""
    device = str(getattr(metric, "device", "cpu"))
    if device.startswith("cuda"):
        import torch

        return str(torch.cuda.get_device_name(device))
    try:
        lines = read_text(Path("/proc/cpuinfo")).splitlines()
    except UserError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{device}: {next(named, platform.processor() or platform.machine())}"


@dataclass(frozen=True)
class PlanState:
    """How far the shards of a metric's plan are.

    missing: numbers of the blocks that no part has. rows: scored pairs; failed: how many of them have failed. devices:
    models of device that scored.
    """

    place: Path
    note: PlanNote
    missing: Sequence[int]
    rows: int
    failed: int
    devices: Sequence[str]

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
    found = []
    for place in plans(folder):
        note, parts = read_note(place), part_notes(place).values()
        blocks = {block.number: block for part in parts for block in part.blocks}
        missing = [number for number in range(note.blocks) if number not in blocks]
        rows, failed = sum(one.rows for one in blocks.values()), sum(one.failed for one in blocks.values())
        found.append(PlanState(place, note, missing, rows, failed, sorted({part.device for part in parts})))
    return found


@dataclass(frozen=True)
class Merged:
    """What was put into the store for one metric. kept: rows that it had with other last digits, and that stayed."""

    metric: str
    rows: int
    new: int
    kept: int
    failed: int
    devices: Sequence[str]


def merge_shards(folder: Path, store: ScoreStore) -> Iterator[Merged]:
    """Put all parts of a folder into a score store; what it has stays. Done again, it changes nothing.

    Raises `UserError`, and stores nothing, for a file that is no part or of another metric, a block that two parts have
    with different scores, and a pair that two plans of a metric have so. Rows that are damaged are found when they are
    read: what was read before them is stored.
    """
    by_metric: dict[str, list[Path]] = {}
    for place in plans(folder):
        by_metric.setdefault(place.parent.name, []).append(place)
    for places in by_metric.values():
        _check_overlaps(places)
    for places in by_metric.values():
        note, counts, devices = read_note(places[0]), Counter[str](), set[str]()
        for rows in _batches(places, devices):
            kept = sorted((row for row in rows if row[2] != Status.FAILED), key=itemgetter(0))
            counts.update(_merge_rows(places[0].parent, note.identity, kept, store))
            counts.update(failed=len(rows) - len(kept), rows=len(kept))
        yield Merged(note.metric, counts["rows"], counts["new"], counts["kept"], counts["failed"], sorted(devices))


def _batches(places: Sequence[Path], devices: set[str]) -> Iterator[list[Row]]:
    """The rows of a metric's parts, some at a time: the store takes many in one transaction faster than few in each."""
    rows: list[Row] = []
    for place in places:
        for path, part in part_notes(place).items():
            devices.add(part.device)
            rows += [row for _, own in read_part(path, part) for row in own]
            if len(rows) >= _BATCH:
                yield rows
                rows = []
    yield rows


def _merge_rows(place: Path, identity: Mapping[str, Any], rows: Sequence[Row], store: ScoreStore) -> dict[str, int]:
    try:
        new = store.add(identity, rows)
    except ValueError as error:
        raise UserError(f"{place} holds {error}: delete it, and run the tasks that wrote it again.") from error
    if new == len(rows):
        return {"new": new}
    known = store.find(identity, [row[0] for row in rows])
    return {"new": new, "kept": sum(tuple(known[row[0]]) != row[1:] for row in rows if row[0] in known)}


def _check_overlaps(places: Sequence[Path]) -> None:
    """Refuse parts of one metric that hold a pair twice with different scores.

    Rows are read only where something is there twice.
    """
    several = len(places) > 1
    seen: dict[bytes, tuple[Path, Row]] = {}
    for place in places:
        note, parts = read_note(place), part_notes(place)
        times = Counter(block.number for part in parts.values() for block in part.blocks)
        if any(number >= note.blocks for number in times):
            raise UserError(f"{place} has parts of more blocks than its plan: delete it, and score it again.")
        for path, part in parts.items():
            if not several and all(times[block.number] == 1 for block in part.blocks):
                continue
            for block, rows in read_part(path, part):
                for row in rows if several or times[block.number] > 1 else ():
                    other, found = seen.setdefault(row[0], (path, row))
                    if found != row and Status.FAILED not in (found[2], row[2]):
                        raise UserError(
                            f"{other} and {path} give one pair different scores ({found[1]} and {row[1]}), as two "
                            "models of device or two plans do: move one of the two folders or files away."
                        )


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
    """Score `count` random blocks of each plan again, and hold them against the parts.

    settings, overrides: as of `load_run`, in place of those that plan.json holds. Where the tasks were executed is not
    taken from it. Raises `UserError` where the data, the metric or the plan are not to be had here as they were.
    """
    if others := [one for one in overrides if not one.strip().startswith("executor.")]:
        raise UserError(
            f"The settings are those of the shards, and --set {others[0]} would make others: only the "
            "executor's can be set, as executor.workers=2."
        )
    for place in plans(folder):
        note = read_note(place)
        noted = {**note.run, "metrics": (note.metric,)}
        noted.pop("executor", None)
        if not settings.get("trust_config"):
            check_file(place, {key: value for key, value in noted.items() if key not in settings})
        config = changed_run(noted, settings, overrides, str(place))
        yield _verify_plan(place, note, config, count, seed, progress)


def _verify_plan(
    place: Path, note: PlanNote, config: RunConfig, count: int, seed: int, progress: MetricProgress | None
) -> Checked:
    metric = load_metric(note.metric, config)
    with plug_in(note.metric):
        job, device = _sharded([metric], reading(prepare(config), metric).texts), device_of(metric)
    if plan_folder(place.parents[1], job.identities[0], job.plan) != place:
        raise UserError(
            f"{place} is not what this machine makes of {note.metric!r}: the data, the code or the model's files are "
            "others here."
        )
    ids = {block.number: block.id for block in job.plan.blocks}
    known = {}
    if not (parts := part_notes(place)):
        raise UserError(
            f"{place} ({note.metric}) has no part yet, so there is nothing to compare: score a shard first."
        )
    for path, part in parts.items():
        for block, rows in read_part(path, part):
            if ids.get(block.number) != block.id:
                raise UserError(f"{path} holds a block that its plan does not have: delete it, and score it again.")
            known[block.number] = part.device, rows
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
