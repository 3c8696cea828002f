"""Coverage, densities, what is counted, and SCiFi's scores of a set of answers, by hand-made arithmetic."""

from dataclasses import replace

import pytest

from metaeval.citation.data_model import Passage
from metaeval.citation.measures import bounds, estimate, group_codes, macro, micro, value_of
from metaeval.citation.scifi.answer_measures import (
    citations_without_facts,
    counts,
    coverages,
    densities,
    entailments,
    text_shares,
)
from metaeval.citation.scifi.data_model import AnswerFacts
from metaeval.citation.scifi.fact_entailment import coverage_lines, fact_lines


def covered(made, text, facts):
    read = replace(made.facts_of(text), reference=facts)
    scored = made.Scored(Dane=0.8, north=None)
    return read, scored, coverage_lines([read], scored, soft=True)


def test_coverage_holds_the_whole_answer_without_marks_against_each_fact(made):
    read, scored, lines = covered(made, "A Dane [1] built it. [2]\nIt is long.", ("It is Danish.", "It is long."))
    text = "A Dane built it. It is long."
    assert scored.calls == [[(text, "It is Danish."), (text, "It is long.")]]
    assert [(line.fact_number, line.fact, line.value) for line in lines] == [
        (1, "It is Danish.", 0.8),
        (2, "It is long.", 0.8),
    ]
    assert coverages([read], lines)[0].value == pytest.approx(0.8)


def test_coverage_is_undefined_without_a_reference_and_open_without_a_verdict(made):
    read, scored, lines = covered(made, "A Dane built it.", None)
    assert (lines, scored.calls, coverages([read], lines)[0].value) == ([], [], None)
    read, _, lines = covered(made, "It flows north.", ("It flows.",))
    assert [(line.value, line.reason) for line in lines] == [(None, "failed")]
    assert coverages([read], lines)[0].filled(True).value == 1.0


def test_citations_that_no_fact_was_assigned_are_counted(made):
    # Facts at [1][2] and at [3]; [1] stands a second time, without a fact.
    read = [made.facts_of("Glass [1][2] or clay [3] or ink [1].", (1, "Glass"), (1, "clay"))]
    lines = fact_lines(read, made.Scored())
    assert [line.citations for line in lines] == [(1, 2), (3,)]
    (share,) = citations_without_facts(read, lines)
    assert (share.hits, share.total, share.open) == (1, 4, 0)
    # Where the sentence's facts are lost nothing is known of its citations.
    lost = [AnswerFacts(read[0].answer, read[0].sentences, (), {1: "failed"})]
    (share,) = citations_without_facts(lost, [])
    assert (share.hits, share.total, share.open) == (0, 0, 4)


def test_counts_add_up(made):
    read = [made.facts_of("Glass [1] or clay [9]. It rained.\n-- [2]", (1, "Glass"), (1, "clay"), (2, "rained"))]
    assert counts(read, fact_lines(read, made.Scored())) == {
        "sentences cited": 1, "facts: fails": 1, "facts: judged": 1, "facts: uncited": 1, "segments: verbatim": 3,
        "marks: not read": 1, "problem: out of range": 1,
    }  # fmt: skip
    assert text_shares(read, [])["not_found"][0].value == 0
    assert counts([], []) == {}


def two_answers(made):
    """One answer with a fact of value 1, one with facts of 0 and 0 and a missing one; references with one fact each."""
    one = made.facts_of("It is long [2].", (1, "long"), answer="a")
    other = made.facts_of(
        "Glass [1] or clay [1] or ink [3].", *((1, word) for word in ("Glass", "clay", "ink")), answer="b"
    )
    other = replace(other, answer=replace(other.answer, passages=(*other.answer.passages, Passage("A gap."))))
    read = [replace(each, reference=("It is so.",)) for each in (one, other)]
    scored = made.Scored(river=1.0, gap=None, Glass=0.6)
    return read, fact_lines(read, scored), coverage_lines(read, scored)


def test_scores_are_over_facts_or_over_answers_with_bounds(made):
    read, lines, covers = two_answers(made)
    answers = [each.answer for each in read]
    entailment, coverage = entailments(read, lines), coverages(read, covers)
    over_facts, over_answers = (estimate(of(entailment), *group_codes(answers)) for of in (micro, macro))
    # Facts: 1, 0, 0 and one open: 1/3; at worst 1/4, at best 2/4. Answers: 1 and 0: 1/2.
    assert over_facts.value == pytest.approx(1 / 3)
    assert bounds(entailment, micro) == (0.25, 0.5)
    assert over_answers.value == 0.5
    assert over_facts.n == 2
    assert over_facts.low is None  # two groups are too few
    # Coverage: of "It is long." 0, of "Glass or clay or ink." 0.6, which is entailed at 0.5.
    assert (value_of(micro(coverage)), bounds(coverage, micro)) == (0.5, (0.5, 0.5))
    # Marks: 1 + 3 over 2 sentences; inside one: [1] and [1].
    assert (value_of(micro(densities(read))), value_of(micro(densities(read, inside=True)))) == (2.0, 1.0)
    texts = text_shares(read, lines)
    nothing = [texts[name] for name in ("uncited", "not_found", "citations_without_facts")]
    assert [value_of(micro(shares)) for shares in nothing] == [0.0, 0.0, 0.0]
    assert [own.value for own in entailment] == [1.0, 0.0]
    assert [own.value for own in coverage] == [0.0, 1.0]
    # Over answers the open fact makes the second answer 0 or 1/3: (1 + 0) / 2 to (1 + 1/3) / 2.
    assert bounds(entailment, macro) == (0.5, pytest.approx(2 / 3))


def test_no_answers_and_answers_without_facts_have_no_value(made):
    for read in ([], [made.facts_of("It rained.")]):
        entailment, coverage = entailments(read, fact_lines(read, made.Scored())), coverages(read, [])
        assert (value_of(micro(entailment)), value_of(micro(coverage))) == (None, None)
        assert bounds(entailment, micro) == (None, None)
