import pytest

from metaeval.corpus.loaders.expertqa import DATASET


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        # The list of development data, row expertqa: 2,177 claims with a judgement, 1,688 of them with passage text.
        ({"without_text": "keep"}, {"full": 1587, "partial": 142, "none": 448}),
        ({}, {"full": 1209, "partial": 114, "none": 365}),
        # Counted here: the same with one citation for each different passage.
        ({"unit": "passage", "without_text": "keep"}, {"full": 1941, "partial": 169, "none": 496}),
        ({"unit": "passage"}, {"full": 1340, "partial": 122, "none": 376}),
    ],
)
def test_real_counts(real, options, levels):
    assert real(DATASET, **options).level_counts() == levels


def test_real_answers(real):
    # The list of development data, row expertqa: 885 rows, 479 unique answers, 6 systems.
    corpus = real(DATASET, without_text="keep")
    assert corpus.dropped["answers that another file of the split has too"] == 885 - 479
    assert len({statement.system for statement in corpus.statements.values()}) == 6
    # Support values of the 479 answers, counted in the files: 482 Missing, 123 N/A, 6 empty (3 of them with evidence).
    assert corpus.dropped["claims without evidence"] == 482 + 3
    assert corpus.dropped["claims with evidence and no support judgement (N/A)"] == 123
    assert corpus.dropped["claims with evidence and no support judgement (empty)"] == 3
    for split in ("rand_val", "rand_test", "domain_val", "domain_test"):
        assert "answers that another file of the split has too" not in real(DATASET, split).dropped
