"""The counts of .ci/house.py: sizes as the owner's own tool counts them, ceilings that nobody raises by hand."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
STAGES = {"start": {"lines": 100}, "24": {"lines": 80}, "25": {"lines": 70}}

SOURCE = '''"""A module."""
import os
from pathlib import (
    Path,
)  # a comment behind an import

class Thing:
    """A docstring
    of two lines."""

    async def wait(self):
        text = """not
        a docstring"""; import sys
        def inner(): return (
            1,
        )

        return text, inner

def nothing(): "a docstring on the line of its function"
'''


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True, capture_output=True
    )


@pytest.fixture
def house(tmp_path, monkeypatch):
    """.ci/house.py on a repository of a few files."""
    spec = importlib.util.spec_from_file_location("house", ROOT / ".ci" / "house.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "house", module)
    spec.loader.exec_module(module)
    (tmp_path / ".ci").mkdir()
    for name, text in {
        "metaeval/a.py": SOURCE,
        "protocols/b.py": "x = 1\n",
        "metaeval/page/page.js": "let x\n" * 3,
        "benchmarks/deep/c.py": "y = 2\n" * 4,
        "tests/test_a.py": "\n\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "empty")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RECORD", tmp_path / ".ci" / "house.json")
    return module


def test_sizes_are_those_of_the_owners_tool(house, tmp_path):
    sizes = {name: count.number for name, count in house.sizes().items()}
    # Of a.py: class, wait, the text without the line of its import, three of inner, return. Of b.py: one.
    assert sizes == {"code lines": 8, "functions": 3, "classes": 1, "test lines": 2, "support lines": 7}
    if not (SHARED / "tools" / "counts.py").is_file():
        return
    counted = subprocess.run(
        [sys.executable, SHARED / "tools" / "counts.py", tmp_path], capture_output=True, text=True, check=True
    ).stdout
    assert {
        name: int(number) for name, number in re.findall(r"^(\w+ ?\w+) +(\d+)$", counted, re.M)
    }.items() >= sizes.items()


def test_the_copy_of_the_ceilings_is_the_owners(house):
    if not (SHARED / "ceilings.json").is_file():
        pytest.skip("the ceilings are not in ../shared")
    assert json.loads((ROOT / ".ci" / "ceilings.json").read_text()) == json.loads(
        (SHARED / "ceilings.json").read_text()
    )


def test_an_exception_is_never_above_the_stage_before(house):
    record = {"stage": "24", "recorded": {"phrases": 1}, "exceptions": {"lines": 100}}
    assert house.limits(record, STAGES) == {"phrases": 1, "lines": 100}
    for over in ({**record, "exceptions": {"lines": 101}}, {**record, "stage": "25"}, {**record, "stage": "start"}):
        with pytest.raises(ValueError, match="lines"):
            house.limits(over, STAGES)


def test_a_stage_goes_forward_and_never_back(house, tmp_path):
    back = []
    for stage in ("start", "24", "24", "start"):
        record = {"stage": stage, "recorded": {"n": len(back)}}
        house.RECORD.write_text(json.dumps(record, indent=1))
        back.append(house.went_back(record, STAGES))
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", stage)
    assert back == [False, False, False, True]
