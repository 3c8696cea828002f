"""ALCE's profile "aliice": the rules of ylXuu/ALiiCE, eval.py --benchmark alce (commit 7665642), counted by hand.

There a response's recall is the number of supported groups over the groups in range, and its precision the number of
needed marks over the marks of these groups; a response without a group in range is left out.
"""

import re
from dataclasses import replace

import pytest

from metaeval.citation.alce.citations import ALIICE, read_alce
from metaeval.citation.aliice.citation_lines import aliice_lines
from metaeval.citation.aliice.claim_options import PAPER
from metaeval.citation.aliice.claim_options import RELEASED as ALIICE_RELEASED
from metaeval.citation.aliice.claims import read_answers
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.measures import citation_shares
from metaeval.citation.parsers.dependency_parsers import Parse
from metaeval.citation.pipelines.aliice_paper import read_alike
from metaeval.corpus.sentences import SentenceSplitter

TEXTS = ("a glass cup", "a plastic cup", "a glass and plastic cup", *"rain,a river,tea,snow,fog,ice,stone".split(","))
PASSAGES = tuple(Passage(text, "") for text in TEXTS)
LINES = SentenceSplitter("by-line", lambda text: [part for part in re.split(r"(?<=\.)\s+|\n", text) if part])
"""Splits behind each full stop and at each line break; punkt would split the texts below at the same places."""


def by_words(pairs):
    """Every word of four letters or more in the claim occurs in the premise, and there is one."""
    said = [(set(re.findall("[a-z]{4,}", claim.lower())), set(re.findall("[a-z]{4,}", text))) for text, claim in pairs]
    return [Verdict(bool(wanted) and wanted <= have) for wanted, have in said]


def of_answers(*texts, options=ALIICE):
    answers = [Answer(str(number), text, PASSAGES) for number, text in enumerate(texts)]
    stated = read_alce(answers, options, LINES)
    recall, precision = stated.shares(stated.judge(by_words)[0])
    return [
        tuple(None if share.value is None else round(100 * share.value, 1) for share in pair)
        for pair in zip(recall, precision, strict=True)
    ]


CASES = {
    # The three cases by which this profile differs from ALCE's own evaluator.
    "one cited and one uncited sentence": ("Of glass [1]. Of plastic.", (100.0, 100.0)),
    "two lines, the second unsupported": ("Glass and plastic [1][2].\nSnow falls [4].", (50.0, 66.7)),
    "five marks, two of them needed": ("Glass and plastic [1][2][4][5][6].", (100.0, 40.0)),
    # Further answers. Recall: supported sentences / cited sentences in range; precision: needed marks / their marks.
    "empty": ("", (None, None)),
    "one unsupported": ("Of glass [4].", (0.0, 0.0)),
    "joint support, both needed: 1/1, 2/2": ("Glass and plastic [1][2].", (100.0, 100.0)),
    "one spare: [3] alone holds, [4] does not and [3] does: 1/1, 1/2": ("Glass and plastic [3][4].", (100.0, 50.0)),
    "out of range is in no denominator: 1/1, 1/1": ("Of glass [1]. Of snow [11].", (100.0, 100.0)),
    "one mark of two out of range takes its sentence out": ("Of glass [1][11]. Of plastic [2].", (100.0, 100.0)),
    "nothing in range": ("Of glass [11].", (None, None)),
    "0 is the last passage, as index -1 is": ("A stone [0].", (100.0, 100.0)),
    "a heading between lines counts nowhere": ("Cups:\nOf glass [1].\n\nOf plastic [1].", (50.0, 50.0)),
    # [1] to glass, [2] to plastic.
    "an opening mark moves back, the next stays": ("Of glass. [1][2] Of plastic.", (100.0, 100.0)),
    # Without one [1] the other is left and holds; alone it holds: 1/1, 2/2.
    "a repeated mark": ("Of glass [1][1].", (100.0, 100.0)),
    "[1, 2] is not a mark here": ("Glass and plastic [1, 2].", (None, None)),
}


