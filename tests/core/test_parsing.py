"""Reading: what is parsed, and what is refused in one sentence."""

from __future__ import annotations

import gzip
import json

import pytest

from metaeval.core import parsing
from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.core.parsing import (
    DEPTH,
    LARGEST,
    MalformedError,
    csv_records,
    gunzipped,
    json_objects,
    parquet_rows,
    parse_json,
    parse_yaml,
    read_json,
)

DEEP = "more than 100 lists and objects in one another"

ALIASES = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
ANCHORS = "anchors and aliases (&name, *name) are not read"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1, "a": 1}', "field 'a' appears twice"),
        (f'{{"{"k" * 5000}": 1, "{"k" * 5000}": 2}}', "k…"),
        ("9" * 6000, "a whole number of 6,000 digits"),
        (str(LARGEST + 1), f"the largest is {LARGEST}"),
        ("[" * 100_000, DEEP),
        ("[" * 100_000 + "]" * 100_000, DEEP),
        ('{"a":' * (DEPTH + 1) + "1" + "}" * (DEPTH + 1), DEEP),
        ('["\\ud83d"]', r"\ud83d is half of a character"),
        ("{'a': 1}", "Expecting property name"),
        ('{"\\udc00": 1}', r"\udc00 is half of a character"),
    ],
)
def test_json_that_is_refused(text, says):
    with pytest.raises(MalformedError) as caught:
        parse_json(text)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, None, True, "é"], "b": {"a": 1}},
        "😀",
        [LARGEST, -LARGEST],
        json.loads("[" * DEPTH + "]" * DEPTH),
        [[] for _ in range(500)],
        ["[" * 500],
    ],
)
def test_json_that_is_read_is_what_python_reads(value):
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False)) == value


def test_what_a_reader_may_ask_for():
    assert parse_json('"\\ud83d"', lone_surrogates=True) == "\ud83d"
    assert parse_json("[Infinity, 1e999]") == [float("inf")] * 2
    with pytest.raises(MalformedError, match="NaN is not a JSON number"):
        parse_json("[NaN]", constants=False)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2\na: 3", 3, 'found duplicate key "a"'),
        ("a:\n  b: 1\n  b: 2", 3, 'found duplicate key "b"'),
        ("a: 010", 1, "010 can be read as two numbers; text stands in quotes, '010'"),
        ("a: 1e999", 1, "1e999 is not a finite number"),
        (f"a: {'1' * 96}e999", 1, f"{'1' * 96}e999 is not"),
        (f"a: {'1' * 97}e999", 1, f"{'1' * 97}e9… is not"),
        ("a: " + "9" * 5000, None, "a whole number of 5,000 digits"),
        ("a: &x [*x]", 1, ANCHORS),
        ("- " * 5000 + "a", None, DEEP),
        (ALIASES, 1, ANCHORS),
        ("a: !!python/object/apply:os.system [ls]", 1, "tags (tag:yaml.org,2002:python/object/apply:os.system)"),
        ("a: 1\nb:\n\tc: 2", 3, "cannot start any token"),
        ('a: "\\0"', 1, "NUL, or half of a character, is not text"),
        (f"a: {LARGEST + 1}", None, f"the largest is {LARGEST}"),
        (f"a: 0x1{'0' * 16}", None, f"the largest is {LARGEST}"),
        ("a: 0x_", None, "invalid literal for int()"),
        ("a: -010", 1, "-010 can be read as two numbers"),
        ("a: 1\n---\na: 2", 2, "but found another document"),
        ("? [1]\n: 2", 1, "a key is a list or a mapping"),
        ("\x00", None, "special characters are not allowed"),
        ("a: " + "x" * (1 << 20), None, "characters; allowed: 1,048,576"),
    ],
)
def test_yaml_that_is_refused(text, line, says):
    with pytest.raises(MalformedError) as caught:
        parse_yaml(text)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 200
    assert line is None or caught.value.line in (line, line + 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: ~", {"a": None}),
        ("[true, False]", [True, False]),
        ("[yes, no, on, off, y]", ["yes", "no", "on", "off", "y"]),
        ("[0, 12, -3, +4, 1_000, 0x1F]", [0, 12, -3, 4, 1000, 31]),
        ("[0.30, .5, 1., 1.5e3, 1e5, -0.25]", [0.3, 0.5, 1.0, 1500.0, 100000.0, -0.25]),
        ("[2024-01-02, 2024-13-45, 2024-01-02T03:04:05Z]", ["2024-01-02", "2024-13-45", "2024-01-02T03:04:05Z"]),
        ("[1:30, 12:30:45, =, 1.2.3, '010']", ["1:30", "12:30:45", "=", "1.2.3", "010"]),
        ("[0o17, 0b11, -0x1F]", [15, 3, -31]),
        ("llama:30", "llama:30"),
    ],
)
def test_yaml_is_read_by_the_rules_of_version_1_2(text, value):
    assert parse_yaml(text) == value


