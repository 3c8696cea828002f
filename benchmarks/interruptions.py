"""How soon a user is told what happened to a command, and what is lost.

python -m benchmarks.interruptions [PLACE ...]: of alone, local, ray (a cluster of the command's own), cluster (one that
it joins), write and token; all by default. Signals are sent at each stage,
and workers and nodes are killed. A line for each: the place, the stage, what was sent, the seconds until the first line
on standard error, the exit code, rows lost and rows kept twice after the same command has been run to its end, and the
line. For `token` the seconds count from the start of the command.
"""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from benchmarks.pairs import write_table
from tests.scoring.executors.job import begun, running, write_corpus

TOYS = Path(__file__).parents[1] / "tests" / "scoring" / "executors" / "toys.py"
DATA = ["-d", "jsonl", "--data", "made.jsonl", "-q"]
JOB = ["score", "-m", "toys:Company", *DATA]
LOCAL = ["--executor", "local", "-s", "executor.workers=2"]
RAY = ["--executor", "ray", "-s", "executor.workers=2"]
STORE = ["-o", "out", "--store", "s.sqlite"]
PLACES = {
    "alone": [*JOB, *STORE],
    "local": [*JOB, *STORE, *LOCAL],
    "ray": [*JOB, *STORE, *RAY],
    "cluster": [*JOB, *STORE, *RAY],
}
HELD = 5  # blocks of 14 that are begun; of two workers with two blocks each one has been taken in then
Rows = set[tuple[Any, ...]]


class Command:
    """A running command, and when it printed its first line on standard error."""

    def __init__(self, words: list[str], **variables: str) -> None:
        self.began = time.monotonic()
        self.lines: list[tuple[float, str]] = []
        environment = {**os.environ, **variables}
        command = [sys.executable, "-m", "metaeval", *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.reader = Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        self.lines += ((time.monotonic(), line.strip()) for line in self.process.stderr or ())

    def ended(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(timeout=300)
        self.reader.join()
        return code

    def wait(self, true: Callable[[], Any]) -> None:
        """Wait until something is so."""
        until = time.monotonic() + 300
        while not true():
            assert self.process.poll() is None, self.lines
            assert time.monotonic() < until, self.lines
            time.sleep(0.005)

    def report(self, place: str, stage: str, sent: str, since: float, lost: object = "-", twice: object = "-") -> None:
        """Print what it said first after a moment."""
        at, line = next(((at, line) for at, line in self.lines if at >= since), (float("nan"), "(nothing)"))
        late = " LATE" if not at - since <= 2 else ""
        code = self.process.returncode
        print(f"{place:12}{stage:9}{sent:8}{at - since:6.2f} s{late:5}{code:5}{lost:>4}{twice:>4}  {line}", flush=True)


def rows(path: Path) -> list[tuple[Any, ...]]:
    """The rows of a store."""
    with closing(sqlite3.connect(path)) as file:
        return list(file.execute("SELECT pair, score, status, tokens, cut FROM scores"))


def puts() -> int:
    """How many rows were put into the store."""
    with closing(sqlite3.connect("s.sqlite")) as file:
        return int(file.execute("SELECT COUNT(*) FROM puts").fetchone()[0])


def prepare() -> Rows:
    """Make the job in the current folder; its rows."""
    shutil.copy(TOYS, "toys.py")
    write_corpus(Path("made.jsonl"))
    assert Command([*JOB, "-o", "plain", "--store", "plain.sqlite"]).ended() == 0
    assert Command(["score", "-m", "overlap", *DATA, "-o", "plain", "--store", "empty.sqlite"]).ended() == 0
    with closing(sqlite3.connect("empty.sqlite")) as file, file:
        file.execute("DELETE FROM scores")
        file.execute("CREATE TABLE puts (pair BLOB)")
        file.execute("CREATE TRIGGER put AFTER INSERT ON scores BEGIN INSERT INTO puts VALUES (new.pair); END")
    return set(rows(Path("plain.sqlite")))


def interrupted(place: str, stage: str, number: int, expected: Rows, more: list[str], node: Any = None) -> None:
    """Send a signal to a command at a stage, or kill a worker or a node of it, and run it to its end."""
    shutil.rmtree("out", ignore_errors=True)
    Path("log").unlink(missing_ok=True)
    Path("loading").unlink(missing_ok=True)
    shutil.copy("empty.sqlite", "s.sqlite")
    Path("load" if stage == "loading" else "hold").write_text(str(HELD))
    command = Command([*PLACES[place], *more])
    if stage == "joining":
        command.wait(lambda: "_raylet" in Path(f"/proc/{command.process.pid}/maps").read_text())
    else:
        command.wait(Path("loading").exists if stage == "loading" else lambda: len(begun()) >= HELD)
    since = time.monotonic()
    if stage == "worker":
        os.kill(next(each["pid"] for each in reversed(begun()) if running(each["pid"])), number)
    elif node:
        node()
    else:
        command.process.send_signal(number)
    while command.process.poll() is None and not any(at >= since for at, _ in command.lines):
        time.sleep(0.005)
    for name in ("load", "hold"):
        Path(name).unlink(missing_ok=True)
    code = command.ended()
    if code:
        assert Command([*PLACES[place], *more]).ended() == 0
    kept = rows(Path("s.sqlite"))
    lost, twice = len(expected - set(kept)), puts() - len(kept)
    command.report(place, stage, signal.Signals(number).name, since, lost, twice)


def kill_node(node: Any) -> None:
    """Kill a node of Ray with all that runs on it, at once."""
    (raylet,) = (each.process.pid for each in node.all_processes["raylet"])
    stats = [
        (path.parent.name, path.read_text().rpartition(")")[2].split()) for path in Path("/proc").glob("[0-9]*/stat")
    ]
    for pid in [raylet, *(int(name) for name, fields in stats if fields[1] == str(raylet))]:
        os.kill(pid, signal.SIGKILL)


def place_of(place: str, expected: Rows) -> None:
    """Measure all stages of a place."""
    stages = ["joining"] * ("ray" in place or place == "cluster") + ["loading", "scoring"]
    made: Any = None
    more: list[str] = []
    if place == "cluster":
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
        from ray.cluster_utils import Cluster

        memory = {"num_cpus": 1, "object_store_memory": 100_000_000}
        made = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **memory})
        made.add_node(**memory)
        more = ["-s", f"executor.address={made.address}"]
    for stage in stages:
        for number in (signal.SIGTERM, signal.SIGINT):
            interrupted(place, stage, number, expected, more)
    if place != "alone":
        interrupted(place, "worker", signal.SIGKILL, expected, more)
    if made:
        node = made.add_node(**memory)
        lost = [*more, "-s", "executor.workers=3"]
        interrupted(place, "node", signal.SIGKILL, expected, lost, lambda: kill_node(node))
        made.shutdown()