def test_the_tables_read_the_same_marks_for_both():
    assert read_alike(ALIICE_RELEASED) == replace(ALIICE, bound=5)
    paper = read_alike(PAPER)
    assert (paper.bound, paper.styles, paper.uncited) == (None, "all", "left out")
    # [1, 2] is read, and all of it leaves the claim: glass and plastic are held by both together.
    assert of_answers("Glass and plastic [1, 2].", options=paper) == [(100.0, 100.0)]
    # [7] is beyond 5, so that the sentence is in no share, as with the released code's psg_num of 5.
    assert of_answers("The snow [7]. Of glass [1].", options=replace(ALIICE, bound=5)) == [(100.0, 100.0)]


class FlatParser:
    """Trees by hand: the last word is the root, every other word its child; "and" and "or" are coordinations."""

    name = "flat"

    def parse(self, texts):
        return [self.tree(text.split(" ")) for text in texts]

    @staticmethod
    def tree(words):
        labels = ["cc" if word in ("and", "or") else "dep" for word in words]
        return Parse(tuple(words), (*labels[:-1], "ROOT"), (len(words) - 1,) * len(words))


def aliice_of(text):
    """Recall and precision of ALiiCE as released, but for its bound of five passages."""
    profile = replace(ALIICE_RELEASED, bound=None)
    answer = Answer("a", text, PASSAGES)
    lines = aliice_lines(read_answers([answer], FlatParser(), profile, LINES), by_words, profile)
    shares = citation_shares([answer], lines)
    return tuple(None if share.value is None else round(100 * share.value, 1) for (share,) in shares)


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_each_answer_by_hand_of_which_aliice_counts_the_same(text, expected):
    assert of_answers(text) == [expected]
    # One group, or a citation on the root: the claim is the whole sentence with all its marks, as for ALCE.
    assert aliice_of(text) == expected


WITHIN = [
    # With "or" between two groups below the root, the first claim is the sentence without "or" and what follows it up
    # to the second cited word; the second is the second cited word. Groups supported / groups; needed marks / marks.
    # Both hold: 2/2, 2/2.
    ("A cup of glass [1] or plastic [2] is.", (100.0, 100.0), (100.0, 100.0)),
    # The first fails: 1/2, 1/2; ALCE: [2] alone does not hold both.
    ("A cup of glass [2] or plastic [2] is.", (50.0, 50.0), (0.0, 0.0)),
    # [4] is spare in its group: 2/2, 2/3; ALCE: [4] is spare, the two others are needed.
    ("A cup of glass [1][4] or plastic [2] is.", (100.0, 66.7), (100.0, 66.7)),
    # [3] holds both: 2/2, 2/2; ALCE: [2] alone does not hold, [3] does.
    ("A cup of glass [3] or plastic [2] is.", (100.0, 100.0), (100.0, 50.0)),
    # A group out of range is in no share; ALCE: its whole sentence is.
    ("A cup of glass [11] or plastic [2] is.", (100.0, 100.0), (None, None)),
    # Without a coordination each claim is the cited word: 1/2, 1/2.
    ("A cup of glass [1] not snow [4] is.", (50.0, 50.0), (0.0, 0.0)),
    # Four marks in two groups, one line of two: 3/3, 4/5. ALCE: [3] holds both, so that [1], [5] and [2] are spare: 1
    # of 4, and 1 of 1 in the second line.
    ("A cup of glass [1][5] or plastic [2][3] is.\nOf glass [1].", (100.0, 80.0), (100.0, 40.0)),
]


@pytest.mark.parametrize(("text", "aliice", "alce"), WITHIN)
def test_citations_within_a_sentence_by_hand(text, aliice, alce):
    assert aliice_of(text) == aliice
    assert of_answers(text) == [alce]
