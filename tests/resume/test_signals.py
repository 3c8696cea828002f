"""Signals at random moments of a command: nothing that was stored is lost or changed, and no file is half written.

The moments are drawn from a seed; what a command does at a moment depends on the machine, what must hold does not.
"""

import importlib.util
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from metaeval.llm.reply_store import ReplyStore
from metaeval.scoring.score_store import ScoreStore

HERE = Path(__file__).parent
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
STOPPED = "metaeval: stopped. Every finished block is stored; the same command goes on from there."


@pytest.fixture(scope="module")
def corpus(ten_documents):
    """Options of a quick run on the first ten documents of the mini corpus."""
    quick = ("interval.resamples=10", "comparison.permutations=10", "controls=false", "chunk.size=20")
    return ["-p", "classification", "-d", "jsonl", "--data", str(ten_documents), *(f"--set={one}" for one in quick)]


@pytest.fixture(scope="module")
def life(corpus, tmp_path_factory):
    """Run a command as a child of one process that has imported what it needs and has run one command."""
    with lives(corpus, tmp_path_factory.mktemp("lives"), "openai", "aiohttp") as run:
        yield run


@pytest.fixture(scope="module")
def life_of_models(corpus, tmp_path_factory):
    """The same of a process that has imported torch."""
    pytest.importorskip("torch", reason="needs the extra 'models'")
    with lives(corpus, tmp_path_factory.mktemp("lives"), "torch") as run:
        yield run


@contextmanager
def lives(corpus, folder, *names):
    modules = [name for name in names if importlib.util.find_spec(name)]
    warm = [*LEXICAL, *corpus, "-q", "--results", str(folder / "warm")]
    command = [sys.executable, str(HERE / "lives.py"), *modules, "--", *warm]
    # One thread: more of them do not survive a fork.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "METAEVAL_CACHE": str(folder / "cache")}
    environment = {name: value for name, value in environment.items() if "proxy" not in name.lower()}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:

        def run(argv, log, number=None, after=None, copies=1, computing=False):
            asked = {"argv": argv, "log": str(log), "signal": number, "after": after, "copies": copies}
            asked["computing"] = computing
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


def rows(path, table):
    """The rows of a store by their keys, without what differs from run to run; empty where there is no store yet."""
    if not path.exists():
        return {}
    columns = {"scores": "key, pair, score, status, tokens, cut, checksum", "replies": "key, reply, checksum"}[table]
    joined = "scores JOIN metrics ON id = metric" if table == "scores" else table
    with closing(sqlite3.connect(path, timeout=60)) as plain:
        if not plain.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return {}
        keys = 2 if table == "scores" else 1
        return {row[:keys]: row[keys:] for row in plain.execute(f"SELECT {columns} FROM {joined}")}


def structure(path):
    """What SQLite says of the structure of a store: "ok"."""
    with closing(sqlite3.connect(path, timeout=60)) as plain:
        return plain.execute("PRAGMA integrity_check").fetchone()[0]


def files(folder):
    """The result files that stand in a folder; temporary files, the store and the manifest are none."""
    others = (
        "manifest.json",
        "log",
        "scores.sqlite",
        "scores.sqlite-wal",
        "scores.sqlite-shm",
        "scores.sqlite-journal",
    )
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.name: path.read_bytes() for path in found if path.name not in others}


