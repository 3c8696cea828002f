"""ALCE's two profiles: against the released rules written out plainly, and by hand where the profiles part."""

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.alce.citations import PAPER, PROFILES, RELEASED, read_alce, statements
from metaeval.citation.citation_table import claims_of, counts, find_profile, unjudged
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.measures import bounds, citation_shares, macro, value_of
from metaeval.corpus.sentences import split_sentences
from metaeval.errors import UserError

PASSAGES = tuple(Passage(f"text {number}", f"title {number}") for number in range(1, 6))


def answer(text, **fields):
    return Answer("a", text, PASSAGES, **fields)


def says(*true):
    """A backend that entails where the premise is made of passages with one of these sets of numbers."""

    def entails(pairs):
        return [Verdict(frozenset(map(int, re.findall(r"text (\d)", text))) in true) for text, _ in pairs]

    return entails


def sets(*texts):
    return tuple(frozenset(map(int, text)) for text in texts)


def alce_lines(answers, entails, options=PAPER):
    return read_alce(answers, options).judge(entails)[0]


def shares(lines, options=PAPER):
    return citation_shares([answer("")], lines, undefined_is_zero=options.undefined_is_zero)


def values(text, entails, options=PAPER):
    lines = alce_lines([answer(text)], entails, options)
    return tuple(value_of(macro(own)) for own in shares(lines, options))


def logged(lines):
    """What the released code logs: sentences, those with several marks, the supported ones, needless citations."""
    several = [
        claim
        for claim in claims_of(lines)
        if sum(line.claim_number == claim.claim_number and line.state in ("judged", "fails") for line in lines) > 1
    ]
    needless = sum(line.alone is False and line.rest is True for line in lines)
    return len(claims_of(lines)), len(several), sum(claim.recall == 1 for claim in several), needless


def written_out(text, entails, at_most=3):
    """The released rules in plain loops, one sentence and one pair at a time."""

    def asked(places, claim):
        premise = "\n".join(f"Title: {PASSAGES[place].title}\n{PASSAGES[place].text}" for place in places)
        return entails([(premise, claim)])[0].entailed

    line = text.strip().split("\n")[0].replace("<|im_end|>", "")
    sentences = split_sentences(line)
    recall = precision = marks = several = supported = needless = 0
    for sentence in sentences:
        claim = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", sentence)).replace(" |", "").replace("]", "").strip()
        cited = [int(number) - 1 for number in re.findall(r"\[(\d+)", sentence)]
        several += len(cited[:at_most]) > 1
        if not cited or max(cited) >= len(PASSAGES):
            continue
        cited = cited[:at_most]
        marks += len(cited)
        joint = asked(cited, claim)
        recall += joint
        if not joint or len(cited) == 1:
            precision += joint
            continue
        supported += 1
        for place in cited:
            rest = list(cited)
            rest.remove(place)
            spare = not asked([place], claim) and asked(rest, claim)
            needless += spare
            precision += not spare
    if not sentences:
        return None, None, (0, 0, 0, 0)
    return recall / len(sentences), precision / marks if marks else 0.0, (len(sentences), several, supported, needless)


PIECES = [
    "The river rose", " [1]", "[2]", "[3]", " [0]", "[9]", "[4, 5]", "[", "]", ". ", " |", ", ", "\n", "[5", " It fell",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join), st.integers(0, 2**32))
def test_released_is_the_released_rules(text, seed):
    def entails(pairs):
        return [Verdict(random.Random(f"{seed}{pair}").random() < 0.6) for pair in pairs]

    recall, precision, counted = written_out(text, entails)
    lines = alce_lines([answer(text)], entails, RELEASED)
    assert tuple(value_of(macro(own)) for own in shares(lines, RELEASED)) == (recall, precision)
    assert logged(lines) == counted


