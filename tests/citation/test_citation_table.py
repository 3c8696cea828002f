"""The table of citations: counts that add up."""

from metaeval.citation.citation_table import CitationLine, claims_of, counts, sentence_rows, unjudged

LINES = [
    CitationLine(answer="a", group="q", sentence=1, claim_number=1, claim="Rain, “x”\n", citation=2, start=4, end=7,
                 joint=True, score=0.5, recall=1, precision=1),
    CitationLine(answer="a", group="q", sentence=1, claim_number=1, claim="Rain, “x”\n", citation=9, start=7, end=10,
                 joint=True, recall=1, precision=0, state="fails", problem="out of range"),
    CitationLine(answer="a", group="q", sentence=2, claim_number=2, claim="\ud800", recall=0, state="uncited"),
    CitationLine(answer="b", sentence=1, claim_number=1, citation=1, start=0, end=3, state="unjudged", reason="failed"),
    CitationLine(answer="b", start=9, end=11, state="not read", problem="unparsable"),
]  # fmt: skip


def test_counts_put_every_mark_in_one_state():
    # Five lines, one of them a claim without a mark: four marks. Three claims: a1, a2, b1.
    assert counts(LINES) == {
        "claims": 3, "claims uncited": 1, "marks": 4, "marks: fails": 1, "marks: judged": 1,
        "marks: not read": 1, "marks: unjudged": 1, "problem: out of range": 1, "problem: unparsable": 1,
    }  # fmt: skip
    assert [(line.answer, line.claim_number) for line in claims_of(LINES)] == [("a", 1), ("a", 2), ("b", 1)]
    assert unjudged(LINES) == [LINES[3]]


def test_a_sentence_counts_what_holds_and_what_was_not_judged():
    keys = ("answer", "sentence", "claims", "claims_supported", "claims_unjudged")
    keys += ("citations", "citations_precise", "citations_unjudged")
    assert [tuple(row[key] for key in keys) for row in sentence_rows(LINES)] == [
        ("a", 1, 1, 1, 0, 2, 1, 0),
        ("a", 2, 1, 0, 0, 0, 0, 0),
        ("b", 1, 1, 0, 1, 1, 0, 1),
    ]
