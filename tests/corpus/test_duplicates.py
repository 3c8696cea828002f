"""Duplicates of a corpus: texts of several groups, and pairs that were judged twice."""

from dataclasses import replace

from metaeval.corpus.chunks import Chunking, chunk_corpus
from metaeval.corpus.duplicates import duplicates
from metaeval.corpus.model import Citation, Corpus, Document, Statement, SupportLevel
from metaeval.corpus.pair_table import build_pairs

NONE, PARTIAL, FULL = SupportLevel.NONE, SupportLevel.PARTIAL, SupportLevel.FULL
CITED = (
    ("One fact.", "g", "p0", FULL),
    ("Two facts.", "g", "p1", FULL),
    ("Three facts here.", "h", "p1", PARTIAL),
    ("One  FACT.", "h", "p0", NONE),
    ("Nothing.", "k", "p2", NONE),
)


def made(*cited):
    """Pages of four sentences with two words each; cited: statement text, group, page and level of each citation."""
    pages = {f"p{n}": Document(f"p{n}", sentences=(f"A {n}.", f"B {n}.", f"C {n}.", f"D {n}.")) for n in range(3)}
    statements = {f"s{n}": Statement(f"s{n}", text, group) for n, (text, group, _, _) in enumerate(cited)}
    judged = tuple(Citation(f"c{n}", f"s{n}", page, level) for n, (_, _, page, level) in enumerate(cited))
    return Corpus("own", pages, statements, judged)


def counted(corpus, size=150):
    return duplicates(corpus, build_pairs(chunk_corpus(corpus, Chunking(size, "sentences"))).pairs)


def test_texts_of_several_groups_and_pairs_judged_twice():
    found = counted(made(*CITED))
    # "One fact." stands in g and h, with page p0; the pages p0 and p1 are cited in both; p0 is judged full and none.
    assert found == (1, 2, 1, 1)
    assert counted(made(*CITED), size=2).chunks == 8


def test_one_group_has_no_duplicates_and_pages_without_text_are_not_one():
    again = made(("One fact.", "g", "p0", FULL), ("one fact.", "g", "p0", FULL))
    assert counted(again) == (0, 0, 1, 0)
    empty = {f"p{n}": Document(f"p{n}", url=f"https://example.org/{n}") for n in range(3)}
    assert duplicates(replace(made(*CITED), documents=empty), []) == (1, 0, 0, 0)
