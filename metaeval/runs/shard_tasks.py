"""Shards: tasks that share only a folder score every n-th block of a job; and Slurm batch files for them."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from metaeval.config import ExecutorConfig, RunConfig, changed_settings
from metaeval.config_files import check_file
from metaeval.errors import UserError
from metaeval.files import AnyPath, sha256_json
from metaeval.parsing import parquet_library
from metaeval.remote_files import location
from metaeval.runs.loaded_metrics import (
    LoadedMetrics,
    MetricProgress,
    load_metrics,
    package_versions,
    plug_in,
    scoring_function,
    worker_pool,
)
from metaeval.runs.prepared_run import Job, pair_file, pair_table, prepare
from metaeval.runs.row_scores import job_as_read
from metaeval.runs.score_columns import unscored_metrics
from metaeval.scoring.block_plan import PairsInMemory, PlannedPairs, TextBlock
from metaeval.scoring.contract import Combination, Metric, TextPair
from metaeval.scoring.engine import context_of, job_identity
from metaeval.scoring.executors.contract import BlockTask, Context
from metaeval.scoring.executors.termination_signal import Notice, sigterm_notice
from metaeval.scoring.executors.worker_pool import Pool
from metaeval.scoring.large_pair_tables import PairFile
from metaeval.scoring.score_store import pair_key
from metaeval.scoring.scoring_speed import device_of
from metaeval.scoring.shards import (
    PartNote,
    PartWriter,
    PlanNote,
    Shard,
    WindowNote,
    part_notes,
    plan_folder,
    plans,
    read_note,
    read_part,
    write_note,
)
from metaeval.scoring.stored_table_plans import PlannedTable

TOLERANCE = 1e-5
"""Largest allowed difference of scores between device models."""


@dataclass(frozen=True)
class _Sharded:
    """The work on a group of metrics in shards. identities: one for each metric. planned: the blocks and their texts.

    window: the window of a large table that the pairs are from; None if they are all pairs.
    """

    identities: Sequence[Mapping[str, Any]]
    planned: PlannedPairs
    window: WindowNote | None

    def tasks(self, wanted: Mapping[int, Sequence[int]]) -> list[BlockTask]:
        """Return a task for each block in `wanted`, which has the indices of the metrics to score, by block number."""
        read = self.planned.read(sorted(wanted))
        return [BlockTask(block.number, block.keys, pairs, wanted[block.number]) for block, pairs in read]

    def context(self, metric: Metric, tasks: Sequence[BlockTask]) -> Context:
        """Return the texts for `Metric.prepare`: the job's if the metric reads them there, else those of the tasks."""
        if metric.reads_job():
            return context_of(self.planned.pairs)
        pairs = [pair for task in tasks for pair in task.pairs]
        return Context(*(list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))) if pairs else Context((), ())


@dataclass(frozen=True)
class ShardWritten:
    """A metric's written shard. path: its plan. blocks: number of its blocks of pairs. all_blocks: of the plan."""

    metric: str
    path: AnyPath
    shard: Shard
    blocks: int
    all_blocks: int
    window: WindowNote | None

    def __str__(self) -> str:
        window = f"{self.window}, " if self.window else ""
        count = f"{self.blocks:,} of {self.all_blocks:,} blocks"
        return f"{self.path}: {self.metric}, {window}shard {self.shard.index} of {self.shard.count}: {count}"


def export_shard(
    config: RunConfig, shard: Shard, folder: AnyPath, progress: MetricProgress | None = None
) -> Iterator[ShardWritten]:
    """Score a shard of the run's blocks with each metric and write parts; yield a record for each metric and window.

    Blocks in existing parts are not scored again, and an interrupted task keeps its finished blocks. folder: of all
    plans; may be an address of a remote file system (see `metaeval.remote_files`). Raises `UserError` for a metric that
    cannot be sharded, before anything is scored, and `EndedError` after SIGTERM.
    """
    parquet_library()
    metrics, folder = load_shardable(config), location(folder)
    with sigterm_notice() as notice, worker_pool(config) as pool:
        for part in _parts(metrics, progress, folder):
            loaded = part.settled(metrics)
            for group in loaded.groups():
                yield from _export_group(group, part, loaded, shard, folder, pool, notice)
                if notice.given:
                    return
            del part  # before the next window is read
            if pool:
                pool.forget()


