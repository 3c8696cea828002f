"""Decisions of one metric: the decision protocol's own, and what follows from their counts."""

import dataclasses

import numpy as np
import pytest

import metaeval
from metaeval.analyses.cross_validated_decisions import (
    cross_validated_decisions,
    decision_sheets,
    decision_table,
    prepare_decisions,
    scored_rows,
)
from metaeval.analyses.panel import judged, load_panel
from metaeval.core import registry
from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.runs.score import array_column
from metaeval.stats.classification import level_f1, level_recall
from protocols.contract import Resampling

OPTIONS = {"folds": "5", "objective": "macro-f1"}


@pytest.fixture(scope="module")
def settings(scored_folder):
    return {
        "metrics": "overlap,rouge",
        "protocols": "decision",
        "controls": False,
        "evidence": {"rule": "touched"},  # the rule under which the numbers below were found
        "interval": {"resamples": 60},
        "results": scored_folder("deciding"),
    }


@pytest.fixture(scope="module")
def panel(settings):
    return load_panel(load_run(None, settings), True, 1)


@pytest.fixture(scope="module")
def frame(panel):
    return prepare_decisions(panel.config, panel.source)[0]


def test_counts_are_those_of_the_decision_protocols_table(panel, frame):
    result = decision_table(panel, frame, (registry.find("protocol", "decision"), OPTIONS))

    for column, row in zip(panel.columns, result.rows, strict=True):
        found = cross_validated_decisions(frame, column, OPTIONS)
        assert found.counts.sum() == row.scored == 1054
        assert level_f1(found.counts * 1.0).mean() == pytest.approx(row.values["macro_f1"].value, abs=1e-12)
        assert level_recall(found.counts * 1.0).mean() == pytest.approx(
            row.values["balanced_accuracy"].value, abs=1e-12
        )


def test_the_rate_alone_has_its_binomial_brier_score_and_calibration_beats_it(panel, frame):
    calibrations = cross_validated_decisions(frame, panel.columns[0], OPTIONS).calibrations
    full, supported = calibrations["full"], calibrations["full or partial"]

    # 124 full, 103 partial, 827 none; the Brier score of one probability p for all is p (1 - p).
    assert full.brier_of_rate == pytest.approx(124 / 1054 * (1 - 124 / 1054))
    assert supported.brier_of_rate == pytest.approx(227 / 1054 * (1 - 227 / 1054))
    assert full.brier < full.brier_of_rate
    assert supported.brier < supported.brier_of_rate
    assert full.rows.sum() == 1054


def test_sheets_hold_every_fold_level_target_and_bin(panel, frame, recorded):
    found = [cross_validated_decisions(frame, column, OPTIONS) for column in panel.columns]

    sheets = decision_sheets(panel, frame, OPTIONS, found)
    recorded.held("analyses-decisions", {sheet.name: recorded.sheet(sheet) for sheet in sheets} | {"found": found})


def test_a_level_that_is_never_decided_is_said_and_has_no_threshold(panel, frame, recorded):
    # Scores that know full from the rest and nothing else: no two cuts part partial from none.
    gold = dict(zip(frame.numbers.tolist(), frame.gold.tolist(), strict=True))
    score = np.array([float(gold.get(number, 0.0) == 2) for number in range(len(panel.source.rows))])
    column = array_column("full or not", score, {"metric": "x"})

    found = cross_validated_decisions(frame, column, OPTIONS)
    thresholds, levels, *_ = sheets = decision_sheets(panel, frame, OPTIONS, [found])
    recorded.held("analyses-never-decided", {sheet.name: recorded.sheet(sheet) for sheet in sheets})

    assert {record["note"] for record in thresholds.records} == {"never partial"}
    (never,) = (note for note in thresholds.footer if note.label == "never decided")
    assert never.items == (("full or not", "never partial (5 folds)"),)
    assert [record["precision"] for record in levels.records] == [1.0, None, pytest.approx(827 / 930)]
    assert any("undefined (–) for a level that is never decided" in note.text for note in levels.footer)


