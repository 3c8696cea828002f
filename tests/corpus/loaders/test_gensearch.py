from collections import Counter

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import strip_marks
from metaeval.corpus.loaders.gensearch import DATASET, VERDICTS
from metaeval.corpus.model import Evidence

JUDGEMENT = {
    "query": "Why do rivers rise?",
    "response": "Rain.[1] Snow.[2]",
    "statement": "Rain.[1]",
    "source_title": "HTML title",
    "source_content_title": None,
    "source_text": "# Page",
    "source_raw_text": "Page",
    "source_supports_statement": "complete_support",
    "source_localized_evidence": "A line.\nAnother line.",
    "source_url": "https://a.org/",
}
FIRST, SECOND = "Rain[1] falls[2].", "Snow[1]."


def response(verdicts, **changes):
    """An AnnotatedQueryResponse: statement -> (mark, verdict, evidence); mark [n] leads to https://n.org."""
    text = " ".join([FIRST, SECOND])
    citations = [
        {"text": mark, "start_index": text.index(mark), "end_index": 0, "link_target": f"https://{mark[1]}.org"}
        for mark in ("[1]", "[2]")
    ]
    annotations = {
        statement: {
            "statement_is_verification_worthy": True,
            "statement_supported": "Yes",
            "citation_annotations": [
                {"citation_text": mark, "citation_supports": verdict, "evidence": evidence}
                for mark, verdict, evidence in judged
            ]
            or None,
        }
        for statement, judged in verdicts.items()
    }
    whole = {"id": "abc-you", "query": "q", "response": text, "split": "allsouls", "system_name": "you"}
    return {**whole, "citations": citations, "annotation": {"statement_to_annotation": annotations}, **changes}


class TestMarks:
    @pytest.mark.parametrize(
        ("text", "plain"),
        [
            ("Rain fell.[1][2]", "Rain fell."),
            ("Rain[3]and snow", "Rain and snow"),
            ("Rain [1,2] and [2, 3].", "Rain and."),
            ("Rain[^1^][^2^].", "Rain."),
            (" [EMIM][TfO] is [sic] kept ", "[EMIM][TfO] is [sic] kept"),
            ("[1]", ""),
        ],
    )
    def test_marks_go_and_all_else_stays(self, text, plain):
        assert strip_marks(text) == plain


class TestJudgements:
    def test_a_row_becomes_a_citation(self, made):
        corpus = made(DATASET, [JUDGEMENT], "dev")
        (citation,) = corpus.citations
        document, statement = corpus.documents[citation.document_id], corpus.statements[citation.statement_id]
        assert (document.text, document.title, document.url) == ("Page", "HTML title", "https://a.org/")
        assert citation.evidence == (
            Evidence(texts=("A line.\nAnother line.",)),
        )  # copied text of one citation: one set
        assert statement.text == "Rain."
        assert corpus.level_counts()["full"] == 1

    def test_statements_and_responses_are_told_apart(self, made):
        rows = [
            JUDGEMENT,
            {**JUDGEMENT, "source_raw_text": "Other", "source_supports_statement": "partial_support"},
            {**JUDGEMENT, "statement": "Snow.[2]", "source_supports_statement": "no_support"},
            {**JUDGEMENT, "response": "Another."},
        ]
        corpus = made(DATASET, rows, "train")
        assert [c.id.rpartition(":")[2] for c in corpus.citations] == ["1", "2", "1", "1"]
        assert [len(corpus.statements), len(corpus.documents)] == [3, 2]
        assert len({s.group for s in corpus.statements.values()}) == 2
        assert corpus.level_counts() == {"full": 2, "partial": 1, "none": 1}

    def test_text_falls_back_and_may_be_absent(self, made):
        bare = {**JUDGEMENT, "source_raw_text": None, "source_localized_evidence": None}
        assert next(iter(made(DATASET, [bare], "test").documents.values())).text == "# Page"
        del bare["source_text"]
        corpus = made(DATASET, [bare], "test")
        assert next(iter(corpus.documents.values())).text == ""
        assert not corpus.citations[0].evidence

    def test_a_statement_of_marks_alone_is_counted(self, made):
        corpus = made(DATASET, [{**JUDGEMENT, "statement": "[1][2]"}], "dev")
        assert corpus.dropped == {"statements of nothing but citation marks": 1}

    def test_faulty_rows_are_told(self, refuses_each_field):
        fields = ["query", "response", "statement", "source_supports_statement", "source_url"]
        refuses_each_field(DATASET, JUDGEMENT, fields, "dev")


