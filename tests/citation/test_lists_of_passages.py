"""A list of n passages is n passages whoever reads it, and columns of tables of answers are found in any language."""

import json
import logging

import numpy as np
import pandas
import pytest

from metaeval.citation.readers.answer_files import read_answers
from metaeval.cli.app import retyped_command
from metaeval.core.errors import ColumnsError, UserError
from metaeval.core.files import csv_text
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.item_labels import labels_of

# Three answers with four citations each, over three passages; the fourth mark repeats the first.
TEXTS = [f"Town {n} has a mill [1]. It has a dam [2]. It has a pier [3]. All of it is old [1]." for n in range(3)]
PASSAGES = [[f"Mill {n}.", f'Dam "{n}", [2].', f"Pier {n}."] for n in range(3)]
ROWS = [{"answer": text, "passages": passages} for text, passages in zip(TEXTS, PASSAGES, strict=True)]
AS_OBJECTS = [{**row, "passages": [{"text": one} for one in row["passages"]]} for row in ROWS]
AS_TEXT = [{"text": row["answer"], "passages": row["passages"]} for row in ROWS]
AS_JSON = [{**row, "passages": json.dumps(row["passages"])} for row in ROWS]


def lines_file(rows, folder):
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def csv_file(rows, folder):
    path = folder / "answers.csv"
    path.write_text(csv_text([list(rows[0]), *([*row.values()] for row in rows)]))
    return path


def xlsx_file(rows, folder):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [list(rows[0]), *([*row.values()] for row in rows)]:
        book.active.append(row)
    book.save(folder / "answers.xlsx")
    return folder / "answers.xlsx"


def parquet_file(rows, folder):
    pyarrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "answers.parquet")
    return folder / "answers.parquet"


def as_pandas_writes(rows, folder):
    pandas.DataFrame(rows).to_csv(folder / "answers.csv")
    return folder / "answers.csv"


def with_cells(form, rows=ROWS):
    return [{**row, "passages": form(row["passages"])} for row in rows]


def in_memory(rows, _):
    return rows


READERS = {
    "mappings": (in_memory, ROWS),
    "mappings with tuples": (in_memory, with_cells(tuple)),
    "mappings with objects": (in_memory, AS_OBJECTS),
    "mappings with text": (in_memory, AS_TEXT),
    "mappings with JSON": (in_memory, AS_JSON),
    "pandas": (lambda rows, _: pandas.DataFrame(rows), ROWS),
    "pandas with arrays": (lambda rows, folder: pandas.read_parquet(parquet_file(rows, folder)), ROWS),
    "Parquet": (parquet_file, ROWS),
    "CSV": (csv_file, AS_JSON),
    "CSV with objects": (csv_file, with_cells(json.dumps, AS_OBJECTS)),
    "CSV of lists": (as_pandas_writes, ROWS),
    "CSV of arrays": (as_pandas_writes, with_cells(np.array)),
    "CSV of their repr": (as_pandas_writes, with_cells(lambda texts: repr(np.array(texts, dtype=object)))),
    "CSV of texts of numpy": (as_pandas_writes, with_cells(lambda texts: list(np.array(texts)))),
    "CSV of dicts": (as_pandas_writes, AS_OBJECTS),
    "XLSX": (xlsx_file, AS_JSON),
    "JSONL": (lines_file, AS_TEXT),
    "JSONL with answer": (lines_file, ROWS),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_every_passage(reader, tmp_path, caplog):
    """3 answers x 4 marks, each with the text of its own passage."""
    written, rows = READERS[reader]
    items = items_of(written(rows, tmp_path))
    expected = [passages[place] for passages in PASSAGES for place in (0, 1, 2, 0)]
    assert [row.source for row in items.rows] == expected
    assert "point at no passage" not in caplog.text


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
        (["Mill."], 'have the id "a"'),  # twice
    ],
)
def test_a_list_that_cannot_be_read_is_refused_and_not_joined(cell, said):
    with pytest.raises(UserError, match=f"(passages|two answers).*{said}"):
        items_of([{"id": "a", "answer": TEXTS[0], "passages": cell}] * 2)


def test_texts_in_brackets_are_texts_and_lists_of_sources_are_judged_together(tmp_path):
    (item,) = items_of([{"answer": "It is old [1].", "passages": "[sic] An old mill."}]).rows
    assert item.source == "[sic] An old mill."
    sources = {"A mill.": '["Mill.", "Dam."]', "A dam.": '["quoted" text'}
    rows = [{"statement": statement, "source": source} for statement, source in sources.items()]
    read = [row.source for row in items_of(csv_file(rows, tmp_path)).rows]
    assert read == ["Mill.\n\nDam.", '["quoted" text']


TEXT = "Die Mühle ist alt [1]. Der Damm ist neu [2][3]. Der Steg ist lang [5]."
ROW = {"Nr": 7, "Frage": "Was steht da?", "Antwort (Bot)": TEXT} | {f"Quelle {n}": f"Q{n}" for n in range(1, 6)}
CITED = [("Die Mühle ist alt.", "Q1"), ("Der Damm ist neu.", "Q2"), ("Der Damm ist neu.", "Q3")]
CITED += [("Der Steg ist lang.", "Q5")]


