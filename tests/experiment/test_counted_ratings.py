"""Ratings in Parquet, counted from disk: the numbers of the same ratings in memory, and sentences for other files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment import counted_ratings
from metaeval.experiment.run import Evaluated, run_scores, write_run
from metaeval.scoring import large_tables
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.scorefile import write_scores

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file is large."""
    monkeypatch.setattr(counted_ratings, "MOST_IN_MEMORY", 0)


def columns(n: int = 3_000, levels: int = 3) -> dict[str, list[Any]]:
    """Two metrics: a continuous one with missing scores, and one of three values, of which one fills several files."""
    rng = np.random.default_rng(levels)
    group = rng.integers(0, 200, n)
    gold = rng.integers(0, levels, n) / 2
    mine = [None if i % 50 == 0 else float(x) for i, x in enumerate(gold + rng.normal(size=n))]
    judge = np.clip(np.round(gold + rng.normal(size=n)), 0, 2)
    return {"group": [f"g{i}" for i in group], "gold": gold.tolist(), "mine": mine, "judge": judge.tolist()}


def write(path: Path, given: dict[str, list[Any]]) -> Path:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(given), path)
    return path


def evaluated(path: Path, **settings: Any) -> Evaluated:
    config = {"dataset": "ratings", "data": path, "metrics": [], "protocols": ["all"], "controls": False}
    return run_scores(RunConfig.model_validate({**config, "results": path.parent / "results", **settings}))


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("method", ["t", "percentile", "bca"])
def test_they_have_the_numbers_of_ratings_in_memory(
    levels: int, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_ratings, "IN_MEMORY", 300)
    monkeypatch.setattr(large_tables, "RATINGS_BATCH", 700)
    given = columns(levels=levels)
    lines = [
        {"id": f"r{i}", "group": group, "gold": gold, "scores": {"mine": mine, "judge": judge}}
        for i, (group, gold, mine, judge) in enumerate(zip(*given.values(), strict=True))
    ]
    in_memory = tmp_path / "rows.jsonl"
    in_memory.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    settings = {"interval": {"method": method, "resamples": 50}, "comparison": {"permutations": 0}}
    expected = {result.protocol: result for result in evaluated(in_memory, **settings).results}
    found = evaluated(write(tmp_path / "rows.parquet", given), **settings)
    assert [result.protocol for result in found.results] == ["classification", "correlation"]
    assert "needs all rows" in found.left_out["retrieval"]
    for result in found.results:
        whole = {row.metric: row for row in expected[result.protocol].rows}
        for row in result.rows:
            assert (row.total, row.scored) == (whole[row.metric].total, whole[row.metric].scored)
            for column in result.columns:
                one, other = row.values[column.key], whole[row.metric].values[column.key]
                assert one.value == other.value
                assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-12)
                assert one.effective == pytest.approx(other.effective)


def test_missing_scores_at_even_distances_leave_files_that_fit_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every 50th row has no score: a sample of every 50th row would know none.
    monkeypatch.setattr(counted_ratings, "IN_MEMORY", 300)
    monkeypatch.setattr(counted_ratings, "SAMPLE", 60)
    given = large_tables.read_counted(write(tmp_path / "rows.parquet", columns()), tmp_path, {}, 8)
    files = counted_ratings._deal(given, "mine", tmp_path)
    assert len(files) > 5
    assert max(path.stat().st_size for path, _ in files) < 3 * 300 * 13


def test_results_are_written_without_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", columns(200))
    found = evaluated(path)
    written = write_run(RunConfig(dataset="ratings", data=path, results=tmp_path / "results"), found, "evaluate")
    names = {one.name for one in written}
    assert {"classification.json", "correlation.txt", "report.html"} <= names
    assert "pairs.jsonl" not in names


