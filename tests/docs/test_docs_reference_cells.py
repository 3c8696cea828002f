"""The tables of the reference results, of packs on somebody's own file, against scikit-learn and scipy."""

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from benchmarks.reference.cells import load, set_tables
from tests.conftest import MINI

OWN = {"title": "Own", "dataset": "jsonl", "unit": "page", "language": "en", "commercial": True}


@pytest.fixture(scope="module")
def source():
    """The shipped corpus as somebody's own file, in pages: 30 statements or more on three levels."""
    return load(OWN, MINI)


@pytest.fixture
def pack(tmp_path):
    """Writes a pack: pack(scores by id, hash of the data) is its folder and card."""

    def write(given, data, metric="mine"):
        folder = tmp_path / metric
        folder.mkdir()
        rows = (f"{one},,failed" if score is None else f"{one},{score},ok" for one, score in given.items())
        (folder / "own.csv").write_text("\n".join(["pair,score,status", *rows, ""]))
        card = {"metric": metric, "version": "1", "signature": f"{metric}@v1", "licence": "MIT", "needs": "cpu"}
        scores = {"own": {"file": "own.csv", "data": data}}
        return {folder: {**card, "date": "2026-01-02", "scores": scores}}

    return write


def good(source, seed=0, noise=1.0):
    """Scores that follow the levels."""
    draw = np.random.default_rng(seed)
    return {row.id: round(float(row.level or 0) + noise * draw.normal(), 3) for row in source.rows}


def cell(tables, measure, metric="mine"):
    (row,) = [one for one in tables.cells if (one["measure"], one["metric"]) == (measure, metric)]
    return row


def test_a_cell_has_the_values_of_scikit_learn_and_scipy_and_says_where_it_is_from(pack, source):
    scores, data = good(source), source.corpus.fingerprint

    tables = set_tables("own", OWN, source, pack(scores, data))

    known = {row.id: int(row.level) for row in source.rows if row.level is not None}
    ends = [one for one in known if known[one] != 1]
    expected = roc_auc_score([known[one] == 2 for one in ends], [scores[one] for one in ends])
    row = cell(tables, "fs_ns")
    assert float(row["value"]) == pytest.approx(expected, abs=1e-6)
    assert float(cell(tables, "kendall")["value"]) == pytest.approx(
        kendalltau(list(known.values()), [scores[one] for one in known]).statistic, abs=1e-6
    )
    assert (row["n"], row["groups"]) == (str(len(known)), str(len({r.group for r in source.rows if r.id in known})))
    assert float(row["low"]) < expected < float(row["high"])
    assert (row["alone"], row["best"], row["stale"], row["language"], row["licence"]) == ("yes", "", "", "en", "MIT")
    assert (row["date"], row["data"], row["seconds_per_1000"]) == ("2026-01-02", data, "unknown")
    assert {one["kind"] for one in tables.cells} == {"metric", "control"}


def test_ranks_and_tests_come_from_the_rows_that_all_metrics_have_scored(pack, source):
    scores, data = good(source), source.corpus.fingerprint
    level = {row.id: int(row.level) for row in source.rows if row.level is not None}
    known = [*level]
    lacking = {one: None if one in known[:4] else score for one, score in good(source, 1, 40.0).items()}

    tables = set_tables("own", OWN, source, pack(scores, data) | pack(lacking, data, "other"))

    ends = [one for one in known[4:] if level[one] != 1]
    both = cell(tables, "fs_ns"), cell(tables, "fs_ns", "other")
    assert [int(row["n"]) for row in both] == [len(known), len(known) - 4]
    assert {int(row["common_rows"]) for row in both} == {len(known) - 4}
    assert float(both[0]["common_value"]) == pytest.approx(
        roc_auc_score([level[one] == 2 for one in ends], [scores[one] for one in ends]), abs=1e-6
    )
    assert {row["alone"] for row in both} == {"no"}
    (test,) = [row for row in tables.tests if row["measure"] == "fs_ns"]
    assert int(test["rows"]) == len(known) - 4
    assert both[0]["best"] == "yes"
    assert both[1]["best"] == ("no" if float(test["holm"]) <= 0.05 else "yes")


def test_scores_of_other_data_are_marked_and_not_ranked(pack, source):
    data = source.corpus.fingerprint
    packs = pack(good(source), data) | pack(good(source, 1), data, "other")
    packs |= pack({"of other data": 1.0, **good(source, 2)}, "0" * 64, "elsewhere")

    tables = set_tables("own", OWN, source, packs)

    row = cell(tables, "fs_ns", "elsewhere")
    assert (row["stale"], row["rank_low"], row["best"]) == ("other data", "", "")
    assert {(row["one"], row["other"]) for row in tables.tests} == {("mine", "other")}
