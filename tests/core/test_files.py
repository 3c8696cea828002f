"""Files: whole or not at all, and the same text for the same value."""

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import UserError
from metaeval.core.files import (
    atomic_write,
    canonical_json,
    declare,
    inputs_protected,
    sha256_file,
    sha256_json,
    write_table,
    write_text,
)
from metaeval.core.parsing import read_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_while_writing_leaves_what_was_there(tmp_path, old, error):
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)

    def write():
        with atomic_write(path) as file:
            file.write(b"half of the new")
            raise error

    with pytest.raises(error):
        write()
    assert names(tmp_path) == ([] if old is None else ["file"])
    assert old is None or path.read_bytes() == old


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize(("name", "fills"), [("a.txt", "os.fsync"), ("a.xlsx", "openpyxl.Workbook.save")])
def test_a_full_disk_is_a_sentence_and_leaves_the_old_file(tmp_path, monkeypatch, name, fills):
    path = tmp_path / name
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    pytest.importorskip("openpyxl")
    monkeypatch.setattr(fills, full)
    with pytest.raises(UserError, match=f"Cannot write .*{name}: No space left on device"):
        write_text(path, "new") if name == "a.txt" else write_table(path, ["a"], [["1"]], {})
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == [name]


def test_a_folder_in_the_place_of_the_file_and_a_file_in_that_of_the_folder_are_a_sentence(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match=r"Cannot write .*folder: Is a directory"):
        write_text(tmp_path / "folder", "new")
    with pytest.raises(UserError, match=r"Cannot write .*free space"):
        write_text(tmp_path / "taken" / "file", "new")
    assert (tmp_path / "taken").read_text() == "mine"
    assert names(tmp_path) == ["folder", "taken"]


def test_texts_bytes_and_hashes_are_those_of_the_content(tmp_path):
    write_text(tmp_path / "a" / "b" / "file", "ä\nb\r\nc")
    assert (tmp_path / "a" / "b" / "file").read_bytes() == "ä\nb\r\nc".encode()
    data = bytes(range(256)) * 5000  # more than one block of 1 MiB
    (tmp_path / "file").write_bytes(data)
    assert sha256_file(tmp_path / "file") == hashlib.sha256(data).hexdigest()
    value = {"b": [1, 2.5, None, True], "a": {"é": "x y"}}
    assert canonical_json(value) == '{"a":{"é":"x y"},"b":[1,2.5,null,true]}'
    assert sha256_json(value) == hashlib.sha256(canonical_json(value).encode()).hexdigest()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_text(tmp_path / "file", "x")
        assert os.umask(umask) == umask, "left as it was"
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path):
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    for name, why in {"none": "No such file", "": "Is a directory", "latin": r"latin is not UTF-8 .*byte 3"}.items():
        with pytest.raises(UserError, match=why):
            read_text(tmp_path / name)
    with pytest.raises(UserError, match="/dev/zero is a device"):
        read_text(Path("/dev/zero"))
    with os.popen("echo piped") as pipe:
        assert read_text(Path(f"/dev/fd/{pipe.fileno()}")) == "piped\n"


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_canonical_json_does_not_depend_on_the_order_of_keys(value):
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_canonical_json_refuses_what_is_no_json_number(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"deep": [number]})


def test_what_a_killed_run_left_unfinished_is_deleted_when_it_is_old(tmp_path):
    old, young, other = (tmp_path / f".{name}.unfinished" for name in ("a.json.k1", "a.json.k2", "b.json.k3"))
    for left in (old, young, other):
        left.write_text("half")
    for left in (old, other):
        os.utime(left, (0, left.stat().st_mtime - 86_400))
    write_text(tmp_path / "a.json", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([young.name, other.name, "a.json"])


def test_what_a_job_reads_is_not_written_over_until_it_ends(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("read")
    link.hardlink_to(path)
    with inputs_protected():
        with inputs_protected():  # a part of the job
            assert read_text(path) == "read"
        for name in (path, link):
            with pytest.raises(UserError, match="is read as input"):
                write_text(name, "new")
        write_text(tmp_path / "other", "new")
    assert (path.read_text(), link.read_text()) == ("read", "read")
    write_text(path, "new")
    assert path.read_text() == "new"


def test_an_output_is_refused_as_input_also_where_the_refusal_is_not_heard(tmp_path):
    path = tmp_path / "file"
    path.write_text("read")
    with inputs_protected():
        declare("output", path)
        for use in (lambda: read_text(path), lambda: read_text(path), lambda: write_text(path, "new")):
            with pytest.raises(UserError, match="is read as input"):
                use()
    assert path.read_text() == "read"


def test_what_a_job_wrote_and_its_own_notes_it_may_read_and_write_again(tmp_path):
    path, notes = tmp_path / "file", tmp_path / "notes"
    path.write_text("old")
    notes.write_text("1")
    with inputs_protected():
        for text in ("first", "second"):
            write_text(path, text)
            assert read_text(path) == text
        write_text(notes, read_text(notes) + "2", update=True)
        assert read_text(notes) == "12"


def test_the_inode_of_a_file_that_is_gone_protects_no_other(tmp_path):
    gone, path = tmp_path / "gone", tmp_path / "file"
    gone.write_text("read")
    with inputs_protected():
        read_text(gone)
        gone.rename(path)  # the same inode under another name, as a reused one is
        write_text(path, "new")
    assert path.read_text() == "new"
