"""The command line run in this process, in an empty folder, as a person would type it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

FORMAT = "metaeval-corpus/1"
PROGRESS = re.compile(r"(?:asking )?\S+(?: round \d+)?: [\d,]+ of [\d,]+ (?:pairs|replies)")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys) -> Callable[..., Ended]:
    """Run `metaeval ARGS...`; an exception that leaves `main`, a traceback to the user, fails the test."""
    from metaeval.cli.app import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*args: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["metaeval", *map(str, args)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Ended(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def refused(cli) -> Callable[..., str]:
    """Run a command that must be refused: code 2, one sentence on stderr, nothing on stdout; returns the sentence."""

    def run(*args: object) -> str:
        ended = cli(*args)
        said = [line for line in ended.err.splitlines() if not PROGRESS.match(line)]
        assert (ended.code, ended.out) == (2, "")
        assert len(said) == 1
        assert said[0].startswith("metaeval: ")
        assert "Traceback" not in ended.err
        return said[0].removeprefix("metaeval: ")

    return run


def records() -> list[dict[str, Any]]:
    """Nine statements on three documents of three chunks each (chunk.size=7), every level, three groups."""
    rows: list[dict[str, Any]] = [{"type": "corpus", "format": FORMAT, "name": "small"}]
    subjects = ("river", "mayor", "bridge")
    for subject in subjects:
        sentences = [f"The {subject} was quiet on day {day}." for day in ("one", "two", "three")]
        rows.append({"type": "document", "id": subject, "sentences": sentences})
    for number, (subject, level) in enumerate((s, v) for s in subjects for v in ("full", "partial", "none")):
        text = f"The {subject} was {'quiet' if level == 'full' else 'loud'} on day {('one', 'two', 'six')[number % 3]}."
        rows.append({"type": "statement", "id": f"s{number}", "text": text, "group": subject})
        evidence = {} if level == "none" else {"evidence": {"sentences": [number % 3]}}
        citation = {"type": "citation", "statement": f"s{number}", "document": subject, "level": level}
        rows.append(citation | evidence)
    return rows


@pytest.fixture
def write_corpus(tmp_path) -> Callable[..., Path]:
    """Write records (by default the small corpus) as a corpus file; text stands for a line as it is."""

    def write(rows: list[Any] | None = None, name: str = "small.jsonl") -> Path:
        path = tmp_path / name
        lines = [row if isinstance(row, str) else json.dumps(row) for row in (records() if rows is None else rows)]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def small(write_corpus) -> tuple[str, ...]:
    """The options of a quick run on the small corpus."""
    corpus = ("--dataset", "jsonl", "--data", str(write_corpus()))
    return (*corpus, "--set", "chunk.size=7", "--set", "interval.resamples=50", "--set", "controls=false")


@pytest.fixture
def small_rows() -> list[dict[str, Any]]:
    """The records of the small corpus."""
    return records()
