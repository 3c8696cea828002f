from collections import Counter

import pytest

from metaeval.corpus.data_rows import strip_marks
from metaeval.corpus.loaders.gensearch import DATASET, VERDICTS

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


class TestResponses:
    def test_every_verdict_has_the_level_that_the_origin_gives_it(self, made):
        row = response({FIRST: [("[1]", verdict, None) for verdict in VERDICTS]})
        assert made(DATASET, [row], "annotations").level_counts() == {"full": 1, "partial": 1, "none": 4}
        dropped = made(DATASET, [row], "annotations", unusable="drop", also_refutes="full")
        assert dropped.level_counts() == {"full": 2, "partial": 1, "none": 1}
        assert sum(dropped.dropped.values()) == 2
        # Ids do not move when an option leaves judgements out.
        assert [c.id for c in dropped.citations] == [f"abc-you-1:{place}" for place in (1, 2, 3, 4)]


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
