"""The table of citations: its claims, and rows of sentences that add up."""

from metaeval.citation.citation_table import CitationLine, claims_of, sentence_rows, unjudged
from metaeval.citation.pipelines.cited import marks_text

LINES = [
    CitationLine(answer="a", group="q", sentence=1, claim_number=1, claim="Rain, “x”\n", citation=2, start=4, end=7,
                 joint=True, score=0.5, recall=1, precision=1),
    CitationLine(answer="a", group="q", sentence=1, claim_number=1, claim="Rain, “x”\n", citation=9, start=7, end=10,
                 joint=True, recall=1, precision=0, state="fails", problem="out of range"),
    CitationLine(answer="a", group="q", sentence=2, claim_number=2, claim="\ud800", recall=0, state="uncited"),
    CitationLine(answer="b", sentence=1, claim_number=1, citation=1, start=0, end=3, state="unjudged", reason="failed"),
    CitationLine(answer="b", start=9, end=11, state="not read", problem="unparsable"),
]  # fmt: skip


def test_a_claim_is_counted_once_however_many_marks_it_has():
    # Five lines, one of them a claim without a mark. Three claims: a1, a2, b1.
    assert [(line.answer, line.claim_number) for line in claims_of(LINES)] == [("a", 1), ("a", 2), ("b", 1)]
    assert unjudged(LINES) == [LINES[3]]
    text = "uncited 1 of 3 claims; fails 1, not read 1; problems: out of range 1, unparsable 1 (first: a, offset 7)"
    assert marks_text(LINES) == text


def test_a_sentence_counts_what_holds_and_what_was_not_judged():
    keys = ("answer", "sentence", "claims", "claims_supported", "claims_unjudged")
    keys += ("citations", "citations_precise", "citations_unjudged")
    assert [tuple(row[key] for key in keys) for row in sentence_rows(LINES)] == [
        ("a", 1, 1, 1, 0, 2, 1, 0),
        ("a", 2, 1, 0, 0, 0, 0, 0),
        ("b", 1, 1, 0, 1, 1, 0, 1),
    ]
