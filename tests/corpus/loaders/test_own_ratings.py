import json
import re

import pytest

from metaeval.core.errors import UserError
from metaeval.core.files import csv_text
from metaeval.core.headings import reading_tables
from metaeval.corpus.loaders.ratings import DATASET, read_ratings
from metaeval.corpus.loading import load_dataset

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
    rows = [("r1", 0.5, "bart"), ("2", -3, ""), ("r3", 1, "")]
    assert [(row.id, row.gold, row.system) for row in ratings.rows] == rows
    assert ratings.scores == {"m": {"r1": 1.0, "2": None, "r3": None}, "n": {"r1": None, "2": 0.5, "r3": None}}


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
    with pytest.raises(UserError, match='line 3, column "judge" is "ERROR"'):
        read_ratings(path)
    with reading_tables(skip_bad_cells=True):
        assert read_ratings(path).scores == {"judge": {"1": 1.0, "2": None, "3": 0.0}}
    assert f'1 in "judge" ({path} line 3, column "judge", "ERROR")' in caplog.text


BAD_CELLS = ["0,5", "1e", "#DIV/0!", "43 %", "1.234,5", "٠.٥", "０．５", "1_0", "−0.5"]


@pytest.mark.parametrize("cell", BAD_CELLS)
@pytest.mark.parametrize("among", ["numbers", "its like"])
def test_a_cell_that_is_no_number_among_numbers_is_named_or_skipped(tmp_path, caplog, cell, among):
    path = tmp_path / "mine.csv"
    others = [str(n / 10) for n in range(5)] if among == "numbers" else ["0,1", "0,2", "0,3", "0,4", "0,5"]
    rows = [[f"r{n}", f"g{n}", n % 2, other, n / 7] for n, other in enumerate([*others, cell])]
    path.write_text(csv_text([["id", "group", "gold", "m", "k"], *rows]))
    line = 7 if among == "numbers" else 2
    with pytest.raises(UserError, match=rf'line {line}, column "m" is .*, in a column of numbers'):
        read_ratings(path)
    with reading_tables(skip_bad_cells=True):
        scores = read_ratings(path).scores
    assert [*scores["k"].values()] == [n / 7 for n in range(6)]
    if among == "numbers":
        assert [*scores["m"].values()] == [*(n / 10 for n in range(5)), None]
    assert '1 in "m"' in caplog.text or '6 in "m"' in caplog.text