def test_recall_and_precision_of_one_sentence_by_hand():
    # [1] alone entails; [4] alone does not, and [1] without it does: [4] is needless. Recall 1, precision 1/2.
    assert values("Rain fell [1][4].", says(*sets("14", "1"))) == (1.0, 0.5)
    # Neither alone, and neither's rest: both are needed.
    assert values("Rain fell [1][4].", says(*sets("14"))) == (1.0, 1.0)
    # Not jointly entailed: no citation is precise, whatever it says alone.
    assert values("Rain fell [1][4].", says(*sets("1", "4"))) == (0.0, 0.0)
    # Two sentences, one uncited: recall 1/2, precision of the one citation 1.
    assert values("Rain fell [1]. It stopped.", says(*sets("1"))) == (0.5, 1.0)


def test_a_mark_out_of_range_fails_alone_or_with_its_sentence():
    text, entails = "Rain fell [1][9].", says(*sets("1"))
    # Paper: [1] carries the sentence, [9] is one imprecise citation of two. Released: the sentence is lost, its marks
    # are in no denominator.
    assert values(text, entails) == (1.0, 0.5)
    assert values(text, entails, RELEASED) == (0.0, 0.0)
    assert values(f"{text} It stopped [1].", entails, RELEASED) == (0.5, 1.0)


def test_a_number_of_any_length_is_out_of_range_as_released():
    text, entails = f"Rain fell [1][{'9' * 30}].", says(*sets("1"))
    assert values(text, entails, RELEASED) == (0.0, 0.0)
    # Paper: what no list of passages can hold is unparsable, and stays in the claim.
    assert values(text, entails) == (1.0, 1.0)
    assert counts(alce_lines([answer(text)], entails))["problem: unparsable"] == 1


def test_zero_is_out_of_range_or_the_last_passage_and_always_counted():
    text, entails = "Rain fell [0].", says(*sets("5"))
    assert values(text, entails) == (0.0, 0.0)
    assert values(text, entails, RELEASED) == (1.0, 1.0)
    for options in (PAPER, RELEASED):
        assert counts(alce_lines([answer(text)], entails, options))["problem: zero"] == 1


def test_a_list_in_one_bracket_is_read_whole_or_by_its_first_number():
    text, entails = "Rain fell [4, 5].", says(*sets("45", "5"))
    assert values(text, entails) == (1.0, 0.5)
    assert values(text, entails, RELEASED) == (0.0, 0.0)
    assert [one.claim.text for one in statements(answer(text), PAPER)] == ["Rain fell."]
    lines = alce_lines([answer(text)], entails, RELEASED)
    assert [(line.citation, line.state) for line in lines] == [(4, "judged"), (5, "not read")]


def test_the_limit_reads_the_first_marks_only():
    text, entails = "Rain fell [1][2][3][4].", says(*sets("1234", "1", "2", "3", "4"))
    assert values(text, entails) == (1.0, 1.0)
    limited = replace(PAPER, at_most=3)
    assert values(text, entails, limited) == (0.0, 0.0)  # 1, 2 and 3 together are not among the true sets
    assert counts(alce_lines([answer(text)], entails, limited))["marks: over the limit"] == 1


def test_a_repeated_number_is_read_once_or_each_time():
    text, entails = "Rain fell [5][5].", says(*sets("5"))
    for options, read in ((PAPER, 1), (RELEASED, 2)):
        lines = alce_lines([answer(text)], entails, options)
        assert sum(line.state == "judged" for line in lines) == read
        assert sum(line.precision or 0 for line in lines) == read


def test_a_mark_after_the_last_full_stop_makes_an_empty_sentence_or_none():
    text, entails = "Rain fell [1]. It stopped. [2]", says(*sets("1"), *sets("2"))
    # Released: three sentences, the last one empty and judged: entailed here by [2].
    assert values(text, entails, RELEASED) == (2 / 3, 1.0)
    # Paper: two sentences; [2] has no statement, which is counted. Moved back, it supports the sentence before it.
    assert values(text, entails) == (0.5, 1.0)
    assert counts(alce_lines([answer(text)], entails))["marks: no statement"] == 1
    assert values(text, entails, find_profile(PROFILES, "paper", leading="move all")) == (1.0, 1.0)


