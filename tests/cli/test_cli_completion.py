"""Completion of commands, options and names in the shell: what a script of completion asks is answered."""

import pytest

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


@pytest.mark.parametrize("typed", WORDS)
def test_what_bash_asks_is_answered(cli, monkeypatch, typed):
    words = ["metaeval", *typed.split()]
    asked = {"_METAEVAL_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert sorted(cli().out.split()) == sorted(WORDS[typed])
