"""The corpus format: exact round trips, and one clear sentence for every fault."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import UserError
from metaeval.core.parsing import LARGEST
from metaeval.corpus.corpus_file import _check, read_corpus, validate, write_corpus
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel

FAULTS = json.loads(Path(__file__).with_name("faults.json").read_text(encoding="utf-8"))
HEADER = {"type": "corpus", "format": "metaeval-corpus/1", "name": "c"}
DOCUMENT = {"type": "document", "id": "d1", "sentences": ["Rain fell.", "The river rose."]}
STATEMENT = {"type": "statement", "id": "s1", "text": "The river rose.", "group": "g"}
CITATION = {"type": "citation", "statement": "s1", "document": "d1", "level": "full", "evidence": {"sentences": [1]}}
GOOD = [HEADER, DOCUMENT, STATEMENT, CITATION]


def write_lines(path, *records):
    path.write_bytes(b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records))
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "c.jsonl"


def test_reads_what_the_docstring_shows(file):
    corpus = read_corpus(write_lines(file, *GOOD))
    assert corpus.documents["d1"].text == "Rain fell. The river rose."
    assert corpus.statements["s1"].group == "g"
    assert corpus.citations == (Citation("s1:d1", "s1", "d1", SupportLevel.FULL, Evidence(sentences=(1,))),)


_BARE = {key: value for key, value in CITATION.items() if key != "evidence"}
SETS = {**_BARE, "evidence_sets": [{"sentences": [1]}, {}, {"sentences": [0], "texts": ["Rain"]}]}


def test_evidence_sets_are_read_apart_and_written_as_they_are_many(file):
    (citation,) = read_corpus(write_lines(file, HEADER, DOCUMENT, STATEMENT, SETS)).citations
    assert citation.evidence == (Evidence((1,)), Evidence((0,), ("Rain",)))

    def written(*lines):
        write_corpus(read_corpus(write_lines(file, HEADER, DOCUMENT, STATEMENT, *lines)), file)
        record = json.loads(file.read_text().splitlines()[-1])
        return {key: value for key, value in record.items() if key.startswith("evidence")}

    assert written(CITATION) == written({**SETS, "evidence_sets": [{}, {"sentences": [1]}]})
    assert written(CITATION) == {"evidence": {"sentences": [1]}}
    assert written(SETS) == {"evidence_sets": [{"sentences": [1]}, {"sentences": [0], "texts": ["Rain"]}]}
    assert written({**SETS, "evidence_sets": []}) == {}


@pytest.mark.parametrize("ending", [".csv", ".TSV", ".xlsx"])
def test_a_table_is_told_from_a_corpus(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.write_text("claim,source,level\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"is a table.*'metaeval evaluate -d ratings --data {path}'"):
        read_corpus(path)


def test_lines_stand_in_any_order_with_levels_of_one_vocabulary(file):
    statement = {"type": "statement", "id": "s1", "text": "The river rose."}
    corpus = read_corpus(write_lines(file, HEADER, CITATION, statement, DOCUMENT))
    assert (corpus.level_counts()["full"], corpus.statements["s1"].group) == (1, "s1")
    assert read_corpus(write_lines(file, HEADER)).citations == ()
    for word, level in {"Partially Supported ": "partial", "FULL": "full", "not_supported": "none"}.items():
        lines = [HEADER, DOCUMENT, STATEMENT, {**CITATION, "level": word}]
        assert read_corpus(write_lines(file, *lines)).level_counts()[level] == 1
    text = "\r\n".join(["", *(json.dumps(record) for record in GOOD), "", ""])
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert validate(file) == []
    assert len(read_corpus(file).citations) == 1


def test_each_fault_is_told_with_its_place(file, recorded, monkeypatch):
    """Lines behind the good ones, or all lines where the first is a list: each problem, and the first as it is said."""
    monkeypatch.chdir(file.parent)
    path, found = Path(file.name), []
    for lines in FAULTS:
        lines = lines[0] if lines and isinstance(lines[0], list) else [*GOOD, *lines]
        path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
        problems = validate(path)
        assert all("instance of" not in problem.allowed for problem in problems)
        told = [[one.line, one.field, recorded.named(one.value), recorded.named(one.allowed)] for one in problems]
        found.append([told, recorded.told(read_corpus, path)] if problems else recorded.told(read_corpus, path))
        if len(problems) != len(unjudged := _check(path.read_text(), unjudged=True)[1]):
            found[-1] += [len(unjudged), recorded.told(read_corpus, path, unjudged=True)]
    recorded.held("corpus-faults", {str(number): told for number, told in enumerate(found)})


def test_all_problems_are_collected_up_to_the_limit_once_each(file):
    write_lines(file, *GOOD, *({**STATEMENT, "id": f"t{n}", "text": ""} for n in range(101)))
    assert [problem.line for problem in validate(file)] == [*range(5, 105)]
    assert len(validate(file, limit=2)) == 2
    with pytest.raises(UserError, match=r"line 5: text is .*not empty\. \(100 more problems\)"):
        read_corpus(file)
    assert [p.line for p in validate(write_lines(file, HEADER, DOCUMENT, {**STATEMENT, "text": ""}, CITATION))] == [3]
    file.unlink()
    with pytest.raises(UserError, match=r"c\.jsonl"):
        read_corpus(file)


_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["\u2028", "a\u2029b", "\x85", "\r\n", "\x00", "é", "👩‍🔬", "\ufeff", '"\\']
)
_filled = _text.filter(str.strip)
_number = st.integers(-LARGEST, LARGEST)
_meta = st.dictionaries(_text, st.none() | st.booleans() | _number | _text | st.lists(_text), max_size=2)


@st.composite
def corpora(draw):
    """Any corpus the format can hold."""
    documents = {
        own: Document(own, draw(_text), draw(_text), draw(_text), tuple(draw(st.lists(_text, max_size=3))), draw(_meta))
        for own in draw(st.lists(_filled, unique=True, min_size=1, max_size=3))
    }
    statements = {
        own: Statement(own, draw(_filled), draw(_filled), draw(_text), draw(_meta))
        for own in draw(st.lists(_filled, unique=True, min_size=1, max_size=3))
    }
    citations = []
    for own in draw(st.lists(_filled, unique=True, max_size=4)):
        document = draw(st.sampled_from(sorted(documents)))
        last = len(documents[document].sentences) - 1
        indices = st.lists(st.integers(0, last), max_size=3) if last >= 0 else st.just([])
        sets = st.builds(Evidence, indices.map(tuple), st.lists(_filled, max_size=2).map(tuple))
        statement, level = draw(st.sampled_from(sorted(statements))), draw(st.sampled_from(SupportLevel))
        evidence = tuple(draw(st.lists(sets, max_size=3)))
        citations.append(Citation(own, statement, document, level, evidence, draw(_meta)))
    dropped = draw(st.dictionaries(_text, st.integers(0, 9), max_size=2))
    return Corpus(draw(_filled), documents, statements, tuple(citations), dropped)


@given(corpus=corpora())
def test_round_trip_is_exact(tmp_path_factory, corpus):
    path = tmp_path_factory.mktemp("round") / "c.jsonl"
    write_corpus(corpus, path)
    again = read_corpus(path)
    assert again == corpus
    assert list(again.documents) == list(corpus.documents)
    assert again.fingerprint == corpus.fingerprint
    assert len(path.read_text(encoding="utf-8").splitlines()) == path.read_bytes().count(b"\n")


def test_what_cannot_be_read_again_is_not_written(file):
    for statement in (Statement("s", "", "g"), Statement("s", "x", ""), Statement("s", "x", "g", meta={"y": {1, 2}})):
        with pytest.raises(UserError, match="cannot be written"):
            write_corpus(Corpus("c", {}, {"s": statement}, ()), file)
    assert not file.exists()
