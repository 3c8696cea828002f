"""Reading published rows: JSON lines, JSON lists and gzip, told from the content; clear errors for the rest."""

import gzip

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import DataRow, finite, finite_or_none, read_rows


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"a": 1}\n{"a": \n', "line 2 is not JSON"),
        (b'{"a": 1}\n3\n', "line 2 is 3; allowed: a JSON object"),
        (b'[{"a": 1}, "x"]', 'record 2 is "x"; allowed: a JSON object'),
        (b'{"a": "\xff"}', "is not UTF-8"),
        (gzip.compress(b'{"a": 1}\n' * 99, mtime=0)[:-20], "fetch the published file again"),
        (b"\x1f\x8bno gzip at all, really", "Cannot read"),
    ],
)
def test_faults_name_the_place(tmp_path, content, says):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"x\.jsonl") as raised:
        list(read_rows(path))
    assert says in str(raised.value)


def test_a_field_tells_its_value_and_what_is_allowed():
    row = DataRow("f line 7", {"label": "maybe", "list": ["x", 3], "inner": {"deep": None}})
    with pytest.raises(UserError, match='f line 7: field \'label\' is "maybe"; allowed: "yes", "no"'):
        row.choice("label", {"yes": 1, "no": 0})
    with pytest.raises(UserError, match=r"field 'list' is .* allowed: a list of strings"):
        row.texts("list")
    with pytest.raises(UserError, match="f line 7, inner: field 'deep' is null; allowed: a string"):
        row.row("inner").text("deep")
    with pytest.raises(UserError, match="field 'gone' is missing; the row has label, list, inner"):
        row.text("gone")
    assert row.row("inner").optional_text("deep") == row.optional_text("gone") == ""


@pytest.mark.parametrize("value", ["high", "inf", float("nan"), True, None, [1], "1,5", ""])
def test_a_number_is_finite(value):
    with pytest.raises(UserError, match=r"^f: field 'x' .*; allowed: a finite number"):
        finite(DataRow("f", {"x": value}), "x")
    assert [finite(DataRow("f", {"x": text}), "x") for text in (2, "0.5", "-1e3")] == [2, 0.5, -1000]


def test_a_missing_number_and_an_id_are_read():
    assert {finite_or_none(DataRow("f", {"x": text}), "x") for text in (None, "", "-", "nan")} == {None}
    assert [DataRow("f", {"x": own}).identifier("x") for own in ("a", 7)] == ["a", "7"]
    for value in ("", True, 1.5, None):
        with pytest.raises(UserError, match=r"'x' is .*; allowed: a string or a whole number, not empty"):
            DataRow("f", {"x": value}).identifier("x")
    for value in (True, [1], "2"):
        with pytest.raises(UserError, match=r"'x' is .*; allowed: 1"):
            DataRow("f", {"x": value}).choice("x", {1: "one"})
