"""A table's file: read back as written, the same bytes, refused when it is something else."""

import csv
import json
import re

import pytest

from metaeval.core.errors import Shown, UserError
from metaeval.report.result import Data, load_result
from metaeval.report.table import Block, Cell, ColumnGroup, Note, Table, TableLine
from metaeval.report.table_files import (
    FORMATS,
    format_texts,
    load_table,
    table_text,
    tables_in,
    write_page,
    write_table,
)

DATA = Data(name="d", split="s", fingerprint="f", statements=1, documents=1, citations=1, groups=1, levels={})
RECORDS = [{"metric": "a", "value": 0.1 + 0.2, "rows": 3}, {"metric": "b,c", "value": None, "rows": 0}]


def table(records=RECORDS, lines=1):
    cell = Cell("1.0", ("0.9", "1.1"), "best", ("1", "†"), ("ties [0..1]",))
    blocks = tuple(
        Block(title, tuple(TableLine(f"m{number}", (cell,)) for number in range(lines))) for title in ("one", "two")
    )
    return Table(
        key=("k",),
        title="A title",
        subtitle="d, s",
        headings=("value",),
        blocks=blocks,
        legend="Bold: best.",
        footnotes=(Note("†", "a mark"),),
        footer=(Note("data", "what it is", (("a, b", "of both"),)),),
        signatures=("data:d|metric:a",),
        stub="metric",
        groups=(ColumnGroup("all", 1),),
        name="numbers",
        data=DATA,
        settings={"seed": 3},
        records=records,
    )


def test_a_table_is_read_back_whole(tmp_path, recorded):
    (path,) = write_table(table(), tmp_path)
    recorded.held("report-table-file", recorded.files(tmp_path))

    assert path.name == "numbers.json"
    found = load_table(path)
    assert found == table()
    assert all(isinstance(text, Shown) for line in found.lines for text in (line.name, *line.cells[0].marks))
    assert tables_in(path) == [found]
    texts = format_texts(path, FORMATS)
    assert texts == {end: table_text(table(), name) for name, end in FORMATS.items()}
    rows = list(csv.DictReader(texts[".csv"].splitlines()))
    assert rows[0] == {"dataset": "d", "split": "s", "metric": "a", "value": "0.30000000000000004", "rows": "3"}
    assert rows[1]["value"] == ""


def test_a_table_is_no_result(tmp_path):
    (path,) = write_table(table(), tmp_path)

    with pytest.raises(UserError, match="not a protocol's result: print it with 'metaeval results show"):
        load_result(path)


def test_the_page_holds_every_table(tmp_path):
    written = write_table(table(), tmp_path)

    (page,) = write_page("metaeval plan", [*written, tmp_path / "pairs.jsonl"], tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "metaeval plan: d" in text
    assert "A title" in text
    assert write_page("metaeval plan", [tmp_path / "pairs.jsonl"], tmp_path) == []


def test_an_undefined_number_that_was_not_named_so_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_table(table([{"value": float("nan")}]), tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "metaeval-table/9"}, "schema is 'metaeval-table/9'"),
        ({"records": [{"a": 1}, {"b": 1}]}, "records must all have the same fields"),
        ({"records": [{"a": [1]}]}, "field records.0.a"),
        ({"extra": 1}, "field extra"),
    ],
)
def test_what_is_no_table_is_refused_with_its_field(tmp_path, change, said):
    path = write_table(table(), tmp_path)[0]
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")

    with pytest.raises(UserError, match=re.escape(said)):
        load_table(path)
