"""A list of n passages is n passages, whichever reader takes the answers, and a mark without a passage is told of."""

import json
import logging

import numpy as np
import pytest

import metaeval
from metaeval.decisions.citation_items import items_of
from metaeval.errors import UserError
from metaeval.files import csv_text

# Three answers with four citations each, over three passages; the fourth mark repeats the first.
TEXTS = [f"Town {n} has a mill [1]. It has a dam [2]. It has a pier [3]. All of it is old [1]." for n in range(3)]
PASSAGES = [[f"Mill {n}.", f'Dam "{n}", [2].', f"Pier {n}."] for n in range(3)]
ROWS = [{"answer": text, "passages": passages} for text, passages in zip(TEXTS, PASSAGES, strict=True)]
AS_OBJECTS = [{**row, "passages": [{"text": one} for one in row["passages"]]} for row in ROWS]
AS_TEXT = [{"text": row["answer"], "passages": row["passages"]} for row in ROWS]
AS_JSON = [{**row, "passages": json.dumps(row["passages"])} for row in ROWS]


def write_lines(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def csv_file(folder, rows):
    path = folder / "answers.csv"
    path.write_text(csv_text([list(rows[0]), *([*row.values()] for row in rows)]))
    return path


def xlsx_file(folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [list(AS_JSON[0]), *([*row.values()] for row in AS_JSON)]:
        book.active.append(row)
    book.save(folder / "answers.xlsx")
    return folder / "answers.xlsx"


def frame_of(library, rows):
    return pytest.importorskip(library).DataFrame(rows)


def parquet_file(folder):
    pyarrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), folder / "answers.parquet")
    return folder / "answers.parquet"


def frame_of_parquet(folder):
    """Its cells are arrays."""
    pandas = pytest.importorskip("pandas")
    return pandas.read_parquet(parquet_file(folder))


def as_pandas_writes(folder, form, rows=ROWS):
    frame = frame_of("pandas", [{**row, "passages": form(row["passages"])} for row in rows])
    frame.to_csv(folder / "answers.csv")
    return folder / "answers.csv"


READERS = {
    "mappings": lambda folder: ROWS,
    "mappings with tuples": lambda folder: [{**row, "passages": tuple(row["passages"])} for row in ROWS],
    "mappings with objects": lambda folder: AS_OBJECTS,
    "mappings with text": lambda folder: AS_TEXT,
    "mappings with JSON": lambda folder: AS_JSON,
    "pandas": lambda folder: frame_of("pandas", ROWS),
    "pandas with arrays": frame_of_parquet,
    "Parquet": parquet_file,
    "CSV": lambda folder: csv_file(folder, AS_JSON),
    "CSV with objects": lambda folder: csv_file(
        folder, [{**row, "passages": json.dumps(row["passages"])} for row in AS_OBJECTS]
    ),
    "CSV of lists": lambda folder: as_pandas_writes(folder, list),
    "CSV of arrays": lambda folder: as_pandas_writes(folder, np.array),
    "CSV of their repr": lambda folder: as_pandas_writes(folder, lambda texts: repr(np.array(texts, dtype=object))),
    "CSV of texts of numpy": lambda folder: as_pandas_writes(folder, lambda texts: list(np.array(texts))),
    "CSV of dicts": lambda folder: as_pandas_writes(folder, list, AS_OBJECTS),
    "XLSX": xlsx_file,
    "JSONL": lambda folder: write_lines(AS_TEXT, folder / "answers.jsonl"),
    "JSONL with answer": lambda folder: write_lines(ROWS, folder / "answers.jsonl"),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_every_passage(reader, tmp_path, caplog):
    """3 answers x 4 marks, each with the text of its own passage."""
    items = items_of(READERS[reader](tmp_path))

    expected = [passages[place] for passages in PASSAGES for place in (0, 1, 2, 0)]
    assert [row.source for row in items.rows] == expected
    assert "point at no passage" not in caplog.text


def test_labels_are_drawn_of_every_citation():
    drawn = metaeval.label(ROWS, n=12)

    assert len(drawn) == 12
    assert {one["passage"] for one in drawn} == {one for passages in PASSAGES for one in passages}


@pytest.mark.parametrize("pipeline", ["", "alce", "aliice"])
@pytest.mark.parametrize("first", [0, 1])
def test_marks_without_a_passage_are_warned_of_with_an_example(pipeline, first, caplog):
    """Counted from `first`: of the marks 1 to 4 on three passages the last one, or the last two, point at none."""
    text = "It has a mill [1]. It has a dam [2]. It has a pier [3]. It has a weir [4]."
    answer = {"id": "a1", "text": text, "passages": PASSAGES[0], "first": first}

    with caplog.at_level(logging.WARNING, "metaeval"):
        items_of([answer], pipeline=pipeline)

    number = 4 if first else 3
    pointing = "1 mark that points" if first else "2 marks that point"
    assert [record.getMessage() for record in caplog.records] == [
        f'answers: left out: {pointing} at no passage; for example, answer "a1" cites [{number}] of 3 passages.'
    ]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("['Mill.' ... 'Dam.']", "begins as a list and is not JSON"),
        ("['Mill.', ..., 'Dam.']", "begins as a list and is not JSON"),
        ("['Mill.', print()]", "begins as a list and is not JSON"),
        ('["Mill.", "Dam', "begins as a list and is not JSON"),
        ('["Mill.", 3]', "allowed: a list of strings"),
        (["Mill.", None], "allowed: a list of strings"),
        ([{"title": "Mill"}], "field 'text' is missing"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_and_not_joined(cell, said):
    with pytest.raises(UserError, match="passages") as refused:
        items_of([{"answer": TEXTS[0], "passages": cell}])

    assert said in str(refused.value)


def test_a_text_in_brackets_is_a_text():
    (item,) = items_of([{"answer": "It is old [1].", "passages": "[sic] An old mill."}]).rows

    assert item.source == "[sic] An old mill."


def test_a_statement_with_a_list_of_sources_is_judged_by_all_of_them(tmp_path):
    rows = [
        {"statement": "A mill.", "source": '["Mill.", "Dam."]'},
        {"statement": "A dam.", "source": '["quoted" text'},
    ]

    sources = [row.source for row in items_of(csv_file(tmp_path, rows)).rows]

    assert sources == ["Mill.\n\nDam.", '["quoted" text']
