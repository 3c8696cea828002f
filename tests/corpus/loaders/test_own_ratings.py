import json
import re
import tracemalloc

import pytest

from metaeval import column_arrays
from metaeval.corpus.loaders.ratings import DATASET, read_ratings
from metaeval.corpus.loading import load_dataset
from metaeval.errors import UserError
from metaeval.files import csv_text

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


def test_a_line_becomes_a_rating_and_its_scores(write):
    ratings = read_ratings(write(ROWS))
    assert ratings.name == "mine"
    assert [(row.id, row.gold, row.system) for row in ratings.rows] == [
        ("r1", 0.5, "bart"),
        ("2", -3, ""),
        ("r3", 1, ""),
    ]
    assert ratings.scores == {"m": {"r1": 1.0, "2": None}, "n": {"2": 0.5}}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 4 is not JSON"),
        ("[1]", "line 4 is [1]; allowed: an object: write one object with id, group and gold per line"),
        ({"id": "x", "gold": 1}, "line 4: field 'group' is missing; the row has id, gold"),
        ({"id": "x", "group": "g"}, "line 4: field 'gold' is missing"),
        ({"id": "x", "group": "g", "gold": None}, "line 4: field 'gold' is null; allowed: a finite number"),
        ({"id": "x", "group": "g", "gold": "0.5"}, "line 4: field 'gold' is \"0.5\"; allowed: a finite number"),
        ('{"id": "x", "group": "g", "gold": NaN}', "line 4: field 'gold' is NaN; allowed: a finite number"),
        ('{"id": "x", "group": "g", "gold": 1e999}', "line 4: field 'gold' is Infinity; allowed: a finite number"),
        ({"id": "", "group": "g", "gold": 1}, "line 4: field 'id' is \"\"; allowed: a string or a whole number"),
        ({"id": "r1", "group": "g", "gold": 1}, "rating id 'r1' is used twice"),
        (
            {"id": "x", "group": "g", "gold": 1, "systm": "a"},
            "line 4: there is no field 'systm'. Did you mean 'system'?",
        ),
        ({"id": "x", "group": "g", "gold": 1, "system": 3}, "line 4: field 'system' is 3; allowed: a string"),
        ({"id": "x", "group": "g", "gold": 1, "scores": [1]}, "line 4: field 'scores' is [1]; allowed: an object"),
        (
            {"id": "x", "group": "g", "gold": 1, "scores": {"m": "high"}},
            "line 4, scores: field 'm' is \"high\"; allowed: a finite number or null",
        ),
        (
            {"id": "x", "group": "g", "gold": 1, "scores": {"m": "None"}},
            "line 4, scores: field 'm' is \"None\"; allowed: null, or a finite number as in other rows",
        ),
        (
            '{"id": "x", "group": "g", "gold": 1, "scores": {"m": -Infinity}}',
            "line 4, scores: field 'm' is -Infinity; allowed: a finite number",
        ),
    ],
)
def test_a_faulty_line_is_told(write, line, says):
    with pytest.raises(UserError, match=re.escape(says)):
        read_ratings(write([*ROWS, line]))


def test_columns_that_are_guessed_are_said(tmp_path, caplog):
    path = tmp_path / "mine.csv"
    path.write_text("key,group,level,page,mine,note\nk1,a,full,3,0.5,x\nk2,b,none,4,0.1,y\n")
    read_ratings(path)
    said = 'gold from "level", scores from "page", "mine" (others: --set dataset_options.metrics=NAMES)'
    assert [message for message in caplog.messages if "group" not in message] == [f"{path} is read so: {said}."]
    caplog.clear()
    read_ratings(path, {"gold": "level", "metrics": "mine"})
    assert caplog.messages == []


@pytest.mark.parametrize("column", ["gold", "mine", "vote a"])
@pytest.mark.parametrize("said", ["None", "NA", "nan", "-inf", "1e999"])
def test_a_missing_number_is_no_text_and_no_level(tmp_path, column, said):
    row = {"gold": "1", "mine": "0.5", "vote a": "1"}
    lines = [",".join(("id", "group", *row)), ",".join(("k1", "a", *row.values()))]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([*lines, ",".join(("k2", "b", *(row | {column: said}).values()))]))
    with pytest.raises(UserError, match=f'line 3, column "{column}" is "{said}", in a column of numbers: leave'):
        read_ratings(path)


def test_a_failed_verdict_does_not_take_its_column_away_without_a_word(tmp_path, caplog):
    path = tmp_path / "mine.csv"
    path.write_text("id,group,gold,judge,field\n1,a,1,yes,x\n2,a,0,ERROR,7\n3,b,0,no,y\n")
    assert not read_ratings(path).scores
    assert f'no scores from "judge" ({path} line 3 is neither number nor verdict).' in caplog.text


def test_lines_of_cells_are_a_table(write):
    lines = [{"key": f"k{n}", "about": "ab"[n % 2], "human": n, "mine": n / 2, "note": None} for n in range(3)]
    read = read_ratings(write(lines), {"group": "about", "id": "key"})
    assert [(row.id, row.group, row.gold) for row in read.rows] == [("k0", "a", 0), ("k1", "b", 1), ("k2", "a", 2)]
    assert read.scores == {"mine": {"k0": 0, "k1": 0.5, "k2": 1}}


def test_a_rated_set_needs_its_file(tmp_path):
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
            monkeypatch.setattr(column_arrays, "BLOCK", size)
            monkeypatch.setattr("metaeval.own_tables.BLOCK", size)
            found.append(read_ratings(tmp_path / name))
    assert all(one == found[0] for one in found)
    assert found[0].scores["m"] == {row["id"]: row["m"] for row in rows}


def test_reading_makes_no_objects_that_grow_with_the_rows(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    n = 200_000
    columns = {"group": [row // 10 for row in range(n)], "gold": [float(row % 3) for row in range(n)]}
    columns |= {name: [row / n for row in range(n)] for name in ("mine", "theirs")}
    parquet.write_table(pyarrow.table(columns), tmp_path / "mine.parquet")
    del columns
    tracemalloc.start()
    try:
        ratings = read_ratings(tmp_path / "mine.parquet")
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(ratings.rows) == n
    # A row is an id of 16 bytes, 8 for each number and 4 or less for each code: no object, which takes 50 and more.
    assert kept < 100 * n
    assert most < 350 * n
