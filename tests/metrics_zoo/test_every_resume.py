"""Every model metric through a run's own steps: interrupted, resumed, nothing scored twice, the same to the bit."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import metaeval
from metaeval.config import ExecutorConfig, RunConfig
from metaeval.experiment.metrics import score_metrics
from metaeval.experiment.prepared_run import prepare
from metaeval.experiment.sharding import Shard, export_shard, merge_shards
from metaeval.scoring.store import ScoreStore, pair_key

pytest.importorskip("torch", reason="needs the extra 'models'")

HERE = Path(__file__).parent
MINI = HERE.parents[1] / "metaeval" / "corpus" / "loaders" / "mini.jsonl"
JOBS = [
    ("autoais", "autoais-two-way"),
    ("minicheck",),
    ("attrscore",),
    ("hhem",),
    ("alignscore",),
    ("factcc",),
    ("factcg",),
    ("nli:someone/an-nli-model",),
    ("summac-zs", "summac-conv"),
    ("bertscore", "bertscore-recall", "bertscore-f1"),
    ("bartscore", "bartscore-exp"),
    ("cosine",),
]


@pytest.fixture(scope="module")
def texts():
    found = [(pair.source, pair.statement) for pair in metaeval.pairs(dataset="mini")]
    return [*found[::100], ("", "Nothing stands here."), ("A source.", " ")]


@pytest.fixture(scope="module")
def options(tiny, load_module, tmp_path_factory):
    found = load_module(HERE / "stand_ins.py").stand_ins(tiny, tmp_path_factory.mktemp("stand-ins"))
    found["nli"].pop("model")
    variants = {"autoais-two-way": "autoais", "bartscore-exp": "bartscore"}
    variants |= {"bertscore-recall": "bertscore", "bertscore-f1": "bertscore"}
    return {**found, **{variant: found[base] for variant, base in variants.items()}}


def chosen(names, options):
    owners = {name.partition(":")[0] for name in names}
    small = {"batch_tokens": 96}
    return RunConfig(
        metric_options={
            **{name: {**options.get(name, {}), **small} for name in names if ":" not in name},
            **{name: {**options[name], **small} for name in owners if name not in names},
        }
    )


@pytest.mark.parametrize("names", JOBS, ids="+".join)
def test_an_interrupted_job_goes_on_where_it_was(names, options, texts, tmp_path):
    config = chosen(names, options)

    def run(store, progress=None):
        return {name: scored for name, _, scored in score_metrics(texts, names, config, store, progress)}

    with ScoreStore(tmp_path / "whole.sqlite") as store:
        whole = run(store)

    def stop(_label, done, total):
        if 0 < done < total:
            raise KeyboardInterrupt

    with ScoreStore(tmp_path / "cut.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            run(store, stop)
        resumed = run(store)
        again = run(store)
    # As another job would leave it: some pairs of nearly every block. What is scored beside them does not move them.
    with closing(sqlite3.connect(tmp_path / "cut.sqlite")) as plain, plain:
        lost = plain.execute("DELETE FROM scores WHERE substr(hex(pair), 1, 1) < '8'").rowcount
    with ScoreStore(tmp_path / "cut.sqlite") as store:
        mended = run(store)
    assert sum(scored.computed for scored in mended.values()) == lost > 0
    for name in names:
        assert resumed[name].answers == mended[name].answers == whole[name].answers
        assert 0 < resumed[name].computed < resumed[name].unique
        assert again[name].computed == 0
        assert sum(answer.score is not None for answer in whole[name].answers) >= len(texts) - 2


def test_a_group_is_one_pass(options, texts):
    """Metrics that share a model pass are told of together."""
    told = set()
    for names in JOBS:
        list(score_metrics(texts[:3], names, chosen(names, options), None, lambda label, *_: told.add(label)))
    assert told == {" + ".join(names) for names in JOBS}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_give_the_bytes_of_one_process(workers, options, texts, tmp_path):
    models = [name for job in JOBS for name in job]
    names = [*models, "minilm-cosine", "minilm-bertscore", "bm25", "rouge", "support-mini"]
    config = chosen(models, options)
    found = []
    for count in (0, workers):
        told = config.model_copy(update={"executor": ExecutorConfig(workers=count)})
        with ScoreStore(tmp_path / f"{count}.sqlite") as store:
            found.append({name: scored.answers for name, _, scored in score_metrics(texts, names, told, store)})
    assert found[0] == found[1]
    assert found[0].keys() == set(names)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 7])
def test_shards_give_the_bytes_of_one_process(count, options, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    rows = [json.loads(line) for line in MINI.read_text(encoding="utf-8").splitlines()]
    few = [row["id"] for row in rows if row["type"] == "document"][:3]
    citations = [row for row in rows if row["type"] == "citation" and row["document"] in few]
    kept = {*few, *(row["statement"] for row in citations)}
    rows = [row for row in rows if row["type"] == "corpus" or row.get("id") in kept] + citations
    path = tmp_path / "few.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in {json.dumps(row): row for row in rows}.values()))
    models = tuple(name for job in JOBS for name in job)
    data = {
        "dataset": "jsonl",
        "data": path,
        "metrics": (*models, "minilm-cosine", "minilm-bertscore", "bm25", "rouge"),
    }
    config = chosen(models, options).model_copy(update=data)
    for index in range(count):
        list(export_shard(config, Shard(index, count), tmp_path / "shards"))
    with ScoreStore(tmp_path / "merged.sqlite") as merged, ScoreStore(tmp_path / "whole.sqlite") as whole:
        list(merge_shards(tmp_path / "shards", merged))
        found = {
            name: scored for name, _, scored in score_metrics(prepare(config).texts, config.metrics, config, whole)
        }
        assert merged.counts() == whole.counts()
        keys = [pair_key(*pair) for pair in prepare(config).texts]
        for scored in found.values():
            assert merged.find(scored.identity, keys) == whole.find(scored.identity, keys)
            assert len(merged.find(scored.identity, keys)) == scored.unique
