"""`data show FILE.citeeval`: the benchmark's statistics, counted by hand."""

import json

import pytest

from metaeval.citation.human.benchmark_statistics import bench_statistics, read_benchmark

R = "retrieval"
RESPONSES = {
    # Two systems' responses to one query, then another query: 3 statements are cited, with 1 + 2 + 1 citations.
    "q1#a": [([1], [R, R, R], [1, 0.5, 0.75]), ([], [R, R, R], [0, None, None])],
    "q1#b": [([1, 2], [R, R, R], [0.5, 0.5, None])],
    "q2": [([2], [R, R, R], [0, 0, 0])],
}


@pytest.fixture
def bench(citebench):
    statements, human = citebench(RESPONSES, [{"title": "T", "text": "Rain."}, {"title": "U", "text": "Sun."}])
    rows = json.loads(statements.read_text())
    for row in rows:
        row["model"] = "small" if row["sample_idx"] == "q1#b" else "large"
    statements.write_text(json.dumps(rows))
    return statements, human


def test_a_benchmark_is_counted_by_system(cli, bench):
    shown = [line.split() for line in cli("data", "show", bench[0]).out.splitlines()]
    assert ["system", "queries", "responses", "statements", "cited", "citations"] in shown
    assert [row for row in shown if row[0] in ("large", "small", "all")] == [
        ["large", "2", "2", "3", "2", "2"],
        ["small", "1", "1", "1", "1", "2"],
        ["all", "2", "3", "4", "3", "4"],
    ]


def test_judgements_add_ratings_and_annotators(cli, bench):
    large, small, both = bench_statistics(read_benchmark(*bench))
    # Two of three people have to rate: q1#a's second statement has no rating. large: (0.75 + 0) / 2; 3 + 1 + 3 ratings.
    assert (large["rated"], large["rating"], large["ratings"], large["annotators"]) == (2, 0.375, 7, 3)
    assert (small["rated"], small["rating"], small["ratings"]) == (1, 0.5, 2)
    assert (both["rated"], both["rating"], both["ratings"]) == (3, pytest.approx(1.25 / 3), 9)
    out = cli("data", "show", bench[0], "--human", bench[1]).out
    assert "annotators" in out
