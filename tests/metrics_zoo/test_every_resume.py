"""Every model metric through a run's own steps: interrupted, resumed, nothing scored twice, the same to the bit."""

import sqlite3
from contextlib import closing

import pytest

import metaeval
from metaeval.runs.score import score_metrics
from metaeval.scoring.score_store import ScoreStore
from tests.metrics_zoo.stand_ins import JOBS, chosen, job_options

pytest.importorskip("torch", reason="needs the extra 'models'")


@pytest.fixture(scope="module")
def texts():
    found = [(pair.source, pair.statement) for pair in metaeval.pairs(dataset="mini")]
    return [*found[::100], ("", "Nothing stands here."), ("A source.", " ")]


@pytest.fixture(scope="module")
def options(tiny, tmp_path_factory):
    return job_options(tiny, tmp_path_factory.mktemp("stand-ins"))


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
