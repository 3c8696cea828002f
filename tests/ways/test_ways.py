"""Six people's ways to the end: each a script of few commands, run as a person types them, on data that it makes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MOST = {"student": 6, "engineer": 6, "reviewer": 4, "notebook": 1, "reader": 1, "maintainer": 5}
"""Commands that a way may take at most."""
COMMAND = re.compile(r"^(?:metaeval|python3) (?!-)", re.MULTILINE)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Run a script in an empty folder with the `metaeval` and `python3` of this interpreter."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, words in (("metaeval", "-m metaeval"), ("python3", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(HERE.parents[1]))
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()

    def run(script):
        command = ["bash", "-euo", "pipefail", str(script)]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    return run


def test_there_is_a_script_for_each_way():
    assert {path.stem for path in HERE.glob("*.sh")} == set(MOST)


@pytest.mark.slow
@pytest.mark.parametrize("way", MOST)
def test_a_way_takes_few_commands_and_each_ends_well(way, shell):
    script = HERE / f"{way}.sh"
    ended = shell(script)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert "Traceback" not in ended.stderr
    assert 1 <= len(COMMAND.findall(script.read_text(encoding="utf-8"))) <= MOST[way]