@pytest.mark.parametrize(
    ("left_out", "low", "high"), [(1, "none", "full"), (2, "none", "partial"), (0, "partial", "full")]
)
def test_two_levels_are_decided_as_the_protocol_decides_them(panel, frame, left_out, low, high):
    kept = frame.gold != left_out
    columns = {name: getattr(frame, name)[kept] for name in ("gold", "numbers", "group", "pool")}
    two = dataclasses.replace(frame, **columns)
    column = panel.columns[0]
    rows = judged(two, column)
    outcome = registry.find("protocol", "decision").evaluate(rows, Resampling(n=0), OPTIONS)

    found = cross_validated_decisions(two, column, OPTIONS)
    thresholds, levels, calibration, _ = decision_sheets(panel, two, OPTIONS, [found])

    assert level_f1(found.counts * 1.0).mean() == pytest.approx(outcome.estimates["macro_f1"].value, abs=1e-12)
    assert [record[f"{high}_from"] for record in thresholds.records] == found.thresholds[:, 0].tolist()
    shown = [(record["level"], record["rows"]) for record in levels.records]
    assert shown == [(name, np.sum(rows.gold == ("none", "partial", "full").index(name))) for name in (high, low)]
    assert [record["target"] for record in calibration.records] == ["full or partial" if high == "partial" else "full"]


def test_a_metric_without_a_score_at_some_level_is_refused(panel, frame):
    gold = dict(zip(frame.numbers.tolist(), frame.gold.tolist(), strict=True))
    score = np.array([np.nan if gold.get(n) == 1 else float(n) for n in range(len(panel.source.rows))])

    with pytest.raises(UserError, match="scored no row of mini of level partial"):
        cross_validated_decisions(frame, array_column("gaps", score, {"metric": "x"}), OPTIONS)


def test_folds_that_the_groups_do_not_fill_are_refused(panel, frame):
    with pytest.raises(UserError, match=r"overlap scored 28 groups of mini, fewer than 29 folds"):
        scored_rows(frame, panel.columns[0], 29)
    assert scored_rows(frame, panel.columns[0], 28).score.size == 1054


SHEETS = ("decision-thresholds", "decision-levels", "calibration", "reliability")


def test_a_table_with_levels_has_the_decisions_of_the_corpus(ten_documents, tmp_path, monkeypatch):
    """The pairs of a corpus as a table of ratings: scored there, elsewhere, or with a column of scores."""
    monkeypatch.chdir(tmp_path)
    whole = {"dataset": "jsonl", "data": ten_documents}
    quick = {"interval": {"resamples": 0}, "comparison": {"permutations": 0}, "controls": False}
    pairs = metaeval.pairs(**whole).to_frame()
    pairs["level"] = pairs["level"].map({2: "full", 1: "partial", 0: "none"})
    pairs = pairs[pairs["level"].notna()][["pair_id", "group", "level", "statement", "source"]]
    known = metaeval.thresholds(metrics=["overlap"], **whole, **quick)
    scored = metaeval.score("overlap", list(pairs["source"]), list(pairs["statement"])).to_frame()["score"].tolist()
    pairs.to_csv("pairs.csv", index=False)
    pairs.assign(score=scored)[["pair_id", "score"]].to_csv("overlap.csv", index=False)
    pairs.assign(overlap=scored).drop(columns="source").to_csv("scored.csv", index=False)
    given = {"pairs.csv": {"metrics": ["overlap"]}, "scored.csv": {}, "./pairs.csv": {"metrics": ["overlap.csv"]}}
    for path, named in given.items():
        found = metaeval.thresholds(dataset="ratings", data=path, **named, **quick)
        for sheet in SHEETS:
            assert [dict(one, metric="") for one in found[sheet].records] == [
                dict(one, metric="") for one in known[sheet].records
            ]
    learnt = metaeval.thresholds(learn=True, metrics=["overlap"], dataset="ratings", data="pairs.csv", **quick)
    of_corpus = metaeval.thresholds(learn=True, metrics=["overlap"], unit="chunk", **whole, **quick)
    assert learnt["calibration"].records == of_corpus["calibration"].records
    with pytest.raises(UserError, match="cannot score new pairs"):
        metaeval.thresholds(learn=True, metrics=["overlap"], dataset="ratings", data="scored.csv", **quick)


def test_ratings_that_are_no_levels_have_no_decisions_and_nothing_is_scored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{n},Bridge {n} was opened.,It opened.,{n / 4}\n" for n in range(8))
    (tmp_path / "p.csv").write_text(f"id,source,statement,human\n{rows}")
    for more in ({}, {"learn": True}):
        with pytest.raises(UserError, match="holds ratings"):
            metaeval.thresholds(
                metrics=["overlap"], dataset="ratings", data="p.csv", store=tmp_path / "s.sqlite", **more
            )
    assert not (tmp_path / "s.sqlite").exists()
