"""The table of citations: stable bytes, and counts that add up."""

import csv
import dataclasses
import io
import json

from metaeval.citation.table import COLUMNS, Line, claims_of, counts, to_csv, to_jsonl, unjudged, write_table

LINES = [
    Line(answer="a", group="q", sentence=1, claim_number=1, claim="Rain, “x”\n", citation=2, start=4, end=7, joint=True,
         score=0.5, recall=1, precision=1),
    Line(answer="a", group="q", sentence=1, claim_number=1, claim="Rain, “x”\n", citation=9, start=7, end=10,
         joint=True, recall=1, precision=0, state="fails", problem="out of range"),
    Line(answer="a", group="q", sentence=2, claim_number=2, claim="\ud800", recall=0, state="uncited"),
    Line(answer="b", sentence=1, claim_number=1, citation=1, start=0, end=3, state="unjudged", reason="failed"),
    Line(answer="b", start=9, end=11, state="not read", problem="unparsable"),
]  # fmt: skip


def test_jsonl_has_every_column_in_every_line():
    rows = [json.loads(line) for line in to_jsonl(LINES).decode("ascii").splitlines()]
    assert [list(row) for row in rows] == [list(COLUMNS)] * 5
    assert [Line(**row) for row in rows] == LINES


def test_bytes_are_stable():
    assert to_jsonl(LINES[3:4]) == (
        b'{"answer":"b","group":"","system":"","sentence":1,"claim_number":1,"claim":"","made_by":"",'
        b'"sentence_start":null,"sentence_end":null,"citation":1,"start":0,"end":3,"joint":null,"alone":null,'
        b'"rest":null,"score":null,"recall":null,"precision":null,"state":"unjudged","problem":null,'
        b'"reason":"failed","cut":false}\n'
    )
    assert to_csv(LINES[3:4]).splitlines()[1] == b"b,,,1,1,,,,,1,0,3,,,,,,,unjudged,,failed,0"


def test_csv_reads_back_with_none_as_an_empty_field():
    rows = list(csv.DictReader(io.StringIO(to_csv(LINES).decode("utf-8"))))
    assert [row["claim"] for row in rows] == ["Rain, “x”\n", "Rain, “x”\n", "\\ud800", "", ""]
    assert [row["joint"] for row in rows] == ["1", "1", "", "", ""]
    assert [row["score"] for row in rows] == ["0.5", "", "", "", ""]


def test_the_name_of_the_file_says_which(tmp_path):
    for name, content in (("t.csv", to_csv(LINES)), ("t.jsonl", to_jsonl(LINES))):
        write_table(tmp_path / name, LINES)
        assert (tmp_path / name).read_bytes() == content


def test_counts_put_every_mark_in_one_state():
    # Five lines, one of them a claim without a mark: four marks. Three claims: a1, a2, b1.
    assert counts(LINES) == {
        "claims": 3,
        "claims uncited": 1,
        "claims unjudged": 1,
        "premises cut": 0,
        "sentences that open on a mark": 0,
        "marks": 4,
        "marks: fails": 1,
        "marks: judged": 1,
        "marks: not read": 1,
        "marks: unjudged": 1,
        "problem: out of range": 1,
        "problem: unparsable": 1,
    }
    assert [(line.answer, line.claim_number) for line in claims_of(LINES)] == [("a", 1), ("a", 2), ("b", 1)]
    assert unjudged(LINES) == [LINES[3]]


def test_marks_behind_the_full_stop_are_told_by_the_sentences_that_open_on_them():
    opening = Line(answer="a", sentence=2, claim_number=2, sentence_start=11, start=11, end=17, citation=1, recall=0)
    other = dataclasses.replace(opening, start=20, end=23)
    # The two numbers of one bracket, "[1, 4]", open one sentence.
    table = [opening, dataclasses.replace(opening, citation=4), other]
    assert counts(table)["sentences that open on a mark"] == 1
