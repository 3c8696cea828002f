"""CSV: full precision, exactly as saved."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import Shown
from metaeval.report.result_tables import lay_out
from metaeval.report.table_files import table_text
from metaeval.stats.estimate import Estimate

FORMULA = "=+-@＝＋－＠"
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def _read(text):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def _number(text):
    return float(text) if text else None


@given(
    name=st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20).filter(lambda name: Shown(name) == name),
    numbers=st.tuples(FLOATS, FLOATS, FLOATS),
    span=st.none() | st.tuples(FLOATS, FLOATS),
)
def test_text_and_floats_come_back_exactly(result, name, numbers, span):
    value, low, high = numbers
    cell = Estimate(value, low=low, high=high, ties=span, worst=span and span[0], best=span and span[1], note=name)
    row = result.rows[0].model_copy(update={"metric": name, "values": {"ndcg5": cell}, "signature": name})
    (record,) = _read(table_text(lay_out(result.model_copy(update={"rows": [row]})), "csv"))
    texts = {record[field] for field in ("metric", "note", "signature")}
    assert {text.removeprefix("'") if name.startswith(tuple(FORMULA)) else text for text in texts} == {name}
    assert tuple(_number(record[key]) for key in ("value", "low", "high")) == numbers
    assert (_number(record["tie_worst"]), _number(record["tie_best"])) == (span or (None, None))
    assert (_number(record["bound_worst"]), _number(record["bound_best"])) == (span or (None, None))


def test_measures_that_the_table_does_not_show_are_kept(result):
    text = table_text(lay_out(result.model_copy(update={"columns": result.columns[1:]})), "csv")
    assert [r["measure"] for r in _read(text)[:3]] == ["auc", "pearson", "ndcg5"]
