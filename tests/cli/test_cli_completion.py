"""Completion of commands, options and names in the shell, by the scripts that `metaeval --show-completion` prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
COMMAND = BIN / "metaeval"
WORDS = {
    "mult": ["multiverse"],
    "gate f": ["fit"],
    "run --prot": ["--protocol"],
    "run --protocol clas": ["classification"],
    "run -d wice": ["wice", "wice-dev", "wice_oracle"],
    "run -m overlap,support-mini": ["overlap,support-mini"],
    "run --unit c": ["chunk", "citation"],
    "compare minilm-c": ["minilm-cosine"],
    "run -d nothing-like-it": [],
}

IN_BASH = ("gate f", "run -m overlap,support-mini", "run -d nothing-like-it")
installed = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not installed beside this Python")


def run(command, **more):
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.parametrize("typed", WORDS)
def test_what_bash_asks_is_answered(cli, monkeypatch, typed):
    words = ["metaeval", *typed.split()]
    asked = {"_METAEVAL_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert sorted(cli().out.split()) == sorted(WORDS[typed])


@installed
@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed here")
def test_bash_completes(tmp_path):
    script = run(["bash", "-c", "metaeval --show-completion; true"], _METAEVAL_COMPLETE="")
    lines = [script]
    for typed in IN_BASH:
        words = ["metaeval", *typed.split()]
        quoted = " ".join(words)
        lines.append(f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _metaeval_completion metaeval")
        lines.append('echo "${COMPREPLY[*]}"')
    printed = run(["bash", "-c", "\n".join(lines)]).splitlines()
    assert dict(zip(IN_BASH, map(str.split, printed), strict=True)) == {one: sorted(WORDS[one]) for one in IN_BASH}
