"""The likest run of words: against difflib's ratio of every run, and how much is compared in long sentences."""

import random
import re
from difflib import SequenceMatcher

import pytest

from metaeval.citation.scifi import data_model
from metaeval.citation.scifi.data_model import find_segment, most_similar_run

WORDS = "The old bridge over the river, which a Dane had built of steel in 1999 (or so), carries Straßen-cars".split()


def every_run(sentence, text, likeness):
    """The definition: all runs of about as many words, each compared."""
    spans = [match.span() for match in re.finditer(r"\w+(?:[^\w\s]+\w+)*", sentence)]
    words = len(text.split())
    ranked = []
    for size in range(max(1, words - max(1, words // 4)), words + max(1, words // 4) + 1):
        for first in range(len(spans) - size + 1):
            start, end = spans[first][0], spans[first + size - 1][1]
            ratio = SequenceMatcher(None, sentence[start:end].casefold(), text.casefold(), autojunk=False).ratio()
            ranked.append((ratio, start - end, -start, (start, end)))
    best = max(ranked, default=(0.0,))
    return best[3] if best[0] >= likeness and ranked else None


@pytest.mark.parametrize("seed", range(40))
def test_the_likest_of_all_runs_is_found(seed):
    draws = random.Random(seed)
    sentence = " ".join(draws.choices(WORDS, k=draws.randrange(1, 30)))
    said = sentence.split()[draws.randrange(3) :][: draws.randrange(1, 12)] or ["river"]
    for _ in range(draws.randrange(3)):  # words swapped, changed, left out
        one, other = draws.randrange(len(said)), draws.randrange(len(said))
        said[one], said[other] = said[other], draws.choice([said[one], said[one][1:] + "x", "STRASSEN"])
    for likeness in (0.3, 0.6, 0.8):
        text = " ".join(said)
        assert most_similar_run(sentence, text, likeness) == every_run(sentence, text, likeness)


def test_what_has_no_words_is_like_nothing():
    assert (
        most_similar_run("...", "a b", 0.1)
        is most_similar_run("", "a", 0.1)
        is most_similar_run("a b c", "--", 0.1)
        is None
    )
    # Not even where any likeness is enough.
    assert most_similar_run("", "a", 0) is most_similar_run("...", "a", 0) is None


def test_a_run_is_compared_as_long_as_there_is_work_left_for_it():
    assert data_model._WORK == 800 * 750
    assert most_similar_run("x" * 800, "x" * 750, 0.9) == (0, 800)
    assert most_similar_run("x" * 801, "x" * 750, 0.9) is None


class Counted(SequenceMatcher):
    compared = 0

    def ratio(self):
        Counted.compared += len(self.a) * len(self.b)
        return super().ratio()


def test_in_long_sentences_what_is_compared_has_a_bound(monkeypatch):
    # 400 words and 100 of them in another order, by letters as like as any others: all runs together would be
    # 51 lengths x some 300 places x some 700 x 700 characters, more than 7,000,000,000.
    draws = random.Random(0)
    words = ["".join(draws.choices("abcdefgh", k=6)) for _ in range(400)]
    shuffled = draws.sample(words[50:150], 100)
    monkeypatch.setattr(data_model, "SequenceMatcher", Counted)
    assert most_similar_run(" ".join(words), " ".join(shuffled), 0.8) is None
    assert 0 < Counted.compared <= data_model._WORK
    # What was said with some words wrong is found first, because it shares most words.
    said = [word if number % 20 else "zzz" for number, word in enumerate(words[50:150])]
    start, end = most_similar_run(" ".join(words), " ".join(said), 0.8)
    assert {*words[51:150]} <= {*" ".join(words)[start:end].split()}
    # A text too long to be compared once is not looked for by likeness.
    assert most_similar_run(" ".join(words), " ".join([*words[:200], "zzz"]), 0.8) is None


def test_a_vowel_sign_belongs_to_its_word():
    sentence = "नद की नदी में नाव"
    assert find_segment(sentence, "नद") == (0, 2, "verbatim")
    assert find_segment("नदी में नद", "नद") == (8, 10, "verbatim"), "not the beginning of another word"
    assert sentence[slice(*most_similar_run(sentence, "नदी मे", 0.8))] == "नदी में"


@pytest.mark.parametrize(
    ("sentence", "said", "first", "found"),
    [
        ("in art, in art", "in art", (0, 6), "verbatim"),
        ("In art, in ART", "iN art", (0, 6), "case folded"),
        ("old arts, old arts", "old artx", (0, 8), "fuzzy"),
        ("startles art and tart", "art", (9, 12), "verbatim"),  # whole words before parts
    ],
)
def test_of_several_places_the_first_is_taken(sentence, said, first, found):
    assert find_segment(sentence, said) == (*first, found)