FAULTS = {
    "has no column 'group'": {"gold": [0.0, 1.0], "mine": [0.0, 1.0]},
    "has no column of numbers beside group and gold": {"group": ["a", "b"], "gold": [0.0, 1.0], "mine": ["x", "y"]},
    "1 row from row 1 on: no group": {"group": ["a", None], "gold": [0.0, 1.0], "mine": [0.0, 1.0]},
    "2 rows from row 1 on: no group": {"group": [1.0, math.nan, None], "gold": [0.0, 1.0, 1.0], "mine": [0.0, 1.0, 2]},
    "row 2: gold is None": {"group": ["a", "b"], "gold": [0.0, None], "mine": [0.0, 1.0]},
    'gold is "some"; allowed: numbers, or none': {"group": ["a", "b"], "gold": ["none", "some"], "mine": [0.0, 1.0]},
    "gold has more than 8 values": {"group": ["a"] * 9, "gold": [*range(9)], "mine": [0.0] * 9},
    "have one gold value": {"group": ["a", "b"], "gold": [1.0, 1.0], "mine": [0.0, 1.0]},
    "row 2: mine is infinite": {"group": ["a", "b"], "gold": [0.0, 1.0], "mine": [0.0, float("inf")]},
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_file_of_another_form_is_refused(message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        evaluated(write(tmp_path / "rows.parquet", FAULTS[message]))


def scored(path: Path, ids: list[Any], scores: list[float | None]) -> str:
    """Write a score file, whose lowest scores are the best; its name as a metric."""
    answers = [PairScore(None, Status.EMPTY) if score is None else PairScore(-score) for score in scores]
    write_scores(path, [str(one) for one in ids], answers, {"metric": "mine", "direction": -1})
    return f"scores:{path}"


def test_score_files_of_the_same_rows_stand_beside_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = columns()
    ids = [*range(len(given["gold"]))]
    words = ["none", "partial", "full"]
    table = {"id": ids, "group": given["group"], "gold": [words[int(2 * gold)] for gold in given["gold"]]}
    path = write(tmp_path / "rows.parquet", {**table, "judge": given["judge"]})
    file = scored(tmp_path / "mine.parquet", ids, given["mine"])
    monkeypatch.setattr(large_tables, "RATINGS_BATCH", 700)
    (found,) = evaluated(path, metrics=[file], protocols=["correlation"]).results
    monkeypatch.setattr(counted_ratings, "MOST_IN_MEMORY", 10_000)
    (expected,) = evaluated(path, metrics=[file], protocols=["correlation"]).results
    assert [row.metric for row in found.rows] == ["judge", "mine"]
    for row, whole in zip(found.rows, expected.rows, strict=True):
        assert (row.metric, row.scored, row.statuses) == (whole.metric, whole.scored, whole.statuses)
        assert row.values["spearman"].value == whole.values["spearman"].value
    assert "mine@scores" in found.rows[1].signature


@pytest.mark.parametrize(
    ("ids", "message"),
    [(["r0", "r1", "r3"], 'row 3 is of "r3", and in .* this row is "r2"'), (["r0", "r1"], "has 2 rows, and .* has 3")],
)
def test_a_score_file_of_other_rows_is_refused(ids: list[str], message: str, tmp_path: Path) -> None:
    rows = {"id": ["r0", "r1", "r2"], "group": ["a", "b", "c"], "gold": [0.0, 1.0, 1.0]}
    path = write(tmp_path / "rows.parquet", rows)
    with pytest.raises(UserError, match=message):
        evaluated(path, metrics=[scored(tmp_path / "mine.parquet", ids, [0.5] * len(ids))])


def test_an_infinite_score_is_named_with_its_own_file(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", {"group": ["a", "b"], "gold": [0.0, 1.0]})
    scores = write(tmp_path / "theirs.parquet", {"pair_id": ["row 1", "row 2"], "score": [0.0, math.inf]})
    with pytest.raises(UserError, match=r"theirs\.parquet row 2: theirs is infinite"):
        evaluated(path, metrics=[f"scores:{scores}"])


def test_score_files_and_protocols_that_need_rows_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", columns(20))
    with pytest.raises(UserError, match="take score files in Parquet"):
        evaluated(path, metrics=["scores:more.jsonl"])
    with pytest.raises(UserError, match="No protocol asked for can be counted"):
        evaluated(path, protocols=["retrieval"])
    with pytest.raises(UserError, match="no column 'article'"):
        evaluated(path, dataset_options={"group": "article"})
    with pytest.raises(UserError, match="no column theirs"):
        evaluated(path, dataset_options={"metrics": "mine,theirs"})
    with pytest.raises(UserError, match="Option pair"):
        evaluated(path, dataset_options={"pair": "group"})
    unrated = write(
        tmp_path / "unrated.parquet", {"group": ["a"], "rating": pyarrow.array([None], "double"), "mine": [1.0]}
    )
    with pytest.raises(UserError, match="gold is None"):
        evaluated(unrated, dataset_options={"gold": "rating"})
    (tmp_path / "no.parquet").write_text("text")
    with pytest.raises(UserError, match="is not a Parquet file"):
        evaluated(tmp_path / "no.parquet")
