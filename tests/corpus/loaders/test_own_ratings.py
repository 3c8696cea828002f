import json
import re
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
from metaeval.core.files import csv_text
from metaeval.core.headings import reading_tables
from metaeval.corpus.loaders.ratings import DATASET, read_ratings
from metaeval.corpus.loading import load_dataset

TABLES = json.loads(Path(__file__).with_name("own_tables.json").read_text(encoding="utf-8"))
ROWS = [
    {"id": "r1", "group": "g1", "gold": 0.5, "system": "bart", "subset": "news", "text": "One.", "scores": {"m": 1}},
    {"id": 2, "group": "g1", "gold": -3, "scores": {"m": None, "n": 0.5}},
    {"id": "r3", "group": "g2", "gold": 1},
]


@pytest.fixture
def write(tmp_path):
    def write(rows, name="mine.jsonl"):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path = tmp_path / name
        path.write_text("\ufeff" + "\r\n".join(lines) + "\n\n")
        return path

    return write


def test_tables_are_read_whole_or_refused(recorded, all_of, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    found = {}
    for kind, tables in TABLES.items():
        for number, (content, options) in enumerate(tables):
            path = Path(f"mine.{kind}")
            path.write_text(content if kind == "csv" else "".join(json.dumps(row) + "\n" for row in content))
            told = [all_of(recorded.told(read_ratings, path, options))]
            told.append([recorded.named(message) for message in caplog.messages])
            caplog.clear()
            with reading_tables(skip_bad_cells=True):
                skipped = all_of(recorded.told(read_ratings, path, options))
            told += [skipped, len(caplog.messages)] if skipped != told[0] else []
            caplog.clear()
            found[f"{kind} {number}"] = told
    recorded.held("corpus-own-tables", found)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 4 is not JSON"),
        ("[1]", "line 4 is [1]; allowed: a JSON object: write one object with id, group and gold per line"),
        ('{"id": "x", "group": "g", "gold": 1e999}', 'line 4, column "gold" is "inf", in a column of numbers'),
        ({"id": "r1", "group": "g", "gold": 1}, "rating id 'r1' is used twice"),
        ({"id": ["x"], "group": "g", "gold": 1}, 'line 4, column "id" is "[\'x\']": write a text or a number'),
        ({"id": "x", "gold": {"a": 1}}, 'human ratings in several columns ("gold", "gold:a"): add --map gold=COLUMN'),
        ({"id": "x", "group": "g", "gold": 1, "systm": "a"}, "line 4: there is no field 'systm'"),
        ({"id": "x", "group": "g", "gold": 1, "scores": [1]}, "line 4: field 'scores' is [1]; allowed: an object"),
        ({"id": "x", "group": "g", "gold": 1, "scores": {"m": "high"}}, 'line 4, column "scores:m" is "high"'),
        ({"id": "x", "group": "g", "gold": 1, "scores": {"m": "None"}}, 'line 4, column "scores:m" is "None"'),
        ('{"id": "x", "group": "g", "gold": 1, "scores": {"m": -Infinity}}', 'line 4, column "scores:m" is "-inf"'),
    ],
)
def test_a_faulty_line_is_told(write, line, says):
    with pytest.raises(UserError, match=re.escape(says)):
        read_ratings(write([*ROWS, line]))


def test_lines_are_a_table(write, caplog):
    more = [
        {"id": "x", "gold": "full", "votes": {"ann": 1}},
        '{"id": "y", "group": "g", "gold": NaN, "scores": {"m": "yes"}}',
    ]
    ratings = read_ratings(write([*ROWS, {"group": "g", "gold": " 2", "system": 3, "fields": {"m": "text"}}, *more]))
    added = [("row 4", "g", 2, "3"), ("x", "x", 2, "")]
    assert [(row.id, row.group, row.gold, row.system) for row in ratings.rows[3:]] == added
    assert (ratings.rows[3].fields, ratings.rows[4].votes) == ({"m": "text"}, {"ann": 1})
    assert "1 of 6 texts have no rating" in caplog.text
    assert "1 row without an id, called by place: " in caplog.text


def test_lines_of_cells_are_a_table_and_a_folder_is_none(write, tmp_path):
    lines = [{"key": f"k{n}", "about": "ab"[n % 2], "human": n, "mine": n / 2, "note": None} for n in range(3)]
    read = read_ratings(write(lines), {"group": "about", "id": "key"})
    assert [(row.id, row.group, row.gold) for row in read.rows] == [("k0", "a", 0), ("k1", "b", 1), ("k2", "a", 2)]
    assert read.scores == {"mine": {"k0": 0, "k1": 0.5, "k2": 1}}
    for data in (None, tmp_path):
        with pytest.raises(UserError, match=r"dataset=ratings needs data=FILE"):
            load_dataset(DATASET, None, data)


def test_a_set_is_the_same_from_every_kind_of_file_and_in_blocks_of_any_size(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"id": f"r{n}", "group": f"g{n % 3}", "gold": n / 4, "system": "ab"[n % 2], "m": None if n == 4 else n + 0.5}
        for n in range(11)
    ]
    cells_of = [["" if value is None else value for value in row.values()] for row in rows]
    (tmp_path / "mine.csv").write_text(csv_text([list(rows[0]), *cells_of]))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "mine.parquet")
    nested = ({**row, "scores": {"m": row["m"]}} for row in rows)
    lines = [json.dumps({name: value for name, value in row.items() if name != "m"}) for row in nested]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    found = []
    for size in (3, 65_536):
        for name in ("mine.csv", "mine.parquet", "mine.jsonl"):
            monkeypatch.setattr("metaeval.core.tables._BLOCK", size)
            found.append(read_ratings(tmp_path / name))
    assert all(one == found[0] for one in found)
    assert found[0].scores["m"] == {row["id"]: row["m"] for row in rows}
