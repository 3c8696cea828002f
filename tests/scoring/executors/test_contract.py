"""Every bundled metric's stand-in at every place: the rows that one process stores, to the bit."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra 'models'")

import metaeval
from metaeval.core import registry
from metaeval.core.config import ExecutorConfig
from metaeval.runs.data import prepare
from metaeval.runs.metrics import load_metric, load_metrics
from metaeval.runs.score import score_in, worker_pool
from metaeval.scoring.contract import Combination
from metaeval.scoring.executors.local import ProcessPool, places
from metaeval.scoring.score_store import ScoreStore
from tests.metrics_zoo.stand_ins import JOBS, chosen, job_options

pytestmark = pytest.mark.slow

MINI = Path(metaeval.__file__).parent / "corpus" / "loaders" / "mini.jsonl"
MODELS = tuple(name for job in JOBS for name in job)
METRICS = (*MODELS, *"overlap rouge bm25 support-mini minilm-cosine minilm-bertscore".split())
KEYS = "key, pair, score, status, tokens, cut, checksum"


@pytest.fixture(scope="module")
def config(tiny, tmp_path_factory):
    """A run of all metrics over a part of the mini corpus, in blocks of a few pairs."""
    folder = tmp_path_factory.mktemp("contract")
    rows = [json.loads(line) for line in MINI.read_text(encoding="utf-8").splitlines()]
    first = next(row["id"] for row in rows if row["type"] == "document")
    citations = [row for row in rows if row["type"] == "citation" and row["document"] == first][::5]
    kept = {first, *(row["statement"] for row in citations)}
    lines = [json.dumps(row) for row in rows if row["type"] == "corpus" or row.get("id") in kept]
    path = folder / "few.jsonl"
    path.write_text("".join(f"{line}\n" for line in dict.fromkeys([*lines, *map(json.dumps, citations)])))
    data = {"dataset": "jsonl", "data": path, "metrics": METRICS, "chunk": {"size": 60}}
    run = chosen(MODELS, job_options(tiny, folder), batch_tokens=24).model_dump(exclude_unset=True)
    return metaeval.RunConfig(**{**run, **data})


def stored(path):
    with closing(sqlite3.connect(path)) as file:
        return set(file.execute(f"SELECT {KEYS} FROM scores JOIN metrics ON id = metric"))


def scored(config, pool, path):
    with ScoreStore(path) as store:
        for _ in score_in(pool, prepare(config).texts, load_metrics(METRICS, config), store, None):
            pass
    return stored(path)


@pytest.fixture(scope="module")
def alone(config, tmp_path_factory):
    """What one process stores."""
    return scored(config, None, tmp_path_factory.mktemp("alone") / "scores.sqlite")


def test_every_bundled_metric_that_workers_score_is_here(config):
    def elsewhere(name):
        if name in ("ensemble", "worker"):  # needs a setting to be made: other metrics, a command
            return True
        metric = load_metric(name, config)
        return metric.where == "driver" or isinstance(metric, Combination)

    bundled = {name for name in registry.names("metric") if not elsewhere(name)}
    assert {name.partition(":")[0] for name in METRICS} >= bundled


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_local_workers(workers, config, alone, tmp_path):
    with closing(ProcessPool(places(workers))) as pool:
        assert scored(config, pool, tmp_path / "scores.sqlite") == alone
    assert len({key for key, *_ in alone}) == len(METRICS)


@pytest.mark.ray
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_actors_of_a_cluster(workers, config, alone, cluster, tmp_path):
    executor = ExecutorConfig(name="ray", workers=workers)
    with worker_pool(config.model_copy(update={"executor": executor})) as pool:
        assert scored(config, pool, tmp_path / "scores.sqlite") == alone
