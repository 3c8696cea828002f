"""SCiFi's scores by hand: chunks, groups, missing verdicts and lost facts, coverage, densities, what is counted."""

import itertools
import random
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.measures import bounds, estimate, group_codes, macro, micro, value_of
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.scifi.answer_measures import answer_rows, counts, coverages, densities, entailments, text_shares
from metaeval.citation.scifi.data_model import ScifiOptions
from metaeval.citation.scifi.fact_entailment import coverage_lines, fact_lines
from metaeval.citation.scifi.facts import read_with_parser


def covered(made, text, facts):
    read = replace(made.facts_of(text), reference=facts)
    scored = made.Scored(Dane=0.8, north=None)
    return read, scored, coverage_lines([read], scored, soft=True)


def test_coverage_is_undefined_without_a_reference_and_open_without_a_verdict(made):
    read, scored, lines = covered(made, "A Dane built it.", None)
    assert (lines, scored.calls, coverages([read], lines)[0].value) == ([], [], None)
    read, _, lines = covered(made, "It flows north.", ("It flows.",))
    assert [(line.value, line.reason) for line in lines] == [(None, "failed")]
    assert coverages([read], lines)[0].filled(True).value == 1.0


def test_counts_add_up(made):
    read = [made.facts_of("Glass [1] or clay [9]. It rained.\n-- [2]", (1, "Glass"), (1, "clay"), (2, "rained"))]
    assert counts(read, fact_lines(read, made.Scored())) == {
        "sentences cited": 1, "facts: fails": 1, "facts: judged": 1, "facts: uncited": 1, "segments: verbatim": 3,
        "marks: not read": 1, "problem: out of range": 1,
    }  # fmt: skip
    assert counts([], []) == {}
    for read in ([], [made.facts_of("It rained.")]):
        entailment, coverage = entailments(read, fact_lines(read, made.Scored())), coverages(read, [])
        assert (value_of(micro(entailment)), value_of(micro(coverage)), bounds(entailment, micro)[0]) == (None,) * 3


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


SHOWN = "state value citations cited_at distance passage chunk match segment_end reason cut".split()
TEXTS = [
    "Glass [1] or clay [9]. It rained.\n-- [2]",
    "He swam [2][1][3] and sat [3]. [1] He ran [2].",
    "Old [1] he ran and [2] sat. Nobody knows. It fell [2].",
    "He swam [0] in May [1, 2]. It rained [3].",
    "42 [1]. Tea [x3] is hot [2] or cold [4][4].",
    "It rained.",
    "...",
]
REFERENCES = [
    {"answer": "It rained [1]. He swam."},
    {"claims": ["Tea is hot."]},
    {},
    {"answer": ""},
    {"answer": "1. Old."},
]


def answers_with_facts(made):
    """Facts by the parser; some sentences and segments are lost, as where a chat model makes them."""
    passages = (made.BRIDGE, made.RIVER, Passage(" ", "T"), Passage("One. Two two. Three three three. Four.", "N"))
    references = [*REFERENCES, {}, {"claims": ["Old."]}]
    pairs = zip(TEXTS, references, strict=True)
    answers = [Answer(f"{n}", text, passages, reference=own) for n, (text, own) in enumerate(pairs)]
    read = read_with_parser(answers, find_parser())
    first, second, third, *others = read
    lost = replace(second, lost={2: "failed"}, reference_lost=2, problems=Counter({"empty list of facts": 2, "a": 1}))
    nowhere = [replace(fact, segment=(0, 9, "no reply"), trouble="unparsed") for fact in third.facts[:1]]
    asked = [
        replace(fact, segment=(*fact.segment[:2], way))
        for fact, way in zip(third.facts[1:], ("not asked", "sentence", "fuzzy"), strict=False)
    ]
    return [first, lost, replace(third, facts=(*nowhere, *asked), lost={3: "unparsed"}), *others]


def test_facts_of_answers_under_every_option(made, recorded):
    read = answers_with_facts(made)

    def entails(pairs):
        scores = [(3 * len(premise) + 5 * len(claim)) % 7 / 6 for premise, claim in pairs]
        return [
            Verdict(score > 0.4, score, cut=score > 0.9) if score else Verdict(None, None, "failed") for score in scores
        ]

    held = {}
    sizes = ((3, True), (256, False))
    for group, uncited, (window, soft) in product(("max", "joint", "nearest"), ("left out", "fails"), sizes):
        options = ScifiOptions(group=group, uncited=uncited, window=window)
        lines, covered = fact_lines(read, entails, options, soft), coverage_lines(read, entails, soft)
        entailed, coverage = entailments(read, lines, options), coverages(read, covered)
        shares = {"entailed": entailed, "covered": coverage, **text_shares(read, lines)}
        told = {name: " ".join(f"{of.hits:g}/{of.total}+{of.open}" for of in own) for name, own in shares.items()}
        facts = [" ".join(str(getattr(line, name)) for name in SHOWN) for line in lines]
        references = [f"{line.fact_number} {line.value} {line.reason} {line.cut}" for line in covered]
        rows = [" ".join(map(str, row.values())) for row in answer_rows(read, entailed, coverage, options)]
        held[f"{group}, {uncited}, {window}, {soft}"] = [told, facts, references, rows, counts(read, lines)]
    recorded.held("scifi-options", held, whole=True)


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
    assert [[own.value for own in shares] for shares in (entailment, coverage)] == [[1.0, 0.0], [0.0, 1.0]]
    # Over answers the open fact makes the second answer 0 or 1/3: (1 + 0) / 2 to (1 + 1/3) / 2.
    assert bounds(entailment, macro) == (0.5, pytest.approx(2 / 3))


