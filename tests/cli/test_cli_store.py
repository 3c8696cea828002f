"""What runs keep, from the command line: mended by the next run, refused when it is newer."""

import sqlite3
from contextlib import closing

import pytest

RUN = ("run", "-m", "overlap", "-p", "classification")


@pytest.fixture
def change(tmp_path):
    """Change a store behind metaeval's back."""

    def run(statement, file="results/scores.sqlite"):
        with closing(sqlite3.connect(tmp_path / file)) as plain, plain:
            plain.execute(statement)

    return run


def test_damage_is_said_and_mended_and_moves_no_number(ran, small, change, contents, caplog, tmp_path):
    ran(*RUN, *small)
    before = contents(tmp_path / "results")
    change("UPDATE scores SET score = score + 0.25 WHERE pair < x'50'")
    change("UPDATE scores SET score = 'x' WHERE pair > x'e0'")
    with closing(sqlite3.connect(tmp_path / "results/scores.sqlite")) as plain:
        ((damaged,),) = plain.execute("SELECT COUNT(*) FROM scores WHERE pair < x'50' OR pair > x'e0'")
    assert 2 < damaged < 27
    ran(*RUN, *small, "-q")
    assert f"{damaged} of 27 stored scores of overlap are damaged" in caplog.text
    assert contents(tmp_path / "results") == before
    caplog.clear()
    ran(*RUN, *small)
    assert caplog.text == ""


@pytest.mark.parametrize("command", [RUN, (*RUN, "--dry-run")])
def test_a_store_of_a_later_version_is_refused(ran, refused, small, change, command):
    ran(*RUN, *small)
    change("PRAGMA user_version=2")
    sentence = refused(*command, *small)
    assert sentence.startswith("results/scores.sqlite has schema 2, not 1")
    assert "--store FILE" in sentence


def test_a_file_whose_structure_is_broken_is_said(ran, refused, small, tmp_path):
    ran(*RUN, *small)
    path = tmp_path / "results" / "scores.sqlite"
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    said = refused(*RUN, *small)
    assert said.startswith("Score store results/scores.sqlite: database disk image is malformed. The file is damaged")
    assert "or give another file with --store FILE" in said


def test_rehash_hashes_the_weights_anew(ran, small, tmp_path):
    note = tmp_path / "cache" / "weights.json"
    note.parent.mkdir()
    for suite in ((), ("--suite",)):
        note.write_text("{}")
        ran(*RUN, *small)
        assert note.exists()
        ran(*RUN, *small, *suite, "-s", "rehash=true")
        assert not note.exists()
