"""The command line run in this process, in an empty folder, as a person would type it."""

from __future__ import annotations

import functools
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main

FORMAT = "metaeval-corpus/1"
PROGRESS = re.compile(r"(?:asking )?\S+(?: round \d+)?: [\d,]+ of [\d,]+ (?:pairs|replies)")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def one_command_tree():
    """The tree of commands and options is made once, as in a process of a user's, not once a call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True)
def svg_alone(monkeypatch):
    """Figures are written as SVG alone; one function writes them all."""
    monkeypatch.setattr("metaeval.report.figures.drawing.FORMATS", ("svg",))


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
def ran(cli) -> Callable[..., Ended]:
    """Run a command that must end with code 0."""

    def run(*args: object) -> Ended:
        ended = cli(*args)
        assert ended.code == 0, ended.err
        return ended

    return run


@pytest.fixture
def held(recorded: Any, tmp_path: Path) -> Callable[..., None]:
    """Hold what a command printed, and the page and the rows of the latest job, against their record."""

    def check(name: str, ended: Ended | None = None) -> None:
        found = recorded.files((tmp_path / "results" / "latest").resolve())
        tables = {file: of for file, of in found.items() if "records" in of}
        rows = {file: [of["settings"], *recorded.columns(of["records"])] for file, of in tables.items()}
        names = re.compile(r"Written: |More: |Files: |mini-all-\w+-\w+: |Command: |Versions: ")  # with hashes in them
        lines = (ended.out + ended.err if ended else "").splitlines()
        said = [line for line in lines if not (names.match(line) or PROGRESS.match(line))]  # nor with its speed
        following = [line.partition("   (")[0] for line in said if line.startswith("Next: ")]
        told = {"said": recorded.said("\n".join(said)), "next": [*map(str.split, following)]}
        recorded.held(name, {**told, "page": found.get("report.html"), **rows})

    return check


@pytest.fixture
def asked(cli, fake) -> Callable[..., Any]:
    """Run a command that asks a server, with faults of it; how it ended (code 0), and the server, which has closed."""

    def run(answer: Callable[..., Any], *args: object, code: int = 0, **faults: Any) -> tuple[Ended, Any]:
        with fake.ChatServer(answer=answer, **faults) as server:
            ended = cli(*args, "--model", "tiny", "--base-url", server.url)
        assert (ended.code, server.faulted.total() > 0) == (code, bool(faults)), ended.err
        return ended, server

    return run


@pytest.fixture
def scored(store_of_mini, tmp_path) -> None:
    """The results folder holds that store already: for tests of what is made of scores, not of scoring."""
    (tmp_path / "results").mkdir()
    shutil.copy(store_of_mini, tmp_path / "results")


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


@pytest.fixture
def printed(recorded):
    """What the tables of a folder hold, by their files."""
    from metaeval.report.table_files import load_table

    def read(folder: Path) -> dict[str, Any]:
        paths = [path for path in sorted(folder.rglob("*.json")) if "manifest" not in path.name]
        return {path.relative_to(folder).as_posix(): recorded.sheet(load_table(path)) for path in paths}

    return read


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], dict[str, bytes]]:
    """The bytes of every file of a results folder, by its path there; the store and the manifest are not results."""

    def read(folder: Path) -> dict[str, bytes]:
        files = (path for path in folder.rglob("*") if path.is_file())
        results = (path for path in files if not path.name.endswith("manifest.json") and "sqlite" not in path.name)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in results}

    return read


@pytest.fixture
def again(ran, contents, tmp_path) -> Callable[..., None]:
    """Run the latest job again, to the same bytes; then the command that `results show` prints, to the same tables."""

    def tables(folder: str) -> dict[str, bytes]:
        found = contents((tmp_path / folder / "latest").resolve())
        return {name: content for name, content in found.items() if name.endswith(".json")}

    def check(*more: str, **replaced: str) -> None:
        before = contents(tmp_path / "results")
        rerun = ran("results", "rerun", "latest", *more)
        assert contents(tmp_path / "results") == before
        assert "files are the same bytes." in rerun.out
        assert " 0 of 0 " not in rerun.out
        program, *words = shlex.split(ran("results", "show").out.partition("\nCommand: ")[2].splitlines()[0])
        assert program == "metaeval"
        words = [replaced.get(word.removeprefix("--"), word) for word in words]
        kept = [word for at, word in enumerate(words) if not {"--results", "--store"} & {word, *words[at - 1 : at]}]
        ran(*kept, "-q", "--results", "again")
        assert tables("again") == tables("results") != {}

    return check


@pytest.fixture
def killed(cli, start, fake, tmp_path) -> Callable[..., Any]:
    """Kill `metaeval ARGS... -o a.jsonl` once so many replies came, and run it again; its server, which has closed."""

    def run(answer: Callable[..., Any], replies: int, *args: object) -> Any:
        enough, slow = threading.Event(), [True]

        def latency(_: Any) -> float:
            if server.completed.total() >= replies and slow[0]:
                enough.set()
                return 60.0
            return 0.0

        with fake.ChatServer(answer=answer, latency=latency) as server:
            asked = ("--model", "tiny", "--base-url", server.url, "-s", "chat.concurrency=1", "-o", "a.jsonl", "-q")
            process = start(*args, *asked, cwd=tmp_path, stderr=subprocess.PIPE)
            assert enough.wait(120)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            assert not (tmp_path / "a.jsonl").exists(), "nothing is written before all is answered"
            slow[0] = False
            ended = cli(*args, *asked)
            assert ended.code == 0, ended.err
        return server

    return run


@pytest.fixture
def answers_of_systems() -> Callable[..., list[dict[str, Any]]]:
    """Make an answer of each system to each question, with passages; `question` and `text` have places to fill."""

    def make(systems: int, groups: int, question: str, passages: Any, text: str) -> list[dict[str, Any]]:
        return [
            {
                "id": f"{system}-{group}",
                "group": f"q{group}",
                "system": f"system {system}",
                "question": question.format(group=group),
                "passages": passages,
                "text": text.format(system=system, group=group),
            }
            for system in range(systems)
            for group in range(groups)
        ]

    return make


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


@pytest.fixture
def named_corpus(write_corpus, small_rows):
    """Write the small corpus with a text in every place that is free: the corpus's name, ids, groups, systems."""

    def write(text):
        rows = json.loads(json.dumps(small_rows))
        for row in rows:
            for field in ("name", "id", "group", "statement", "document"):
                if field in row:
                    row[field] = f"{text}{row[field]}"
            if row["type"] == "statement":
                row |= {"system": f"{text}{int(row['id'][-1]) % 2}", "text": f"{row['text']} {text}"}
        return write_corpus(rows)

    return write
