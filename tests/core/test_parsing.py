"""Reading: what is parsed, and what is refused in one sentence."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import pytest

from metaeval.core import parsing
from metaeval.core.errors import UserError
from metaeval.core.parsing import (
    MalformedError,
    csv_records,
    gunzipped,
    json_objects,
    parquet_rows,
    parse_json,
    parse_yaml,
    read_json,
    read_object,
    yaml_settings,
)

HERE = Path(__file__).parent
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))
ALIASES = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture
def read(recorded):
    """What is read of a text; of a fault its line, and what its sentence names."""

    def read(use, text):
        try:
            value = use(text)
        except MalformedError as error:
            return {"line": error.line, "names": recorded.named(str(error)), "short": len(str(error)) < 200}
        return value if len(text) < 200 and "\\u" not in text else json.dumps(value)[-5:]

    return read


def test_texts_are_read_or_refused(recorded, read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, found = Path("file"), {}
    found["json"] = [read(parse_json, text) for text in TEXTS["json"]]
    for kind, option in (("lone_surrogates", True), ("constants", False), ("long_integers", True)):
        found[kind] = [read(partial(parse_json, **{kind: option}), text) for text in TEXTS["json"]]
    found["yaml"] = [read(parse_yaml, text) for text in TEXTS["yaml"]]
    found["settings"] = [recorded.told(yaml_settings, text, "here") for text in TEXTS["yaml"]]
    for name, reads in {"files": json_objects, "csv": csv_records}.items():
        found[name] = []
        for text in TEXTS[name]:
            path.write_bytes(text.encode())
            rows = recorded.told(lambda reads=reads: [*reads(path, "")])
            found[name].append(
                [(where.removeprefix(f"{path} "), row) for where, row in rows] if type(rows) is list else rows
            )
    for reads in (read_json, read_object):
        found[reads.__name__] = []
        for text in TEXTS["files"]:
            path.write_text(text)
            found[reads.__name__].append(recorded.told(reads, path))
    recorded.held("core-texts", found)


def test_long_and_deep_texts_are_bounded(recorded, read):
    texts = {
        parse_json: [
            *(f'{{"{"k" * 500}": 1, "{"k" * 500}": 2}}', "9" * 6000, "[" * 100_000, "[" * 100_000 + "]" * 100_000),
            *('{"a":' * depth + "1" + "}" * depth for depth in (100, 101)),
            *("[" * depth + "]" * depth for depth in (100, 101)),
            *(json.dumps([[] for _ in range(500)]), json.dumps(["[" * 500])),
        ],
        parse_yaml: [
            *(
                "a: " + "9" * 5000,
                "- " * 5000 + "a",
                *("[" * depth + "]" * depth for depth in (100, 101)),
                ALIASES,
            ),
            *("a: " + "x" * (size - 3) for size in (1 << 20, (1 << 20) + 1)),
        ],
    }
    recorded.held("core-bounds", {use.__name__: [read(use, text) for text in own] for use, own in texts.items()})


@pytest.mark.parametrize(("digits", "end"), [(96, "e999"), (97, "e9…")])
def test_a_long_word_is_cut_behind_a_hundred_characters(digits, end):
    with pytest.raises(MalformedError, match=f"{'1' * digits}{end}"):
        parse_yaml(f"a: {'1' * digits}e999")


def test_gzip_grows_within_its_limit(monkeypatch):
    assert [parsing.most_expanded(size) for size in (0, 10, 1 << 30)] == [67_108_864, 67_110_864, 4_294_967_296]
    monkeypatch.setattr(parsing, "_FREE", 1000)
    words = " ".join(map(str, range(5000))).encode()
    assert gunzipped(gzip.compress(words)) == words
    assert gunzipped(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"
    with pytest.raises(MalformedError, match="not a whole gzip file"):
        gunzipped(gzip.compress(words)[:-9])
    monkeypatch.setattr(parsing, "EXPANSION", 0)
    monkeypatch.setattr(parsing, "LONGEST_LINE", 500)
    assert len(gunzipped(gzip.compress(b"a" * 499 + b"\n" + b"b" * 500))) == 1000
    for content in (bytes(10_000_000), b"a" * 501, b"a\n" * 501):
        with pytest.raises(MalformedError, match="the gzip file grows to more than"):
            gunzipped(gzip.compress(content))


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
    monkeypatch.setattr(parsing, "_BATCH_BYTES", 999)
    parts = [*parsing.parquet_parts(path)]
    assert [part.num_rows for part in parts] == [1] * 5000
    monkeypatch.setattr(parsing, "MOST_BYTES", sum(part.nbytes for part in parts))
    assert list(parquet_rows(path)) == [{"a": "x" * 1000}] * 5000
    monkeypatch.setattr(parsing, "MOST_BYTES", 1_000_000)
    with pytest.raises(UserError, match="holds more than 1,000,000 bytes: cut it into several files"):
        list(parquet_rows(path))
