"""The guide to other tools: the step of a workflow runs as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "in-other-tools.md").read_text(encoding="utf-8")
KEPT = ROOT / "tests" / "kept"


def snippet(language, word):
    (found,) = [code for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if word in code]
    return found


def test_the_step_of_a_workflow_checks_a_release(tmp_path):
    *_, step = yaml.safe_load(snippet("yaml", "gate check"))["jobs"]["citations"]["steps"]
    shutil.copy(KEPT / "answers.jsonl", tmp_path / "release.jsonl")
    shutil.copy(KEPT / "gate.json", tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"}
    ended = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, capture_output=True)
    assert ended.returncode in (0, 1), ended.stderr
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")
    assert (tmp_path / "summary.md").stat().st_size > 0