def check_lives(life, argv, folder, kills, seed, stores):
    """Send `kills` signals to a command, life after life. stores: path below the folder, table and class of each."""
    rng = random.Random(seed)
    whole, broken, log = folder / "whole", folder / "broken", folder / "log"
    first = life([*argv, "--results", str(whole)], log)
    assert first["codes"] == [0], log.read_text()
    expected = files(whole)
    complete = {name: rows(whole / name, table) for name, table, _ in stores}
    landed = 0
    kept = {name: {} for name in complete}
    for number in range(kills):
        sent = SIGNALS[number % len(SIGNALS)]
        ended = life([*argv, "--results", str(broken)], log, sent, rng.uniform(0, first["seconds"]), computing=True)
        (code,), said = ended["codes"], log.read_text()
        assert "Traceback" not in said
        assert code in {0, 128 + sent, -sent}, (sent, said)
        if code == 128 + sent:
            assert said.splitlines()[-1] in (STOPPED, "metaeval: stopped."), said
        for name, table, kind in stores:
            now = rows(broken / name, table)
            assert kept[name].items() <= now.items() <= complete[name].items()
            kept[name] = now
            if now:
                kind(broken / name).close()
                assert structure(broken / name) == "ok"
        assert files(broken).items() <= expected.items()
        landed += code != 0
        if code == 0:  # the life was over before its moment: the next one begins anew
            assert files(broken) == expected
            for path in sorted(broken.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            kept = {name: {} for name in complete}
    ended = life([*argv, "--results", str(broken)], log)
    assert ended["codes"] == [0], log.read_text()
    assert files(broken) == expected
    assert {name: rows(broken / name, table) for name, table, _ in stores} == complete
    return landed


SCORES = ("scores.sqlite", "scores", ScoreStore)
LEXICAL = ["run", "-m", "overlap,bm25"]
MINILM = ["run", "-m", "minilm-cosine"]


@pytest.mark.parametrize(
    ("metrics", "kills", "least"),
    [(LEXICAL, 6, 2), *(pytest.param(metrics, 60, 21, marks=pytest.mark.slow) for metrics in (LEXICAL, MINILM))],
)
def test_signals_to_a_run(request, corpus, tmp_path, metrics, kills, least):
    life = request.getfixturevalue("life" if metrics is LEXICAL else "life_of_models")
    assert check_lives(life, [*metrics, *corpus], tmp_path, kills=kills, seed=1, stores=[SCORES]) >= least


@pytest.mark.slow
def test_sixty_signals_to_a_citation_pipeline(life, tmp_path):
    passages = [{"text": f"Bridge {number} was built by a Dane in {1900 + number}."} for number in range(40)]
    rows = [
        {"id": str(n), "text": f"A Dane built bridge {n} [{n + 1}]. It opened in {1900 + n} [1].", "passages": passages}
        for n in range(40)
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    argv = ["cite", "alce", str(answers), "--nli", "overlap", "--nli", "rouge", "--threshold", "0.4"]
    argv += ["--set=splitter=rules", "--set=interval.resamples=10"]
    assert check_lives(life, argv, tmp_path, kills=60, seed=6, stores=[SCORES]) > 20


@pytest.mark.parametrize(("kills", "seed", "least"), [(2, 4, 1), pytest.param(60, 5, 6, marks=pytest.mark.slow)])
def test_signals_to_a_run_that_asks(life, corpus, fake, tmp_path, kills, seed, least):
    replies = tmp_path / "cache" / "replies.sqlite"
    with fake.ChatServer(latency=0.05) as server:  # 413 replies, 16 at a time: no life is over in a second
        options = {"base_url": server.url, "concurrency": 16, "replies": replies}
        given = [
            part for name, value in options.items() for part in ("-s", f"metric_options.llm-discrete.{name}={value}")
        ]
        argv = ["run", "-m", "llm-discrete", *given, *corpus]
        rng, log = random.Random(seed), tmp_path / "log"
        kept, landed = {}, 0
        for number in range(kills):
            sent = SIGNALS[number % len(SIGNALS)]
            ended = life([*argv, "--results", str(tmp_path / "broken")], log, sent, rng.uniform(0, 3))
            (code,), said = ended["codes"], log.read_text()
            assert "Traceback" not in said
            assert code in {0, 128 + sent, -sent}, (sent, said)
            now = rows(replies, "replies")
            assert kept.items() <= now.items()
            kept = now
            landed += code != 0
        assert life([*argv, "--results", str(tmp_path / "broken")], log)["codes"] == [0], log.read_text()
        # A kill loses what was in flight. Nothing that was kept is asked for again.
        assert len(rows(replies, "replies")) == len(server.completed)
        assert server.completed.total() - len(server.completed) <= 16 * landed
    ReplyStore(replies).close()
    assert structure(replies) == "ok"
    assert landed >= least


def test_two_runs_at_once_share_a_store(life, corpus, tmp_path):
    log = tmp_path / "log"
    assert life([*LEXICAL, *corpus, "--results", str(tmp_path / "alone")], log)["codes"] == [0]
    assert life([*LEXICAL, *corpus, "--results", str(tmp_path / "both")], log, copies=3)["codes"] == [0, 0, 0], (
        log.read_text()
    )
    assert files(tmp_path / "both") == files(tmp_path / "alone")
    name, table, _ = SCORES
    assert rows(tmp_path / "both" / name, table) == rows(tmp_path / "alone" / name, table)
