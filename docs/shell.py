"""The cells of the tutorials that begin with %%bash: their output as a reader of a terminal sees it, in one piece."""

import os
import shlex
import subprocess

COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR")


def bash(line: str, cell: str) -> None:
    """Run a cell and print what it prints; raise where it fails. line: the cell's arguments $1, $2 ..."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in COLOURS
    }
    command = ["bash", "-e", "-c", cell, "bash", *shlex.split(line)]
    done = subprocess.run(
        command,
        env=environment | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    print(done.stdout, end="")  # noqa: T201


get_ipython().register_magic_function(bash, "cell")  # type: ignore[name-defined]  # noqa: F821
