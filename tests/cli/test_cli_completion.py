"""Completion of commands, options and names in the shell: what a script of completion asks is answered."""

import json
from pathlib import Path

import pytest

WORDS = json.loads(Path(__file__).with_name("completed.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("typed", WORDS)
def test_what_bash_asks_is_answered(cli, monkeypatch, typed):
    words = ["metaeval", *typed.split()]
    asked = {"_METAEVAL_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert sorted(cli().out.split()) == sorted(WORDS[typed])
