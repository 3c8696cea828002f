import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.expertqa import DATASET


def claim(text, support, *evidence):
    return {"claim_string": text, "evidence": list(evidence), "support": support}


def answer(*claims, system="gpt4", question="Why?"):
    return {
        "question": question,
        "answers": {system: {"answer_string": "Because.", "claims": list(claims)}},
        "metadata": {"field": "Law"},
    }


URL = "[2] https://b.org/x "
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


def test_what_is_left_out_is_counted(made):
    rows = [
        answer(
            claim("a", "Missing"),
            claim("b", None, PAGE),
            claim("c", "N/A", PAGE),
            claim("d", "Incomplete", URL),
            claim("[1]", "Complete", PAGE),
        ),
        answer(claim("a", "Missing")),
    ]
    rows[1]["answers"]["gpt4"]["claims"] = rows[0]["answers"]["gpt4"]["claims"]
    corpus = made(DATASET, rows)
    assert corpus.citations == ()
    assert corpus.dropped == {
        "claims without evidence": 1,
        "claims with evidence and no support judgement (empty)": 1,
        "claims with evidence and no support judgement (N/A)": 1,
        "claims whose evidence is a bare URL (without_text=drop)": 1,
        "claims of nothing but citation marks": 1,
        "answers that another file of the split has too": 1,
    }
    kept = made(DATASET, rows, without_text="keep")
    (document,) = kept.documents.values()
    assert (document.text, document.url) == ("", "https://b.org/x")


def test_the_group_is_the_answer(made):
    first, second = (claim(name, "Complete", PAGE) for name in "ab")
    rows = [answer(first, second), answer(first, system="bing_chat"), answer(first, question="How?")]
    corpus = made(DATASET, rows)
    assert [len({s.group for s in corpus.statements.values()}), len(corpus.statements)] == [3, 4]
    assert len(corpus.documents) == 1


def test_faulty_rows_are_told(refuses_each_field, made):
    refuses_each_field(DATASET, answer(claim("a", "Complete", PAGE)), ["question", "answers", "metadata"])
    with pytest.raises(UserError, match=r'claims\[0\]: field \'support\' is "Full"; allowed: "Complete", "Partial"'):
        made(DATASET, [answer(claim("a", "Full", PAGE))])


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
