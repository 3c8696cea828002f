"""No text tells anybody to install metaeval by its bare name: no package index has it, so anybody could claim it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BARE = re.compile(
    r"(?:pip3?|uv|pipx)\s+(?:\w+\s+)*?install\s+(?:-[-\w]+\s+(?!-e\b))*['\"\\]*metaeval(?![-\w/]|\[[^\]]*\]\s+@)"
)


def test_no_text_installs_the_bare_name():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not in a git checkout")
    own = Path(__file__).relative_to(ROOT).as_posix()
    texts = {name: ROOT / name for name in listed.stdout.splitlines() if name not in (own, "CHANGELOG.md")}
    assert len(texts) > 100
    found = [
        f"{name}: {match[0]}"
        for name, path in texts.items()
        if path.suffix in {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ""} and path.is_file()
        for match in BARE.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []
