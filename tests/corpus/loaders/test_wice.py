import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.wice import DATASET
from metaeval.corpus.model import SupportLevel

ROW = {
    "label": "partially_supported",
    "supporting_sentences": [[2, 0], [1, 2]],
    "claim": "A claim.",
    "evidence": ["One.", " ", "Three."],
    "meta": {"id": "dev1", "claim_title": "An Article", "claim_section": "S", "claim_context": "C"},
}


def row(own, **changes):
    return {**ROW, "meta": {**ROW["meta"], "id": own}, **changes}


def test_a_row_becomes_a_citation(made):
    corpus = made(DATASET, [ROW])
    (citation,) = corpus.citations
    assert (citation.id, citation.level) == ("dev1", SupportLevel.PARTIAL)
    assert [one.sentences for one in citation.evidence] == [(2, 0), (1, 2)]
    assert corpus.documents[citation.document_id].sentences == ("One.", " ", "Three.")
    assert corpus.statements["dev1"].group == "An Article"
    corpus = made(DATASET, [ROW, row("dev2"), row("dev3", evidence=["Other.", "page.", "x"])])
    assert [len(corpus.documents), len(corpus.statements)] == [2, 3]


def test_faulty_rows_are_told(refuses_each_field, made):
    refuses_each_field(DATASET, ROW, ["label", "supporting_sentences", "claim", "evidence", "meta"])
    with pytest.raises(UserError, match='line 1: field \'label\' is "refuted"; allowed: "supported"'):
        made(DATASET, [row("a", label="refuted")])
    with pytest.raises(UserError, match=r"line 1: field 'supporting_sentences' is \[\[3\]\]; allowed: .* 0 to 2"):
        made(DATASET, [row("a", supporting_sentences=[[3]])])
    with pytest.raises(UserError, match="citation id 'dev1' is used twice"):
        made(DATASET, [ROW, ROW])


@pytest.mark.parametrize(
    ("split", "levels", "documents", "none_with_evidence"),
    [
        # Claims and not_supported claims with supporting sentences: the list of development data, row wice.
        ("dev", {"full": 115, "partial": 191, "none": 43}, 349, 13),
        ("test", {"full": 111, "partial": 215, "none": 32}, 355, 2),
    ],
)
def test_real_counts(real, split, levels, documents, none_with_evidence):
    corpus = real(DATASET, split)
    assert corpus.level_counts() == levels
    assert len(corpus.documents) == documents
    marked = [citation.level for citation in corpus.citations if citation.evidence]
    assert marked.count(SupportLevel.NONE) == none_with_evidence
    assert len(marked) - none_with_evidence == levels["full"] + levels["partial"]
    assert not corpus.dropped


def test_real_total(real):
    # 226 supported, 406 partially, 75 not over both splits; 1,408 words a page, 17,358 at most: the same list.
    corpus = real(DATASET, "all")
    assert corpus.level_counts() == {"full": 226, "partial": 406, "none": 75}
    words = [len(corpus.documents[citation.document_id].text.split()) for citation in corpus.citations]
    assert max(words) == 17_358
    assert round(sum(words) / len(words)) == 1_408
