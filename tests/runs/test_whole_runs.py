"""Whole runs on small made data, from pairs to tables: all that comes out, under every unit, rule and protocol."""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from metaeval import Metric, MetricCard, PairScore
from metaeval.core.config import RunConfig, load_run
from metaeval.core.errors import UserError
from metaeval.core.files import write_text
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.runs.data import prepare
from metaeval.runs.evaluate import evaluate_columns, find_protocols, run
from metaeval.runs.job import altered_files, done_jobs, find_job, read_pairs, settings_of, write_run, written_files
from metaeval.runs.score import published_columns
from metaeval.scoring.contract import Status
from protocols import classification, retrieval

CASES = json.loads(Path(__file__).with_name("whole_runs.json").read_text(encoding="utf-8"))
UNSIGNED = {"metaeval", "numpy", "scipy"}


class Odd(Metric):
    """Lower is better, of the first nine words alone; some pairs have no score."""

    card = MetricCard(name="odd", family="t", summary="s", paper="none", licence="l", direction=-1, input_limit=9)

    def score(self, sources, statements):
        return [self.one(a.split(), b.split()) for a, b in zip(sources, statements, strict=True)]

    def one(self, source, statement):
        counts = {"tokens": len(source) + len(statement), "cut": max(0, len(source) - 9)}
        if "loud" in source and "loud" in statement:
            return PairScore(None, Status.UNPARSED, **counts)
        return PairScore(1.0 / (1 + len({*source[:9]} & {*statement})), **counts)


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    names = f"overlap,rouge,{Path(__file__).stem}:Odd"
    quick = {"interval": {"resamples": 20, "fewest": 2}, "comparison": {"permutations": 19}, "results": tmp_path}
    return {"metrics": names, "controls": False, "chunk": {"size": 7}, **quick}


def corpus():
    """Eight statements of two systems in five groups; one cites two pages, one is of partial support by two."""
    documents = {name: Document(name, sentences=tuple(sentences)) for name, sentences in CASES["documents"].items()}
    statements = {
        name: Statement(name, text, group, system, level=None if level is None else SupportLevel(level))
        for name, text, group, system, level in CASES["statements"]
    }
    citations = tuple(
        Citation(f"c{number}", statement, document, SupportLevel(level), tuple(Evidence(tuple(own)) for own in sets))
        for number, (statement, document, level, sets) in enumerate(CASES["citations"])
    )
    scores = {"theirs": {f"c{number}": None if number == 3 else number % 4 / 4 for number in range(len(citations))}}
    return Corpus("made", documents, statements, citations, {"left out": 2}, scores=scores)


