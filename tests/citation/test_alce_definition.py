"""ALCE's two profiles: against the released rules written out, by hand where they part, and on mangled answers."""

import random
import re
from collections import Counter
from dataclasses import astuple, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.alce.citations import PAPER, PROFILES, RELEASED, read_alce
from metaeval.citation.citation_table import claims_of, find_profile, sentence_rows, unjudged
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.measures import bounds, citation_shares, macro, micro, value_of
from metaeval.core.errors import UserError
from metaeval.corpus.sentences import split_sentences

PASSAGES = tuple(Passage(f"text {number}", f"title {number}") for number in range(1, 6))


def answer(text, **fields):
    return Answer(**{"id": "a", "text": text, "passages": PASSAGES, **fields})


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


# Text, sets of passages that entail it, (recall, precision) by the paper and as released, and a count by the paper.
BY_HAND = {
    "[1] alone entails; [4] does not, and [1] without it does": ("Rain fell [1][4].", "14 1", (1.0, 0.5), (1.0, 0.5)),
    "neither alone, and neither's rest: both are needed": ("Rain fell [1][4].", "14", (1.0, 1.0), (1.0, 1.0)),
    "not jointly entailed, whatever each says alone": ("Rain fell [1][4].", "1 4", (0.0, 0.0), (0.0, 0.0)),
    "one of two sentences is uncited": ("Rain fell [1]. It stopped.", "1", (0.5, 1.0), (0.5, 1.0)),
    "[9] is one imprecise mark, or loses its sentence": ("Rain fell [1][9].", "1", (1.0, 0.5), (0.0, 0.0)),
    "whose marks are in no denominator": ("Rain fell [1][9]. It stopped [1].", "1", (1.0, 2 / 3), (0.5, 1.0)),
    # By the paper, what no list of passages can hold is unparsable, and stays in the claim.
    "a number of any length": (f"Rain fell [1][{'9' * 30}].", "1", (1.0, 1.0), (0.0, 0.0), "problem: unparsable"),
    "0 is out of range, or the last passage": ("Rain fell [0].", "5", (0.0, 0.0), (1.0, 1.0), "problem: zero"),
    "a list in one bracket, or its first number": ("Rain fell [4, 5].", "45 5", (1.0, 0.5), (0.0, 0.0)),
    "a repeated number is read once, or each time": ("It rained [5][5][1].", "155 15 5 1", (1.0, 1.0), (1.0, 1.0)),
    # Released: three sentences, the last one empty and judged: entailed here by [2].
    "a mark behind it all": ("It fell [1]. It stopped. [2]", "1 2", (0.5, 1.0), (2 / 3, 1.0), "marks: no statement"),
    "later lines": ("Rain fell [1].\nIt stopped [9].", "1", (0.5, 0.5), (1.0, 1.0), "problem: out of range"),
    "nothing is cited": ("Rain fell.", "", (0.0, None), (0.0, 0.0), "marks: uncited"),
    "nothing is said": ("", "", (None, None), (None, None)),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_the_two_profiles_by_hand(case):
    text, true, paper, released, *counted = BY_HAND[case]
    entails = says(*sets(*true.split()))
    assert values(text, entails) == pytest.approx(paper, abs=1e-15)
    assert values(text, entails, RELEASED) == pytest.approx(released, abs=1e-15)
    found = alce_lines([answer(text)], entails)
    seen = Counter(name for line in found for name in (f"marks: {line.state}", f"problem: {line.problem}"))
    assert [seen[name] for name in counted] == [1] * len(counted)


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


def test_a_passage_without_a_title_is_its_text_or_stands_under_an_empty_title():
    seen = []

    def entails(pairs):
        seen.extend(text for text, _ in pairs)
        return [Verdict(True)] * len(pairs)

    assert find_profile(PROFILES, "paper", "auto") == PAPER
    assert find_profile(PROFILES, "aliice", "move all", "fails").name == "aliice|leading=move all|uncited=fails"
    with pytest.raises(UserError, match="'paper'"):
        find_profile(PROFILES, "papr")
    for options in (PAPER, RELEASED):
        alce_lines([Answer("a", "Rain fell [1].", (Passage("It rained."),))], entails, options)
    assert seen == ["It rained.", "Title: \nIt rained."]


FIVE = tuple(Passage(f"passage {number}", f"title {number}") for number in range(5))
HOSTILE_PIECES = [
    "[1]", "[2]", "[5]", "[0]", "[6]", "[1, 2]", "[1,2;9]", "[2-4]", "[4-2]", "[^3]", "[ 1 ]", "[[1]]", "[1][1]", "[",
    "]", "[3", "3]", "[]", "[a]", "[Doe 2020]", "[999999999999]", f"[{'7' * 30}]", f"[{'1' * 4400}", "[١]", "[1,]",
    "[1]]", "[1\n]", "(1)", "【1】", "[-1]",
    "<|im_end|>", " ", "\n", "\r\n", "\u2028", ". ", ".", ", ", "? ", "!", " |",
    "\x00", "\ud800", "Rain fell", "the river rose", "e.g. Dr. Smith", "雨が降った。", "ירד גשם", "\u202eגשם\u202c",
    "مطر [٢]", "é", "\U0001f327",
]  # fmt: skip


def mangled(seed, count):
    generator = random.Random(seed)
    for number in range(count):
        text = "".join(generator.choices(HOSTILE_PIECES, k=generator.randrange(14)))
        if generator.random() < 0.3:  # cut anywhere, or turned around
            text = text[generator.randrange(len(text) + 1) :][:: generator.choice((1, -1))]
        passages = FIVE[: generator.choice((0, 1, 5))]
        yield Answer(str(number), text, passages, question="Who [1]?", group=str(number % 50), first=number % 2)


def by_pair(pairs):
    """True, False or no answer, by the pair itself."""
    return [Verdict((True, False, None)[sum(map(ord, premise + claim)) % 3]) for premise, claim in pairs]


@pytest.mark.parametrize("statements", ["sentences", "list items"])
@pytest.mark.parametrize("profile", ["paper", "released"])
def test_no_answer_crashes_and_no_mark_is_lost(profile, statements):
    options = replace(PROFILES[profile], units=statements)
    answers = list(mangled(seed=f"{profile} {statements}", count=250))
    lines = read_alce(answers, options).judge(by_pair)[0]
    by_answer = {answer.id: [] for answer in answers}
    for line in lines:
        by_answer[line.answer].append(line)
    for answer in answers:
        marks = [line for line in by_answer[answer.id] if line.start is not None]
        listed = Counter((line.start, line.citation) for line in marks)
        # Every mark that any style reads, and every one that the profile reads, has its own line.
        every = Counter((mark.start, mark.number) for mark in find_marks(answer.text, first=answer.first))
        assert not every - listed, answer.text
        assert all(answer.text[line.start] in "[【" and line.end > line.start for line in marks)
        # No bracket of plain digits is overlooked, by a search that shares nothing with the reader.
        plain = {match.start() for match in re.finditer(r"\[\d{1,9}\]", answer.text)}
        assert plain <= {line.start for line in marks}, answer.text
    for line in lines:
        assert line.precision is None or line.recall is not None or line.state == "fails"
        assert (line.state == "unjudged") == bool(line.reason)
    recall, precision = citation_shares(answers, lines, undefined_is_zero=profile == "released")
    assert 0 < value_of(macro(recall)) < 1
    assert 0 < value_of(macro(precision)) < 1


def with_all(pairs):
    """Verdicts with scores, some without and some on a premise that was cut, by the length of the pair."""
    kinds = [Verdict(True, 0.9), Verdict(False, 0.2), Verdict(None, None, "failed"), Verdict(False, 0.4, cut=True)]
    kinds += [Verdict(True, 0.7), Verdict(False, 0.1), Verdict(True, 0.8)]
    return [kinds[sum(map(ord, premise + claim)) % 7] for premise, claim in pairs]


def degrees(pairs):
    """Scores without decisions."""
    return [replace(verdict, entailed=None) for verdict in with_all(pairs)]


def test_lines_and_values_of_answers_are_those_of_their_record(recorded):
    passages = (*FIVE[:2], Passage("", "blank"), Passage(" ", source="s"), Passage("plain"))
    texts = [text for text, *_ in BY_HAND.values()]
    texts += ["Rain [1][3][4]. Snow [1][2][5]. Fog [3]. Hail [5][5][2], ice [1][2], mud [4].", "[1] Rain. [2] Snow [a]"]
    texts += [
        "Rain.[1] Snow.[2][9]\nFog.[0]",
        "Rain, [1][2], Snow [1][2][4][5], 1999 [1].,",
        "Rhine [1, 2], Po, , Elbe.,",
    ]
    texts += ["Rain [1][1][9][0]. 12 [2]. - [2]", "Rain [1][2][3][4]."]
    held = {}
    for profile, units in [*product(PROFILES, ["sentences"]), ("paper", "list items"), ("released", "list items")]:
        answers = [
            answer(
                text, id=str(number), passages=passages, question="Who?", group=str(number % 9), first=number % 4 and 1
            )
            for number, text in enumerate(texts)
        ]
        stated = read_alce(answers, replace(PROFILES[profile], units=units))
        lines, claims = stated.judge(with_all)[0], [row for each in stated.statements for row in each]
        table, soft = stated.judge(degrees, soft=True)
        measured = [stated.measure(of, missing) for of in (lines, soft) for missing in (None, 0, 1)]
        held[f"{profile} {units}"] = {
            "claims": [[of.claim.text, of.claim.citations, of.number, of.counts] for of in claims],
            "lines": [[line.answer, *astuple(line)[3:5], *astuple(line)[7:]] for line in lines],
            "soft": [[*astuple(of)[16:18], line.state, of.reason] for of, line in zip(soft, table, strict=True)],
            "sentences": [[*row.values()][2:] for row in sentence_rows(lines)],
            "unjudged": [line.claim for line in unjudged(lines)],
            "values": [{key: value_of(one) for key, one in each.items()} for each in measured],
            "alone": [one.alone for one in measured[0].values()],
            "by group": [[share.value for share in each] for each in citation_shares(answers, lines, by_group=True)],
            "bounds": [bounds(each, average) for each in stated.shares(lines) for average in (macro, micro)],
            "sizes": [stated.statistics["statements"].alone, dict(stated.opened), stated.fields],
        }
    recorded.held("alce-lines", held, whole=True)
