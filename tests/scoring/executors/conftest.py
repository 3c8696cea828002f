"""A current folder with metrics of one's own in it, and a cluster of Ray on this machine."""

import os
import shutil
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with the metrics in it."""
    shutil.copy(Path(__file__).with_name("toys.py"), tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture(scope="session")
def cluster():
    """A head and two nodes, of one core each; the driver is connected to it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # no token is written to the home folder
    ray = pytest.importorskip("ray", reason="needs the extra 'ray'")
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 100_000_000}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **memory})
    for _ in range(2):
        made.add_node(num_cpus=1, **memory)
    ray.init(address=made.address, logging_level="error", log_to_driver=False)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()
