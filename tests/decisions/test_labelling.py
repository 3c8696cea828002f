"""From files to estimates: items and labels as people have them, and what is refused."""

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from metaeval.core.errors import UserError
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.estimate import estimate, estimate_sheet
from metaeval.decisions.item_labels import labelled_sample, labels_of
from metaeval.decisions.label_sampling import draw
from metaeval.decisions.sample_check import check_sample


def citations(n=120, answers=40, seed=0, system=""):
    """Rows of a table: the score is high where the level is full, with noise."""
    chance = random.Random(seed)
    rows = []
    for number in range(n):
        level = chance.choice(["full", "full", "partial", "none"])
        score = round({"full": 0.8, "partial": 0.5, "none": 0.2}[level] + chance.gauss(0, 0.1), 4)
        text = {"id": f"c{number}", "answer_id": f"a{number % answers}", "statement": f"word{number} is so"}
        rows.append({**text, "passage": f"They say word{number}", "metric": score, "truth": level, "system": system})
    return rows


def drawn(rows, n, seed=1):
    return {row["id"]: row["truth"] for row in random.Random(seed).sample(rows, n)}


FRAMES = {
    "list": list,
    "pandas": lambda rows: pytest.importorskip("pandas").DataFrame(rows),
    "pyarrow": lambda rows: pytest.importorskip("pyarrow").Table.from_pylist(rows),
    "narwhals": lambda rows: pytest.importorskip("narwhals").from_native(FRAMES["pandas"](rows)),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_data_frames_are_read_as_the_rows_that_they_hold(frame):
    rows = citations(60, 60)
    labels = [{"id": key, "level": level} for key, level in drawn(rows, 20).items()]
    expected = estimate(rows, dict(drawn(rows, 20)), "metric")["full"]
    assert estimate(frame(rows), frame(labels), "metric")["full"] == expected
    answers = [{"id": "a", "text": "Rain [1].", "passages": [{"text": "It rained.", "title": "Sky"}], "extra": 1}]
    assert [row.source for row in items_of(frame(answers)).rows] == ["Title: Sky\nIt rained."]


def test_an_estimate_from_records_holds_the_truth_and_all_labels_are_exact():
    rows = citations(400, 400)
    found = estimate(rows, drawn(rows, 80), "metric")
    truth = sum(row["truth"] == "full" for row in rows) / 400
    assert found["full"].low < truth < found["full"].high
    assert found["full"].saved > 20
    assert found["full"].alone[2] - found["full"].alone[1] > found["full"].high - found["full"].low
    assert found["none"].value + found["precision"].value == pytest.approx(1)
    process = estimate(rows, drawn(rows, 80), "metric", estimand="process")
    assert process["full"].high - process["full"].low > found["full"].high - found["full"].low
    rows = [{**row, "truth": "full" if number < 59 else "none"} for number, row in enumerate(citations(60, 60))]
    found = estimate(rows, {row["id"]: row["truth"] for row in rows}, "metric")
    assert found["full"].value == found["full"].low == 59 / 60
    assert found["partial"].high == 0.0


@pytest.mark.parametrize("estimand", ["set", "process"])
def test_a_level_that_no_label_has_is_bounded(estimand):
    rows = [{**row, "truth": "full" if row["truth"] == "partial" else row["truth"]} for row in citations(400, 400)]
    found = estimate(rows, drawn(rows, 80), "metric", estimand=estimand)["partial"]
    # The rule of three: 1 - .05^(1/80) = .0368.
    assert (found.value, found.low, found.high) == (0.0, 0.0, pytest.approx(1 - 0.05 ** (1 / 80), abs=1e-12))
    assert found.record["status"] == found.status != ""
    (line,) = [
        line for line in estimate_sheet(estimate(rows, drawn(rows, 80), "metric")).lines if "partial" in line.name
    ]
    assert "0.0–3.7" in line.cells[0].interval


@pytest.mark.parametrize("estimand", ["set", "process"])
def test_statements_without_a_citation_count_in_the_recall_and_in_its_difference(estimand):
    rows = citations(160, 160, 1)
    one = replace(items_of(rows), name="x", uncited=tuple(row["answer_id"] for row in rows[:40]))
    other = replace(items_of([{**row, "id": f"b{row['id']}"} for row in rows]), name="y")
    labels = drawn(rows, 60)
    found = estimate(one, labels | {f"b{key}": level for key, level in labels.items()}, "metric", other, estimand)
    first, second = (found_ for found_ in found.estimates if found_.measure == "recall")
    assert first.value == pytest.approx(second.value * 160 / 200)
    assert [text.split()[:2] for label, text in found.notes if label == "recall"] == [["x:", "40"]]
    (recall,) = [found_ for found_ in found.differences if found_.measure == "recall"]
    assert recall.value == pytest.approx(first.value - second.value)
    if estimand == "process":  # how many there are is known from these answers only
        assert first.high - first.low > (second.high - second.low) * 160 / 200


def items(rows, name):
    return replace(items_of(rows), name=name)


def test_labels_that_are_no_sample_are_refused_with_the_reason():
    rows = citations(200, 200)
    first = {row["id"]: row["truth"] for row in rows[:50]}
    with pytest.raises(UserError, match=r"not a random sample of the 200"):
        estimate(rows, first, "metric")
    worst = {row["id"]: row["truth"] for row in sorted(rows, key=lambda row: row["metric"])[:50]}
    with pytest.raises(UserError, match=r"not a random sample of the 200: their mean score of metric"):
        estimate(rows, worst, "metric")
    assert estimate(rows, first, "metric", assume_sample=True)["full"].labels == 50


def test_the_p_of_a_weighted_sample_is_a_normal_deviates_for_the_metric_and_the_place(monkeypatch):
    monkeypatch.setattr("metaeval.decisions.sample_check.ODDS", 1.0)
    rows = sorted(citations(60, 60), key=lambda row: row["metric"])
    rows = [{**row, "id": f"r{n:02}", "statement": "It is so", "passage": "They say"} for n, row in enumerate(rows)]
    chance = np.where(np.arange(60) < 30, 0.8, 0.2)
    picked = np.r_[0:20, 30:36]
    labels = [{"id": rows[n]["id"], "label": "full", "probability": chance[n]} for n in picked]
    items = items_of(rows)
    weight = 60 / chance[picked] / (1 / chance[picked]).sum()
    ranks = np.arange(60) / 60 - np.arange(60).mean() / 60
    usual = (ranks**2).sum() * (weight**2).sum() / weight.sum()
    z = abs((weight * ranks[picked]).sum()) / np.sqrt(max(usual, ((weight * ranks[picked]) ** 2).sum()))
    metric = np.array([row["metric"] for row in rows])
    with pytest.raises(UserError) as refused:
        check_sample(items, labelled_sample(items, labels_of(labels, items)), {"metric": metric})
    assert f"(p {2 * 2 * norm.sf(z):.1g};" in str(refused.value)


@pytest.mark.parametrize("design", ["random", "stratified", "uncertain"])
def test_samples_with_long_texts_are_refused_no_more_often_than_said(monkeypatch, design):
    # In one draw of 17 the t-test of means refused stratified samples of lognormal lengths, at a level of .02.
    random = np.random.default_rng(1)
    rows = [{**row, "passage": "so " * int(5 * np.exp(1.2 * random.normal()) + 1)} for row in citations(360, 90)]
    items = items_of(sorted(rows, key=lambda row: row["metric"]))
    monkeypatch.setattr("metaeval.decisions.sample_check.ODDS", 0.02)
    refused = 0
    for seed in range(60):
        drawing = draw(items, 60, design, metric="metric", seed=seed)
        sheet = [{**record, "level": "full"} for record in drawing.records]
        try:
            check_sample(items, labelled_sample(items, labels_of(sheet, items)), {})
        except UserError:
            refused += 1
    assert refused <= 5  # more than 5 of 60 at .02: a chance of .002


@pytest.mark.parametrize(("labelled", "unit"), [(("c0", "c1"), "item"), (("c0", "c2", "c3"), "answer")])
def test_answers_are_the_unit_where_one_of_several_items_is_labelled_whole(labelled, unit):
    # Answers a0 and a1 of one item each, a2 of two: labels of single items alone are a sample of items.
    rows = [{**row, "answer_id": f"a{number}"} for row, number in zip(citations(4), (0, 1, 2, 2), strict=True)]
    items = items_of(rows)
    assert labelled_sample(items, labels_of(dict.fromkeys(labelled, "full"), items)).unit == unit


@pytest.mark.parametrize(("n", "strata"), [(9, 1), (20, 2), (49, 4), (100, 5)])
def test_a_stratified_draw_has_up_to_five_strata_of_ten_items_each(n, strata):
    drawing = draw(items_of(citations(200, 200)), n, "stratified", metric="metric")
    assert sorted(set(drawing.stratum)) == [f"score {number} of {strata}" for number in range(1, strata + 1)]
    # In proportion to the strata's sizes, which are equal: each item has the same probability.
    assert drawing.probability == pytest.approx(np.full(n, n / 200), rel=0.2)
