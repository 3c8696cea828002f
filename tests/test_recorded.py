"""A record tells what differs, and where."""

import pytest


def test_a_changed_number_a_missing_key_and_a_longer_list_are_told_by_place(recorded):
    was = {"a": [1, 2.0, "x"], "b": {"c": True}}
    assert list(recorded.differences(was, {"a": [1, 2.0 + 1e-9, "x"], "b": {"c": True}})) == []
    changed = {"a": [1, 2.001, "x"], "b": {"c": 1, "d": 0}}
    assert [one.split(":")[0] for one in recorded.differences(was, changed)] == ["/a/1", "/b/c", "/b/d"]
    assert [one.split(":")[0] for one in recorded.differences(was, was | {"a": [1]})] == ["/a"]


def test_of_a_sentence_the_numbers_count_and_of_a_row_the_cells(recorded):
    assert recorded.plain({"seconds": 3, "x": "a note on 3 of 1,054 pairs (.5)", "y": "none"}) == {
        "x": "3 1,054 .5",
        "y": "none",
    }
    assert recorded.said("metric   AUC   n\n\nSee 2 more\nno number") == [["metric", "AUC", "n"], ["2"]]


def test_a_record_that_does_not_hold_fails(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.setenv("RECORD", "1")
    recorded.held("x", {"a": {1: 2.5}})
    monkeypatch.delenv("RECORD")
    recorded.held("x", {"a": {1: 2.5}})
    with pytest.raises(AssertionError, match=r"/a/1: 2\.5, now 2\.6"):
        recorded.held("x", {"a": {1: 2.6}})
