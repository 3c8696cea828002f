"""Citation recall, precision and CVCP: the released code's own results on 13 answers, and hand-made answers besides.

Expected values: tests/golden/aliice_eval.json, made by running ylXuu/ALiiCE 7665642 with a stub NLI model.
"""

import json
import random
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from metaeval.citation.aliice.citation_lines import aliice_lines, read_aliice, stated_claims
from metaeval.citation.aliice.claim_options import PAPER, PROFILES, RELEASED
from metaeval.citation.aliice.claims import read_answers
from metaeval.citation.aliice.mark_positions import answer_cvcp, mark_offsets
from metaeval.citation.citation_table import claims_of, unjudged_claim
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.marks_and_sentences import find_marks, find_sentence_splitter
from metaeval.citation.measures import citation_shares, f1, filled, macro, means, value_of, variation
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.corpus.sentences import RULES

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "aliice_eval.json").read_text(encoding="utf-8"))
DOCS = tuple(Passage(doc["text"], doc["title"]) for doc in GOLDEN["docs"])


@pytest.fixture
def punkt(punkt_data):
    return find_sentence_splitter("nltk")


def judge_answers(answers, parser, entails, profile, splitter=RULES):
    """What is measured of answers by the functions that `metaeval cite aliice` calls, and the citation table.

    precision: the profile's own. spreads: standard deviations of recall and precision over answers.
    """
    read = read_answers(answers, parser, profile, splitter)
    lines = aliice_lines(read, entails, profile)
    recall, by_group = citation_shares(answers, lines, by_group=True)
    _, by_mark = citation_shares(answers, lines)
    own = by_group if profile.by_group else by_mark
    known = [[share.value for share in shares if share.value is not None] for shares in (recall, own)]
    texts = [each.texts for each in read]
    cvcp = (
        means(list(map(answer_cvcp, texts))) if profile.cvcp == "marks" else variation(list(map(mark_offsets, texts)))
    )
    found, groups, marks, precision = (value_of(macro(shares)) for shares in (recall, by_group, by_mark, own))
    scores = SimpleNamespace(
        recall=found,
        precision=precision,
        by_group=groups,
        by_mark=marks,
        f1=f1(precision, found),
        n=len(known[0]),
        spreads=[float(np.std(values)) if values else None for values in known],
        cvcp=value_of(cvcp),
        not_parsed=sum(sentence.kind == "fallback" for each in read for sentence in each.sentences),
        made_by=dict(sorted(Counter(claim.made_by for each in read for claim in each.claims).items())),
    )
    return scores, lines


class Recorded:
    """The verdicts that the released code was given; remembers what it is asked. An unknown pair is an error."""

    def __init__(self, verdicts):
        self.verdicts = verdicts
        self.calls = []

    def __call__(self, pairs):
        self.calls.append(list(pairs))
        return [Verdict(self.verdicts[pair]) for pair in pairs]

    @property
    def asked(self):
        return [pair for call in self.calls for pair in call]


def run(cases, profile, splitter):
    entails = Recorded({(a, b): bool(c) for case in GOLDEN["cases"] for a, b, c in case["nli_calls"]})
    answers = [Answer(str(number), case["raw_output"], DOCS) for number, case in enumerate(cases)]
    scores, lines = judge_answers(answers, find_parser("small", profile.one_root), entails, profile, splitter)
    return scores, lines, entails


def percent(value):
    return None if value is None else pytest.approx(100 * value, abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["case"])
def test_the_released_profile_is_the_released_evaluation(case, punkt):
    scores, _, entails = run([case], RELEASED, punkt)
    (read,) = read_answers([Answer("0", case["raw_output"], DOCS)], find_parser(one_root=False), RELEASED, punkt)
    assert list(read.texts) == case["sentences"]
    assert [[[claim.text, list(claim.citations)] for claim in each.claims] for each in read.sentences] == [
        parsed["pairs"] for parsed in case["parsed"]
    ]
    assert case["citation_recall"] == percent(scores.recall)
    assert case["citation_precision"] == percent(scores.precision)
    assert scores.spreads == [case["recall_std"], case["precision_std"]]
    assert scores.not_parsed == case["times_not_used_aliice"]
    cv = case["cv_released_code_on_this_item_alone"]
    assert scores.cvcp == (None if isinstance(cv, str) else pytest.approx(cv, abs=1e-15))
    # Each pair once, and none that the released code does not ask.
    assert sorted(entails.asked) == sorted({(premise, claim) for premise, claim, _ in case["nli_calls"]})


