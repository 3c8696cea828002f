"""What only a process of its own can show: Ctrl-C, a full disk, a reader that leaves."""

import os
import pty
import shlex
import signal
import subprocess
import sys
import time

import pytest

SLOW = """
import time
from pathlib import Path
from metaeval.scoring.contract import Metric, MetricCard, PairScore

class Slow(Metric):
    card = MetricCard(name="slow", family="mine", summary="s", paper="p", licence="l")
    block_tokens = 8

    def score(self, sources, statements):
        with Path("log.txt").open("a") as log:
            log.writelines(f"{a} / {b}\\n" for a, b in zip(sources, statements, strict=True))
        while Path("wait").exists() and len(Path("log.txt").read_text().splitlines()) > 8:
            time.sleep(0.02)
        return [PairScore(float(len(b))) for b in statements]
"""


@pytest.fixture
def metaeval(start, tmp_path):
    """Start `metaeval ARGS...` in the folder of the test; it hears Ctrl-C, which a shell's background jobs ignore."""

    def started(*args, hears=(signal.SIGINT,), **more):
        streams = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "COLUMNS": "100"}
        return start(*args, cwd=tmp_path, env=environment, hears=hears, **streams, **more)

    return started


def wait_for_a_second_block(run, log):
    """Until a run of the slow metric sleeps over a block."""
    while not (log.exists() and log.read_text().count("\n") > 8):
        assert run.poll() is None
        time.sleep(0.02)


def test_an_interrupted_run_says_so_and_goes_on_where_it_was(metaeval, small, tmp_path):
    (tmp_path / "slow_metric.py").write_text(SLOW)
    (tmp_path / "wait").touch()
    log = tmp_path / "log.txt"
    run = ("run", "-m", "slow_metric:Slow", "-p", "correlation", *small, "-q")

    first = metaeval(*run)
    wait_for_a_second_block(first, log)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=120)

    assert (first.returncode, out) == (130, "")
    assert err == "metaeval: stopped. Every finished block is stored; the same command goes on from there.\n"
    before = log.read_text().splitlines()

    (tmp_path / "wait").unlink()
    second = metaeval(*run)
    out, err = second.communicate(timeout=120)

    assert (second.returncode, err) == (0, "")
    after = log.read_text().splitlines()[len(before) :]
    assert len(set(before) | set(after)) == 27, "every pair was scored"
    in_hand = set(before) & set(after)
    assert 0 < len(in_hand) < len(before), "the block in hand is done again, and no other"
    assert in_hand == set(before[-len(in_hand) :])


def test_a_full_disk_leaves_the_old_results(ran, metaeval, small, tmp_path):
    ran("score", "-m", "overlap", "--format", "jsonl", *small, "-q")
    evaluate = ("evaluate", "results/overlap.jsonl", *small, "-p", "classification", "-q")
    ran(*evaluate)
    folder = (tmp_path / "results/latest").resolve()
    old = {path.name: path.read_bytes() for path in folder.iterdir()}
    limit = 1000
    assert len(old["classification.json"]) > 2 * limit

    ended = metaeval(*evaluate, "--set", "interval.seed=5", file_size=limit)
    _, err = ended.communicate(timeout=120)

    assert ended.returncode == 2
    assert "/pairs.jsonl: File too large." in err
    assert "free space" in err
    assert "Traceback" not in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == old, "nothing new, nothing lost"
    assert (tmp_path / "results/latest").resolve() == folder


SCORE = ("score", "-m", "overlap", "-q", "--set", "chunk.size=20")


@pytest.mark.parametrize(
    ("command", "path"),
    [((*SCORE, "--format", "parquet"), "results/overlap.parquet"), (("pairs", "out.parquet"), "out.parquet")],
)
def test_a_full_disk_leaves_no_half_of_a_parquet_file(ran, metaeval, tmp_path, command, path):
    ran(*SCORE)
    (tmp_path / path).write_text("old")
    # Room for the store's own files (its shared memory is 32 KiB), not for what is written from the mini corpus.
    limit = 33_000

    ended = metaeval(*command, file_size=limit)
    _, err = ended.communicate(timeout=120)

    assert ended.returncode == 2
    assert f"metaeval: Cannot write {path}: File too large." in err
    assert "Traceback" not in err
    assert (tmp_path / path).read_text() == "old"
    assert not list(tmp_path.rglob(".*.parquet*"))