@dataclass(frozen=True)
class _Part:
    """The data planned as one job: those of a run, the texts of a table of pairs, or one window of the table.

    whole: the run's; None for a table. stored: returns the stored plan with blocks of so many tokens, where there is
    one. window: which one. determined: returns the stored options that the texts determine for a metric.
    """

    whole: Job | None
    texts: Sequence[TextPair] = ()
    stored: Callable[[int], PlannedPairs] | None = None
    window: WindowNote | None = None
    progress: MetricProgress | None = None
    determined: Callable[[Metric], Mapping[str, Any]] | None = None

    def settled(self, loaded: LoadedMetrics) -> LoadedMetrics:
        """Return the metrics with the options that the part's texts determine, the same in every task of a shard."""
        return loaded.settled(self.whole.texts if self.whole else self.texts, self.determined)

    def job(self, group: Sequence[str], loaded: LoadedMetrics, metrics: Sequence[Metric]) -> _Sharded:
        """Return the work on metrics that share blocks. group: their names in `loaded`. metrics: in the same order."""
        tokens = metrics[0].block_tokens
        if self.stored:
            planned = self.stored(tokens)
        else:
            read = job_as_read(self.whole, group[0], loaded).texts if self.whole else self.texts
            planned = PairsInMemory({pair_key(*pair): pair for pair in read}, tokens)
        of_corpus = any(metric.corpus_dependent for metric in metrics)
        identities = [job_identity(metric, planned.pairs if of_corpus else ()) for metric in metrics]
        return _Sharded(identities, planned, self.window)


def _parts(
    metrics: LoadedMetrics, progress: MetricProgress | None = None, plans: AnyPath | None = None
) -> Iterator[_Part]:
    """Yield the data of a run, of a large table window by window. plans: folder of stored plans; None: made here."""
    stored = pair_table(metrics.config, partial(PlannedTable, plans)) if plans else None
    table = stored.file if stored else pair_file(metrics.config)
    if table is None:
        yield _Part(prepare(metrics.config), progress=progress)
        return
    metrics.check_windows(table)
    if stored:
        sizes = sorted({metrics[group[0]].block_tokens for group in metrics.groups()})
        for number in range(len(table.starts)):
            planned = partial(stored.window, number, sizes=sizes)
            determined = partial(stored.determined, number, sizes)
            yield _Part(None, (), planned, _window_note(table, number), table.shifted(progress, number), determined)
        return
    for window in table.windows():
        part = _Part(
            None, window.texts, None, _window_note(table, window.number), table.shifted(progress, window.number)
        )
        del window
        yield part
        del part


def _window_note(table: PairFile, number: int) -> WindowNote | None:
    count = len(table.starts)
    return WindowNote(table=table.fingerprint, numbers=[number], of=count) if count > 1 else None


def load_shardable(config: RunConfig) -> LoadedMetrics:
    """Load the run's metrics; raises `UserError` for combinations and chat models, which cannot be scored in shards."""
    metrics = unscored_metrics(config)
    for name in metrics.names:
        metric = metrics[name]
        if isinstance(metric, Combination):
            what = f"{name!r} combines {', '.join(metric.members)}"
            raise UserError(
                f"{what}, and only single metrics can be scored in shards: score the members in shards, merge the "
                "shards, and run the combination with the merged store."
            )
        if not metric.kept:
            raise UserError(f"{name!r} declares no identity, so that nobody could tell which code scored a shard.")
        if "budget" in metric.Options.model_fields:
            raise UserError(
                f"{name!r} asks a chat model, and each task would spend the whole budget: score it in one process, "
                "which keeps many requests in flight."
            )
    return metrics


