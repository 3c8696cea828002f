"""Four thousand mangled answers: nothing crashes, and no mark is lost without being counted."""

import random
import re
from collections import Counter
from dataclasses import replace

import pytest

from metaeval.citation.alce.citations import PROFILES, read_alce
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.measures import citation_shares, macro, value_of

PASSAGES = tuple(Passage(f"passage {number}", f"title {number}") for number in range(5))
PIECES = [
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
        text = "".join(generator.choices(PIECES, k=generator.randrange(14)))
        if generator.random() < 0.3:  # cut anywhere, or turned around
            text = text[generator.randrange(len(text) + 1) :][:: generator.choice((1, -1))]
        passages = PASSAGES[: generator.choice((0, 1, 5))]
        yield Answer(str(number), text, passages, question="Who [1]?", group=str(number % 50), first=number % 2)


def entails(pairs):
    """True, False or no answer, by the pair itself."""
    return [Verdict((True, False, None)[sum(map(ord, premise + claim)) % 3]) for premise, claim in pairs]


@pytest.mark.parametrize("statements", ["sentences", "list items"])
@pytest.mark.parametrize("profile", ["paper", "released"])
def test_no_answer_crashes_and_no_mark_is_lost(profile, statements):
    options = replace(PROFILES[profile], units=statements)
    answers = list(mangled(seed=f"{profile} {statements}", count=1000))
    lines = read_alce(answers, options).judge(entails)[0]
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