def writing(count: int = 200_000) -> None:
    """Interrupt the writing of a score file."""
    write_table(Path("pairs.parquet"), count)
    table = ["score", "-m", "overlap", "-d", "ratings", "--data", "pairs.parquet", "-q", "--store", "s.sqlite"]
    assert Command([*table, "-o", "first"]).ended() == 0
    for number in (signal.SIGTERM, signal.SIGINT):
        command = Command([*table, "-o", "out"])
        command.wait(lambda: [*Path().glob("out/.*.unfinished")])
        since = time.monotonic()
        command.process.send_signal(number)
        command.ended()
        assert Command([*table, "-o", "out"]).ended() == 0
        same = Path("out/overlap.jsonl").read_bytes() == Path("first/overlap.jsonl").read_bytes()
        shutil.rmtree("out")
        command.report("write", "write", signal.Signals(number).name, since, 0 if same else count, 0)


def token() -> None:
    """Join a cluster that asks for a token, without one."""
    import ray

    keys = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5a" * 32, "RAY_USAGE_STATS_ENABLED": "0"}
    words = "start --head --block --port=6397 --num-cpus=1 --include-dashboard=false --object-store-memory=100000000"
    head = subprocess.Popen(
        [sys.executable, "-m", "ray.scripts.scripts", *words.split()],
        env={**os.environ, **keys},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    own = ["-s", f"executor.address={ray.util.get_node_ip_address()}:6397", "-s", "executor.workers=1"]
    while Command([*PLACES["ray"], *own], **keys).ended():
        assert head.poll() is None
    for sent, variables in (("none", {}), ("wrong", {**keys, "RAY_AUTH_TOKEN": "00" * 32})):
        command = Command([*PLACES["ray"], *own], **{"RAY_AUTH_MODE": "", **variables})
        command.ended()
        command.report("token", "joining", sent, command.began)
    head.terminate()
    head.wait()


def main() -> None:
    """Measure the places that are named."""
    for place in sys.argv[1:] or [*PLACES, "write", "token"]:
        with TemporaryDirectory(prefix="told") as folder:
            os.chdir(folder)
            os.environ["METAEVAL_CACHE"] = f"{folder}/cache"
            expected = prepare()
            if place in PLACES:
                place_of(place, expected)
            elif place == "token":
                token()
            else:
                writing()


if __name__ == "__main__":
    main()
