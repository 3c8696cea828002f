"""The data of the explorer's page: those of the pair file, the metrics' marks, and whole statements."""

import base64
import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.ratings import read_ratings
from metaeval.explorer import explorer_page, sampled_ids
from metaeval.explorer.citation_lines import verdicts_of
from metaeval.explorer.job_folders import folder_of, folders_of, run_entry
from metaeval.explorer.page_data import View, rating_levels, show_job
from metaeval.explorer.shown_answers import is_citation_job, show_answers
from tests.cli.samples import lines_of, write_lines

QUICK = ("-s", "interval.resamples=20", "-s", "comparison.permutations=20")


RATED = [
    {
        **{"id": f"r{place}{system}", "group": f"g{place}", "system": system, "gold": gold, "annotator_a": gold},
        **{"source": f"The tower is {place} m tall.", "claim": f"It is {place} m.", "note": "a", "mine": place / 20},
        **({} if system == "two" else {"other": 0.2 * gold}),
    }
    for place in range(4)
    for system, gold in (("one", 1 + place % 2), ("two", 3), ("three", 5))
]
ANSWER = {
    **{"id": "a", "system": "s", "question": "Rivers?"},
    "passages": [{"title": "Oder", "text": "The Oder is long."}, {"title": "Rhine", "text": "The Rhine is deep."}],
    "text": "The Oder is long [1]. The Rhine is shallow and cold [2]. Nobody swims.",
}


