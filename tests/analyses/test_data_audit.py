"""The audit of a data set: whole evidence sets, perfect detectors, giveaways, duplicates, votes, files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.data_audit import markdown
from metaeval.analyses.data_audit import audit, write_audit
from metaeval.config import load_run
from metaeval.corpus.corpus_file import write_corpus
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.errors import UserError
from metaeval.report.data_audit import findings, grids, page
from metaeval.report.terminal import text_of

DATA = Path(__file__).parents[3] / "shared" / "data"
published_files = pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
NONE, PARTIAL, FULL = SupportLevel.NONE, SupportLevel.PARTIAL, SupportLevel.FULL


@pytest.fixture
def audited(tmp_path):
    """The audit of a corpus, read from its file, or of a published data set."""

    def made(corpus=None, sizes=(2, 4), **settings):
        quick = {"results": tmp_path / "results", "interval": {"resamples": 50}, **settings}
        if corpus:
            write_corpus(corpus, tmp_path / "own.jsonl")
            quick |= {"dataset": "jsonl", "data": tmp_path / "own.jsonl"}
        return audit(load_run(None, quick), sizes)

    return made


def corpus_of(*citations, name="own"):
    """Pages of four sentences with two words each; a citation: statement text, group, page, level, sets, votes."""
    pages = {f"p{n}": Document(f"p{n}", sentences=(f"A {n}.", f"B {n}.", f"C {n}.", f"D {n}.")) for n in range(3)}
    statements = {f"s{n}": Statement(f"s{n}", text, group) for n, (text, group, *_) in enumerate(citations)}
    judged = tuple(
        Citation(f"c{n}", f"s{n}", page, level, tuple(map(Evidence, sets)), {"votes": votes} if votes else {})
        for n, (_, _, page, level, sets, votes) in enumerate(citations)
    )
    return Corpus(name, pages, statements, judged)


MADE = corpus_of(
    ("One fact.", "g", "p0", FULL, [(0, 1)], ["full", "full", "partial"]),
    ("Two facts.", "g", "p1", FULL, [(0,), (2, 3)], ["full", "full"]),
    ("Three facts here.", "h", "p1", PARTIAL, [(3,)], ["partial", "none", 5.0]),
    ("One  FACT.", "h", "p0", NONE, [], ["none"]),
    ("Nothing.", "k", "p2", NONE, [], None),
)


def test_whole_sets_are_counted_at_each_chunk_size(audited):
    found = audited(MADE)

    # p0's set (0, 1): two chunks of one sentence touch it and none holds it; one chunk of two sentences does.
    # p1's sets (0) and (2, 3): chunks 0, 2, 3 touch; chunk 0 is whole. With two sentences both chunks are whole.
    counts = {one.size: (one.whole, one.touched, one.complete, one.citations) for one in found.sizes}
    assert counts == {"2": (1, 5, 1, 2), "4": (3, 3, 2, 2), "150": (2, 2, 2, 2), "page": (2, 2, 2, 2)}
    assert (found.evidence.citations, found.evidence.sets, found.evidence.smallest) == (3, 4, 1.5)
    assert found.words == (8, 8)
    assert found.data.levels == {"full": 2, "partial": 1, "none": 2}


def test_copied_evidence_is_a_set_too(audited):
    # As GenSearch publishes it: one copied text a citation. The second text is found on no page, so no chunk is whole.
    texts = ("A 0. B 0.", "C 1. Something else entirely.")
    copied = tuple(Citation(f"c{n}", f"s{n}", f"p{n}", FULL, Evidence(texts=(text,))) for n, text in enumerate(texts))
    found = audited(replace(MADE, citations=(*copied, *MADE.citations[2:])), sizes=(2, 4))

    assert [(one.size, one.whole, one.touched) for one in found.sizes[:2]] == [("2", 0, 3), ("4", 1, 2)]
    assert found.evidence.smallest == 2


def test_rules_say_what_an_incomplete_chunk_is(audited):
    found = audited(MADE, chunk={"size": 2})

    # 20 chunks; 5 touch a full citation's evidence and 1 of these holds a whole set; 1 chunk is partial, 14 are none.
    assert {one.rule: (*one.levels.values(), one.left_out) for one in found.rules} == {
        "touched": (5, 1, 14, 0),
        "complete": (1, 5, 14, 0),
        "drop": (1, 1, 14, 4),
        "whole": (1, 1, 14, 4),
    }
    # One of five full chunks scores 1, the other four and the partial one 0: (1 + 4 / 2) / 5.
    assert found.rules[0].perfect["full support"]["FS-PS"] == pytest.approx(0.6)
    assert found.rules[1].perfect["full support"]["FS-PS"] == 1.0
    assert next(findings(found)) == (
        "1 of 5 chunks hold a whole set: a perfect detector of full support has full / partial ROC-AUC 60.0 with "
        "evidence.rule=touched."
    )


def test_duplicates_and_votes(audited):
    found = audited(MADE)

    twins = found.duplicates
    # "One fact." stands in g and h, with page p0; the pages p0 and p1 are cited in both; p0 is judged full and none.
    assert (twins.statements, twins.statement_rows) == (1, 2)
    assert (twins.chunks, twins.chunk_rows) == (2, 4)
    assert (twins.judged_twice, twins.conflicting) == (1, 1)
    # Votes 2 2 1, 2 2 and 1 0 5; a single vote says nothing. The mean is 15 / 8.
    # From the definition, pair by pair (there are 8 votes):
    ratings = [[2, 2, 1], [2, 2], [1, 0, 5]]
    observed = sum(sum((a - b) ** 2 for a in unit for b in unit) / (len(unit) - 1) for unit in ratings) / 8
    flat = [vote for unit in ratings for vote in unit]
    expected = sum((a - b) ** 2 for a in flat for b in flat) / (8 * 7)
    assert (found.votes.units, found.votes.votes, found.votes.unanimous) == (3, 8, 1)
    assert found.votes.alpha == pytest.approx(1 - observed / expected)


def test_invalid_votes_are_left_out(audited):
    one = ("One fact.", "g", "p0", FULL, [(0,)], ["full", "perhaps", True, None, [1]])
    other = ("Two facts.", "h", "p1", NONE, [], [[0, 1], [1]])

    votes = audited(corpus_of(one, other)).votes
    assert (votes.units, votes.votes) == (1, 2)
    assert audited(corpus_of(one, ("Two facts.", "h", "p1", NONE, [], None))).votes is None


def test_a_vote_that_is_not_finite_is_no_vote(audited, tmp_path):
    path = tmp_path / "votes.jsonl"
    one, other = ("One fact.", "g", "p0", FULL, [], [1, 0, 123]), ("Nothing.", "h", "p2", NONE, [], None)
    write_corpus(corpus_of(one, other), path)
    path.write_text(path.read_text(encoding="utf-8").replace("123", "1e999"), encoding="utf-8")

    assert audited(dataset="jsonl", data=path).votes.votes == 2


def test_duplicates_are_of_chunks_whatever_the_unit_of_the_settings(audited):
    twice = corpus_of(("One fact.", "g", "p0", FULL, [(0,)], None), ("Two facts.", "h", "p0", NONE, [], None))
    found = audited(twice, unit="page", chunk={"size": 2})

    assert found.duplicates.chunks == 4


def test_without_evidence_nothing_is_said_of_chunks(audited):
    bare = replace(MADE, citations=tuple(replace(one, evidence=()) for one in MADE.citations))

    found = audited(bare, chunk={"size": 2})

    assert (found.sizes, found.rules) == ([], [])
    assert {one.unit for one in found.giveaways} == {"citation"}
    assert "No evidence is marked" in next(findings(found))
    assert len(grids(found)) == 1


def test_a_length_that_predicts_levels_is_found(audited):
    long, short = (" ".join(["word"] * length) for length in (30, 3))
    cited = [
        *((short, f"g{n}", f"p{n % 3}", FULL, [(0,)], None) for n in range(20)),
        *((long, f"h{n}", f"p{n % 3}", NONE, [], None) for n in range(20)),
    ]
    found = audited(corpus_of(*cited))

    told = {(one.unit, one.name): one.values["FS-NS"].value for one in found.giveaways}
    assert told["chunk", "statement length"] == told["citation", "statement length"] == 0.0
    assert any("statement length (FS-NS 0.0" in one for one in findings(found))
    assert ("citation", "chunk position") not in told
    assert {one.reads for one in found.giveaways if one.name == "overlap"} == {True}


def test_files_are_the_same_for_the_same_audit_and_hold_no_markup_of_the_data(audited, tmp_path):
    found = audited(corpus_of(*[("One fact.", "g", "p0", FULL, [(0,)], None)] * 2, name="<img src=x onerror=alert(1)>"))

    first = {path.name: path.read_bytes() for path in write_audit(found, tmp_path / "a")}
    again = {path.name: path.read_bytes() for path in write_audit(found, tmp_path / "b")}

    assert first == again
    assert {"audit.json", "audit.txt", "audit.html"} <= set(first)
    assert b"<img" not in first["audit.html"]
    assert "<img" not in markdown([found], {"<img src=y>": "<img src=z>"}).replace(r"\<", "")
    read = json.loads(first["audit.json"])
    assert read["schema"] == "metaeval-audit/1"
    assert read["sizes"][0]["size"] == "2"
    assert page(found).count("<section") == 3


def test_the_brief_tables_fit_a_screen(audited):
    report = audited(dataset="mini", sizes=(50, 100, 150, 300))
    text = "\n".join(text_of(grid, 80) for grid in grids(report, brief=True))

    assert len(text.splitlines()) <= 48  # the screen prints the note of demo data once, not three times
    assert max(map(len, text.splitlines())) <= 80


# 71 of 266 and 80 of 288, and the detectors' values: from a separate script over the published files.
@published_files
@pytest.mark.parametrize(("split", "whole", "touched", "fs_ps"), [("test", 71, 266, 63.3), ("dev", 80, 288, 63.9)])
def test_known_values_of_wice(audited, split, whole, touched, fs_ps):
    found = audited(dataset="wice", split=split, data=DATA, sizes=(150,))

    first = found.sizes[0]
    assert (first.size, first.whole, first.touched) == ("150", whole, touched)
    rules = {one.rule: one for one in found.rules}
    assert 100 * rules["touched"].perfect["full support"]["FS-PS"] == pytest.approx(fs_ps, abs=0.05)
    assert rules["complete"].perfect["full support"]["FS-PS"] == 1.0
    assert (rules["complete"].levels["full"], rules["drop"].left_out) == (whole, touched - whole)


@published_files
def test_votes_of_a_published_set_are_read(audited):
    votes = audited(dataset="qasem", split="test", data=DATA).votes

    assert votes.votes == 3 * votes.units
    assert 0.5 < votes.alpha < 0.9


@published_files
def test_ratings_have_no_pages_to_audit(audited):
    with pytest.raises(UserError, match="ratings of texts, but not the documents"):
        audited(dataset="frank", data=DATA, split="validation")
