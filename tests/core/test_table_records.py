"""Tables as files, sheets and frames have them: all that is read of each, or which cell is told."""

import gzip
import json
from pathlib import Path

import pandas
import pytest

from metaeval.core import files, headings, parsing, tables
from metaeval.core.headings import reading_tables
from metaeval.core.tables import UserTable

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
ROLES = {
    "id": ("id", "item id", "item"),
    "level": ("level", "verdict"),
    "score": ("score", "gold"),
    "answer": ("reponse",),
}


@pytest.fixture
def told(recorded, caplog, tmp_path, monkeypatch):
    """What a call returns, of a table its cells and places, and what the messages name."""
    monkeypatch.chdir(tmp_path)

    def told(use, *given):
        found = recorded.told(use, *given)
        if isinstance(found, UserTable):
            place = [found.unit, [*found.frame.index], found.letters]
            found = [found.headings, [[*map(str, row.cells.values())] for row in found.rows], place, len(found)]
        said = [recorded.named(message) for message in caplog.messages]
        caplog.clear()
        return [found, said] if said else found

    return told


def test_files_and_sheets_are_read_whole_or_refused(recorded, told):
    openpyxl = pytest.importorskip("openpyxl")
    found = {"files": [], "sheets": [], "texts": []}
    for name, text in TABLES["files"]:
        if text is not None:
            Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        found["files"].append(told(tables.any_table, name, "no name"))
    for rows in TABLES["sheets"]:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save("a.xlsx")
        found["sheets"].append(told(tables.read_table, Path("a.xlsx")))
    for content in ("ä,b", "a\r\nb\rc", "\ufeffa"):
        for encoding in ("utf-8", "utf-16", "utf-8-sig"):
            Path("a").write_bytes(content.encode(encoding, "replace"))
            found["texts"].append([told(parsing.decoded, Path("a"), typed) for typed in ("", "latin-1")])
    found["endings"] = [tables.unzipped_ending(Path(name)) for name in ("a.CSV", "b.tsv.GZ", "c", ".gz", "a.gz.csv")]
    recorded.held("core-tables", found)


def test_columns_are_checked_found_and_paired(recorded, told):
    found = {"checked": [], "skipped": [], "find": [], "pairs": [], "frames": []}
    for cells in TABLES["columns"]:
        table = tables.table_of("t", pandas.DataFrame({"m": pandas.Series(cells, dtype=object), "id": "x"}))
        of_column = [table.is_numbers("m"), table.plain("m"), table.texts("m"), table.read("m")[1:]]
        checks = ((["m"], None), (["m"], lambda cell: str(cell) in {"full", "none"}), (["id", "m"], None, ", or so"))
        found["checked"].append([*of_column, *(told(table.checked, *check) for check in checks)])
        with reading_tables(skip_bad_cells=True):
            found["skipped"].append([told(table.checked, *check) for check in checks[:2]])
    for names, chosen in TABLES["finds"]:
        table = tables.table_of("t", [dict.fromkeys(names, "x")])
        found["find"].append([told(table.find, ROLES, chosen, needed) for needed in ((), ["id"])])
        found["find"].append([told(table.find, ROLES, None, ["level"]), table.like(["score", "reponse", "item id"])])
    for names, rows, chosen in TABLES["pairs"]:
        table = tables.table_of("t", [dict(zip(names, row, strict=True)) for row in rows])
        found["pairs"].append(told(tables.pairs_in, table, chosen))
    frame = pandas.DataFrame(
        {"id": [*"abcdef"], "topic": [*"xxyyyy"], "n": [1] * 6, "k": [*"xyyzzz"], "l": [*"abbbbb"], "m": [*"aaabbb"]}
    )
    frames = (frame, frame.iloc[:0], [{"a": 1}, {"b": [1, (2, 3)]}], [{"a": 1}, 3], {"a": [1]}, None, "gone.csv", 3)
    found["frames"] = [told(tables.any_table, given, "given") for given in frames]
    table = tables.table_of("t", frame, [f"file line {n}" for n in (4, 6, 7, 8, 11, 12)])
    found["cure"] = [recorded.named(table.group_cure(fields)) for fields in ("n", ["id", *"klm", "topic"], "")]
    found["places"] = [table.row(3).where, recorded.named(table.row(4).place("id")), table.unit, [*table.frame.index]]
    recorded.held("core-columns-checked", found)


def test_tables_are_written_as_they_are_read(recorded, told):
    openpyxl = pytest.importorskip("openpyxl")
    rows = [["a", 1, "=1+1"], ["b\x1b\n\tc", None, "x" * 90], ["'q", 2.5, "-2"]]
    for ending in (".csv", ".tsv", ".jsonl", ".xlsx"):
        files.write_table(Path(f"a{ending}"), ["id", "n", "long heading"], rows, {"n": ["1", "2"]})
        files.write_table(Path(f"b{ending}"), ["id"], [], {})
    found = {path: Path(path).read_bytes().decode() for path in ("a.csv", "a.tsv", "a.jsonl", "b.csv", "b.jsonl")}
    for name in ("a.xlsx", "b.xlsx"):
        sheet = openpyxl.load_workbook(name).active
        cells = [
            [[cell.value, cell.data_type, bool(cell.font.b), bool(cell.alignment.wrap_text)] for cell in row]
            for row in sheet
        ]
        widths = [sheet.column_dimensions[letter].width for letter in "ABC"[: sheet.max_column]]
        lists = [
            [str(own.sqref), own.formula1, own.type, own.allow_blank] for own in sheet.data_validations.dataValidation
        ]
        found[name] = [cells, widths, sheet.freeze_panes, lists]
    found["texts"] = [str(path) for path in files.write_texts({Path("c.txt"): "x", Path("d/e.txt"): "y"})]
    found["read"] = [told(tables.read_table, Path(f"a{ending}")) for ending in (".csv", ".tsv", ".jsonl", ".xlsx")]
    recorded.held("core-written", found)
    assert (Path("d/e.txt").read_text(), headings.READING.get()) == ("y", ("", False))
