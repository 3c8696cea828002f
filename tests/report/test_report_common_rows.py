"""Metrics of one column that scored different rows: said at the number, and not ranked by it."""

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


def test_a_metric_alone_on_its_rows_is_not_called_best():
    pairs = {pair.pair_id: float(pair.level) for pair in metaeval.pairs() if pair.level is not None}
    some = dict(list(pairs.items())[5:])
    (result,) = metaeval.evaluate_scores({"some": some, "worst": dict.fromkeys(pairs, 0.0)}, **SETTINGS)
    table = lay_out(result)
    assert not any(cell.rank for line in table.lines for cell in line.cells)
    assert table.legend == ""