def sources_of(rows, columns=None):
    return [(row.statement, row.source) for row in items_of(rows, columns).rows]


def renamed(sources, **names):
    numbered = {f"Quelle {n}": sources.format(n) for n in range(6)}
    return {{**numbered, **names}.get(heading, heading): value for heading, value in ROW.items()}


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        renamed("source_{}", Frage="Question", **{"Antwort (Bot)": "Réponse"}),
        renamed("Fuente#{}", **{"Antwort (Bot)": "Respuesta [modelo]"}),
        renamed("passage_{:02}"),
        dict(reversed(ROW.items())),
        {heading: value for heading, value in ROW.items() if heading != "Quelle 4"},
        {**{name: ROW[name] for name in ("Nr", "Frage", "Antwort (Bot)")}, "Quellen": ["Q1", "Q2", "Q3", "Q4", "Q5"]},
    ],
)
@pytest.mark.parametrize(
    "columns", [{}, {"answer": "Antwort (Bot)"}, {"passages": "Quelle 1", "text": "Antwort (Bot)"}]
)
def test_a_spreadsheet_of_answers_is_read_as_it_is(row, columns, caplog):
    known = {role: heading for role, heading in columns.items() if heading in row}
    assert sources_of([row], known) == CITED
    assert "is read so: " in caplog.text
    assert "(--map ROLE=COLUMN decides)" in caplog.text


def test_the_pipelines_read_tables_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(csv_text([list(ROW), list(ROW.values())]))
    (answer,) = read_answers(path)
    assert (answer.id, answer.question, answer.text) == ("7", "Was steht da?", TEXT)
    assert [passage.text for passage in answer.passages] == ["Q1", "Q2", "Q3", "Q4", "Q5"]
    path.write_text("statement,source\nA mill.,B\n")
    with pytest.raises(UserError, match=r'a table with a statement in each row \(column "statement"\)'):
        read_answers(path)


def test_the_question_is_the_group_unless_the_file_names_one():
    def groups(**more):
        row = {"answer_id": "a1", "question": "Q?", "answer": "A mill [1].", "passages": ["Mill."], **more}
        return [item.group for item in items_of([row]).rows]

    assert groups() == ["Q?"]
    assert groups(group="g") == ["g"]
    cited = {"id": "c", "statement": "A mill.", "source": "Mill.", "answer_id": "a1"}
    assert [item.group for item in items_of([cited]).rows] == ["a1"]
    cited["question"] = "Q?"
    assert [item.group for item in items_of([cited]).rows] == ["Q?"]
    assert [item.group for item in items_of([cited], {"answer": "answer_id"}).rows] == ["a1"]


def test_a_mapped_statement_with_marks_looks_like_an_answer():
    columns = {"statement": "Antwort (Bot)", "source": "Quelle 1", "id": "Nr"}
    with pytest.raises(ColumnsError, match=r'row 1, column "Antwort \(Bot\)" is mapped as a statement') as error:
        items_of([ROW], columns)
    right = error.value.columns
    assert sources_of([ROW], right) == CITED
    words = ["label", "a b.csv", "--map", "statement=Antwort (Bot)", "-n", "4", "--map=source=Quelle 1"]
    assert retyped_command(words, right) == (
        "metaeval label 'a b.csv' -n 4 --map id=Nr --map 'answer=Antwort (Bot)' --map 'passages=Quelle 1'"
    )


def test_bad_cells_of_a_metric_and_two_levels_of_a_pair_are_said(caplog):
    rows = [{"id": n, "statement": "A", "source": "B", "m": n / 3, "k": n} for n in range(4)]
    rows[2]["m"] = "0,5"
    items = items_of(rows)
    assert list(items.scores) == ["k"]
    assert 'row 3, column "m" is "0,5", in a column of numbers' in str(items.unread["m"])
    items = items_of([{"id": n, "statement": "A", "source": "B"} for n in range(3)])
    with caplog.at_level(logging.WARNING, "metaeval"):
        labels_of({"0": "full", "1": "full"}, items)
        assert "two levels" not in caplog.text
        labels_of({"0": "full", "1": "full", "2": "none"}, items)
    assert "one source of a statement has two levels, which both count: 1 times" in caplog.text


@pytest.mark.parametrize(
    ("other", "level", "says"),
    [("full", "no\x07ne", "control character 0x07"), ("1", "٢", "is not a level"), ("1", "1_0", "is not a level")],
)
def test_a_level_of_other_characters_is_refused(other, level, says):
    items = items_of([{"id": n, "statement": f"A{n}", "source": "B"} for n in range(3)])
    with pytest.raises(UserError, match=f"row 2, .*{says}"):
        labels_of({"0": other, "2": level}, items)