def test_a_full_disk_under_the_store_says_that_what_it_holds_is_kept(metaeval):
    ended = metaeval(*SCORE, file_size=40_000)
    _, err = ended.communicate(timeout=120)

    assert ended.returncode == 2
    assert "metaeval: Score store results/scores.sqlite: " in err
    assert "What it already holds is kept; free space" in err
    assert "Traceback" not in err


def test_a_reader_that_leaves_ends_the_command_quietly_after_the_results_are_written(metaeval, small, tmp_path):
    run = metaeval("run", "-m", "overlap", "-p", "correlation", *small)
    run.stdout.close()
    err = run.stderr.read()
    run.wait(timeout=120)

    assert run.returncode != 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert (tmp_path / "results/latest/correlation.json").is_file()


def test_a_reader_of_the_progress_that_leaves_stops_the_run_and_nothing_stored_is_lost(metaeval, small, tmp_path):
    (tmp_path / "slow_metric.py").write_text(SLOW)
    run = ("run", "-m", "slow_metric:Slow", "-p", "correlation", *small)
    first = metaeval(*run)
    first.stderr.close()
    out, _ = first.stdout.read(), first.wait(timeout=120)
    assert (first.returncode, out) == (141, "")

    second = metaeval(*run, "-q")
    _, err = second.communicate(timeout=120)
    assert (second.returncode, err) == (0, "")


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ("data list >&-", 0, ""),
        ("data list <&- >&- 2>&-", 0, ""),
        ("--help >/dev/full", 2, "No space left on device"),
        ("data list >/dev/full 2>/dev/full", 2, ""),
        ("data lst 2>/dev/full", 2, ""),
        ("--help | true", 141, ""),
        ("run -m overlap, -d missing", 2, "No such file or directory"),
    ],
)
def test_output_or_a_folder_that_cannot_be_used_ends_a_command_without_a_traceback(tmp_path, typed, code, said):
    (tmp_path / "gone").mkdir()
    gone = "cd gone; rmdir ../gone; " if "missing" in typed else ""
    command = f"set -o pipefail; {gone}{shlex.quote(sys.executable)} -m metaeval {typed}"
    ended = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr.count("\n")) == (code, bool(said))
    assert said in ended.stderr


def test_a_terminal_that_is_closed_under_the_bars_ends_a_run_without_a_word(start, small, tmp_path):
    (tmp_path / "slow_metric.py").write_text(SLOW)
    (tmp_path / "wait").touch()
    terminal, end = pty.openpty()
    words = ("run", "-m", "slow_metric:Slow", "-p", "correlation", *small)
    run = start(*words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=end, text=True)
    os.close(end)
    wait_for_a_second_block(run, tmp_path / "log.txt")
    os.close(terminal)
    (tmp_path / "wait").unlink()
    assert (run.communicate(timeout=120)[0], run.returncode) == ("", 2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_says_so(metaeval, small, tmp_path, number):
    (tmp_path / "slow_metric.py").write_text(SLOW)
    (tmp_path / "wait").touch()
    log = tmp_path / "log.txt"

    # Also where these tests themselves run under nohup.
    run = metaeval("run", "-m", "slow_metric:Slow", "-p", "correlation", *small, "-q", hears=(number,))
    wait_for_a_second_block(run, log)
    run.send_signal(number)
    out, err = run.communicate(timeout=120)
    assert (run.returncode, out) == (128 + number, "")
    assert err == "metaeval: stopped. Every finished block is stored; the same command goes on from there.\n"


def test_a_hang_up_that_is_ignored_stays_ignored(metaeval, small):
    run = metaeval("run", "-m", "overlap", "-p", "correlation", *small, "-q", ignores=(signal.SIGHUP,))
    while run.poll() is None:
        run.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    assert (run.returncode, run.stderr.read()) == (0, "")
