"""What `data show` counts, and the audits of published data sets: shortcut features, perfect detectors, votes."""

from dataclasses import replace
from pathlib import Path

import pytest

import metaeval
from benchmarks.data_audit import audit, findings, markdown
from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.corpus.corpus_file import write_corpus
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel

DATA = Path(__file__).parents[3] / "shared" / "data"
published_files = pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
NONE, PARTIAL, FULL = SupportLevel.NONE, SupportLevel.PARTIAL, SupportLevel.FULL


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
    ("One fact.", "g", "p0", FULL, [(0, 1)], [[2, 2, 1]]),
    ("Two facts.", "g", "p1", FULL, [(0,), (2, 3)], [[2, 2]]),
    ("Three facts here.", "h", "p1", PARTIAL, [(3,)], [[1, 0, 5]]),
    ("One  FACT.", "h", "p0", NONE, [], [[0], []]),
    ("Nothing.", "k", "p2", NONE, [], None),
)


@pytest.fixture
def audited(tmp_path):
    """The audit of a corpus, read from its file, or of a published data set."""

    def made(corpus=None, **settings):
        quick = {"results": tmp_path / "results", "interval": {"resamples": 50}, **settings}
        if corpus:
            write_corpus(corpus, tmp_path / "own.jsonl")
            quick |= {"dataset": "jsonl", "data": tmp_path / "own.jsonl"}
        return audit(load_run(None, quick))

    return made


def test_whole_sets_and_votes_of_a_corpus(audited):
    found = audited(MADE, chunk={"size": 2})
    # 20 chunks of one sentence; 5 touch a full citation's evidence and 1 of these holds a whole set.
    assert (found.whole, found.touched, found.words) == (1, 5, 8)
    # One of five full chunks scores 1, the other four and the partial one 0: (1 + 4 / 2) / 5.
    assert found.perfect == pytest.approx(0.6)
    assert next(findings(found)) == (
        "1 of 5 chunks hold a whole set: a perfect detector of full support has full / partial ROC-AUC 60.0 with "
        "evidence.rule=touched."
    )
    # A single vote says nothing. From the definition, pair by pair (there are 8 votes):
    ratings = [[2, 2, 1], [2, 2], [1, 0, 5]]
    observed = sum(sum((a - b) ** 2 for a in unit for b in unit) / (len(unit) - 1) for unit in ratings) / 8
    flat = [vote for unit in ratings for vote in unit]
    expected = sum((a - b) ** 2 for a in flat for b in flat) / (8 * 7)
    assert found.alpha == pytest.approx(1 - observed / expected)


def test_the_page_holds_no_markup_of_the_data(audited):
    found = audited(corpus_of(*[("One fact.", "g", "p0", FULL, [(0,)], None)] * 2, name="<img src=x onerror=alert(1)>"))
    text = markdown([found], {"<img src=y>": "<img src=z>"})
    assert text.count("<img") == text.count(r"\<img") == 4


# 71 of 266 and 80 of 288, and the detectors' values: from a separate script over the published files.
@published_files
@pytest.mark.parametrize(("split", "whole", "touched", "fs_ps"), [("test", 71, 266, 63.3), ("dev", 80, 288, 63.9)])
def test_known_values_of_wice(audited, split, whole, touched, fs_ps):
    found = audited(dataset="wice", split=split, data=DATA)
    assert (found.whole, found.touched) == (whole, touched)
    assert 100 * found.perfect == pytest.approx(fs_ps, abs=0.05)
    shown = dict(metaeval.data.show("wice", split=split, data=DATA))
    assert shown["whole evidence"].startswith(f"{whole} of the {touched} chunks with evidence of a full citation hold ")


@published_files
def test_counts_of_published_ratings():
    assert dict(metaeval.data.show("frank", data=DATA))["counts"] == "all: 2,246 ratings, 499 groups, 9 systems"


def test_a_corpus_of_ones_own_is_counted(tmp_path, recorded):
    path = tmp_path / "own.jsonl"
    write_corpus(MADE, path)
    shown = {name: [list(line) for line in metaeval.data.show(name)] for name in ("jsonl", "wice", "frank")}
    shown = {name: [line for line in of if line[0] != "counts"] for name, of in shown.items()}
    found = {"own": metaeval.data.show("jsonl", data=path), "list": recorded.columns(metaeval.data.list().records)}
    recorded.held("analyses-data-sets", shown | found)
    write_corpus(replace(MADE, citations=tuple(replace(one, evidence=()) for one in MADE.citations)), path)
    assert dict(metaeval.data.show("jsonl", data=path))["whole evidence"].startswith("none is marked")


@pytest.mark.parametrize(
    ("wholes", "levels", "expected"),
    [
        # The first needs both; one of the second's is enough; the third is not supported; the last has one citation.
        ([FULL, FULL, PARTIAL, FULL], ["PP", "FP", "PN", "P"], "1 of 4 statements (25.0 %)"),
        # Each citation has its statement's level: two are full and cite several.
        ([FULL, FULL, PARTIAL, FULL], ["FF", "FF", "PP", "F"], "2 of 4 statements (50.0 %)"),
        ([None, FULL], ["PP", "PP"], "1 of 1 statement (100.0 %)"),
        ([None, None], ["PP", "FF"], None),
    ],
)
def test_statements_that_need_several_citations(tmp_path, wholes, levels, expected):
    named = {"F": FULL, "P": PARTIAL, "N": NONE}
    cited = [(number, sign) for number, signs in enumerate(levels) for sign in signs]
    statements = {f"s{n}": Statement(f"s{n}", "A fact.", f"g{n}", level=level) for n, level in enumerate(wholes)}
    judged = [Citation(f"c{at}", f"s{n}", f"p{at % 3}", named[sign]) for at, (n, sign) in enumerate(cited)]
    for text in ("A word.", ""):
        pages = {f"p{n}": Document(f"p{n}", text) for n in range(3)}
        write_corpus(Corpus("own", pages, statements, tuple(judged)), tmp_path / "own.jsonl")
        shown = dict(metaeval.data.show("jsonl", data=tmp_path / "own.jsonl"))
        assert shown.get("several needed", "").partition(":")[0] == (expected or "")
        # Pages without a text are counted as well, and said to be such.
        assert ("texts" in shown, "duplicates" in shown) == (not text, bool(text))


# By a separate script; the base paper says "about 2 %" of all of GenSearch, of which these are 114 responses.
@published_files
@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("gensearch", {"split": "intrinsic_halls"}, "5 of 292 statements (1.7 %): "),
        ("expertqa", {"dataset_options": {"unit": "passage"}}, "98 of 1,688 statements (5.8 %): "),
    ],
)
def test_published_statements_that_need_several_citations(name, options, expected):
    assert dict(metaeval.data.show(name, data=DATA, **options))["several needed"].startswith(expected)


def test_nothing_is_fetched_to_be_counted(no_network, tmp_path, monkeypatch):
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path))
    assert "metaeval data fetch wice" in dict(metaeval.data.show("wice"))["counts"]
    assert "needs data=FILE" in dict(metaeval.data.show("jsonl"))["counts"]
    assert "counts" not in dict(metaeval.data.show("asqa"))
    assert dict(metaeval.data.show("frank"))["option subset"].endswith(" (all | cnndm | xsum), default all")
    with pytest.raises(UserError, match=r"has neither the file wice/test\.jsonl nor test\.jsonl"):
        metaeval.data.show("wice", data=tmp_path)