def _export_group(
    group: Sequence[str],
    part: _Part,
    loaded: LoadedMetrics,
    shard: Shard,
    folder: AnyPath,
    pool: Pool | None,
    notice: Notice,
) -> Iterator[ShardWritten]:
    label, progress, config = " + ".join(group), part.progress, loaded.config
    metrics = [loaded.fresh(name) for name in group]
    with plug_in(label):
        job = part.job(group, loaded, metrics)
        planned = job.planned
        blocks = shard.blocks(len(planned.sizes))
        places = [plan_folder(folder, identity, planned.plan) for identity in job.identities]
        lacking: dict[int, list[int]] = {block: [] for block in blocks}
        for number, (name, place, identity) in enumerate(zip(group, places, job.identities, strict=True)):
            note = PlanNote(
                metric=name,
                identity=dict(identity),
                plan=planned.plan,
                block_tokens=planned.block_tokens,
                blocks=len(planned.sizes),
                pairs=sum(planned.sizes),
                shards=shard.count,
                run=config.model_dump(mode="json"),
                windows=[job.window] if job.window else [],
            )
            write_note(place, note)
            done = {block.number for part_note in part_notes(place, shard).values() for block in part_note.blocks}
            for block in lacking.keys() - done:
                lacking[block].append(number)
        tasks = job.tasks({block: wanted for block, wanted in lacking.items() if wanted})
        total = sum(planned.sizes[block] for block in blocks)
        scored = total - sum(len(task.keys) for task in tasks)
        if progress:
            progress(label, scored, total)
        execute = scoring_function(pool, group, metrics, config)
        writers: dict[tuple[int, str], PartWriter] = {}

        def writer(number: int, device: str) -> PartWriter:
            if (number, device) not in writers:
                of, versions = sha256_json(dict(job.identities[number])), dict(package_versions())
                note = PartNote(identity=of, plan=planned.plan, blocks=[], versions=versions, device=device)
                writers[number, device] = PartWriter(places[number], note, shard)
            return writers[number, device]

        def keep() -> None:
            for part_writer in writers.values():
                part_writer.close()

        with notice.job(keep):  # whatever ends the task
            for scored_block in execute(job.context(metrics[0], tasks), notice.until(tasks)):
                task, device = scored_block.task, scored_block.device or device_of(metrics[0])
                with notice.writing(scored_block):
                    for number, answer in zip(task.wanted, scored_block.answers, strict=True):
                        writer(number, device).add(TextBlock(task.block, tuple(task.keys)), answer)
                scored += len(task.keys)
                if progress:
                    progress(label, scored, total)
    for name, place in zip(group, places, strict=True) if not notice.given else ():
        yield ShardWritten(name, place, shard, len(blocks), len(planned.sizes), job.window)


@dataclass(frozen=True)
class VerifiedShards:
    """The comparison of a metric's stored scores with scores computed again on this machine.

    differing: number of pairs that differ, also in status or tokens. largest: difference of scores, infinite if one is
    missing. same_device: whether every block was computed on this device model; then scores must be equal.
    """

    metric: str
    blocks: int
    pairs: int
    differing: int
    largest: float
    same_device: bool

    @property
    def agrees(self) -> bool:
        """Return whether the scores are equal or, from another device model, differ by at most `TOLERANCE`."""
        return not self.differing if self.same_device else self.largest <= TOLERANCE


