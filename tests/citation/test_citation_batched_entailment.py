"""Verdicts: which are asked and how often, what they say about a mark, and the table of citations that holds them."""

from dataclasses import replace

import pytest

from metaeval.citation.citation_table import (
    CitationLine,
    ClaimQuestion,
    claims_of,
    judge,
    needed,
    sentence_rows,
    unjudged,
)
from metaeval.citation.data_model import NO_TEXT, Passage, Verdict
from metaeval.citation.pipelines.provenance import marks_text

YES, NO, OPEN = Verdict(True), Verdict(False), Verdict(None, status="failed")
PASSAGES = (Passage("one"), Passage("two"), Passage("three"))


class Backend:
    """Entails when the premise is in `true`; keeps the batches that it was asked."""

    def __init__(self, *true):
        self.true, self.batches = true, []

    def __call__(self, pairs):
        self.batches.append(list(pairs))
        return [Verdict(text in self.true) for text, _ in pairs]


def test_three_calls_for_all_questions_and_only_what_the_rule_looks_at():
    backend = Backend("one\ntwo\nthree", "one", "one\nthree", "two")
    questions = [
        ClaimQuestion("c", PASSAGES, (0, 1, 2)),
        ClaimQuestion("c", PASSAGES, (1,)),
        ClaimQuestion("c", PASSAGES, ()),
    ]
    first, second, third = judge(questions, backend)
    assert [[text for text, _ in batch] for batch in backend.batches] == [
        ["one\ntwo\nthree", "two"],  # joint; a single passage is its own joint premise
        ["one", "three"],  # alone, of the question with several; "two" is known
        ["one\ntwo"],  # the rest, for "three" alone, which does not entail
    ]
    # All together, each alone, and the others without each.
    assert first == (YES, (YES, YES, NO), (None, None, NO))
    assert second == (YES, (None,), (None,))
    assert third == (None, (), ())


def test_of_a_passage_that_is_cited_twice_the_rest_holds_the_other():
    backend = Backend("one\ntwo\none")
    judge([ClaimQuestion("c", PASSAGES, (0, 1, 0))], backend)
    # Without the first "one" the rest is "two\none", for both of its marks.
    assert [text for text, _ in backend.batches[2]] == ["two\none", "one\none"]
    # What has no text could be what entails the claim: only that of the first two has a verdict.
    asked = [ClaimQuestion("c", (*PASSAGES, Passage(" "), Passage("", "", "s")), (0, other)) for other in (1, 3, 4)]
    assert [joint.status for joint, *_ in judge(asked, Backend())] == ["ok", NO_TEXT, NO_TEXT]
    with pytest.raises(ValueError, match="zip"):
        judge([ClaimQuestion("c", PASSAGES, (0,))], lambda pairs: [])


@pytest.mark.parametrize(
    ("alone", "rest", "expected"),
    [
        (NO, YES, False),
        # The last is needed whatever the missing verdict is.
        *((alone, rest, True) for alone, rest in ((YES, None), (NO, NO), (OPEN, NO))),
        *((alone, rest, None) for alone, rest in ((OPEN, YES), (NO, OPEN), (OPEN, OPEN))),
    ],
)
def test_a_mark_is_needless_only_if_the_others_do_without_it(alone, rest, expected):
    assert needed(alone, rest) is expected


OF_A = CitationLine(answer="a", sentence=1, claim_number=1, citation=2, start=4, end=7, recall=1, precision=1)
LINES = [
    OF_A,
    replace(OF_A, citation=9, start=7, end=10, precision=0, state="fails", problem="out of range"),
    CitationLine(answer="a", group="q", sentence=2, claim_number=2, claim="\ud800", recall=0, state="uncited"),
    CitationLine(answer="b", sentence=1, claim_number=1, citation=1, start=0, end=3, state="unjudged", reason="failed"),
    CitationLine(answer="b", start=9, end=11, state="not read", problem="unparsable"),
]


def test_a_claim_is_counted_once_and_a_sentence_by_what_holds():
    # Five lines, one of them a claim without a mark. Three claims: a1, a2, b1.
    assert [(line.answer, line.claim_number) for line in claims_of(LINES)] == [("a", 1), ("a", 2), ("b", 1)]
    assert unjudged(LINES) == [LINES[3]]
    text = "uncited 1 of 3 claims; fails 1, not read 1; problems: out of range 1, unparsable 1 (first: a, offset 7)"
    assert marks_text(LINES) == text
    keys = ["answer", "sentence", "claims", "claims_supported", "claims_unjudged"]
    keys += ["citations", "citations_precise", "citations_unjudged"]
    assert [[row[key] for key in keys] for row in sentence_rows(LINES)] == [
        ["a", 1, 1, 1, 0, 2, 1, 0],
        ["a", 2, 1, 0, 0, 0, 0, 0],
        ["b", 1, 1, 0, 1, 1, 0, 1],
    ]