def test_a_bad_gold_is_left_out_and_counted_and_texts_stay_texts(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,group,gold,m\n1,a,1,1\n2,a,high,2\n3,b,0,3\n")
    with pytest.raises(UserError, match='line 3, column "gold" is "high"'):
        read_ratings(path)
    with reading_tables(skip_bad_cells=True):
        ratings = read_ratings(path)
    assert (len(ratings.rows), dict(ratings.dropped)) == (2, {"texts without a rating": 1})
    path = tmp_path / "mine.csv"
    path.write_text("id,group,gold,m,day,note\n1,a,1,1,12.05.2023,x\n2,a,0,2,13.05.2023,7\n3,b,0,3,14.05.2023,y\n")
    ratings = read_ratings(path)
    assert list(ratings.scores) == ["m"]
    assert ratings.rows[1].fields == {"day": "13.05.2023", "note": "7"}


LEVELS = {"full": 3, "partial": 2, "none": 1}
OWN = {"full": "Gut, 3", "partial": "teils", "none": "schlecht,1"}


@pytest.mark.parametrize(
    ("cells", "options", "counts"),
    [
        ([2, 1, 0, 2, 1, 2], {}, LEVELS),
        ([2, 1, 0, 2, 1, 2], {"levels": "no"}, {"2": 3, "1": 2, "0": 1}),
        ([2, 1, 0, 2, 1, 2], {"cut": "1"}, {"1": 5, "0": 1}),
        ([1, 0.5, 0, 1, 0.5, 1], {}, {"1": 3, "0.5": 2, "0": 1}),
        ([1, 0.5, 0, 1, 0.5, 1], {"full": "1", "partial": ".5", "none": "0"}, LEVELS),
        ([2, 1, 3, 2, 1, 2], {}, {"3": 1, "2": 3, "1": 2}),
        ([1, 0, 0, 1, 0, 1], {}, {"1": 3, "0": 3}),
        (["Fully Supported", "partly", "Not supported ", "FULL", "partially-supported", "supports"], {}, LEVELS),
        (["yes", "not attributable", "no", "YES", "no", "Attributable"], {}, {"full": 3, "partial": 0, "none": 3}),
        ([True, False, False, True, False, True], {}, {"full": 3, "partial": 0, "none": 3}),
        (["gut", "Teils", "1", "GUT", "partial", "3"], OWN, LEVELS),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_gold_is_on_levels_by_one_rule(tmp_path, write, caplog, cells, options, counts, nested):
    rows = [{"id": f"r{n}", "group": f"g{n}", "gold": cell} for n, cell in enumerate(cells)]
    path = write([{**row, "scores": {}} for row in rows]) if nested else tmp_path / "mine.csv"
    if not nested:
        path.write_text(csv_text([["id", "group", "gold"], *([*row.values()] for row in rows)]))
    ratings = read_ratings(path, options)
    # Highest first.
    assert ([*ratings.level_counts().items()], ratings.levels) == ([*counts.items()], "full" in counts)
    numbers = {*cells} == {0, 1, 2} and not options
    assert any("dataset_options.levels=no" in message for message in caplog.messages) == numbers


def test_words_that_nobody_knows_are_refused_with_the_option_that_names_them(tmp_path, write):
    rows = [{"id": f"r{n}", "group": f"g{n}", "gold": gold} for n, gold in enumerate(("yes", "Extrapolatory", "no"))]
    (tmp_path / "mine.csv").write_text(csv_text([list(rows[0]), *(row.values() for row in rows)]))
    for path, place in ((tmp_path / "mine.csv", "line 3"), (write([{**row, "scores": {}} for row in rows]), "line 2")):
        with pytest.raises(UserError, match=rf"{place}.*Extrapolatory.*--map full="):
            read_ratings(path)
        assert read_ratings(path, {"none": "extrapolatory"}).level_counts() == {"full": 1, "partial": 0, "none": 2}
    with pytest.raises(UserError, match="two levels"):
        read_ratings(tmp_path / "mine.csv", {"none": "Extrapolatory", "full": "extrapolatory"})


def test_missing_cells_among_words_are_blank_and_counted(tmp_path, caplog):
    path = tmp_path / "mine.csv"
    lines = ["1,NaN,full,Supported,yes", "2,g,NaN,NaN,<NA>", "3,g,none,Not supported,no", "4,NA,n/a,Supported,no"]
    path.write_text("\n".join(["id,group,gold,judge,other", *lines, "5,h,partly,Partially supported,no"]))
    ratings = read_ratings(path)
    assert ratings.level_counts() == {"full": 1, "partial": 1, "none": 1}
    assert ratings.scores == {"judge": {"1": 2, "3": 0, "5": 1}, "other": {"1": 1, "3": 0, "5": 0}}
    assert [row.group for row in ratings.rows] == ["1", "g", "h"]
    assert "2 rows name no group" in caplog.text
    assert "2 of 5 texts have no rating" in caplog.text


ANNOTATED = """id,question,text,annotator,gold,m,comment
r1,Q1,One.,ann,1,,fine
r1,Q1,,bob,,0.5,why
r2,Q1,Two.,ann,0,0.25,
r2,Q1,Two.,bob,1,0.25,no
"""


def test_rows_of_annotators_become_items(tmp_path, caplog):
    """The score and text of an item are those of whichever row has them; the question is the group."""
    path = tmp_path / "mine.csv"
    path.write_text(ANNOTATED)
    ratings = read_ratings(path)
    assert [(row.id, row.group, row.text, row.gold, row.votes) for row in ratings.rows] == [
        ("r1", "Q1", "One.", 1.0, {"ann": 1.0}),
        ("r2", "Q1", "Two.", 0.5, {"ann": 0.0, "bob": 1.0}),
    ]
    assert ratings.scores == {"m": {"r1": 0.5, "r2": 0.25}}
    assert f"{path}: 2 items from 4 rows, 2 annotators, 1 rating blank." in caplog.messages


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("bob,1,0.25", "bob,1,0.75", r'line 5, column "m" is "0.75", but .* line 4 has "0.25" for the same item'),
        ("r2,Q1,Two.,bob", "r2,Q1,Three.,bob", r'line 5, column "text" is "Three.", but .* line 4 has "Two."'),
        ("r2,Q1,Two.,bob", "r2,Q2,Two.,bob", r'line 5, column "question" is "Q2", but .* line 4 has "Q1"'),
        ("Two.,bob", "Two.,ann", r"line 5, column \"annotator\" names 'ann' for item 'r2' once more, after .* line 4:"),
        ("Two.,bob", "Two.,", r'line 5, column "annotator" is blank: write who rated the item "r2"'),
    ],
)
def test_rows_of_one_item_that_conflict_are_refused_with_both_lines(tmp_path, old, new, says):
    path = tmp_path / "mine.csv"
    path.write_text(ANNOTATED.replace(old, new))
    with pytest.raises(UserError, match=says):
        read_ratings(path)


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