def test_later_lines_are_read_or_their_marks_reported():
    text, entails = "Rain fell [1].\nIt stopped [9].", says(*sets("1"))
    assert values(text, entails) == (0.5, 0.5)
    assert values(text, entails, RELEASED) == (1.0, 1.0)
    last = alce_lines([answer(text)], entails, RELEASED)[-1]
    assert (last.citation, last.state, last.problem) == (9, "not read", "out of range")
    assert text[last.start : last.end] == "[9]"


def test_an_answer_that_cites_nothing_has_precision_zero_or_none():
    assert values("Rain fell.", says()) == (0.0, None)
    assert values("Rain fell.", says(), RELEASED) == (0.0, 0.0)
    assert values("", says()) == values("", says(), RELEASED) == (None, None)


def test_a_missing_verdict_is_no_number_and_is_listed():
    def entails(pairs):
        return [Verdict(None, status="too long") if "2" in text else Verdict(True) for text, _ in pairs]

    one = answer("Rain fell [1]. It stopped [2]. It began [1][3].")
    lines = alce_lines([one], entails)
    recall, precision = shares(lines)
    # Sentences 1 and 3 are entailed, 2 is open: 2/2 now, 2/3 at worst. Citations: 3/3 now, 3/4 at worst.
    assert (value_of(macro(recall)), bounds(recall, macro)) == (1.0, (2 / 3, 1.0))
    assert (value_of(macro(precision)), bounds(precision, macro)) == (1.0, (0.75, 1.0))
    # The least is also what comes of lines in which every missing verdict is a miss.
    least = read_alce([one]).measure(lines, 0)
    assert [value_of(least[key]) for key in ("recall", "precision")] == [2 / 3, 0.75]
    assert [(line.claim, line.state, line.reason) for line in unjudged(lines)] == [
        ("It stopped.", "unjudged", "too long")
    ]


def test_list_items_are_read_behind_the_question():
    lists = replace(PAPER, units="list items")
    one = answer("Rhine [1, 2], Po, , Elbe.,", question="Which rivers?")
    found = statements(one, lists)
    # The empty item between two commas is no statement; the comma inside the bracket ends no item.
    assert [(s.claim.text, s.claim.citations) for s in found if s.counts] == [
        ("Which rivers? Rhine", (1, 2)),
        ("Which rivers? Po", ()),
        ("Which rivers? Elbe.", ()),
    ]
    assert [one.text[s.claim.start : s.claim.end] for s in found if s.counts] == ["Rhine [1, 2]", "Po", "Elbe."]


def test_numbers_from_0_are_shifted_before_all_else():
    one = answer("Rain fell [0, 4].", first=0)
    lines = alce_lines([one], says(*sets("15", "1", "5")))
    assert [(line.citation, line.precision, line.problem) for line in lines] == [(1, 1, None), (5, 1, None)]


def test_a_passage_without_a_title_is_its_text_or_stands_under_an_empty_title():
    seen = []

    def entails(pairs):
        seen.extend(text for text, _ in pairs)
        return [Verdict(True)] * len(pairs)

    for options in (PAPER, RELEASED):
        alce_lines([Answer("a", "Rain fell [1].", (Passage("It rained."),))], entails, options)
    assert seen == ["It rained.", "Title: \nIt rained."]


def test_choices_stand_behind_the_name_of_their_profile():
    assert find_profile(PROFILES, "paper", "keep") == PAPER
    assert find_profile(PROFILES, "aliice", "move all", "fails").name == "aliice|leading=move all|uncited=fails"
    with pytest.raises(UserError, match="Did you mean 'paper'"):
        find_profile(PROFILES, "papr")
