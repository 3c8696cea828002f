"""The corpus format: exact round trips, and one clear sentence for every fault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import UserError
from metaeval.core.parsing import LARGEST
from metaeval.corpus.corpus_file import read_corpus, validate, write_corpus
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel

HEADER = {"type": "corpus", "format": "metaeval-corpus/1", "name": "c"}
DOCUMENT = {"type": "document", "id": "d1", "sentences": ["Rain fell.", "The river rose."]}
STATEMENT = {"type": "statement", "id": "s1", "text": "The river rose.", "group": "g"}
CITATION = {"type": "citation", "statement": "s1", "document": "d1", "level": "full", "evidence": {"sentences": [1]}}
TEXT = {"type": "document", "id": "d1", "text": "Rain."}
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


def cited(**changes):
    """The good lines with a citation changed so, and its number."""
    return [HEADER, DOCUMENT, STATEMENT, {**CITATION, **changes}], 4


def sets(value):
    """The same, of a citation with these evidence sets alone."""
    return [HEADER, DOCUMENT, STATEMENT, {**_BARE, "evidence_sets": value}], 4


_FAULTS = {  # lines, number of the faulty line, field
    "not an object": ([*GOOD, [1]], 5, "the line"),
    "unknown type": ([*GOOD, {**STATEMENT, "type": "statment"}], 5, "type"),
    "type is no string": ([*GOOD, {"type": ["citation"]}], 5, "type"),
    "unknown field": ([*GOOD, {**DOCUMENT, "id": "d2", "titel": ""}], 5, "a field's name"),
    "missing field": ([*GOOD, {"type": "statement", "id": "s2"}], 5, "text"),
    "missing level": (*cited(level=None), "level"),
    "id is a number": ([*GOOD, {**STATEMENT, "id": 7}], 5, "id"),
    "empty id": ([*GOOD, {**DOCUMENT, "id": ""}], 5, "id"),
    "empty group": ([*GOOD, {**STATEMENT, "id": "s2", "group": ""}], 5, "group"),
    "empty statement": ([*GOOD, {**STATEMENT, "id": "s2", "text": " \n"}], 5, "text"),
    "level": (*cited(level="ful"), "level"),
    "level is a number": (*cited(level=2), "level"),
    "level in doubt": (*cited(level="full?"), "level"),
    "document twice": ([*GOOD, DOCUMENT], 5, "id"),
    "citation twice": ([*GOOD, CITATION], 5, "id"),
    "unknown statement": ([*GOOD, {**CITATION, "statement": "s2"}], 5, "statement"),
    "unknown document": ([*GOOD, {**CITATION, "document": "zz"}], 5, "document"),
    "evidence out of range": (*cited(evidence={"sentences": [2]}), "evidence.sentences"),
    "evidence negative": (*cited(evidence={"sentences": [-1]}), "evidence.sentences[0]"),
    "evidence without sentences": ([HEADER, TEXT, STATEMENT, CITATION], 4, "evidence.sentences"),
    "evidence twice": (*cited(evidence_sets=[]), "evidence_sets"),
    "evidence sets are one": (*sets({"sentences": [1]}), "evidence_sets"),
    "second set out of range": (*sets([{"sentences": [1]}, {"sentences": [0, 2]}]), "evidence_sets[1].sentences"),
    "second set's field": (*sets([{"sentences": [1]}, {"sentence": [1]}]), "a field's name"),
    "evidence field": (*cited(evidence={"text": ["x"]}), "a field's name"),
    "both text and sentences": ([HEADER, {**DOCUMENT, "text": "x"}], 2, "text"),
    "neither text nor sentences": ([HEADER, {"type": "document", "id": "d"}], 2, "text"),
    "no header": ([DOCUMENT], 1, "the first line"),
    "header late": ([*GOOD, HEADER], 5, "type"),
    "version": ([{**HEADER, "format": "metaeval-corpus/2"}], 1, "format"),
    "dropped": ([{**HEADER, "dropped": {"x": -1}}], 1, "dropped.x"),
    "empty file": ([], 1, "the file"),
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_each_fault_is_told_once_with_its_place(file, fault):
    records, line, field = _FAULTS[fault]
    problems = validate(write_lines(file, *records))
    assert not any("instance of" in problem.allowed for problem in problems)
    assert [(problem.line, problem.field) for problem in problems] == [(line, field)]
    with pytest.raises(UserError, match=f"line {line}: ") as raised:
        read_corpus(file)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"type": "statement", "id": "a", "id": "b", "text": "x"}', "'id' appears twice"),
        ('{"type": "document", "id": "a", "text": "x", "meta": {"y": NaN}}', "NaN is not a JSON number"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_lines_that_are_no_json_text(file, line, says):
    file.write_text(json.dumps(HEADER) + "\n" + line + "\n", encoding="utf-8")
    (problem,) = validate(file)
    assert problem.line == 2
    assert says in problem.value


def test_all_problems_are_collected_up_to_the_limit_once_each(file):
    write_lines(file, *GOOD, *({**STATEMENT, "id": f"t{n}", "text": ""} for n in range(5)))
    assert [problem.line for problem in validate(file)] == [5, 6, 7, 8, 9]
    assert len(validate(file, limit=2)) == 2
    with pytest.raises(UserError, match=r"line 5: text is .*not empty\. \(4 more problems\)"):
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
