"""From files to estimates: items and labels as people have them, and what is refused."""

import json
import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from metaeval.core.errors import UserError
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.estimate import estimate, estimate_sheet
from metaeval.decisions.item_labels import labelled_sample, labels_of
from metaeval.decisions.label_sampling import draw, uncertain_sizes
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


def test_answers_with_marks_are_items(tmp_path):
    lines = [
        {"id": "a1", "text": "It rained [1]. It stopped [1][2]. Nobody knows. See [7].", "group": "q1"},
        {"id": "a2", "text": "No marks here."},
    ]
    passages = [{"text": "Rain fell."}, {"title": "Sun", "text": "Then the sun came."}]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps({**line, "passages": passages}) + "\n" for line in lines))
    items = items_of(path)
    assert [row.id for row in items.rows] == ["a1/1[1]", "a1/2[1]", "a1/2[2]"]
    assert items.rows[2].source == "Title: Sun\nThen the sun came."
    assert {row.group for row in items.rows} == {"q1"}
    assert items.uncited == ("q1", "q1", "a2")  # "Nobody knows.", "See [7]." and the whole of a2


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


def test_tables_of_passages_and_of_whole_answers_are_items(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("Claim;Passage 1;Passage 2;Question\nIt rained;Rain fell.;;q\nSun shone;Rain;Sun;q\n")
    items = items_of(path)
    assert [row.source for row in items.rows] == ["Rain fell.", "Rain\n\nSun"]
    assert [row.id for row in items.rows] == ["1", "2"]
    assert {row.group for row in items.rows} == {"q"}
    path = tmp_path / "mine.csv"
    path.write_text('nr,Response,Sources\n7,"It rained [1]. Sun shone [2].","[1] Rain fell.\n[2] The sun shone."\n')
    items = items_of(path)
    assert [(row.id, row.source) for row in items.rows] == [("7/1[1]", "Rain fell."), ("7/2[2]", "The sun shone.")]


def test_a_corpus_may_lack_levels(tmp_path):
    path = tmp_path / "c.jsonl"
    lines = [
        {"type": "corpus", "format": "metaeval-corpus/1", "name": "mine"},
        {"type": "document", "id": "d", "text": "Rain fell."},
        {"type": "statement", "id": "s", "text": "It rained."},
        {"type": "statement", "id": "t", "text": "Sun."},
        {"type": "citation", "statement": "s", "document": "d"},
        {"type": "citation", "statement": "t", "document": "d", "level": "none"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [row.level for row in items_of(path).rows] == [None, 0]


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


def test_blank_labels_and_missing_scores_are_counted():
    rows = [{**row, "metric": None if number < 7 else row["metric"]} for number, row in enumerate(citations(60, 60))]
    labels = [{"id": row["id"], "level": row["truth"] if number % 4 else ""} for number, row in enumerate(rows[::3])]
    notes = dict(estimate(rows, labels, "metric").notes)
    assert [notes[name].split()[:2] for name in ("not judged", "unscored")] == [["5", "drawn"], ["7", "items"]]


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


def test_whole_answers_are_seen_and_recall_is_told_where_statements_are_whole():
    rows = citations(120, 40)
    chosen = set(random.Random(3).sample(range(40), 15))
    labels = {row["id"]: row["truth"] for row in rows if int(row["answer_id"][1:]) in chosen}
    items = items_of(rows)
    assert labelled_sample(items, labels_of(labels, items)).unit == "answer"
    assert estimate(rows, labels, "metric")["recall"].labels == 45
    rows = [{**row, "statement": f"s{number // 2}", "answer_id": "a"} for number, row in enumerate(citations(80, 40))]
    found = estimate(rows, drawn(rows, 30), "metric")
    assert "recall" not in [one.measure for one in found.estimates]
    assert any(label == "recall" and "not estimated" in text for label, text in found.notes)


def test_systems_on_the_same_questions_differ_by_what_their_labels_say():
    one, other = citations(200, 200, 1), citations(200, 200, 2)
    for row in other:
        row["id"] = f"b{row['id']}"
    labels = drawn(one, 60) | drawn(other, 60)
    found = estimate(items(one, "x"), labels, "metric", other=items(other, "y"))
    (full,) = [found_ for found_ in found.differences if found_.measure == "full"]
    true = (sum(r["truth"] == "full" for r in one) - sum(r["truth"] == "full" for r in other)) / 200
    assert full.low < true < full.high


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


def test_probabilities_of_the_file_undo_a_design():
    rows = citations(600, 600)
    chance = random.Random(5)
    labels = []
    for row in rows:
        p = 0.6 if row["truth"] == "none" else 0.1
        if chance.random() < p:
            labels.append({"id": row["id"], "label": row["truth"], "probability": p})
    found = estimate(rows, labels, "metric", assume_sample=True)
    truth = sum(row["truth"] == "none" for row in rows) / 600
    assert abs(found["none"].value - truth) < 0.06
    assert sum(one["label"] == "none" for one in labels) / len(labels) > truth + 0.2


BAD = {
    "id,level\nc1,full\nc999,none\n": r"line 3, column \"id\" names item \"c999\", which is not in .*: correct the id",
    "id,level\nc1,full\nc1,none\n": r"says \"none\", and .*line 2.* says full of the same item \"c1\": keep one",
    "id,level\nc1,full\nc2,2\n": r"line 3.* is the number 2, and other cells hold words \(full\)",
    "id,level\nc1,3\nc2,2\n": r"is 3, which is not a level: write full, partial or none",
    "id,level\nc1,perhaps\nc2,full\n": r"line 2.* is \"perhaps\", which is not a level",
    "id,level\nItem,Label\nc1,full\n": r"line 2 looks like a second header row",
    "id,level\nc1,\nc2,\n": r"is blank in every row",
    "id,level,probability\nc1,full,0\n": r"line 2.* is \"0\": write the probability of being drawn, a number above 0",
    "id,level,probability\nc1,full,\n": r"line 2, column \"probability\" is blank: write the probability",
    "id,level\nc1,full?\nc2,none\n": r"line 2.* is \"full\?\", which is not a level",
    "id,level\nc1,full\nc11x,none\n": r"delete the row\. Did you mean 'c11'\?$",
    "id,what\nc1,full\n": r"no column for the level",
    "id,level\nc1,full\n": r"labels only one item",
    "id,level\n,full\nc1,none\n": r"line 2.*is blank: write the item's id",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_labels_end_in_one_sentence(tmp_path, text):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        estimate(citations(), path, "metric")
    assert re.search(BAD[text], str(caught.value))


def test_levels_are_read_in_many_words():
    own = items_of(citations())
    spelled = {
        ("Fully supported", "partially", "NOT supported"): (2, 1, 0),
        ("yes", "no", "Yes"): (2, 0, 2),
        (2, 1, 0): (2, 1, 0),
        (1, 0, 1): (2, 0, 2),
        ("1.0", "0.5", "0"): (2, 1, 0),
    }
    said = {"full": "gut, 3", "partial": "teils", "none": "schlecht,1,✗"}
    for words, levels in spelled.items():
        labels = labels_of([{"id": f"c{n}", "label": word} for n, word in enumerate(words)], own)
        assert [labels.levels[f"c{n}"] for n in range(3)] == [(level,) for level in levels]
    for words in (("Gut", "teils ", "SCHLECHT"), (3, "teils", 1.0), ("attributable", "partly", "✗")):
        labels = labels_of([{"id": f"c{n}", "label": word} for n, word in enumerate(words)], own, said)
        assert [labels.levels[f"c{n}"] for n in range(3)] == [(2,), (1,), (0,)]


@pytest.mark.parametrize("missing", ["NaN", "<NA>", "n/a", math.nan, None])
@pytest.mark.parametrize("levels", [("full", "none"), (2, 0)])
def test_a_missing_level_is_a_blank_one(missing, levels):
    rows = [{"id": f"c{n}", "level": level} for n, level in enumerate((*levels, missing))]
    labels = labels_of(rows, items_of(citations()))
    assert (dict(labels.levels), labels.blank) == ({"c0": (2,), "c1": (0,)}, ("c2",))


def test_annotators_may_disagree():
    own = items_of(citations())
    rows = [{"id": "c0", "level": "full", "annotator": "A"}, {"id": "c0", "level": "none", "annotator": "B"}]
    found = labelled_sample(own, labels_of([*rows, {"id": "c1", "level": "full", "annotator": "A"}], own))
    assert found.label(SupportLevel.FULL).tolist() == [0.5, 1.0]


def test_items_need_ids_statements_and_sources():
    with pytest.raises(UserError, match=r'2 items have the id "c0"'):
        items_of([*citations(3), citations(1)[0]])
    for row, role in (({"id": "a", "passage": "x"}, "statement"), ({"id": "a", "claim": "x"}, "source")):
        with pytest.raises(UserError, match=f"no column for the {role}"):
            items_of([row])


@pytest.mark.parametrize(("labelled", "unit"), [(("c0", "c1"), "item"), (("c0", "c2", "c3"), "answer")])
def test_answers_are_the_unit_where_one_of_several_items_is_labelled_whole(labelled, unit):
    # Answers a0 and a1 of one item each, a2 of two: labels of single items alone are a sample of items.
    rows = [{**row, "answer_id": f"a{number}"} for row, number in zip(citations(4), (0, 1, 2, 2), strict=True)]
    items = items_of(rows)
    assert labelled_sample(items, labels_of(dict.fromkeys(labelled, "full"), items)).unit == unit


def pair_file(path, *rows, columns=("overlap", "rouge")):
    head = {"schema": "metaeval-pairs/1", "columns": columns}
    path.write_text("".join(json.dumps(row) + "\n" for row in (head, *rows)))
    return path


def test_the_pairs_of_a_run_are_items_with_their_scores(tmp_path):
    pair = {"id": "s/1", "statement": "s", "group": "g", "system": "old", "level": 2, "scores": [0.5, None]}
    items = items_of(pair_file(tmp_path / "pairs.jsonl", pair, {"id": "t/1", "statement": "t", "scores": [0.1, 0.2]}))
    first, second = items.rows
    assert (first.id, first.statement_id, first.group, first.system, first.level) == ("s/1", "s", "g", "old", 2)
    assert (second.id, second.group, second.system, second.level) == ("t/1", "t", "", None)
    assert items.scores == {"overlap": [0.5, 0.1], "rouge": [None, 0.2]}


@pytest.mark.parametrize("changed", [{"scores": [0.5]}, {"scores": None}, {"scores": [1, 2, 3]}, {"statement": None}])
def test_a_pair_without_its_scores_or_statement_is_refused(tmp_path, changed):
    pair = {name: value for name, value in ({"id": "1", "statement": "s", "scores": [1, 2]} | changed).items() if value}
    with pytest.raises(UserError, match=r"pairs\.jsonl line 2 should hold a citation with 2 scores"):
        items_of(pair_file(tmp_path / "pairs.jsonl", pair))


@pytest.mark.parametrize(("n", "strata"), [(9, 1), (20, 2), (49, 4), (100, 5)])
def test_a_stratified_draw_has_up_to_five_strata_of_ten_items_each(n, strata):
    drawing = draw(items_of(citations(200, 200)), n, "stratified", metric="metric")
    assert sorted(set(drawing.stratum)) == [f"score {number} of {strata}" for number in range(1, strata + 1)]
    # In proportion to the strata's sizes, which are equal: each item has the same probability.
    assert drawing.probability == pytest.approx(np.full(n, n / 200), rel=0.2)


def test_an_uncertain_draw_prefers_the_middle_of_the_scores():
    sizes = uncertain_sizes(np.array([0.9, 0.1, 0.5, 0.3, 0.7]))
    # Ranks 1, 0, 1/2, 1/4 and 3/4: .2 at the ends, 1 in the middle.
    assert sizes == pytest.approx([0.2, 0.2, 1.0, 0.6, 0.6])