@pytest.mark.parametrize("key", ["interval.resamples", "comparison.alpha"])
def test_truth_is_no_number(key):
    with pytest.raises(UserError, match=f"--set {key}: true is not a value for this setting"):
        load_run(None, {}, [f"{key}=true"])


def test_a_row_below_the_header_is_a_table_and_a_header_alone_is_none(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,text\nx,y\n")
    assert [*csv_records(path, "look")] == [(f"{path} line 2", {"id": "x", "text": "y"})]
    path.write_text("id,text\n")
    with pytest.raises(UserError, match="holds no rows"):
        next(csv_records(path, "look"))


def test_gzip_grows_within_its_limit(monkeypatch):
    monkeypatch.setattr(parsing, "_FREE", 1000)
    words = " ".join(map(str, range(5000))).encode()
    assert gunzipped(gzip.compress(words)) == words
    assert gunzipped(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"
    assert gunzipped(b"text") == b"text"
    with pytest.raises(MalformedError, match="the gzip file grows to more than"):
        gunzipped(gzip.compress(bytes(10_000_000)))
    with pytest.raises(MalformedError, match="not a whole gzip file"):
        gunzipped(gzip.compress(words)[:-9])


@pytest.mark.parametrize("form", ["lines", "list"])
@pytest.mark.parametrize("packed", [False, True])
def test_objects_of_a_file(tmp_path, form, packed):
    rows = [{"a": "\u2028 is no end of a line"}, {"b": 2}]
    text = "\ufeff" + (
        json.dumps(rows) if form == "list" else "\r\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    )
    path = tmp_path / "rows"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert [row for _, row in json_objects(path, "")] == rows
    place = [where.removeprefix(f"{path} ") for where, _ in json_objects(path, "")]
    assert place == (["record 1", "record 2"] if form == "list" else ["line 1", "line 3"])


def test_a_file_is_told_with_its_line_and_what_to_do(tmp_path):
    path = tmp_path / "made.json"
    path.write_text('{"a": 1,\n "a" 2}')
    with pytest.raises(UserError) as caught:
        read_json(path, "make it again")
    assert str(caught.value) == f"{path} is not JSON (line 2: Expecting ':' delimiter): make it again."
    with pytest.raises(UserError, match=r"Cannot read .*gone: No such file or directory; make it again\.$"):
        read_json(tmp_path / "gone", "make it again")


def test_a_parquet_file_is_read_within_its_limit(tmp_path, monkeypatch):
    path = tmp_path / "made.parquet"
    pyarrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(pyarrow.table({"a": ["x" * 1000] * 5000}), path)
    assert path.stat().st_size < 100_000
    assert list(parquet_rows(path)) == [{"a": "x" * 1000}] * 5000
    monkeypatch.setattr(parsing, "MOST_BYTES", 1_000_000)
    with pytest.raises(UserError, match="holds more than 1,000,000 bytes: cut it into several files"):
        list(parquet_rows(path))