def test_a_value_is_the_most_over_the_chunks_of_what_is_cited(made):
    read = [made.facts_of("It is Danish [1] and flows north [2].", (1, "Danish"), (1, "north"))]
    scored = made.Scored(Dane=0.4, steel=0.7, May=0.1, river=0.2)
    lines = fact_lines(read, scored, ScifiOptions(window=4), soft=True)
    chunks = [f"Title: Bridge\n{text}" for text in ("A Dane built it.", "It is of steel.", "It opened in May.")]
    assert scored.calls == [[*((chunk, "Danish?") for chunk in chunks), ("The river flows north.", "north?")]]
    shown = [(line.value, line.passage, line.chunk, line.citations, line.distance) for line in lines]
    assert shown == [(0.7, 1, 2, (1,), 0), (0.2, 2, 1, (2,), 0)]
    # (0.7 + 0.2) / 2; decided at 0.5 it is (1 + 0) / 2.
    assert entailments(read, lines)[0].value == pytest.approx(0.45)
    binary = fact_lines(read, made.Scored(steel=0.7, river=0.2), ScifiOptions(window=4))
    shown = [(line.value, line.segment, line.sentence_start, line.sentence_end, line.cited_at) for line in binary]
    assert shown == [(1.0, "Danish", 0, 37, 12), (0.0, "north", 0, 37, 28)]
    # Of equal values the first chunk decided. "Title: Bridge A Dane built it." has 6 words, the others too.
    read = [made.facts_of("It is Danish [1].", (1, "Danish"))]
    (line,) = fact_lines(read, made.Scored(Bridge=0.6), ScifiOptions(window=4), soft=True)
    assert (line.value, line.chunk, line.cut) == (0.6, 1, False)
    (line,) = fact_lines(read, made.Scored(Bridge=0.6), soft=True)
    assert line.cut
    with pytest.raises(ValueError, match=r"1\.5"):
        fact_lines(read, made.Scored(Bridge=1.5), soft=True)
    assert fact_lines(read, made.Scored(Bridge=1.5))[0].value == 1.0


@pytest.mark.parametrize(
    ("group", "value", "passage", "citations", "asked"),
    [
        # Each passage by itself, once, however often it is cited: the most of 0.3 and 0.6.
        ("max", 0.6, 2, (1, 2, 1), 2),
        # One premise with both, in which "river" stands too; it is of several passages.
        ("joint", 0.6, None, (1, 2, 1), 1),
    ],
)
def test_marks_that_stand_together_are_taken_as_asked(made, group, value, passage, citations, asked):
    read = [made.facts_of("It is of steel and long [1][2][1].", (1, "long"))]
    scored = made.Scored(steel=0.3, river=0.6)
    (line,) = fact_lines(read, scored, ScifiOptions(group=group), soft=True)
    assert (line.value, line.passage, line.citations) == (value, passage, citations)
    assert len(scored.calls[0]) == asked
    assert all(premise.count("A Dane built it.") <= 1 for premise, _ in scored.calls[0])


def test_a_citation_of_no_passage_fails_or_is_left_out(made):
    read = [made.facts_of("It is long [7]. It is old [0][2]. Nobody knows.", (1, "long"), (2, "old"), (3, "knows"))]
    scored = made.Scored(river=1.0)
    lines = fact_lines(read, scored)
    assert [(line.state, line.value, line.citations) for line in lines] == [
        ("fails", 0.0, (7,)),
        ("judged", 1.0, (0, 2)),  # what of a group cites no passage is passed over
        ("uncited", None, ()),
    ]
    assert len(scored.calls[0]) == 1
    assert entailments(read, lines)[0].value == 0.5
    assert text_shares(read, lines)["uncited"][0].value == pytest.approx(1 / 3)


def test_the_same_question_is_asked_once_and_nothing_where_nothing_is_cited(made):
    twice = [made.facts_of("It is long [2].", (1, "long"), answer=name) for name in "ab"]
    scored = made.Scored(river=1.0)
    assert [line.value for line in fact_lines(twice, scored)] == [1.0, 1.0]
    assert scored.calls == [[("The river flows north.", "long?")]]
    silent = made.Scored()
    assert [line.state for line in fact_lines([made.facts_of("It is long.", (1, "long"))], silent)] == ["uncited"]
    assert silent.calls == []


def test_a_missing_verdict_leaves_a_fact_open_unless_it_has_the_most_already(made):
    read = [made.facts_of("It is old [1]. It is long [1][2].", (1, "old"), (2, "long"))]
    options = ScifiOptions(window=4)
    lines = fact_lines(read, made.Scored(Dane=None, steel=0.9, river=1.0), options, soft=True)
    assert [(line.state, line.value, line.reason, line.passage) for line in lines] == [
        ("unjudged", None, "failed", None),
        ("judged", 1.0, "", 2),
    ]
    (share,) = entailments(read, lines)
    # 1 of 1 known; the open one could be 0 or 1.
    assert [share.value, share.filled(False).value, share.filled(True).value] == [1.0, 0.5, 1.0]
    decided = fact_lines(read, made.Scored(Dane=None, steel=0.9), options)
    assert [line.value for line in decided] == [1.0, 1.0]


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
@pytest.mark.parametrize("seed", range(2))
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
    # Facts of uncited sentences can count as failed: then the lost one of "Nobody knows." is open too.
    assert entailments([known], [], ScifiOptions(uncited="fails"))[0].open == 3
    (all_lost,) = without([read], [(0, 1), (0, 2), (0, 3)])
    (share,) = entailments([all_lost], [])
    assert (share.value, share.filled(False).value, share.filled(True).value) == (None, 0.0, 1.0)
