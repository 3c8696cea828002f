"""Sentences whose facts are missing: how far the scores could move, against every truth written out."""

import itertools
import random
from dataclasses import replace

import pytest

from metaeval.citation.data_model import Verdict
from metaeval.citation.measures import bounds, macro, micro, value_of
from metaeval.citation.scifi.answer_measures import coverages, entailments
from metaeval.citation.scifi.fact_entailment import coverage_lines, fact_lines


def scored(read, values):
    """Entailment and coverage of each answer, where a fact has the value of its number, W0, W1 and so on."""

    def entails(pairs):
        found = [values[int(claim.removesuffix("?").removeprefix("W"))] for _, claim in pairs]
        return [Verdict(None, value) for value in found]

    lines, covered = fact_lines(read, entails, soft=True), coverage_lines(read, entails, soft=True)
    return {"entailment": entailments(read, lines), "coverage": coverages(read, covered)}


def answers_of(made, sizes, reference):
    """Answers of so many cited sentences with one fact each, and one uncited one; facts are numbered through."""
    number, read = itertools.count(), []
    for place, size in enumerate(sizes):
        facts = [f"W{next(number)}" for _ in range(size)]
        text = " ".join([*(f"{fact} is [1]." for fact in facts), "Nobody knows."])
        one = made.facts_of(
            text, *((sentence, fact) for sentence, fact in enumerate(facts, start=1)), answer=str(place)
        )
        read.append(replace(one, reference=tuple(facts[:reference])))
    return read


def without(read, lost):
    """The answers as they are where some sentences, (answer, sentence), and references' facts were not made."""
    found = []
    for place, one in enumerate(read):
        own = {sentence: "unparsed" for answer, sentence in lost if answer == place}
        kept = tuple(fact for fact in one.facts if fact.sentence not in own)
        facts = one.reference
        missing = sum(f"W{number}" in facts for number in _numbers(one, own))
        left = tuple(fact for fact in facts if int(fact[1:]) not in _numbers(one, own))
        found.append(replace(one, facts=kept, lost=own, reference=left, reference_lost=missing))
    return found


def _numbers(one, sentences):
    return {int(fact.text.removesuffix("?")[1:]) for fact in one.facts if fact.sentence in sentences}


@pytest.mark.parametrize("average", [micro, macro])
@pytest.mark.parametrize("seed", range(6))
def test_the_ends_are_those_of_every_truth_with_one_fact_in_each_sentence(made, average, seed):
    draws = random.Random(seed)
    sizes = [draws.randrange(1, 4) for _ in range(3)]
    read = answers_of(made, sizes, reference=2)
    places = [(answer, sentence) for answer, size in enumerate(sizes) for sentence in range(1, size + 1)]
    lost = draws.sample(places, draws.randrange(1, min(4, len(places)) + 1))
    values = [draws.random() for _ in places]
    known = scored(without(read, lost), values)
    # Every truth in which the lost facts are 0 or 1; and one of values between, which has to lie inside.
    found = []
    for truth in itertools.product((0.0, 1.0), repeat=len(lost)):
        whole = list(values)
        for place, value in zip(lost, truth, strict=True):
            whole[places.index(place)] = value
        found.append(scored(read, whole))
    inside = scored(read, values)
    for measure in ("entailment", "coverage"):
        ends = bounds(known[measure], average)
        truths = [value_of(average(one[measure])) for one in found]
        assert ends == (pytest.approx(min(truths)), pytest.approx(max(truths)))
        assert ends[0] <= value_of(average(inside[measure])) <= ends[1]


def test_a_lost_sentence_leaves_its_answer_open_if_it_cites(made):
    # "W0 is [1]." and "W1 is [1]." are lost, and so is "Nobody knows.", which does not count for entailment.
    (read,) = answers_of(made, [3], reference=3)
    (known,) = without([read], [(0, 1), (0, 2)])
    known = replace(known, lost={**known.lost, 4: "failed"})
    # One fact of 0.5, and two that could be 0 or 1: from 0.5 / 3 to 2.5 / 3.
    for (share,) in scored([known], [0.0, 0.0, 0.5]).values():
        assert (share.value, share.open) == (0.5, 2)
        assert [share.filled(hit).value for hit in (False, True)] == [0.5 / 3, 2.5 / 3]
    (all_lost,) = without([read], [(0, 1), (0, 2), (0, 3)])
    (share,) = entailments([all_lost], [])
    assert (share.value, share.filled(False).value, share.filled(True).value) == (None, 0.0, 1.0)
