"""A run reads its data once and loads each of its metrics once: calls are counted."""

import json
import sys
from collections import Counter

import pytest

import metaeval
from metaeval.runs import data, metrics, score

TEXT = {"text": "The mayor opened the bridge [1].", "passages": [{"id": "1", "text": "The mayor opened the bridge."}]}
QUICK = ("--set", "interval.resamples=30", "--set", "comparison.permutations=30")


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """How often metrics are loaded and data sets read from now on, by name."""
    counts, load, read = Counter(), metrics.load_metric, data.load_dataset

    def counting(function, name_of):
        def wrapper(*args, **keywords):
            counts[name_of(args[0])] += 1
            return function(*args, **keywords)

        return wrapper

    ours = [module for name, module in sys.modules.items() if name.startswith("metaeval")]
    for module in [module for module in ours if getattr(module, "load_metric", None) is load]:
        monkeypatch.setattr(module, "load_metric", counting(load, str))
    monkeypatch.setattr(data, "load_dataset", counting(read, lambda dataset: dataset.name))
    (tmp_path / "answers.jsonl").write_text(json.dumps({"id": "1", **TEXT}))
    return counts


@pytest.mark.parametrize(
    "command",
    [
        ("run", "-m", "overlap,rouge", *QUICK),
        ("score", "-m", "overlap,rouge"),
        ("compare", "overlap", "rouge", *QUICK),
        ("cite", "alce", "answers.jsonl", "--nli", "overlap,rouge", "--threshold", "0.5", *QUICK[:2]),
    ],
    ids=lambda command: command[0],
)
def test_a_command_loads_each_metric_and_reads_its_data_once(ran, counted, command):
    ran(*command)
    assert counted == {"overlap": 1, "rouge": 1} | ({} if command[0] == "cite" else {"mini": 1})


def test_score_files_are_evaluated_without_loading_a_metric(ran, counted):
    ran("score", "-m", "rouge", "-q")
    counted.clear()
    ran("evaluate", "results/rouge.jsonl", *QUICK)
    assert counted == {"mini": 1}


def test_a_loaded_metric_holds_no_model_after_scoring(tmp_path):
    config = metaeval.core.config.RunConfig(metrics=("minilm-cosine", "overlap"), results=tmp_path)
    loaded = metrics.load_metrics(config.metrics, config)
    before = {name: set(vars(loaded[name])) for name in loaded.names}
    for _, metric, _ in score.score_in(None, [("A bridge.", "A bridge.")], loaded, None, None):
        assert metric not in loaded.by_name.values()
    assert {name: set(vars(loaded[name])) for name in loaded.names} == before
