import pytest

from metaeval.corpus.loaders.expertqa import DATASET


def claim(text, support, *evidence):
    return {"claim_string": text, "evidence": list(evidence), "support": support}


def answer(*claims, system="gpt4", question="Why?"):
    return {
        "question": question,
        "answers": {system: {"answer_string": "Because.", "claims": list(claims)}},
        "metadata": {"field": "Law"},
    }


PAGE = "[1] https://a.org/\n\nA passage.\n\nIts second part."
OTHER = "[3] https://c.org/\n\nAnother."


def test_a_claim_cites_its_evidence_as_one_document_or_each_passage(made):
    corpus = made(DATASET, [answer(claim("It is **so** [1][3].", "Partial", PAGE, OTHER, PAGE))])
    (citation,) = corpus.citations
    statement, document = corpus.statements[citation.statement_id], corpus.documents[citation.document_id]
    assert (statement.text, statement.system) == ("It is **so**.", "gpt4")
    assert document.text == "A passage.\n\nIts second part.\n\nAnother."
    assert document.url == "https://a.org/"
    assert corpus.level_counts() == {"full": 0, "partial": 1, "none": 0}
    assert not corpus.dropped
    corpus = made(DATASET, [answer(claim("So [1].", "Complete", PAGE, OTHER, PAGE))], unit="passage")
    assert [citation.id.rpartition(":")[2] for citation in corpus.citations] == ["1", "2"]
    assert corpus.level_counts()["full"] == 2
    assert corpus.dropped == {"evidence listed twice for one claim": 1}


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
