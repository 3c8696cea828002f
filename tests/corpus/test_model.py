"""The nouns: levels, documents, and what a corpus checks and fingerprints."""

from dataclasses import replace

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel

DOCUMENTS = (Document("d1", sentences=("One.", "Two.")), Document("d2", "Plain text.", title="T", url="u"))
STATEMENTS = (Statement("s1", "It rained.", "g1", "sys"), Statement("s2", "It poured.", "g2"))
CITATIONS = (
    Citation("c1", "s1", "d1", SupportLevel.FULL, Evidence(sentences=(0,))),
    Citation("c2", "s2", "d2", SupportLevel.NONE, Evidence(texts=("Plain.",))),
)


def corpus(documents=DOCUMENTS, statements=STATEMENTS, citations=CITATIONS, name="c", dropped=()):
    return Corpus(name, {d.id: d for d in documents}, {s.id: s for s in statements}, tuple(citations), dict(dropped))


def test_texts_evidence_and_level_counts_are_normal():
    assert Document("d", "other", sentences=("One.", "", "Two.")).text == "One.  Two."
    assert Document("d", "Plain.").text == "Plain."
    marked = Evidence((0,))
    assert replace(CITATIONS[0], evidence=marked).evidence == (marked,)
    assert replace(CITATIONS[0], evidence=(Evidence(), marked, Evidence())).evidence == (marked,)
    assert replace(CITATIONS[0], evidence=Evidence()).evidence == ()
    assert list(corpus().level_counts().items()) == [("full", 1), ("partial", 0), ("none", 1)]


CHANGES = {
    "document id": {
        "documents": [replace(DOCUMENTS[0], id="d9"), DOCUMENTS[1]],
        "citations": [replace(CITATIONS[0], document_id="d9"), CITATIONS[1]],
    },
    "document text": {"documents": [DOCUMENTS[0], replace(DOCUMENTS[1], text="Plain  text.")]},
    "another sentence split of the same text": {
        "documents": [DOCUMENTS[0], replace(DOCUMENTS[1], sentences=("Plain", "text."))]
    },
    "a document nobody cites": {"documents": [*DOCUMENTS, Document("d3", "More.")]},
    "statement text": {"statements": [replace(STATEMENTS[0], text="It rained!"), STATEMENTS[1]]},
    "group": {"statements": [replace(STATEMENTS[0], group="g2"), STATEMENTS[1]]},
    "system": {"statements": [replace(STATEMENTS[0], system=""), STATEMENTS[1]]},
    "citation id": {"citations": [replace(CITATIONS[0], id="c9"), CITATIONS[1]]},
    "cited document": {"citations": [CITATIONS[0], replace(CITATIONS[1], document_id="d1")]},
    "citing statement": {"citations": [CITATIONS[0], replace(CITATIONS[1], statement_id="s1")]},
    "level": {"citations": [replace(CITATIONS[0], level=SupportLevel.PARTIAL), CITATIONS[1]]},
    "evidence sentences": {"citations": [replace(CITATIONS[0], evidence=Evidence(sentences=(1,))), CITATIONS[1]]},
    "a second evidence set": {
        "citations": [replace(CITATIONS[0], evidence=(Evidence((0,)), Evidence((1,)))), CITATIONS[1]]
    },
    "one evidence set of both": {"citations": [replace(CITATIONS[0], evidence=Evidence((0, 1))), CITATIONS[1]]},
    "evidence texts": {"citations": [CITATIONS[0], replace(CITATIONS[1], evidence=Evidence(texts=("Text.",)))]},
    "a citation less": {"citations": CITATIONS[:1]},
}
SAME = {
    "order": {"documents": DOCUMENTS[::-1], "statements": STATEMENTS[::-1], "citations": CITATIONS[::-1]},
    "name": {"name": "other"},
    "what was dropped": {"dropped": {"odd": 3}},
    "meta": {
        "documents": [replace(DOCUMENTS[0], meta={"a": 1}), DOCUMENTS[1]],
        "statements": [replace(STATEMENTS[0], meta={"a": 1}), STATEMENTS[1]],
        "citations": [replace(CITATIONS[0], meta={"a": 1}), CITATIONS[1]],
    },
    "title and url, which nothing reads": {"documents": [DOCUMENTS[0], replace(DOCUMENTS[1], title="", url="v")]},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_the_fingerprint_stays_with_what_cannot(change):
    assert corpus(**change).fingerprint == corpus().fingerprint


def test_no_two_changes_share_a_fingerprint():
    assert len({corpus(**change).fingerprint for change in ({}, *CHANGES.values())}) == 1 + len(CHANGES)
    one = corpus(statements=[Statement("s1", "ab", "c"), STATEMENTS[1]])
    two = corpus(statements=[Statement("s1", "a", "bc"), STATEMENTS[1]])
    assert one.fingerprint != two.fingerprint
    # Printed by the version that had one set a citation.
    assert corpus().fingerprint == "3620d8cb17ea3b8e470629e51851f64550130fde03415a9c004d63ba038b9815"


def third(number, *evidence):
    """Another citation, of this evidence."""
    return replace(CITATIONS[number], id="c3", evidence=evidence)


@pytest.mark.parametrize(
    ("citation", "says"),
    [
        (replace(CITATIONS[0]), "citation id 'c1' is used twice; ids must be unique"),
        (Citation("c3", "s9", "d1", SupportLevel.FULL), "'c3' names statement 's9', which is not in the corpus"),
        (Citation("c3", "s1", "d9", SupportLevel.FULL), "'c3' names document 'd9', which is not in the corpus"),
        (third(0, Evidence((1,)), Evidence((0, 2))), r"'c3'.*\[0, 2\], but document 'd1' has 2 published"),
        (third(0, Evidence((-1,))), r"'c3'.*\[-1\], but document 'd1' has 2 published"),
        (third(1, Evidence((0,))), r"'c3'.*\[0\], but document 'd2' has 0 published"),
    ],
)
def test_a_faulty_citation_is_refused_with_its_id(citation, says):
    with pytest.raises(UserError, match=rf"Corpus 'c': .*{says}"):
        corpus(citations=[*CITATIONS, citation])
