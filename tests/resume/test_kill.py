"""A run that is killed without warning loses at most the block in hand, and its numbers do not change by a bit."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra 'models'")

SHARED = Path(__file__).parents[3] / "shared" / "data"

FILES = ("correlation", "classification", "retrieval")


def start(folder, *arguments):
    command = [sys.executable, "-m", "metaeval", "run", "--results", str(folder), "-s", "interval.resamples=100"]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    return out, err


@pytest.fixture
def stored(rows_stored):
    """The number of scores in a folder's store."""
    return lambda folder: rows_stored(folder / "scores.sqlite", "scores")


def kill_at(stored, folder, pairs, arguments):
    """Start the run, kill it with SIGKILL once the store holds `pairs` scores; the scores it holds afterwards."""
    process = start(folder, *arguments)
    while stored(folder) < pairs and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, f"the run ended before it could be killed: {errors}"
    return stored(folder)


def tables(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.stem in FILES}


def check_kills(stored, tmp_path, arguments, kills, seed):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finish(start(whole, *arguments))
    total = stored(whole)
    moments = sorted(random.Random(seed).sample(range(1, total), kills))
    kept = 0
    for moment in moments:
        before, kept = kept, kill_at(stored, broken, max(moment, kept + 1), arguments)
        assert kept > before  # what was stored stays, and each life of the run adds to it
    _, progress = finish(start(broken, *arguments))
    # The last life starts from what the store held: nothing of that is scored again.
    assert sum(map(scores_kept, first_lines(progress))) == kept
    assert stored(broken) == total
    assert len(tables(whole)) == len(FILES)
    assert tables(broken) == tables(whole)


def first_lines(progress):
    """The line with which each metric starts: 'NAME: STORED of ALL pairs'."""
    seen = {}
    for line in progress.splitlines():
        seen.setdefault(line.split(":")[0], line)
    return seen.values()


def scores_kept(line):
    """Scores in the store when a line was written; metrics that read pairs together share a line, 'A + B: ...'."""
    names, counted = line.split(": ", 1)
    return int(counted.split()[0].replace(",", "")) * len(names.split(" + "))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_two_kills_on_a_third_of_the_mini_corpus(workers, tmp_path, stored, ten_documents):
    corpus = ["-d", "jsonl", "--data", str(ten_documents), "-s", "chunk.size=60"]
    where = ["--executor", "local", "-s", f"executor.workers={workers}"]
    check_kills(stored, tmp_path, ["-m", "minilm-bertscore", *corpus, *where], kills=2, seed=1)


@pytest.mark.slow
def test_ten_kills_at_random_moments_on_wice(tmp_path, stored):
    if not (SHARED / "wice").is_dir():
        pytest.skip("needs the published WiCE files in ../shared/data/wice")
    arguments = ["-m", "minilm-bertscore,minilm-cosine,overlap", "-d", "wice", "--data", str(SHARED)]
    check_kills(stored, tmp_path, arguments, kills=10, seed=2)