def test_the_data_of_every_kind_of_page_are_the_recorded_ones(ran, recorded, write_corpus, small_rows, tmp_path):
    write_lines(tmp_path / "mine.jsonl", RATED)
    write_lines(tmp_path / "answers.jsonl", [ANSWER, {**ANSWER, "id": "b"}])
    same = {"no": 0, "why": "It rains.", "how": "A lot."}
    judged = [{"id": f"r{n}", "gold": n % 3, "levels": (n + n // 4) % 3, "yes": n % 2, **same} for n in range(12)]
    named = [{**row, "group": row["id"] + " a" * (11 + row["yes"])} for row in judged]  # by 12 words, or by a text
    write_lines(tmp_path / "judged.jsonl", named)
    more = {**small_rows[-1], "document": "river", "evidence": {"sentences": [0]}, "level": "partial"}
    echo = {"type": "document", "id": "echo", "sentences": ["abc so.", "ab", "c", "so."]}  # which hold one another
    every = {**more, "document": "echo", "evidence": {"sentences": [0, 1, 2, 3]}}
    again = {**more, "id": "s0b", "statement": "s0", "evidence": {"sentences": [1]}, "level": "full"}
    write_corpus([*small_rows, echo, more, every, again], "two.jsonl")  # of one statement several pages
    quick = "-s interval.resamples=20 -s comparison.permutations=20 -q".split()
    commands = {
        "pairs": ["run", "-m", "overlap,rouge", "-d", "jsonl", "--data", write_corpus(), "-s", "chunk.size=7", *quick],
        "ratings": ["run", "-m", "overlap", "-p", "correlation", "-d", "ratings", "--data", "mine.jsonl", *quick],
        "whole": ["run", "-m", "overlap", "-d", "jsonl", "--data", "two.jsonl", "-u", "statement", *quick],
        "judges": [*"evaluate -p verdicts -d ratings --data judged.jsonl --map statement=why".split(), *quick],
        "citations": ["cite", "alce", "answers.jsonl", "--nli", "overlap,rouge", "-q"],
        "facts": ["cite", "scifi", "answers.jsonl", "--nli", "overlap", "-q"],
    }
    told = {}
    for kind, words in commands.items():
        ran(*words, "--results", kind)
        folder, most = folder_of("latest", tmp_path / kind), 1 if kind == "facts" else 5000
        shown = show_answers(folder, None, 1) if is_citation_job(folder) else show_job(folder, View(most=most))
        about = shown.get("job", shown)
        entry = run_entry(folder, about)
        told[kind] = {"entry": {**entry, "name": "", "finished": len(entry["finished"])}, "shown": shown}
    told["fewer"] = show_job(folder_of("latest", tmp_path / "pairs"), View(most=5, explain=("rouge",)))["job"]["rows"]
    ran(*commands["whole"], "-m", "bm25,rouge", "-s", "cited=each", "-s", "chunk.size=7", "--results", "cited")
    ran(*"results cases --results cited -m bm25,rouge --cases 9 -f jsonl -o cases.jsonl".split())
    told["cases"] = lines_of(tmp_path / "cases.jsonl")
    said = json.loads(re.sub("@[0-9a-f]{12}", "", json.dumps(recorded.plain(told))))
    recorded.held("explorer-pages", said)


def test_suites_are_their_runs_and_data_that_are_not_those_judged_are_said(
    ran, refused, write_corpus, small, small_rows, tmp_path, monkeypatch, caplog
):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    ran("run", "--suite", "-m", "overlap", "-p", "correlation", *small, "-q")
    (job,), suite = (tmp_path / "results").glob("small-all-*"), (tmp_path / "results/latest").resolve()
    assert [path.resolve() for path in folders_of(str(suite), tmp_path)] == [job]
    assert ran("view", "--all", "--open").out.count("27 pairs") == len(opened) == 1
    folder = (tmp_path / "results").rename(tmp_path / "moved") / job.name
    assert folders_of(str(folder.with_name(suite.name)), tmp_path) == [folder]
    assert "type 'metaeval run'" in refused("view", "--all")
    head, *lines = lines_of(folder / "pairs.jsonl")
    write_lines(folder / "pairs.jsonl", [head, *lines[:-3]])
    other = write_corpus(small_rows[:-1], "other.jsonl")
    assert show_job(folder, View(data=other))["job"]["notes"] == caplog.messages[-1:]
    assert str(folder / "pairs.jsonl") in caplog.messages[-2]
    write_lines(folder / "pairs.jsonl", [head, {**lines[0], "id": "gone"}])
    for view, said, cured in (
        (View(), "pair 'gone'", False),
        (View(data="none"), "none", False),
        (View(), "small", True),
    ):
        with pytest.raises(UserError, match=said) as raised:
            show_job(folder, view)
        assert isinstance(raised.value.__cause__, UserError) is cured
        (tmp_path / "small.jsonl").unlink(missing_ok=True)


def test_lines_of_pipelines_become_verdicts_on_citations(recorded, tmp_path):
    files = json.loads(Path(__file__).with_name("pipeline_lines.json").read_text(encoding="utf-8"))
    for folder, own in files.items():
        (tmp_path / folder).mkdir()
        for name, rows in own.items():
            write_lines(tmp_path / folder / name, rows)
    recorded.held("explorer-verdicts", {folder: verdicts_of(tmp_path / folder) for folder in files})


def test_ratings_are_three_levels(recorded, tmp_path):
    told = {}
    for golds in ([0, 1], [0, 1, 2], [1, 1.4, 2.3, 2.4, 3.6, 3.7, 5], [0, 1 / 3, 2 / 3, 1], [0, 0.333333, 0.666667, 1]):
        write_lines(tmp_path / "mine.jsonl", [{"id": f"r{n}", "gold": gold, "m": n} for n, gold in enumerate(golds)])
        words, level = rating_levels(read_ratings(tmp_path / "mine.jsonl"))
        told[f"{golds[1:3]}"] = {**words, "of": [[gold, level(gold)] for gold in golds]}
    recorded.held("explorer-levels", told)


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
    # Code that a manifest names is run only where that is asked for.
    untrusted = show_job((tmp_path / "results/latest").resolve(), View())["job"]["metrics"][0]
    assert (untrusted["scores"], untrusted["summary"], untrusted["spans"]) == (marks["scores"], "", False)
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


def test_every_size_of_a_sample_is_drawn_as_recorded(recorded):
    rows = [(f"{n}-{place}", f"s{n}", (n * place) % 4 - 1 or None) for n in range(9) for place in range(1 + n % 3)]
    recorded.held("explorer-samples", {f"{most}": sampled_ids(rows, most) for most in range(1, len(rows) + 1)})


def test_the_blocks_of_the_page_hold_the_data_as_they_are():
    value = {"text": "橋 </script> \ud800", "number": 0.1}
    long = [hashlib.sha256(bytes([number])).hexdigest() for number in range(256)]
    page = explorer_page("<title>", {"jobs": ["title"], "job-0": value, "job-1": long})
    blocks = re.findall(r'<script type="text/plain" id="([^"]*)">\n([^<]*)\n</script>', page)
    read = {name: gzip.decompress(base64.b64decode(packed)).decode("utf-8") for name, packed in blocks}
    assert read["job-0"] == '{"text":"橋 </script> ?","number":0.1}'
    assert (read["jobs"], json.loads(read["job-1"])) == ('["title"]', long)
    assert {len(line) for line in dict(blocks)["job-1"].splitlines()[:-1]} == {4000}
    assert "<title>&lt;title&gt;</title>" in page
    # The policy names the script and the style by their hashes, without which a browser runs neither.
    for kind in ("script", "style"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page