def test_the_released_profile_over_all_answers(punkt):
    scores, lines, entails = run(GOLDEN["cases"], RELEASED, punkt)
    expected = GOLDEN["corpus"]
    assert expected["citation_recall"] == percent(scores.recall)
    assert expected["citation_precision"] == percent(scores.precision)
    assert [expected["recall_std"], expected["precision_std"]] == pytest.approx(scores.spreads, abs=1e-15)
    assert expected["times_not_used_aliice"] == scores.not_parsed
    assert expected["cv"] == pytest.approx(scores.cvcp, abs=1e-15)
    assert scores.n == 10
    # Joint, alone, rest: three calls for all answers together, no pair twice.
    assert len(entails.calls) == 3
    assert len(set(entails.asked)) == len(entails.asked)
    # Every mark of every answer has its line: 23 plain ones, 2 in "[4, 5]".
    assert sum(line.start is not None for line in lines) == 25


# Hand-made: verdicts by the passages' letters. A entails the first claim; B and C do together only; D nothing.
PASSAGES = tuple(Passage(letter) for letter in "ABCD")
SENTENCE = "Cups can be made of glass{} or plastic{}."


def entails_letters(pairs):
    entailing = [{"A"}, {"B", "C"}]
    return [Verdict(any(needed <= set(premise.split("\n")) for needed in entailing)) for premise, _ in pairs]


def entails_all(pairs):
    return [Verdict(True) for _ in pairs]


def judged(text, profile=PAPER, entails=entails_letters, passages=PASSAGES):
    return judge_answers([Answer("a", text, passages)], find_parser(), entails, profile, RULES)


def test_the_two_precisions_weigh_groups_and_marks():
    # glass[1][4]: A alone entails (good), D does not and A does without it (needless). plastic[2][3]: neither alone,
    # nor either without the other: both good. Groups: mean of 1/2 and 2/2 = 0.75; marks: 3 of 4 = 0.75.
    # With [1][4][4] the first group is 1/3 (each D is needless): groups (1/3 + 1)/2 = 2/3, marks 3/5.
    scores, _ = judged(SENTENCE.format("[1][4]", "[2][3]"))
    assert (scores.recall, scores.by_group, scores.by_mark) == (1.0, 0.75, 0.75)
    scores, _ = judged(SENTENCE.format("[1][4][4]", "[2][3]"))
    assert scores.precision == scores.by_group == pytest.approx(2 / 3)
    assert scores.by_mark == pytest.approx(3 / 5)
    assert scores.f1 == pytest.approx(2 * (2 / 3) / (1 + 2 / 3))  # recall is 1
    by_marks, _ = judged(SENTENCE.format("[1][4][4]", "[2][3]"), replace(PAPER, by_group=False))
    assert by_marks.precision == pytest.approx(3 / 5)


def test_a_mark_that_cites_nothing_costs_in_the_paper_profile_and_nothing_as_released():
    # glass[9]: no passage; plastic[1]: supported. Paper: recall 1/2, precision 1/2. Released: the group is not counted.
    text = SENTENCE.format("[9]", "[1]")
    paper, lines = judged(text)
    assert (paper.recall, paper.precision) == (0.5, 0.5)
    shown = [(line.citation, line.state, line.problem) for line in lines]
    assert shown == [(9, "fails", "out of range"), (1, "judged", None)]
    released, lines = judged(text, RELEASED, entails_all)
    assert (released.recall, released.precision) == (1.0, 1.0)
    assert [(line.citation, line.state, line.recall) for line in lines] == [(9, "fails", None), (1, "judged", 1)]
    # Nor does it lack a verdict: with every missing one for the answers, or against them, recall stays 1 of 1.
    assert not any(map(unjudged_claim, claims_of(lines)))
    assert [filled(line, 0).recall for line in lines] == [None, 1]


def test_zero_cites_nothing_or_the_last_passage():
    text = "Cups can be made of glass[0]."
    assert judged(text)[0].recall == 0.0
    last = (*PASSAGES[1:], PASSAGES[0])
    scores, lines = judged(text, replace(PAPER, zero="last passage"), passages=last)
    assert (scores.recall, [line.problem for line in lines]) == (1.0, ["zero"])
    # As released, five passages are the bound.
    many, text = (*PASSAGES, *PASSAGES), "Cups can be made of glass[5]. Cups can be made of glass[6]."
    for bound, recalls in ((5, [1, None]), (None, [1, 1])):
        lines = judged(text, replace(RELEASED, bound=bound), entails_all, many)[1]
        assert [line.recall for line in lines] == recalls


TEXTS = [
    "Cups can be made of glass[1] or plastic [2][3]. They break. [1]",
    "[1] Cups break [2]. [3]\n[1]\n1 [2].",
    "Tea [0] and milk [9] are hot [1, 2] or cold [x3]. -- [2]",
    "Rome [1-3] and Oslo [2].",
    "【1】 Iron ¹,² rusts 【2】and zinc[^3] too.",
    "A. B [1]. [2] [3] C.",
    "Cups [5] and mugs [6]. [4]",
    "Nothing.",
    "",
    "Cups can be made of glass [1, 4]. [2]\nThey break.",
    "Cups are made of glass. [1][2] Cats sleep all day. [3]",
]


