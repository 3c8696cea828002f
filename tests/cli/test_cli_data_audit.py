"""metaeval data audit: what it prints and writes, and its JSON."""

import json

import pytest


@pytest.mark.usefixtures("every_format")
def test_an_audit_prints_tables_and_writes_a_page_and_a_figure(ran, tmp_path):
    ended = ran("data", "audit", "mini", "--sizes", "100", "--set", "interval.resamples=20")
    assert "hold a whole set" in ended.out
    assert "evidence.rule" in ended.out
    assert "statement length" in ended.out
    folder = (tmp_path / "results" / "latest").resolve()
    assert folder.parent == tmp_path / "results" / "audit"
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "audit.json",
        "audit.txt",
        "audit.html",
        "manifest.json",
        *(f"whole-sets.{k}" for k in ("png", "pdf", "svg")),
    }
    page = (folder / "audit.html").read_text()
    assert "<svg" in page
    assert "Labels of chunks under each rule for evidence" in page


def test_json_is_all_that_is_printed_and_what_is_written(ran, tmp_path):
    ended = ran("data", "audit", "mini", "--json", "--sizes", "100", "--set", "interval.resamples=20")
    found = json.loads(ended.out)
    assert ended.out == (tmp_path / "results" / "latest" / "audit.json").read_text()
    assert [one["size"] for one in found["sizes"]] == ["100", "150", "page"]
    assert [one["rule"] for one in found["rules"]] == ["touched", "complete", "drop", "whole"]


def test_a_corpus_of_ones_own_without_evidence_is_audited(ran, tmp_path):
    rows = [
        {"type": "corpus", "format": "metaeval-corpus/1", "name": "mine"},
        {"type": "document", "id": "d", "text": "Rain fell all day. The river rose."},
        *({"type": "statement", "id": f"s{n}", "text": f"Statement {n}.", "group": f"g{n}"} for n in range(4)),
        *(
            {"type": "citation", "statement": f"s{n}", "document": "d", "level": level}
            for n, level in enumerate(("full", "partial", "none", "none"))
        ),
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    ended = ran("data", "audit", "jsonl", "--data", "mine.jsonl", "--set", "interval.resamples=20")
    assert "No evidence is marked" in ended.out
    assert "hold a whole set" not in ended.out