def verify_shards(
    folder: AnyPath, settings: Mapping[str, Any], count: int, seed: int, progress: MetricProgress | None = None
) -> Iterator[VerifiedShards]:
    """Score up to `count` random blocks of each plan again, and compare them with the stored parts.

    Yields a record for each plan in the folder. settings: replace those of plan.json, whose executor is ignored. seed:
    of the choice of blocks. Raises `UserError` where the data, the metric or the plan differ here, and without parts.
    """
    if count < 1:
        raise UserError(f"blocks is {count}; it should be 1 or more.")
    jobs: dict[str, tuple[RunConfig, dict[AnyPath, PlanNote]]] = {}
    for place in plans(location(folder)):
        note = read_note(place)
        noted = {**note.run, "metrics": (note.metric,)}
        noted.pop("executor", None)
        if not settings.get("trust_config"):
            check_file(place, {key: value for key, value in noted.items() if key not in settings})
        config = changed_settings(RunConfig, noted, settings, (), str(place))
        jobs.setdefault(config.model_dump_json(), (config, {}))[1][place] = note
    for config, notes in jobs.values():
        metrics = load_metrics(config.metrics, config)
        for part in _parts(metrics):
            for place, note in list(notes.items()):
                if note.holds(part.window):
                    del notes[place]
                    yield _verify_plan(place, note, part, part.settled(metrics), count, seed, progress)
            del part  # before the next window is read
        for place, note in notes.items():
            raise _differs_here(place, note)


def _differs_here(place: AnyPath, note: PlanNote) -> UserError:
    return UserError(
        f"The plan {place} does not match what this machine computes for {note.metric!r}: give the data, code and "
        "model files with which the shards were scored."
    )


def _verify_plan(
    place: AnyPath,
    note: PlanNote,
    part: _Part,
    loaded: LoadedMetrics,
    count: int,
    seed: int,
    progress: MetricProgress | None,
) -> VerifiedShards:
    metric, config = loaded.fresh(note.metric), loaded.config
    with plug_in(note.metric):
        job = part.job([note.metric], loaded, [metric])
    if plan_folder(place.parent.parent, job.identities[0], job.planned.plan) != place:
        raise _differs_here(place, note)
    ids = {block.number: block.id for block, _ in job.planned.read(range(len(job.planned.sizes)))}
    known = {}
    if not (parts := part_notes(place)):
        raise UserError(
            f"No shard of the plan {place} ({note.metric}) is scored, so there is nothing to verify: score one first."
        )
    for path, scored in parts.items():
        for block, rows in read_part(path, scored):
            if ids.get(block.number) != block.id:
                raise UserError(
                    f"{path} holds a block that is not in its plan: delete this file, and score its shard again."
                )
            known[block.number] = scored.device, rows
    chosen = sorted(random.Random(seed).sample(sorted(known), min(count, len(known))))
    differing, largest, pairs, same = 0, 0.0, 0, True
    with worker_pool(config) as pool, plug_in(note.metric):
        execute = scoring_function(pool, [note.metric], [metric], config)
        tasks = job.tasks(dict.fromkeys(chosen, (0,)))
        for task, (answers,), device, _ in execute(job.context(metric, tasks), tasks):
            same = same and known[task.block][0] == (device or device_of(metric))
            for answer, row in zip(answers, known[task.block][1], strict=True):
                pairs += 1
                if tuple(answer) != row[1:]:
                    differing += 1
                    both = answer.score is not None and row[1] is not None
                    largest = max(largest, abs((answer.score or 0) - (row[1] or 0)) if both else float("inf"))
            if progress:
                progress(note.metric, pairs, sum(len(task.keys) for task in tasks))
    return VerifiedShards(note.metric, len(chosen), pairs, differing, largest, same)


_TIME = re.compile(r"(\d+-)?\d+(:\d+){0,2}")
_MEMORY = re.compile(r"\d+[KMGT]?")


