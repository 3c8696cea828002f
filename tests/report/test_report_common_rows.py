"""Metrics of one column that scored different rows: said at the number, and not ranked by it."""

import re

import numpy as np

import metaeval
from metaeval.report.result_tables import lay_out
from metaeval.report.table_notes import UNSCORED

SETTINGS = {"protocols": ["classification"], "controls": False, "interval": {"resamples": 20}}


def results_with(unscored):
    """Return the results of a metric that is the gold and leaves out rows, and of two metrics on all rows."""
    pairs = [pair for pair in metaeval.pairs() if pair.level is not None]
    gold = {pair.pair_id: float(pair.level) for pair in pairs}
    half = {name: score if len(name) % 2 else 1.0 for name, score in gold.items()}
    some = dict(list(gold.items())[unscored:])
    scores = {"some": some, "half": half, "worst": dict.fromkeys(gold, 0.0)}
    return metaeval.evaluate_scores(scores, **SETTINGS), len(gold)


def evaluated(unscored):
    """Return the result of `results_with` and the number of rows."""
    (result,), n = results_with(unscored)
    return result, n


def test_a_metric_on_fewer_rows_is_marked_at_each_number_and_not_ranked():
    result, n = evaluated(5)
    table = lay_out(result)
    cells = {line.name: line.cells for line in table.lines}
    assert all(UNSCORED in cell.marks and not cell.rank for cell in cells["some"])
    assert not any(UNSCORED in cell.marks for name in ("half", "worst") for cell in cells[name])
    assert any(cell.rank == "best" for cell in cells["half"])
    (note,) = [note for note in table.footnotes if note.label == UNSCORED]
    assert f"some 5 of {n:,}" in note.text


def test_a_headline_table_marks_it_once_at_the_name():
    lines = repr(results_with(5)[0]).splitlines()
    (some,) = [line for line in lines if line.startswith(" some ")]
    assert (some.split()[1], some.count(UNSCORED)) == (UNSCORED, 1)
    assert not any(UNSCORED in line for line in lines if line.startswith((" half ", " worst ")))


def test_pairs_are_compared_on_the_rows_that_both_scored():
    result, n = evaluated(5)
    rows = {(test.one, test.other): test.rows for test in result.significance.comparisons}
    assert {rows["some", "half"], rows["some", "worst"]} == {n - 5}
    assert rows["half", "worst"] == n


def test_the_same_rows_are_not_marked():
    table = lay_out(evaluated(0)[0])
    assert not any(UNSCORED in cell.marks for line in table.lines for cell in line.cells)
    assert UNSCORED not in [note.label for note in table.footnotes]


def test_a_metric_alone_on_its_rows_is_not_called_best():
    pairs = {pair.pair_id: float(pair.level) for pair in metaeval.pairs() if pair.level is not None}
    some = dict(list(pairs.items())[5:])
    (result,) = metaeval.evaluate_scores({"some": some, "worst": dict.fromkeys(pairs, 0.0)}, **SETTINGS)
    table = lay_out(result)
    assert not any(cell.rank for line in table.lines for cell in line.cells)
    assert table.legend == ""


def test_rows_that_a_metric_lacks_at_one_level_do_not_make_it_better():
    # b has the scores of a, and none where a is low at the top level: better than chance on the rows that it scored.
    rng = np.random.default_rng(1)
    pairs = [pair for pair in metaeval.pairs() if pair.level is not None]
    a = {pair.pair_id: float(0.05 * pair.level + rng.normal()) for pair in pairs}
    b = {pair.pair_id: a[pair.pair_id] for pair in pairs if pair.level < 2 or a[pair.pair_id] > 0}
    settings = {**SETTINGS, "controls": True, "interval": {"resamples": 200}}
    results = metaeval.evaluate_scores({"a": a, "b": b}, **settings)
    (result,) = results
    assert {round(test.difference, 9) for test in result.significance.comparisons} == {0.0}
    above_chance = [test for test in result.significance.controls if (test.one, test.other) == ("b", "random")]
    assert min(test.p for test in above_chance) < 0.01
    assert all(test.holm is None or test.holm > 0.05 for test in above_chance)
    assert all(row.not_above["overall"] for row in result.rows if row.kind == "metric")
    claims = [text for text in results.findings if "significantly" in text and "No " not in text and "no " not in text]
    assert not any(re.search(r"\bb \(", claim) for claim in claims)


def test_of_a_metric_without_a_decided_test_against_the_highest_nothing_is_said():
    # b has the scores of a, on a third of the rows: were it said to lead, it would look better than a.
    rng = np.random.default_rng(1)
    levels = {pair.pair_id: pair.level for pair in metaeval.pairs() if pair.level is not None}
    good = {name: level + rng.normal(0, 0.7) for name, level in levels.items()}
    a = {name: level + rng.normal(0, 5) for name, level in levels.items()}
    b = {name: a[name] for name in list(a)[::3]}
    results = metaeval.evaluate_scores({"b": b, "a": a, "good": good}, **SETTINGS)
    p_values = {(test.one, test.other): test.holm for test in results[0].significance.comparisons}
    assert p_values["b", "good"] is None
    assert p_values["a", "good"] < 0.05 < p_values["b", "a"]
    assert re.findall(r"\w+(?= \()", results.findings[0]) == ["good"]
    assert "; a is significantly worse" in results.findings[0]
