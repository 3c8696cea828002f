"""Means over answers: what each one counts, what it leaves out, and what is drawn for its interval."""

import numpy as np
import pytest

from metaeval.citation.aliice.citation_lines import aliice_lines
from metaeval.citation.aliice.claim_options import PAPER
from metaeval.citation.aliice.claims import read_answers
from metaeval.citation.citation_table import CitationLine, claims_of, unjudged_claim
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import AnswerShare, citation_shares, estimate, f1, group_codes, macro, means, micro
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.stats.intervals import Resampling

ANSWERS = [Answer("a", "", (), group="q1"), Answer("b", "", (), group="q1"), Answer("c", "", (), group="q2")]


def line(answer, claim, recall, precision=None, state="judged"):
    return CitationLine(
        answer=answer, claim_number=claim, recall=recall, precision=precision, state=state, start=0, end=1
    )


LINES = [
    line("a", 1, 1, 1),
    line("a", 1, 1, 0),
    line("a", 2, 0, state="uncited"),
    line("b", 1, 1, 1),
    line("b", 2, None, state="unjudged"),
]


def test_recall_counts_claims_and_precision_citations():
    shares = [AnswerShare(1, 2), AnswerShare(1, 1, open=1), AnswerShare(0, 0)]
    assert citation_shares(ANSWERS, LINES) == (shares, shares)


def test_macro_is_the_mean_of_values_and_micro_the_share_of_all():
    shares, _ = citation_shares(ANSWERS, LINES)
    group, n_groups = group_codes(ANSWERS)
    # Macro: (1/2 + 1/1) / 2 = 3/4 over the two answers with a value. Micro: (1 + 1) / (2 + 1) = 2/3.
    first = estimate(macro(shares), group, n_groups, Resampling(50, fewest=2))
    assert (first.value, first.n) == (0.75, 2)
    assert estimate(micro(shares), group, n_groups, Resampling(50, fewest=2)).value == pytest.approx(2 / 3, abs=1e-15)


def test_one_group_with_a_value_has_no_interval():
    # Of three groups one has values.
    values = means([0.2, 0.4, None, None])
    lone = estimate(values, np.array([0, 0, 1, 2]), 3, Resampling(50, fewest=2))
    assert lone.ends == (pytest.approx(0.3), None, None)
    two = estimate(values, np.array([0, 1, 1, 2]), 3, Resampling(50, fewest=2))
    assert two.low < 0.3 < two.high


def test_a_missing_verdict_lies_between_a_miss_and_a_hit():
    share = AnswerShare(1, 1, open=1)
    assert (share.filled(False).value, share.value, share.filled(True).value) == (0.5, 1.0, 1.0)


def test_nothing_defined_is_undefined():
    nothing = estimate(means([None, None]), np.array([0, 1]), 2)
    assert (nothing.ends, nothing.n) == ((None, None, None), 0)
    none_at_all = estimate(means([]), np.array([], dtype=np.int64), 0)
    assert none_at_all.value is None


def test_lengths_must_agree_and_ids_differ():
    with pytest.raises(ValueError, match="values of 2 answers, but 1 group codes"):
        estimate(means([0.0, 1.0]), np.array([0]), 1)
    with pytest.raises(ValueError, match="got 1 ids for 2 answers"):
        citation_shares([ANSWERS[0], ANSWERS[0]], [])


def test_zero_precision_is_for_answers_with_claims_and_without_citations():
    unjudged = line("b", 1, None, state="unjudged")
    lines = [line("a", 1, 0, state="uncited"), unjudged]
    assert citation_shares(ANSWERS, lines, undefined_is_zero=True)[1] == [
        AnswerShare(0, 1),
        AnswerShare(0, 0, open=1),
        AnswerShare(0, 0),
    ]


def test_an_answer_without_a_group_is_its_questions_and_without_a_question_one_by_itself():
    codes, n_groups = group_codes([Answer("a", "", ()), Answer("b", "", (), group="a"), Answer("c", "", ())])
    assert (codes.tolist(), n_groups) == ([0, 0, 1], 2)
    asked = [Answer("a", "", (), "Who?"), Answer("b", "", (), "Who? "), Answer("c", "", (), "Who?", group="g")]
    assert group_codes([*asked, Answer("d", "", (), " ")])[0].tolist() == [0, 0, 1, 2]


def test_f1_is_the_harmonic_mean():
    assert f1(0.5, 1.0) == pytest.approx(2 / 3, abs=1e-15)  # 2 x 0.5 / 1.5
    assert f1(0.0, 0.0) == 0.0
    assert f1(None, 1.0) is None


def test_claims_that_cite_nothing_and_do_not_count_are_not_open():
    parser = find_parser("small")
    answers = [Answer("a", "A Dane built it [1]. It rains.", (Passage("A Dane built it."),))]
    read = read_answers(answers, parser, PAPER, find_sentence_splitter("rules"))
    lines = aliice_lines(read, lambda pairs: [Verdict(True)] * len(pairs), PAPER)

    ((share,), _) = citation_shares(answers, lines)

    assert (share.hits, share.total, share.open) == (1, 1, 0)
    assert not any(map(unjudged_claim, claims_of(lines)))
