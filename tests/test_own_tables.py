"""Tables of people's own: what a spreadsheet can do wrong ends in one sentence that names the cell and the cure."""

import datetime
import re

import pytest

from metaeval.data_tables import warn_of_swap
from metaeval.errors import UserError
from metaeval.own_tables import read_mapping, read_table, table_of, write_table

ROLES = {"id": ("id", "item id"), "level": ("level", "verdict")}


def book(path, rows, change=None):
    made = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        made.active.append(row)
    if change:
        change(made)
    made.save(path)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "Item-ID,Verdict\na1,full\na2,\n"),
        ("a.csv", "Item-ID;Verdict\r\na1;full\r\na2;\r\n"),
        ("a.tsv", "Item-ID\tVerdict\na1\tfull\na2\t\n"),
        ("a.jsonl", '{"Item-ID": "a1", "Verdict": "full"}\n{"Item-ID": "a2"}\n'),
    ],
)
def test_one_table_in_many_forms(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    table = read_table(tmp_path / name)
    columns = table.find(ROLES, {}, ["id", "level"])
    assert columns == {"id": "Item-ID", "level": "Verdict"}
    assert [[row.text(one) for one in columns.values()] for row in table.rows] == [["a1", "full"], ["a2", ""]]


def test_a_spreadsheet_is_read_as_it_looks(tmp_path):
    table = read_table(book(tmp_path / "a.xlsx", [["id", "level"], [7, "full"], [None, None], ["'-x", 2.0]]))
    assert [[row.text("id"), row.text("level")] for row in table.rows] == [["7", "full"], ["-x", "2"]]


def test_a_data_frame_is_a_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["a", "b"], "level": pandas.array([2, None], dtype="Int64")})
    assert [row.text("level") for row in table_of("frame", frame).rows] == ["2", ""]


@pytest.mark.parametrize("given", [None, 3, [], ["a"], {"a": "full"}])
def test_what_is_no_table_is_refused(given):
    with pytest.raises(UserError, match="given holds no rows"):
        table_of("given", given)


def test_a_file_that_is_not_there_is_not_to_be_saved_as_utf_8(tmp_path):
    with pytest.raises(UserError, match=r"none\.csv: No such file; allowed: a table as CSV, TSV"):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize("text", ["", "[]", "\n\n"])
def test_json_without_a_row_is_refused(tmp_path, text):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(UserError, match=r"a\.jsonl holds no rows"):
        read_table(tmp_path / "a.jsonl")


def levels(path):
    return [row.text("level") for row in read_table(path).rows]


def merged(made):
    made.active.merge_cells("A2:A3")


def second_sheet(made):
    made.create_sheet("More").append(["a", "b"])


ROWS = [["id", "level"], ["a1", "full"], ["a2", "none"]]


@pytest.mark.parametrize(
    ("rows", "change", "said"),
    [
        (ROWS, merged, r"cells A2:A3 are merged: unmerge them"),
        (ROWS, second_sheet, r'has 2 sheets \("Sheet", "More"\): save the one'),
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


def test_other_files_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "a.xlsx").write_text("no zip")
    (tmp_path / "a.ods").write_text("")
    (tmp_path / "a.csv").write_text('id,level\n"a,full\n')
    for name, said in {"a.xlsx": "not a readable .xlsx", "a.ods": "save it as .xlsx", "a.csv": "is not CSV"}.items():
        with pytest.raises(UserError, match=said):
            read_table(tmp_path / name)


def test_columns_are_named_where_they_are_not_known(tmp_path):
    (tmp_path / "a.csv").write_text("Nr,Urteil\n1,full\n")
    table = read_table(tmp_path / "a.csv")
    with pytest.raises(UserError, match=r'no column for the level .*"Nr", "Urteil".*--map level=COLUMN'):
        table.find(ROLES, {}, ["level"])
    assert table.find(ROLES, read_mapping(["level=Urteil", "id=Nr"], ROLES)) == {"level": "Urteil", "id": "Nr"}
    with pytest.raises(UserError, match=r'no column "Urteile". Did you mean \'Urteil\'\?'):
        table.find(ROLES, {"level": "Urteile"})
    with pytest.raises(UserError, match=r"unknown role\. Did you mean 'level'"):
        read_mapping(["levels=Urteil"], ROLES)
    with pytest.raises(UserError, match=r"allowed: ROLE=COLUMN"):
        read_mapping(["level"], ROLES)
    with pytest.raises(UserError, match=r"\"Urteil\": rename one\.$"):
        table.find(ROLES, None, ["level"])


def test_a_column_has_one_role_or_two_that_it_can_have():
    table = table_of("given", [{"key": "a", "said": "x", "gold": 1}])
    for given in ({"id": "gold", "gold": "gold"}, {"statement": "said", "source": "said"}):
        with pytest.raises(UserError, match=r"is given both for the \w+ and for the \w+: give another column"):
            table.find({}, given)
    for given in ({"id": "key", "group": "key"}, {"source": "said", "group": "said"}):
        assert table.find({}, given) == given


def test_statements_longer_than_their_sources_are_said(caplog):
    columns = {"source": "claim", "statement": "the passage"}
    warn_of_swap("a.csv", columns, [(20, 30), (20, 40), (20, 30)])
    warn_of_swap("a.csv", columns, [])
    assert caplog.messages == []
    warn_of_swap("a.csv", columns, [(20, 300), (20, 41), (20, 10)])
    assert "--map statement=claim --map 'source=the passage'" in caplog.text


def test_a_text_longer_than_a_cell_of_a_spreadsheet_is_cut_there(tmp_path):
    pytest.importorskip("openpyxl")
    write_table(tmp_path / "a.xlsx", ["id", "text"], [["1", "x" * 40_000], ["2", "y" * 32_767]], {})
    assert [len(row.text("text")) for row in read_table(tmp_path / "a.xlsx").rows] == [32_767, 32_767]