def short(value):
    """Numbers to eight digits, and nothing that is empty."""
    if isinstance(value, dict):
        return {name: short(own) for name, own in value.items() if own not in (None, "", [], {})}
    if isinstance(value, list):
        return [short(own) for own in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


def numbers(estimate, first):
    """The numbers and the note of an estimate or a test; of a control's the first alone."""
    return list(short(estimate).values())[: 1 if first else None]


def shown(result):
    """A result without what differs from version to version; of further rows the fields that the first lacks."""
    content, first = json.loads(result.model_dump_json()), {}
    content["data"].pop("fingerprint")
    for row in content["rows"]:
        fields = dict(part.partition(":")[::2] for part in row.pop("signature").split("|"))
        fields = {name: re.sub("[0-9a-f]{12}", "#", own) for name, own in fields.items() if name not in UNSIGNED}
        row["fields"] = {name: own for name, own in fields.items() if first.get(name) != own}
        first = first or fields
        row["values"] = {key: numbers(value, row["kind"] == "control") for key, value in row["values"].items()}
    tests = content.pop("significance") or {}
    for kind in ("comparisons", "controls"):
        found = tests.pop(kind, [])[:: 1 if kind == "comparisons" else 7]
        content[kind] = [[own for own in numbers(each, False) if not isinstance(own, str)] for each in found]
    return short({**content, **tests})


def evaluated(given, data, published=False):
    try:
        return [shown(result) for result in run(load_run(None, given), data=data, published=published).results]
    except UserError as error:
        return str(error)


def ratings(of, **fields):
    """Thirty texts of three systems on ten articles, with votes, costs of nothing, edits or pairs, as `of` says."""
    rows = []
    for number in range(30):
        gold, text = (number * 7 % 5) / 4, "loud " * (number % 3) + f"text {number % 4}"
        votes = {"x": float(number % 3), "y": float(number * 5 % 3), "z": 1.0} if of == "votes" else {}
        more = {"source": f"a {text} of old", "statement": text} if of == "texts" else {}
        if of == "edits":
            kind = ("original", "swapped", "negated")[number % 3]
            more = {"kind": kind, "original": f"r{number - number % 3:02}"}
        gold = sum(votes.values()) / 3 if votes else gold
        system = "" if of == "texts" else "abc"[number % 3]
        pair = f"p{number // 3}{number % 3 // 2}" if number < {"pairs": 30, "few pairs": 4}.get(of, 0) else ""
        known = {"system": system, "text": text, "pair": pair, "fields": more, "votes": votes}
        rows.append(Rating(f"r{number:02}", f"g{number // 3}", gold, **known))
    ours = {row.id: None if number % 11 == 4 else row.gold + (number % 4) / 3 for number, row in enumerate(rows)}
    theirs = {row.id: float(number % 2 + (number % 3 == 1)) for number, row in enumerate(rows)}
    more = {"dropped": {"blank": 1}, "levels": of == "votes", "unrated": {"u1": "g1", "u2": "h"}}
    return Ratings(of, tuple(rows), {"ours": ours, "theirs": theirs}, **more)


def test_every_setting_of_a_corpus_gives_what_it_gave(settings, recorded):
    """Units, evidence rules, pools, joined chunks, pages, families of tests, controls; a metric without some scores."""
    runs = CASES["runs"].items()
    recorded.held("runs-corpus", {name: evaluated({**settings, **case}, corpus()) for name, case in runs})


def test_every_kind_of_ratings_gives_what_it_gave(settings, recorded):
    """Systems, pairs, votes with ties, edits and texts to score; protocols that need them, and those that cannot."""
    given = {**settings, "dataset": "ratings", "chunk": {}, "controls": True}
    found = {}
    for name, case in CASES["rated"].items():
        every = case["settings"]["metrics"] == "published"
        found[name] = evaluated({**given, **case["settings"]}, ratings(case["of"]), published=every)
    recorded.held("runs-rated", found)


def test_published_scores_of_citations_are_columns_of_their_rows(settings, recorded):
    job = prepare(load_run(None, {**settings, "unit": "citation"}), corpus())
    columns = published_columns(job)
    results = evaluate_columns(job, columns, find_protocols(load_run(None, {**settings, "protocols": "correlation"})))
    with pytest.raises(UserError, match="are of whole citations"):
        published_columns(prepare(load_run(None, settings), corpus()))
    (column,) = columns
    told = {**vars(column), "fields": [*column.fields], "statuses": [str(status) for status in column.statuses]}
    recorded.held("runs-published", {"result": shown(results.results[0]), "column": told})


def test_a_job_has_the_pairs_rows_fields_and_frames_that_it_had(settings, recorded):
    found = {}
    for name in ("chunk", "pool", "citation", "page", "evidence", "statement", "each"):
        job = prepare(load_run(None, {**settings, **CASES["runs"][name], "metrics": "overlap"}), corpus())
        shards = [job.shard(number, 3) for number in range(3)]
        parts = [[part.texts[member] for row in part.rows for member in row.members] for part in shards]
        whole = [[job.texts[member] for row in job.rows[number::3] for member in row.members] for number in range(3)]
        assert parts == whole
        frames = [job.frame(protocol) for protocol in (classification.PROTOCOL, retrieval.PROTOCOL)]
        shown = [{key: own for key, own in vars(each).items() if key not in ("fields", "summary")} for each in frames]
        fields = {key: value for key, value in job.fields.items() if key != "data"}
        rows = [[row.id, row.level, row.cited, row.members, row.words, row.position, row.held] for row in job.rows]
        in_chunks = len(job.in_chunks.pairs) if job.whole_pages else 0
        found[name] = {"fields": fields, "rows": rows, "frames": shown[: 1 + (name == "pool")], "in chunks": in_chunks}
    recorded.held("runs-jobs", found)


@pytest.fixture
def written(settings):
    """The configuration and the paths of a run that was written."""
    more = {"unit": "page", "over_limit": "cut", "protocols": ["classification", "correlation"]}
    config = load_run(None, {**settings, **more})
    return config, write_run(config, run(config, data=corpus()), more={"read": {"a": 1}})


def test_the_files_of_a_run_hold_what_they_held(written, recorded):
    config, paths = written
    folder = paths[0].parent
    assert (config.results / "latest").resolve() == folder.resolve()
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    content = json.loads(text)
    assert text == json.dumps(dict(sorted(content.items())), indent=1) + "\n"
    listed = {name: content[name] for name in ("command", "analysis", "read", "earlier", "scores", "result_schema")}
    listed["analysis"]["settings"].pop("results")
    with pytest.raises(UserError, match="schema is None"):
        read_pairs(folder / "manifest.json")
    assert content["files"] == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    assert RunConfig(**settings_of(folder)) == config
    assert (content["python"], content["finished"][-6:]) == (".".join(map(str, sys.version_info[:3])), "+00:00")
    assert content["versions"].keys() >= {"metaeval", "numpy", "scipy"}
    files = [path.name for path in written_files(config.results)]
    assert sorted(content["files"]) == files == sorted(path.name for path in paths)
    found = {name: value for name, value in recorded.files(folder).items() if name.endswith(("jsonl", "csv"))}
    found["pairs.jsonl"][0]["job"].pop("data")
    head, rows = read_pairs(folder / "pairs.jsonl")
    assert (len(head["columns"]), len([*rows])) == (3, 11)
    recorded.held("runs-files", {"manifest": listed, "files": files, "name": folder.name[:-9], **found})


def test_a_job_is_found_by_its_name_its_hash_its_folder_and_as_the_latest(written, recorded):
    config, paths = written
    folder, results = paths[0].parent, config.results
    (job,) = done_jobs(results)
    assert (job.name, job.folder, job.hash) == (folder.name, folder, folder.name[-8:])
    assert (job.command, job.data, job.metrics) == ("run", ["made/given"], [*config.metrics])
    assert sorted(job.files) == sorted(path.name for path in paths)
    names = ["latest", job.name, job.name[:5], job.hash, job.hash[:4], str(folder)]
    assert all(fits(results, name) for name in names)
    assert not any(fits(results, name) for name in (job.hash[:3], "gone", "zzzz"))
    with pytest.raises(UserError, match="has no job yet"):
        find_job(results / "none", "latest")
    other = folder.with_name(f"{job.name[:-8]}{'0' * 8}")
    shutil.copytree(folder, other)
    later = (folder / "manifest.json").read_text().replace('"finished": "2', '"finished": "3')
    write_text(other / "manifest.json", later)
    shutil.copytree(folder, results / "plain")
    assert [each.folder for each in done_jobs(results)] == [other, folder]
    assert fits(results, "latest").folder == folder
    with pytest.raises(UserError, match="2 jobs in"):
        find_job(results, job.name[:5])
    (results / "latest").unlink()
    assert fits(results, "latest").folder == other
    (other / "pairs.jsonl").unlink()
    (folder / "pairs.jsonl").write_text("{}")
    states = [altered_files(each, suffixes) for each in (folder, other) for suffixes in ((), (".csv",))]
    assert [len(each) for each in states] == [1, 0, 1, 1]


def fits(results, name):
    try:
        return find_job(results, name)
    except UserError:
        return None