class TestResponses:
    def test_every_verdict_has_the_level_that_the_origin_gives_it(self, made):
        row = response({FIRST: [("[1]", verdict, None) for verdict in VERDICTS]})
        assert made(DATASET, [row], "annotations").level_counts() == {"full": 1, "partial": 1, "none": 4}
        dropped = made(DATASET, [row], "annotations", unusable="drop", also_refutes="full")
        assert dropped.level_counts() == {"full": 2, "partial": 1, "none": 1}
        assert sum(dropped.dropped.values()) == 2
        # Ids do not move when an option leaves judgements out.
        assert [c.id for c in dropped.citations] == [f"abc-you-1:{place}" for place in (1, 2, 3, 4)]

    def test_marks_lead_to_pages(self, made):
        complete = "Citation Completely Supports Statement"
        row = response({FIRST: [("[1]", complete, "Said so."), ("[2]", complete, " ")], SECOND: []})
        corpus = made(DATASET, [row], "annotations")
        assert [d.url for d in corpus.documents.values()] == ["https://1.org", "https://2.org"]
        assert all(document.text == "" for document in corpus.documents.values())
        assert [c.evidence for c in corpus.citations] == [(Evidence(texts=("Said so.",)),), ()]
        assert corpus.dropped == {"statements without a judged citation": 1}
        (statement,) = corpus.statements.values()
        assert (statement.text, statement.group, statement.system) == ("Rain falls.", "abc-you", "you")

    def test_a_mark_used_twice_leads_where_it_stands(self, made):
        row = response({SECOND: [("[1]", "Citation Partially Supports Statement", None)]})
        place = row["response"].rindex("[1]")
        row["citations"].append({"text": "[1]", "start_index": place, "link_target": "https://later.org"})
        (document,) = made(DATASET, [row], "annotations").documents.values()
        assert document.url == "https://later.org"

    def test_faulty_rows_are_told(self, refuses_each_field, made):
        good = response({FIRST: [("[1]", "Citation Inaccessible", None)]})
        refuses_each_field(
            DATASET, good, ["id", "query", "response", "system_name", "citations", "annotation"], "annotations"
        )
        with pytest.raises(UserError, match="'citation_text' is \"\\[9\\]\"; allowed: a mark of the response"):
            made(DATASET, [response({FIRST: [("[9]", "Citation Inaccessible", None)]})], "annotations")
        with pytest.raises(UserError, match='\'citation_supports\' is "Yes"; allowed: "Citation Completely'):
            made(DATASET, [response({FIRST: [("[1]", "Yes", None)]})], "annotations")


class TestReal:
    # Counts of the 114 records: the list of development data, row gensearch.
    def test_verdicts_and_levels(self, real):
        corpus = real(DATASET, "intrinsic_halls")
        assert len({s.group for s in corpus.statements.values()}) == 114
        verdicts = Counter(citation.meta["verdict"] for citation in corpus.citations)
        assert list(map(verdicts.__getitem__, VERDICTS)) == [203, 59, 38, 139, 5, 1]
        assert corpus.level_counts() == {"full": 203, "partial": 59, "none": 183}
        assert sum(len(citation.evidence) for citation in corpus.citations) == 259

    def test_options(self, real):
        full = real(DATASET, "intrinsic_halls", also_refutes="full").level_counts()
        assert full == {"full": 203 + 139, "partial": 59, "none": 44}
        assert len(real(DATASET, "intrinsic_halls", unusable="drop").citations) == 445 - 6