def batch_file(
    config: RunConfig,
    words: Sequence[str],
    tasks: int,
    folder: Path,
    cpus: int,
    gpus: int,
    time: str,
    ray: bool = False,
    memory: str = "",
    at_once: int = 0,
    setup: str = "",
) -> str:
    """Return a Slurm batch file; raises `UserError` for wrong values, and for metrics that cannot be sharded.

    The file has one task of an array for each shard; with `ray`, it allocates `tasks` nodes, on which a Ray cluster
    scores the whole plan. words: the command line of the run's settings. cpus, gpus: number per task, with a process
    for each GPU. time: limit of a task. memory: of a node; "": Slurm's default. at_once: most tasks of the array that
    run side by side; 0 for all. setup: shell lines before the command, which activate an environment.
    """
    for name, value, least in (("tasks", tasks, 1), ("cpus", cpus, 1), ("gpus", gpus, 0), ("at_once", at_once, 0)):
        if value < least:
            raise UserError(f"{name} is {value}; it should be {least} or more.")
    if not _TIME.fullmatch(time):
        raise UserError(f"time is {time!r}; allowed: a time as Slurm reads it, such as 90, 04:00:00 or 2-12:00:00.")
    if memory and not _MEMORY.fullmatch(memory):
        raise UserError(f"mem is {memory!r}; allowed: a size as Slurm reads it, such as 16G or 4000M.")
    if ray and at_once:
        raise UserError("at_once limits the tasks of an array, and with --ray there is none: leave at_once out.")
    if ray and config.executor != ExecutorConfig():
        raise UserError("With --ray, the batch file sets the executor: leave --executor and executor.* out.")
    load_shardable(config)
    more = ["--set", "executor.devices=auto"] if gpus > 1 and not config.executor.devices else []
    more = ["--executor", "ray", "--set", "executor.address=auto"] if ray else more
    command = shlex.join(["metaeval", "score", *words, *more, "--output", str(folder)])
    throttle = f"%{at_once}" if at_once else ""
    array = [f"--array=0-{tasks - 1}{throttle}", "--ntasks=1"]
    where = [f"--nodes={tasks}", f"--ntasks={tasks}", "--ntasks-per-node=1"] if ray else array
    directives = ["--job-name=metaeval", *where, f"--cpus-per-task={cpus}"]
    directives += [f"--gpus-per-task={gpus}"] if gpus else []  # it needs --ntasks
    directives += [f"--mem={memory}"] if memory else []
    directives += [f"--time={time}", "--signal=B:TERM@120", "--requeue"]
    shards = shlex.quote(str(folder))
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {directive}" for directive in directives),
        "",
        "# Whole blocks are written into the folder of shards, and what is there is skipped when this runs again.",
        f"# What is left:   metaeval shards status {shards}",
        f"# When all is:    metaeval shards merge {shards}",
        *setup.splitlines(),
    ]
    lines += _on_ray(command, tasks, cpus, gpus) if ray else [f'exec {command} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"']
    return "\n".join([*lines, ""])


def _on_ray(command: str, nodes: int, cpus: int, gpus: int) -> list[str]:
    """Return shell lines that start Ray on every node and run a command on the first, which alone gets the signal.

    The file of the command's process id is on the first node, where the batch file runs.
    """
    resources = f"--min-nodes {nodes} --num-cpus {cpus}" + (f" --num-gpus {gpus}" if gpus else "")
    of_gpus = f" --gpus-per-task={gpus}" if gpus else ""
    return [
        "export RAY_USAGE_STATS_ENABLED=0 RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=300",
        "# Whoever reaches a cluster runs code on it: this one is for processes of this job alone.",
        'RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d " \\n")',
        "export RAY_AUTH_MODE=token RAY_AUTH_TOKEN",
        'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        "process=$(mktemp)",
        """trap 'kill -TERM "$(cat "$process")"' TERM""",
        # srun takes no --cpus-per-task from the batch file since Slurm 22.05.
        f"srun --nodes={nodes} --ntasks={nodes} --cpus-per-task={cpus}{of_gpus} \\",
        f'  ray symmetric-run --address "$head:6379" {resources} -- \\',
        f'  bash -c \'echo $$ > "$0"; exec "$@"\' "$process" {command} --shard 0/1 &',
        "wait $!",
        "wait $!  # a signal has ended the first one; the status is the command's",
    ]
