"""SCiFi from text to scores: mangled answers, and published ones."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.measures import bounds, micro, value_of
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.readers.answer_files import read_answers
from metaeval.citation.scifi.answer_measures import counts, coverages, entailments
from metaeval.citation.scifi.data_model import ScifiOptions
from metaeval.citation.scifi.fact_entailment import coverage_lines, fact_lines
from metaeval.citation.scifi.facts import read_with_parser
from metrics_zoo.overlap import Overlap

SCHOLARQA = Path(__file__).parents[3] / "shared" / "data" / "scholarqabench" / "human_answers.json"
PASSAGES = (
    Passage("A Dane built it. It is of steel.", "Bridge"),
    Passage("It flows."),
    Passage(""),
    Passage("", "Empty"),
)
WORDS = "Cups are made of which and , . don't שלום 🙂 \u200b \x00 3.5% 1.".split(" ")
MARKS = "[1] [2] [1][2] [3,4] [1-3] [^2] [0] [٣] [1 1] [[1]] [[[".split(" ")
RARE = [", ", ". ", "\n", " ", "\ud800", "a" * 300, "[1]" * 30, f"[{'9' * 24}]", "[[1]2]", "[3, 4]", "A b. [1] C d."]


@pytest.mark.parametrize("options", [ScifiOptions(), ScifiOptions(group="joint", window=3)], ids=["default", "joint"])
def test_mangled_answers_do_not_crash_and_every_mark_is_accounted_for(options):
    pytest.importorskip("spacy", reason="needs the extra 'citation'")

    draws = random.Random(7)
    answers = [
        Answer(
            id=str(number),
            text=draws.choice(["", " "]).join(draws.choices([*WORDS, *MARKS, *RARE], k=draws.randrange(14))),
            passages=PASSAGES[: draws.randrange(5)],
            first=draws.randrange(2),
            reference=draws.choice([{}, {"answer": "It rained [1]."}, {"claims": ["It rained."]}]),
        )
        for number in range(300)
    ]
    read = read_with_parser(answers, find_parser("small"))

    def entails(pairs):
        scores = [draws.choice([None, 0.0, 0.3, 1.0]) for _ in pairs]
        return [Verdict(None, None, "failed") if one is None else Verdict(one > 0.5, one) for one in scores]

    lines, covers = fact_lines(read, entails, options, soft=True), coverage_lines(read, entails, soft=True)
    found = counts(read, lines)
    assert sum(number for name, number in found.items() if name.startswith("facts: ")) == len(lines)
    read_marks = sum(len(group.marks) for each in read for one in each.sentences for group in one.groups)
    every = sum(len(find_marks(answer.text, first=answer.first)) for answer in answers)
    assert read_marks + found["marks: not read"] >= every
    for shares in (entailments(read, lines), coverages(read, covers)):
        least, most = bounds(shares, micro)
        assert 0 < least < value_of(micro(shares)) < most < 1
    assert {line.state for line in lines} == {"judged", "unjudged", "uncited", "fails"}
    for line in lines:
        assert (line.value is not None) == (line.state == "judged") or line.state == "fails"
        assert bool(line.reason) == (line.state == "unjudged")


@pytest.mark.skipif(not SCHOLARQA.exists(), reason="shared/data is not beside the project")
def test_published_answers_are_judged_without_a_model():
    pytest.importorskip("spacy", reason="needs the extra 'citation'")

    answers = read_answers(SCHOLARQA)
    read = read_with_parser(answers, find_parser("small"))
    overlap = Overlap()

    def entails(pairs):
        scores = overlap.score([premise for premise, _ in pairs], [claim for _, claim in pairs])
        return [Verdict(one.score is not None and one.score >= 0.5, one.score, str(one.status)) for one in scores]

    lines = fact_lines(read, entails, soft=True)
    found = counts(read, lines)
    marks = [(mark, len(answer.passages)) for answer in answers for mark in find_marks(answer.text, first=answer.first)]
    no_passage = sum(not 1 <= mark.number <= passages for mark, passages in marks)
    assert (len(marks), found["problem: out of range"]) == (775, no_passage) == (775, 10)
    assert "marks: not read" not in found
    # A sentence with several citations has several facts; each fact of a cited sentence has its citation.
    assert len(lines) > sum(len(each.sentences) for each in read)
    assert all(line.citations for line in lines if line.state != "uncited")
    # What people cite holds more of the fact's words than the next passage of the same list does.
    shifted = [
        replace(each, answer=replace(each.answer, passages=(*each.answer.passages[1:], *each.answer.passages[:1])))
        for each in read
    ]
    own, other = (entailments(each, fact_lines(each, entails, soft=True)) for each in (read, shifted))
    assert value_of(micro(own)) > value_of(micro(other)) + 0.05
