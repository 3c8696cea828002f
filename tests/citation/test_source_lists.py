"""Lists of sources are found by what they hold, and citations of reports in Markdown are read in every spelling."""

import json
import re
from collections import Counter
from dataclasses import astuple, replace
from itertools import product
from pathlib import Path
from random import Random

import pytest

from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.marks_and_sentences import cleaned, find_marks
from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.clean_up import left_out_of, left_out_text
from metaeval.citation.readers.formats.deep_research import write_report
from metaeval.citation.readers.mark_insertion import with_marks
from metaeval.citation.readers.source_lists import source_lists

BODY = "The dam opened in 1936 [1]. It is 221 metres tall [2].\n"
A, B = "https://a.example/x", "https://b.example/y"
BOTH = [("1", A), ("2", B)]
CASES = json.loads(Path(__file__).with_name("report_cases.json").read_text(encoding="utf-8"))


def test_numbered_entries_under_a_heading():
    headings = ["## References\n\n", "**Sources:**\n", "Quellen\n", "参考文献：\n", "Works cited\n---\n"]
    labels = ["{}.", "{})", "({})", "[{}]", "[{}]:", "[^{}]:", "**[{}]**", r"\[{}\]"]
    entries = ["[T]({})", "[{0}]({0})", "T, {}.", "<{}>", "T ({})", "*T*.\n   {}", "{} - T"]
    for heading, label, entry in product(headings, labels, entries):
        listed = "\n".join(f"{label.format(n)} {entry.format(url)}" for n, url in BOTH)
        (found,) = source_lists(f"{BODY}\n{heading}{listed}")
        assert [(source.label, source.url) for source in found.sources] == BOTH
        assert (found.start, found.end) == (len(BODY), len(f"{BODY}\n{heading}{listed}"))
        assert all(source.title in ("T", "") for source in found.sources)


@pytest.mark.parametrize(("listed", "sources"), CASES["other lists"])
@pytest.mark.parametrize("remark", ["", "\n\nLet me know if you want more."])
def test_other_lists_and_a_closing_remark(listed, sources, remark):
    (found,) = source_lists(f"{BODY}\n{listed}{remark}")
    assert [[source.label, source.url] for source in found.sources] == sources
    assert found.start == len(BODY)
    assert (BODY + "\n" + listed + remark)[found.end :].strip() == remark.strip()


@pytest.mark.parametrize("text", CASES["no lists"])
def test_what_is_no_list_of_sources(text):
    assert source_lists(text) == []


HOSTILE = ["[1] ", "[1]\n", "References\n", "https://a.example/(", "[a](https://a.example/(", "1. x\n", "[[", "(", "\n"]
HOSTILE += ["```\n", "Sources: [1]", "- https://a.example\n", "-", "*", " ", "[^", "# ", "a\n\nhttps://a.example\n"]
HOSTILE += ["[1](", "[[1](https://a.example/(", "<sup>1", "a.1 ", "(1) ", "`", "a (https://", "[^1 "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_hostile_text_leaves_the_body(piece):
    text = piece * (50_000 // len(piece))
    assert all(listed.start >= len(BODY) - 1 for listed in source_lists(f"{BODY}\n{text}"))
    draft = CitedText()
    write_report(f"It opened [1]. {text}{LIST}", draft)
    assert "It opened" in draft.text


LIST = f"\n\nReferences\n1. {A}\n2. {B}"


def read(article):
    draft = CitedText()
    write_report(article, draft)
    return with_marks(draft, Counter()).strip(), [source.url for source in draft.sources]


@pytest.mark.parametrize("article", CASES["spellings"])
def test_every_spelling_gives_the_marks_of_the_plain_one(article):
    assert read(article) == ("It opened [1], closed [2].", [A, B])


@pytest.mark.parametrize("marks", ["[[1]({0}), [2]({1})]", "([1]({0}), [2]({1}))", "[1]({0}) [2]({1})"])
def test_links_in_a_bracket_are_marks_of_their_own(marks):
    assert read(f"It opened {marks.format(A, B)}.") == ("It opened [1][2].", [A, B])


@pytest.mark.parametrize(("body", "text"), CASES["behind the stop"])
def test_numbers_behind_the_full_stop(body, text):
    assert read(f"{body}{LIST}") == (text, [A, B])


def test_an_address_cited_twice_is_one_source_and_code_cites_nothing():
    article = f"It opened ({A}). It closed [the report](http://www.a.example/x/?utm_source=y#:~:text=z)."
    assert read(article) == ("It opened [1]. It closed the report [1].", [A])
    text, urls = read(f"See:\n```\nx[2] = 1\n```\nIt opened [1]. `y[2]`{LIST}")
    assert (text.count("[1]"), text.count("[2]"), urls) == (1, 0, [A, B])


def test_lists_pieces_and_marks_of_many_reports_are_those_of_their_record(recorded):
    held = {}
    for number, text in enumerate(CASES["reports"], start=1):
        answer = Answer("a", text, (Passage("p", source=A), Passage("q", source=B)))
        draft, reasons = CitedText(), Counter()
        read = replace(answer, left_out=left_out_of(answer))
        write_report(text, draft)
        held[number] = {
            "lists": [[one.start, one.end, *map(astuple, one.sources)] for one in source_lists(text)],
            "left out": [*map(astuple, read.left_out), left_out_text([read])],
            "read": [cleaned(read).text, with_marks(draft, reasons), +reasons],
            "sources": [[one.id, one.url, one.title] for one in draft.sources],
            "cut": draft.cut,
        }
    recorded.held("readers-reports", held, whole=True)


def test_reports_cite_as_the_plain_one_whatever_their_list_looks_like():
    """Labels, entries, headings and spellings of marks are drawn; text and addresses stay those of the plain report."""
    random, address = Random(0), "https://s{n}.example/x"
    labels = ["[{n}]", "[{n}]:", "[^{n}]:", "{n}.", "{n})", "- [{n}]", "**[{n}]**"]
    entries = ["{a}", "<{a}>", "[Title {n}]({a})", "Title {n}. {a}"]
    marks = r"[{n}] [^{n}] [{n}]({a}) [[{n}]]({a}) [\[{n}\]]({a}) <sup>[{n}]({a})</sup> ([{n}]({a}))".split()
    headings = ["## References", "**Sources:**", "Works cited", "Quellen", "参考文献：", "Sources\n-------"]
    for _ in range(200):
        cited = [random.randint(1, 4) for _ in range(3)]
        label, entry, mark = map(random.choice, (labels, entries, marks))
        said = zip(("one", "two", "three"), cited, strict=True)
        body = " ".join(f"It is fact {word} {mark.format(n=n, a=address.format(n=n))}." for word, n in said)
        ends = random.choice(["", ".", " (accessed 2026)"])
        listed = [f"{label} {entry}{ends}".format(n=n, a=address.format(n=n)) for n in range(1, 5)]
        article = f"{body}\n\n{random.choice(headings)}\n\n" + random.choice(["\n", "\n\n"]).join(listed)
        text, sources = read(article)
        found = [sources[mark.number - 1] for mark in find_marks(text) if mark.number]
        assert found == [address.format(n=n) for n in cited], article
        words = [re.sub(r"\s*\[\d\]", "", line) for line in text.splitlines()]
        assert words == ["It is fact one. It is fact two. It is fact three."], article
