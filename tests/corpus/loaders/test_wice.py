import pytest

from metaeval.corpus.loaders.wice import DATASET
from metaeval.corpus.model import SupportLevel


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
