"""The Slurm batch file of a job in shards."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from metaeval.config import ExecutorConfig, RunConfig
from metaeval.errors import UserError
from metaeval.experiment.sharding import shardable

_TIME = re.compile(r"(\d+-)?\d+(:\d+){0,2}")


def batch_file(
    config: RunConfig,
    words: Sequence[str],
    tasks: int,
    folder: Path,
    cpus: int,
    gpus: int,
    time: str,
    ray: bool = False,
) -> str:
    """A Slurm batch file; `UserError` as `export_shard` before it scores.

    One task of an array for each shard; with `ray`, one allocation of so many nodes, and a cluster of Ray on them that
    scores the whole plan. words: what was typed for the run's settings. gpus: of a task, each with a process of its own
    where there are several.
    """
    for name, value, least in (("tasks", tasks, 1), ("cpus", cpus, 1), ("gpus", gpus, 0)):
        if value < least:
            raise UserError(f"{name} is {value}; it should be {least} or more.")
    if not _TIME.fullmatch(time):
        raise UserError(f"time is {time!r}; it should be as Slurm reads it: 90, 04:00:00 or 2-12:00:00.")
    if ray and config.executor != ExecutorConfig():
        raise UserError("ray sets the executor by itself: leave the settings of the executor out.")
    shardable(config)
    if ray:
        more = ["--executor", "ray", "--set", "executor.address=auto"]
    else:
        more = ["--set", "executor.devices=auto"] if gpus > 1 and not config.executor.devices else []
    command = shlex.join(["metaeval", "score", *words, *more, "--out", str(folder)])
    where = [f"--nodes={tasks}", "--ntasks-per-node=1"] if ray else [f"--array=0-{tasks - 1}"]
    asked = [
        "--job-name=metaeval",
        *where,
        f"--cpus-per-task={cpus}",
        *([f"--gpus-per-task={gpus}"] if gpus else []),
        f"--time={time}",
        "--signal=B:TERM@120",
        "--requeue",
    ]
    shards = shlex.quote(str(folder))
    return "".join(
        f"{line}\n"
        for line in (
            "#!/bin/bash",
            *(f"#SBATCH {one}" for one in asked),
            "",
            "# Whole blocks are written into the folder of shards, and what is there is skipped when this runs again.",
            f"# What is left:   metaeval shards status {shards}",
            f"# When all is:    metaeval shards merge {shards}",
            *(
                _on_ray(command, tasks, cpus, gpus)
                if ray
                else [f'exec {command} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"']
            ),
        )
    )


def _on_ray(command: str, nodes: int, cpus: int, gpus: int) -> list[str]:
    """Start Ray on every node, run the command on the first, and let it alone have the signal before the end.

    The file of the command's process id stands on the first node, which is where the batch file runs.
    """
    given = f"--min-nodes {nodes} --num-cpus {cpus}" + (f" --num-gpus {gpus}" if gpus else "")
    return [
        "export RAY_USAGE_STATS_ENABLED=0 RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=300",
        "# Whoever reaches a cluster runs code on it: this one is for processes of this job alone.",
        'RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d " \\n")',
        "export RAY_AUTH_MODE=token RAY_AUTH_TOKEN",
        'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        "process=$(mktemp)",
        """trap 'kill -TERM "$(cat "$process")"' TERM""",
        f'srun --nodes={nodes} --ntasks={nodes} ray symmetric-run --address "$head:6379" {given} -- \\',
        f'  bash -c \'echo $$ > "$0"; exec "$@"\' "$process" {command} --shard 0/1 &',
        "wait $!",
        "wait $!  # a signal has ended the first one; the status is the command's",
    ]
