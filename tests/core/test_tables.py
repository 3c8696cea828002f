"""Tables of people's own: what a spreadsheet can do wrong ends in one sentence that names the cell and the cure."""

import datetime
import gzip
import re
from contextlib import nullcontext

import pandas
import pytest

from metaeval.core import headings
from metaeval.core.errors import UserError
from metaeval.core.files import csv_text, write_table
from metaeval.core.headings import LABELS, read_columns, reading_tables
from metaeval.core.tables import any_table, read_table, table_of

ROLES = {"id": ("id", "item id"), "level": ("level", "verdict")}


def book(path, rows, change=None):
    made = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        made.active.append(row)
    if change:
        change(made)
    made.save(path)
    return path


def test_spreadsheets_and_frames_are_tables(tmp_path):
    table = read_table(book(tmp_path / "a.xlsx", [["id", "level"], [7, "full"], [None, None], ["'-x", 2.0]]))
    assert [[row.text("id"), row.text("level")] for row in table.rows] == [["7", "full"], ["-x", "2"]]
    assert [row.place("level").split(" ", 1)[1] for row in table.rows] == ["cell B2", "cell B4"]
    frame = pandas.DataFrame({"id": ["a", "b"], "level": pandas.array([2, None], dtype="Int64")})
    assert [row.text("level") for row in table_of("frame", frame).rows] == ["2", ""]
    rows = pandas.Series([{"id": "a"}, {"id": "b", "level": 2}])
    assert [row.text("level") for row in table_of("rows", rows).rows] == ["", "2"]


@pytest.mark.parametrize(("headings", "refused"), [("gold,gold", True), ("gold, gold ", True), ("gold,Gold", False)])
def test_a_repeated_column_of_a_frame_is_refused_as_in_a_file(headings, refused, tmp_path):
    pyarrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    names = headings.split(",")
    table = pyarrow.table([["x"], ["y"]], names=names)
    parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(f"{headings}\nx,y\n")
    for given in (pandas.DataFrame([["x", "y"]], columns=names), table, tmp_path / "a.parquet", tmp_path / "a.csv"):
        with pytest.raises(UserError, match='column "gold" appears twice') if refused else nullcontext():
            assert any_table(given, "frame").headings == ("gold", "Gold")


def levels(path):
    return [row.text("level") for row in read_table(path).rows]


ROWS = [["id", "level"], ["a1", "full"], ["a2", "none"]]


@pytest.mark.parametrize(
    ("rows", "change", "said"),
    [
        (ROWS, lambda made: made.active.merge_cells("A2:A3"), r"cells A2:A3 are merged: unmerge them"),
        (
            ROWS,
            lambda made: made.create_sheet("More").append(["a"] * 2),
            r'has 2 sheets \("Sheet", "More"\): save one',
        ),
        ([["id", "level"], ["a1", "=1+1"]], None, r"cell B2 holds a formula .*paste its values"),
        ([["id", "level"], ["a1", datetime.date(2026, 1, 2)]], None, r"cell B2 holds a date \(2026-01-02\).*as text"),
        ([["id", "level"], ["a1", datetime.time(1, 2)]], None, r"cell B2 holds a time"),
        ([["Labels of May", None], ["id", "level"], ["a", "full"]], None, r"row 1 holds a title, not headings"),
        ([["id", "level", None], ["a", "full", "who"]], None, r'cell C2 has "who" in a column without'),
        ([["id", "level", "level"], ["a", "full", 1]], None, r'column "level" appears twice'),
        ([["id", "level"]], None, r"holds no rows"),
        ([], None, r"holds no rows"),
    ],
)
def test_spreadsheets_that_cannot_be_taken_at_their_word(tmp_path, rows, change, said):
    path = book(tmp_path / "labels.xlsx", rows, change)
    with pytest.raises(UserError) as caught:
        levels(path)
    assert re.search(said, str(caught.value))
    assert str(path) in str(caught.value)


