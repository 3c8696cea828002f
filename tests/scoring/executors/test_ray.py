"""Actors of a real cluster, a head and two nodes on this machine: the bytes of one process, whoever is killed."""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="needs the extra 'ray'")

from metaeval.core.config import RunConfig  # noqa: E402
from metaeval.core.errors import UserError  # noqa: E402
from metaeval.runs.score import score_metrics  # noqa: E402
from metaeval.scoring.contract import Status  # noqa: E402
from tests.scoring.executors.job import ALL, TEXTS, begun  # noqa: E402

pytestmark = [pytest.mark.ray, pytest.mark.slow]


def scored(names=("toys:Company",), workers=None, texts=TEXTS, progress=None, **options):
    executor = {} if workers is None else {"name": "ray", "workers": workers}
    config = RunConfig(executor=executor, metric_options={"toys:Company": options} if options else {})
    return {name: found for name, _, found in score_metrics(texts, names, config, None, progress)}


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_actors_give_the_bytes_of_one_process(workers, cluster):
    one = scored(ALL)
    alone = begun()
    Path("log").unlink()
    assert scored(ALL, workers, pause=0.2) == one  # until all have started
    assert Counter(str(each["block"]) for each in begun()) == Counter(str(each["block"]) for each in alone)
    assert len({each["pid"] for each in begun()}) == workers


def test_a_poisoned_pair_has_failed_and_an_error_is_carried_over(cluster):
    texts = [("poison" * 30, "This cannot be read."), *TEXTS[:20]]
    found = scored(workers=2, texts=texts)["toys:Company"].answers
    assert [answer.status for answer in found] == [Status.FAILED, *[Status.OK] * 20]
    with pytest.raises(UserError, match=r"^This text is refused: mend it\.$"):
        scored(workers=2, texts=[*TEXTS, ("refused", "It ends the run.")])


def test_every_worker_has_the_most_cores_with_which_all_are_placed():
    from metaeval.scoring.executors.ray import share

    assert share([(1, 0)] * 3, 1) == 1
    assert share([(16, 0)] * 4, 4) == 16
    assert share([(16, 0)] * 4, 5) == 8
    assert share([(2, 0), (1, 0)], 4) == 0
    assert share([(16, 8), (64, 0)], 8) == 2  # the node without a GPU takes none of them


def test_a_cluster_that_is_not_there_is_said(tmp_path):
    """In a process of its own: this one has joined a cluster, and would stay in it."""
    command = [sys.executable, "-m", "metaeval", "score", "-m", "overlap", "--executor", "ray"]
    ended = subprocess.run(
        [*command, "-s", "executor.address=127.0.0.1:1"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    says = r"^metaeval: No Ray cluster answers at 127\.0\.0\.1:1 .*ray start --head"
    assert re.search(says, ended.stderr, re.MULTILINE)


def test_workers_come_and_go_with_the_nodes(cluster):
    one = scored()["toys:Company"]
    blocks = len(begun())
    Path("log").unlink()

    def working(count):
        deadline = time.monotonic() + 120
        while len({each["pid"] for each in begun()}) < count:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    with ThreadPoolExecutor(1) as aside:  # Ray starts nodes in the main thread alone
        config = RunConfig(executor={"name": "ray", "workers": "2:4"}, metric_options={"toys:Company": {"pause": 1.5}})
        run = aside.submit(lambda: list(score_metrics(TEXTS, ["toys:Company"], config)))
        working(2)
        nodes = [cluster.add_node(num_cpus=1, object_store_memory=100_000_000) for _ in range(2)]
        working(4)
        for node in nodes:
            cluster.remove_node(node, allow_graceful=False)
        ((_, _, found),) = run.result()
    assert found.answers == one.answers
    assert len({each["pid"] for each in begun()}) in (4, 5)  # of five nodes, and one that took a lost one's place
    times = Counter(str(each["block"]) for each in begun())
    assert len(times) == blocks
    assert sum(times.values()) - blocks <= 2 * 2


def test_actors_share_a_node_by_what_ray_gives_them(cluster):
    """Two nodes of four cores, two actors each: every actor uses two threads, and no cores are bound."""
    nodes = [cluster.add_node(num_cpus=4, object_store_memory=100_000_000) for _ in range(2)]
    cluster.wait_for_nodes()
    Path("hold").touch()
    with ThreadPoolExecutor(1) as aside:
        run = aside.submit(scored, workers=4)
        deadline = time.monotonic() + 120
        while len(begun()) < 4 and not run.done():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        Path("hold").unlink()
        run.result()
    for node in nodes:
        cluster.remove_node(node, allow_graceful=True)
    places = {each["pid"]: each for each in begun()}.values()
    mine = sorted(os.sched_getaffinity(0))
    assert len(places) == 4
    assert all(place["cores"] == mine for place in places)
    assert all(place["threads"] == [min(2, len(mine)), "2"] for place in places)