@pytest.mark.parametrize(
    "profile",
    [
        PAPER,
        RELEASED,
        replace(PAPER, name="groups", cvcp="groups", uncited="fails", leading="keep", emptied="keep"),
        replace(RELEASED, name="left-out", uncited="fails", zero="nothing", bound=None, styles="all", leading="auto"),
    ],
    ids=lambda profile: profile.name,
)
def test_answers_in_every_spelling_have_their_lines(recorded, profile):
    answers = [
        Answer(
            f"{text[:9]} {first}",
            text,
            tuple(Passage(letter, letter * (n % 2)) for n, letter in enumerate("abcdef")),
            first=first,
        )
        for text in TEXTS
        for first in (1, 0)
    ]

    def entails(pairs):
        scores = [(7 * len(premise) + len(claim)) % 5 / 4 for premise, claim in pairs]
        return [Verdict(score > 0.4, score) if score else Verdict(None, status="failed") for score in scores]

    stated = read_aliice(answers, profile)
    read = read_answers(answers, find_parser("small", profile.one_root), profile)
    assert stated_claims(read, profile) == stated.statements
    lines = stated.judge(entails)[0]
    assert aliice_lines(read, entails, profile) == lines
    held = {answer.id: [one.texts, []] for answer, one in zip(answers, read, strict=True)}
    for line in lines:
        told = {name: own for name, own in asdict(line).items() if own not in (None, "", line.answer)}
        held[line.answer][1].append(list(told.values()))
    statistics = {name: [one.alone, one.counts, one.ends] for name, one in stated.statistics.items()}
    fields = {name: own for name, own in stated.fields.items() if name != "parser"}
    recorded.held(f"aliice-answers-{profile.name}", {**held, **statistics, "fields": fields}, whole=True)


def test_what_is_not_cited_has_no_value_and_is_not_open():
    scores, lines = judged("Cups can be made of glass.")
    assert (scores.recall, scores.precision, scores.f1, scores.cvcp) == (None, None, None, None)
    assert [line.state for line in lines] == ["uncited"]
    _, lines = judged("Cups can be made of glass[1]. It rains.", entails=entails_all)
    ((share,), _) = citation_shares([Answer("a", "", PASSAGES)], lines)
    assert (share.hits, share.total, share.open) == (1, 1, 0)
    assert not any(map(unjudged_claim, claims_of(lines)))
    # Beside a good one, a mark that cites nothing fails alone: A entails: recall 1; marks 1 and 0.
    scores, _ = judged("Cups can be made of glass[1][9].")
    assert (scores.recall, scores.precision) == (1.0, 0.5)


def test_a_missing_verdict_is_in_no_denominator():
    def only_joint(pairs):
        return [Verdict(None, status="failed") if premise in "AD" else Verdict(True) for premise, _ in pairs]

    # Joint A+D is entailed; alone there is no answer: recall 1, precision unknown, and the lines say why.
    scores, lines = judged("Cups can be made of glass[1][4].", entails=only_joint)
    assert (scores.recall, scores.precision) == (1.0, None)
    assert [(line.state, line.reason) for line in lines] == [("unjudged", "failed")] * 2


WORDS = "Cups are made of which and , . don't cannot שלום 🙂 \u200b \x00 3.5%"
MARKS = "[1] [2] [1][2] [3,4] [1-3] [^2] [0] [٣] [1 1] [[1]] [[["
RARE = [", ", ". ", "\n", " ", "\ud800", "a" * 300, "[1]" * 30, f"[{'9' * 24}]", f"[{'9' * 5000}]", "[3, 4]"]
PIECES = [*WORDS.split(" "), *MARKS.split(" "), *RARE]


@pytest.mark.parametrize("name", ["paper", "released"])
def test_mangled_answers_do_not_crash_and_no_mark_is_lost(name):
    profile = PROFILES[name]
    draws = random.Random(7)
    answers = [
        Answer(str(number), text, PASSAGES[: draws.randrange(5)], first=draws.randrange(2))
        for number in range(80)
        for text in [draws.choice(["", " "]).join(draws.choices(PIECES, k=draws.randrange(14)))]
    ]

    def entails(pairs):
        return [Verdict(draws.random() < 0.5) for _ in pairs]

    scores, lines = judge_answers(answers, find_parser("small", profile.one_root), entails, profile)
    assert 0 < scores.recall < 1
    for answer in answers:
        has_line = Counter((line.start, line.citation) for line in lines if line.answer == answer.id)
        assert Counter((mark.start, mark.number) for mark in find_marks(answer.text, first=answer.first)) <= has_line