def test_columns_are_named_where_they_are_not_known(tmp_path):
    (tmp_path / "a.csv").write_text("Nr,Urteil\n1,full\n")
    table = read_table(tmp_path / "a.csv")
    assert table.find(ROLES, read_columns(["level=Urteil", "id=Nr"], LABELS)) == {"level": "Urteil", "id": "Nr"}
    for chosen, needed, said in (
        ({}, ["level"], 'no column for the level .*"Nr", "Urteil".*--map level=COLUMN'),
        ({"level": "Urteile"}, [], """no column "Urteile". Did you mean 'Urteil'"""),
        (None, ["level"], '"Urteil": rename one.$'),
    ):
        with pytest.raises(UserError, match=said):
            table.find(ROLES, chosen, needed)
    for typed, said in (("levels=Urteil", "unknown role. Did you mean 'level'"), ("level", "allowed: ROLE=COLUMN")):
        with pytest.raises(UserError, match=said):
            read_columns([typed], LABELS)


TEXTS_BY_ENCODING = {
    "cp1252": "Die Mühle ist alt, und die Größe der Brücke täuscht über ihr Alter",
    "cp1250": "Most został otwarty w 1999 roku. Źródło mówi, że król żył długo",
    "cp1251": "Мост построен в 1999 году",
    "utf-16": "Die Mühle ist alt",
}


@pytest.mark.parametrize("encoding", TEXTS_BY_ENCODING)
def test_csv_of_another_encoding_is_read_and_said(tmp_path, caplog, encoding):
    path, text = tmp_path / "a.csv", TEXTS_BY_ENCODING[encoding]
    path.write_bytes(f"id;level;note\r\n1;full;{text}\r\n".encode(encoding))
    assert read_table(path).rows[0].text("note") == text
    if encoding != "utf-16":  # its byte-order mark says it
        assert f"{path} is not UTF-8: it is read as {encoding}" in caplog.text
        assert "encoding=NAME decides" in caplog.text


def test_the_encoding_that_is_named_decides(tmp_path, caplog):
    path = tmp_path / "a.csv"
    path.write_bytes("id,level\nМост,full\n".encode("cp1251"))
    with reading_tables("cp1252"):
        assert read_table(path).rows[0].text("id") == "Ìîñò"
    assert caplog.messages == []
    with reading_tables("utf-8"), pytest.raises(UserError, match=r"is not utf-8 text \(byte 9\): save it as UTF-8"):
        read_table(path)
    for name in ("utf-9", "rot13"):
        with reading_tables(name), pytest.raises(UserError, match=f'encoding="{name}" is unknown'):
            read_table(path)
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(UserError, match=r"a.csv is not UTF-8 text \(byte 0\)"):
        read_table(path)


FAR = {"row": 1_048_576, "column": 16_384}


def test_a_sheet_costs_what_it_holds(tmp_path):
    """A stray cell in the last row and column: 17 thousand million cells are not made."""
    path = book(tmp_path / "a.xlsx", ROWS, lambda made: setattr(made.active.cell(**FAR), "value", "x"))
    with pytest.raises(UserError, match=r'cell XFD1048576 has "x" in a column without a heading'):
        read_table(path)
    bold = pytest.importorskip("openpyxl").styles.Font(bold=True)
    styled = book(tmp_path / "b.xlsx", ROWS, lambda made: setattr(made.active.cell(**FAR), "font", bold))
    assert levels(styled) == ["full", "none"]


def test_a_sheet_that_grows_without_end_is_refused(tmp_path, monkeypatch):
    path = book(tmp_path / "a.xlsx", [["id", "level"], *([f"a{n}", "full"] for n in range(5000))])
    monkeypatch.setattr("metaeval.core.parsing._FREE", 1000)
    monkeypatch.setattr("metaeval.core.parsing.EXPANSION", 1)
    with pytest.raises(UserError, match=r"a\.xlsx grows to more than [\d,]+ bytes: save the sheet as CSV"):
        read_table(path)


@pytest.mark.parametrize("coded", [True, False])
def test_a_text_that_parquet_stores_once_for_many_rows_is_bounded(tmp_path, monkeypatch, coded):
    pyarrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    path, n = tmp_path / "a.parquet", 2000
    once = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * n, pyarrow.int32()), ["x" * 100_000])
    columns = pyarrow.table({"source": once, "statement": ["s"] * n})
    parquet.write_table(columns, path, store_schema=coded, compression="zstd")
    monkeypatch.setattr("metaeval.core.parsing._PARQUET_FREE", 1 << 24)
    monkeypatch.setattr("metaeval.core.parsing._BATCH_BYTES", 1 << 22)
    with pytest.raises(UserError, match=r"a\.parquet holds more than [\d,]+ bytes: cut it"):
        read_table(path)
    monkeypatch.setattr("metaeval.core.parsing._PARQUET_FREE", 1 << 28)
    assert len(read_table(path)) == n


