"""SIGKILL of every part of a job: nothing is lost, nothing kept twice, few blocks are begun again."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.scoring.executors.job import begun, running, write_corpus

pytestmark = pytest.mark.slow

WORKERS, KILLS = 2, 2
JOB = ["score", "-m", "toys:Company", "-d", "jsonl", "--data", "made.jsonl", "-q"]
PAUSE = ["-s", "metric_options.toys:Company.pause=0.5"]
LOCAL = ["--executor", "local", "-s", f"executor.workers={WORKERS}"]
STOPPED = "metaeval: stopped. Every finished block is stored; the same command goes on from there.\n"


def start(*words, stderr=subprocess.PIPE):
    return subprocess.Popen([sys.executable, "-m", "metaeval", *words], stderr=stderr, text=True)


def ended(process):
    """Wait for a command that ends well; what it said."""
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return err


def rows(path):
    with closing(sqlite3.connect(path)) as file:
        return set(file.execute("SELECT pair, score, status, tokens, cut, checksum FROM scores"))


@pytest.fixture
def whole(folder):
    """Rows and number of blocks of a run that nobody disturbs; and a store that counts what is put into it."""
    write_corpus(folder / "made.jsonl")
    ended(start(*JOB, "-o", "plain", "--store", "plain.sqlite"))
    count = len(begun())
    Path("log").unlink()
    ended(start("score", "-m", "overlap", *JOB[3:], "-o", "plain", "--store", "s.sqlite"))
    with closing(sqlite3.connect("s.sqlite")) as file, file:
        file.execute("DELETE FROM scores")
        file.execute("CREATE TABLE puts (pair BLOB)")
        file.execute("CREATE TRIGGER put AFTER INSERT ON scores BEGIN INSERT INTO puts VALUES (new.pair); END")
    return rows("plain.sqlite"), count


def check(whole, allowed):
    """Nothing is lost, nothing kept twice, and so many blocks at most were begun again."""
    expected, blocks = whole
    found = rows("s.sqlite")
    assert found == expected
    with closing(sqlite3.connect("s.sqlite")) as file:
        assert file.execute("SELECT COUNT(*) FROM puts").fetchone() == (len(found),)
    times = Counter(str(each["block"]) for each in begun())
    assert len(times) == blocks
    assert times.total() - blocks <= allowed


def wait_until(true):
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def loading():
    """The processes that load the metric."""
    return Path("loading").read_text().split() if Path("loading").exists() else []


def at_work(count):
    """The processes that score, once so many blocks have been begun."""
    wait_until(lambda: len(begun()) >= count)
    return sorted({each["pid"] for each in begun() if running(each["pid"])})


def kill_workers(words):
    """Kill one worker, and when the other blocks are on their way, another one."""
    run = start(*words)
    rng = random.Random(7)
    for number in range(KILLS):
        os.kill(rng.choice(at_work(3 + 4 * number)), signal.SIGKILL)
        time.sleep(0.5)  # until whoever was killed is gone
    ended(run)


def kill_drivers(words, by=signal.SIGKILL):
    """Kill the command itself, and wait until its workers are gone; then the same again, and to the end."""
    for number in range(KILLS):
        run = start(*words)
        at_work(3 + 4 * number)
        run.send_signal(by)
        _, err = run.communicate()
        assert by is signal.SIGKILL or (run.returncode, err) == (128 + by, STOPPED)
        deadline = time.monotonic() + 60
        while any(map(running, {each["pid"] for each in begun()})):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    ended(start(*words))


@pytest.fixture
def actors(cluster):
    address = ["-s", f"executor.address={cluster.address}", "-s", f"executor.workers={WORKERS}"]
    return [*JOB, *PAUSE, "--executor", "ray", *address, "-o", "out", "--store", "s.sqlite"]


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def several(request):
    """A command whose workers are processes, or actors of a cluster."""
    if request.param == "ray":
        return request.getfixturevalue("actors")
    return [*JOB, *PAUSE, *LOCAL, "-o", "out", "--store", "s.sqlite"]


@pytest.mark.parametrize("kill", [kill_workers, kill_drivers, partial(kill_drivers, by=signal.SIGTERM)])
def test_workers_and_drivers(whole, several, kill):
    kill(several)
    check(whole, KILLS * 2 * WORKERS)


@pytest.mark.ray
class TestRay:
    def test_a_node_with_its_children(self, whole, actors, cluster):
        """Four workers on four nodes; the fourth is killed when all are at work."""
        node = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
        cluster.wait_for_nodes()
        Path("hold").touch()
        run = start(*actors, "-s", "executor.workers=4")
        at_work(4)
        cluster.remove_node(node, allow_graceful=False)
        Path("hold").unlink()
        ended(run)
        check(whole, 2 * 4)

    def test_a_node_whose_workers_load(self, whole, actors, cluster):
        """Seven workers load, four of them on one node, which is killed; three in a row would end a run."""
        node = cluster.add_node(num_cpus=4, object_store_memory=100_000_000)
        cluster.wait_for_nodes()
        Path("load").touch()
        with Path("err").open("w") as err:
            run = start(*actors, "-s", "executor.workers=7", stderr=err)
        wait_until(lambda: len(loading()) == 7)
        cluster.remove_node(node, allow_graceful=False)
        wait_until(lambda: " is lost (" in Path("err").read_text())
        Path("load").unlink()
        ended(run)
        said = Path("err").read_text()
        check(whole, 0)
        name = node.node_id[:8]
        lines = [line for line in said.splitlines() if name in line]
        assert lines[0] == f"The Ray node {name} does not answer: waiting until Ray says if it is lost."
        assert lines[1].startswith(f"Node {name} is lost (")
        assert len(lines) == 2
        assert "\x1b" not in said

    def test_a_block_that_is_preempted_three_times(self, whole, actors, cluster):
        """The cluster's cores are taken but for a new node's, which is preempted while it scores a block; thrice."""
        import ray
        from ray._raylet import GcsClient
        from ray.core.generated.autoscaler_pb2 import DrainNodeReason

        class Seat:
            def taken(self):
                return True

        taken = [ray.remote(num_cpus=1)(Seat).remote() for _ in range(3)]
        assert all(ray.get([each.taken.remote() for each in taken]))
        preempted = DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
        Path("hold").touch()
        node = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
        cluster.wait_for_nodes()
        run = start(*actors, "-s", "executor.workers=1")
        for number in range(3):
            at_work(number + 1)
            after = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
            GcsClient(cluster.address).drain_node(node.node_id, preempted, "preempted", 2**63 - 1)
            cluster.remove_node(node, allow_graceful=True)
            node = after
        Path("hold").unlink()
        said = ended(run)
        cluster.remove_node(node, allow_graceful=True)
        for each in taken:
            ray.kill(each)
        check(whole, 3)
        assert len({str(each["block"]) for each in begun()[:3]}) == 1
        assert said.count(" is lost (") == 3

    @pytest.mark.parametrize("workers", [1, 3])
    def test_two_runs_with_one_store(self, workers, whole, actors):
        """With three workers each there is room for one run only, and the other one has claimed blocks."""
        more = ("-s", f"executor.workers={workers}")
        others = [word for word in actors if word not in ("-o", "out")]
        runs = [start(*others, *more, "-o", f"out{number}") for number in range(2)]
        for run in runs:
            ended(run)
        check(whole, 0)

    @pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
    @pytest.mark.parametrize("stage", ["joining", "loading", "waiting"])
    def test_a_signal_at_each_stage(self, stage, by, whole, actors):
        """While the driver joins the cluster, while actors load, and while they find no place."""
        Path("load").touch()
        first = start(*actors, "-s", "executor.workers=3") if stage == "waiting" else None
        if first:
            wait_until(lambda: len(loading()) == 3)
        run = start(*actors)
        if stage == "joining":
            wait_until(lambda: "_raylet" in Path(f"/proc/{run.pid}/maps").read_text())
        elif stage == "loading":
            wait_until(loading)
        else:
            time.sleep(5)
        run.send_signal(by)
        _, err = run.communicate(timeout=120)
        busy = "The Ray cluster is busy: workers wait until 1 of its CPU cores, or a GPU, are free.\n" if first else ""
        assert (run.returncode, err.removeprefix(busy)) == (128 + by, STOPPED)
        assert not rows("s.sqlite")
        Path("load").unlink()
        if first:
            ended(first)
        assert not list(Path().rglob("*.unfinished"))
