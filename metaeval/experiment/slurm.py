"""The Slurm batch file of a job in shards."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.sharding import shardable

_TIME = re.compile(r"(\d+-)?\d+(:\d+){0,2}")


def batch_file(
    config: RunConfig, words: Sequence[str], tasks: int, folder: Path, cpus: int, gpus: int, time: str
) -> str:
    """A Slurm batch file, one task of an array for each shard; `UserError` as `export_shard` before it scores.

    words: what was typed for the run's settings. gpus: of a task, each with a process of its own where there are
    several.
    """
    for name, value, least in (("--tasks", tasks, 1), ("--cpus", cpus, 1), ("--gpus", gpus, 0)):
        if value < least:
            raise UserError(f"{name} is {value}; it should be {least} or more.")
    if not _TIME.fullmatch(time):
        raise UserError(f"--time is {time!r}; it should be as Slurm reads it: 90, 04:00:00 or 2-12:00:00.")
    shardable(config)
    more = ["--set", "executor.devices=auto"] if gpus > 1 and not config.executor.devices else []
    command = shlex.join(["metaeval", "score", *words, *more, "--out", str(folder)])
    return "".join(
        f"{line}\n"
        for line in (
            "#!/bin/bash",
            "#SBATCH --job-name=metaeval",
            f"#SBATCH --array=0-{tasks - 1}",
            f"#SBATCH --cpus-per-task={cpus}",
            *([f"#SBATCH --gpus-per-task={gpus}"] if gpus else []),
            f"#SBATCH --time={time}",
            "#SBATCH --signal=B:TERM@120",
            "#SBATCH --requeue",
            "",
            "# Every task writes whole blocks into the folder of shards, and one that runs again skips what is there.",
            "# What is left:   metaeval shards status " + shlex.quote(str(folder)),
            "# When all is:    metaeval shards merge " + shlex.quote(str(folder)),
            f'exec {command} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"',
        )
    )
