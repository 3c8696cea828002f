"""The data of the explorer's page: those of the pair file, the metrics' marks, and whole statements."""

import base64
import gzip
import json
import re
import sys

import pytest

from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.explorer import explorer_page, sampled_ids
from metaeval.explorer.page_data import View, show_job
from metaeval.runs.evaluate import run
from metaeval.runs.job import find_job, write_run
from metrics_zoo.overlap import Overlap

QUICK = ("-s", "interval.resamples=20", "-s", "comparison.permutations=20")


@pytest.fixture(scope="module")
def job(scored_folder):
    """The folder of a job on the shipped corpus."""
    folder = scored_folder("view-data")
    config = load_run(None, {"metrics": ["overlap", "rouge"], "interval": {"resamples": 20}, "results": folder})
    write_run(config, run(config))
    return find_job(folder, "latest").folder


def test_the_data_of_the_page_are_those_of_the_pair_file_and_of_the_metric(job):
    head, *rows = map(json.loads, (job / "pairs.jsonl").read_text().splitlines())
    blocks = show_job(job, View())
    shown, spans = blocks["job"], blocks["spans-0"]
    assert (shown["pairs"], shown["of"], shown["against"]) == (len(rows), len(rows), "")
    assert shown["levels"] == ["none", "partial", "full"]
    by_id = {row["id"]: row for row in rows}
    rows = [by_id[key] for key in shown["rows"]["id"]]
    assert shown["rows"]["level"] == [-1 if row["level"] is None else row["level"] for row in rows]
    metrics = {metric["name"]: metric for metric in shown["metrics"]}
    assert list(metrics) == [name for name in head["columns"] if name not in ("constant", "oracle", "inverted oracle")]
    for name, metric in metrics.items():
        column = head["columns"].index(name)
        assert metric["scores"] == pytest.approx([row["scores"][column] for row in rows], rel=1e-5)
        assert metric["control"] == (name in head["controls"])
    overlap = metrics["overlap"]
    assert (overlap["low"], overlap["high"], overlap["threshold"], overlap["spans"]) == (0, 1, 0.63, True)
    texts, statements = shown["texts"], shown["statementTexts"]
    for source, statement, own in zip(shown["rows"]["texts"], shown["rows"]["statement"], spans, strict=True):
        expected = []
        for span in Overlap().explain(texts[source[0]], statements[statement]):
            link = -1 if span.link is None else span.link
            expected += [span.side == "source", span.start, span.end - span.start, round(100 * span.weight), link]
        assert own == [expected]


MARKS = """
from metaeval import Metric, MetricCard, PairScore
from metaeval.scoring.contract import Span


class Marks(Metric):
    card = MetricCard(
        name="marks", family="lexical", summary="marks words", paper="none", licence="mine", low=-1, high=2,
        direction=-1, threshold=0.5, threshold_from="mine",
    )

    def score(self, sources, statements):
        return [PairScore(1.23456789) for _ in sources]

    def explain(self, source, statement):
        return [Span("statement", 0, 2, 0.126), Span("source", 1, 3, -1.0, 4)]
"""


def test_a_metric_of_ones_own_is_turned_and_its_marks_have_a_link_or_none(cli, write_corpus, tmp_path):
    (tmp_path / "own_marks.py").write_text(MARKS)
    data = ("-d", "jsonl", "--data", write_corpus(), "-s", "chunk.size=7")
    assert cli("run", "-m", "own_marks:Marks", "-p", "correlation", *QUICK, *data).code == 0
    blocks = show_job((tmp_path / "results/latest").resolve(), View(trust=True))
    marks = blocks["job"]["metrics"][0]
    assert (marks["low"], marks["high"], marks["threshold"], marks["summary"]) == (-2, 1, -0.5, "marks words")
    assert set(marks["scores"]) == {-1.23457}
    # Side, start, length, weight in percent, link.
    assert {tuple(map(tuple, row)) for row in blocks["spans-0"]} == {((0, 0, 2, 13, -1, 1, 1, 2, -100, 4),)}
    # A metric that is gone is shown by its scores; its marks can no longer be asked for.
    (tmp_path / "own_marks.py").unlink()
    del sys.modules["own_marks"]
    left = show_job((tmp_path / "results/latest").resolve(), View(trust=True))["job"]["metrics"][0]
    assert (left["scores"], left["summary"], left["spans"]) == (marks["scores"], "", False)
    with pytest.raises(UserError, match="own_marks"):
        show_job((tmp_path / "results/latest").resolve(), View(trust=True, explain=("own_marks:Marks",)))


@pytest.mark.parametrize(
    ("most", "sizes"),
    # Ten statements of three pairs, four of them full, six none: of 15 pairs 6 are full and 9 none.
    [(30, (4, 6)), (29, (3, 5)), (15, (2, 3)), (3, (0, 1))],
)
def test_whole_statements_are_drawn_each_level_in_its_share(most, sizes):
    rows = [
        (f"{number}-{place}", f"s{number}", (2 if number < 4 else 0) if place == 1 else None)
        for number in range(10)
        for place in range(3)
    ]
    names = sampled_ids(rows, most)
    numbers = [int(name.partition("-")[0]) for name in names[::3]]
    assert names == [f"{number}-{place}" for number in numbers for place in range(3)]
    assert (sum(number < 4 for number in numbers), sum(number >= 4 for number in numbers)) == sizes
    assert sampled_ids(rows[::-1], most)[::-1] == names, "whatever the order of the rows"


def test_the_blocks_of_the_page_hold_the_data_as_they_are():
    value = {"text": "橋 </script> \ud800", "number": 0.1}
    page = explorer_page("title", {"jobs": ["title"], "job-0": value})
    (packed,) = re.findall(r'<script type="text/plain" id="job-0">\n([^<]*)\n</script>', page)
    text = gzip.decompress(base64.b64decode(packed)).decode("utf-8")
    assert text == '{"text":"橋 </script> ?","number":0.1}'