def test_a_line_without_end_in_a_small_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("metaeval.core.parsing.LONGEST_LINE", 3 << 20)
    path = tmp_path / "a.jsonl"
    for n, lines, refused in ((5 << 20, 1, True), (1 << 20, 5, False)):
        path.write_bytes(gzip.compress(b'{"id": "' + b"x" * n + b'"}\n', 1) * lines)
        with pytest.raises(UserError, match="3,145,728 in a line") if refused else nullcontext():
            assert len(read_table(path)) == lines


@pytest.mark.parametrize("bracket", "([")
@pytest.mark.parametrize("end", ["", "\n", " ]", ") 1"])
def test_a_heading_of_many_brackets_is_compared(bracket, end):
    heading = bracket * 300_000 + end
    table = table_of("given", [{"score (0-1)": 1, heading: 2}])
    assert table.find({"score": ["score"], "id": ["id"]}, {}) == {"score": "score (0-1)"}


@pytest.mark.parametrize("heading", ["", "Unnamed: 0", "Unnamed: 0.1"])
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_row_numbers_of_pandas_are_no_column(tmp_path, heading, ending, caplog):
    path = tmp_path / f"a.{ending}"
    for numbers, kept in (((0, 1), False), ((7, 3), False), ((1, 1), True), ((-1, 0), True), (("x", "y"), True)):
        caplog.clear()
        rows = [[heading, "id"], *([number, "a"] for number in numbers)]
        if ending == "csv":
            path.write_text(csv_text(rows))
        else:
            book(path, rows)
        place = "cell A2" if ending == "xlsx" else "line 2"
        if kept and not heading:
            with pytest.raises(UserError, match=f'{place} has "{numbers[0]}" in a column without'):
                read_table(path)
        else:
            assert read_table(path).headings == ((heading, "id") if kept else ("id",))
            assert (f'the column "{heading}" holds row numbers' in caplog.text) != kept
    assert table_of("frame", pandas.DataFrame({heading: [0, 1], "id": "a"})).headings == ("id",)
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"id": ["a", "b"]}, [2, 1]).to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").headings == ("id",)


def test_cells_are_texts_of_any_length_as_they_stand_there(tmp_path):
    (tmp_path / "a.csv").write_text(csv_text([["id", "source"], ["a", "word " * 30_000]]))
    assert len(read_table(tmp_path / "a.csv").rows[0].text("source")) == 149_999
    for name, mark in (("a.csv", ","), ("a.tsv", "\t"), ("b.csv", ";")):
        (tmp_path / name).write_text(csv_text([["id", "m"], *([one, 1] for one in IDS)], delimiter=mark))
        assert read_table(tmp_path / name).texts("id").tolist() == IDS
    pytest.importorskip("openpyxl")
    write_table(tmp_path / "a.xlsx", ["id", "text"], [["1", "x" * 40_000], ["2", "y" * 32_767]], {})
    assert [len(row.text("text")) for row in read_table(tmp_path / "a.xlsx").rows] == [32_767, 32_767]


IDS = ["007", "9007199254740993", "1.0E+15", "NA", "null", "1_000", "٣", "TRUE", "-0", "'x"]


def test_headings_are_compared_without_case_and_roles_are_one_vocabulary():
    table = table_of("given", [{"Réponse (bot)": "x [1]", "reponse": "y", "ÉNONCÉ": "z"}])
    assert table.like(["réponse", "enonce"]) == ["reponse", "ÉNONCÉ", "Réponse (bot)"]
    mapping = {role: role.upper() for role in headings.ROLES}
    assert headings.read_columns(mapping, headings.SCORES) == headings.read_columns(mapping, headings.LABELS) == mapping
    assert headings.mapped(headings.LABELS, {"gold": "Urteil"}) == {"level": "Urteil"}
    assert headings.mapped(headings.LABELS, {"level": "Urteil"}) == {"level": "Urteil"}
    assert headings.mapped(headings.RATINGS, {"level": "Urteil"}) == {"gold": "Urteil"}
    assert headings.mapped(headings.CITATIONS, {"passages": "Q", "text": "A"}) == {"source": "Q", "answer": "A"}
    assert headings.mapped(headings.SCORES, {"id": "K", "pair_id": "P"}) == {"pair_id": "P"}
