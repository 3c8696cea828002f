"""What a sentence points at: marks in the place of nouns and subjects of the sentence before, by hand."""

import pytest

from metaeval.citation.aliice.anaphora import SentenceContext, noun_marks
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.aliice.claims import draft, read_answers, read_sentences
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.parsers.dependency_parsers import find_parser, stored_parser

EXPANDED = aliice_profile("expanded")
TITLES = ("Steel bridges", "Wind  and\nweather", "...")

# The claim of each sentence, with the titles above; the third title names nothing.
NAMED = {
    "Paper [1] describes bridges.": "The paper “Steel bridges” describes bridges.",
    "Lastly, Paper [2] describes storms.": "Lastly, the paper “Wind and weather” describes storms.",
    "Papers [1][2] describe both.": "The papers “Steel bridges” and “Wind and weather” describe both.",
    "For example, [1] presents a bridge.": "For example, the source “Steel bridges” presents a bridge.",
    "In [1], the authors built a bridge.": "In the source “Steel bridges”, the authors built a bridge.",
    "Methods proposed by [1] use two sensors.": "Methods proposed by the source “Steel bridges” use two sensors.",
    # No title: the phrase goes where the sentence can do without, or the cited source is named so.
    "In [3], the authors built a bridge.": "the authors built a bridge.",
    "Finally, [9] presents a bridge.": "Finally, the cited source presents a bridge.",
    "Paper [0] describes bridges.": "The cited paper describes bridges.",
    "Trams are slow, as in [9].": "Trams are slow, as in the cited source.",
    # These marks are no nouns.
    "Steel [1] is strong.": "Steel is strong.",
    "Bridges fell, as shown in [1].": "Bridges fell.",
    "One study [1] found storms.": "One study found storms.",
    "Pens and paper[1] sold well.": "Pens and paper sold well.",
}


@pytest.mark.parametrize("sentence", NAMED)
def test_marks_in_the_place_of_a_noun_are_named(sentence):
    (read,) = read_sentences([sentence], find_parser(), EXPANDED, [SentenceContext(TITLES)])
    assert [claim.text for claim in read.claims] == [NAMED[sentence]]


def test_two_named_sources_have_a_claim_each():
    sentence = "Paper [1] describes bridges, while Paper [2] describes storms."
    (read,) = read_sentences([sentence], find_parser(), EXPANDED, [SentenceContext(TITLES)])
    assert [(claim.text, claim.citations) for claim in read.claims] == [
        ("The paper “Steel bridges” describes bridges", (1,)),
        ("the paper “Wind and weather” describes storms", (2,)),
    ]


def test_a_list_behind_commas_has_no_noun_marks():
    assert not list(noun_marks("Light shines on spheres,[1] rings, [2] bottles, [3] and disks [4].", TITLES))


# The sentence before, and what the claim of the next one is.
POINTING = {
    ("The old mill burned down [1].", "It was rebuilt in 1900 [2]."): "The old mill was rebuilt in 1900.",
    ("Ada Lovelace was born in London [1].", "She wrote a program [2]."): "Ada Lovelace wrote a program.",
    ("The engineers built a dam [1].", "Their work lasted two years [2]."): "The engineers’ work lasted two years.",
    ("The king signed the trade treaty [1].", "This treaty ended the war [2]."): "The trade treaty ended the war.",
    ("BERT reads text [1].", "This model has two sizes [2]."): "BERT has two sizes.",
    # Nothing is named: the number differs, two nouns would fit, "it" stands for a clause, a noun is nearer.
    ("The old mill burned down [1].", "They were rebuilt in 1900 [2]."): "They were rebuilt in 1900.",
    ("The mill burned when a storm came [1].", "It lasted two days [2]."): "It lasted two days.",
    ("The old mill burned down [1].", "It is known that storms are dangerous [2]."): (
        "It is known that storms are dangerous."
    ),
    ("The old mill burned down [1].", "In the city, it was rebuilt [2]."): "In the city, it was rebuilt.",
    ("She saw the old mill [1].", "It burned down [2]."): "It burned down.",
}


@pytest.mark.parametrize("pair", POINTING)
def test_a_subject_is_named_by_the_sentence_before(pair):
    answer = Answer("a", " ".join(pair), (Passage("x", "One"), Passage("y", "Two")))
    (read,) = read_answers([answer], find_parser(), EXPANDED)
    assert read.claims[-1].text == POINTING[pair]


def test_the_same_pronoun_leads_further_back():
    answer = Answer("a", "The old mill stood in Kent [1]. It burned down. It was rebuilt [1].", (Passage("x"),))
    (read,) = read_answers([answer], find_parser(), EXPANDED)
    assert read.claims[-1].text == "The old mill was rebuilt."


def test_stored_parses_need_not_hold_the_sentences_before():
    sentence = "It was rebuilt in 1900 [2]."
    text = draft(sentence, EXPANDED).text
    stored = stored_parser({text: find_parser().parse([text])[0]})
    (read,) = read_sentences([sentence], stored, EXPANDED, [SentenceContext(before=("The old mill burned down [1].",))])
    assert [claim.text for claim in read.claims] == ["It was rebuilt in 1900."]


def test_other_profiles_ignore_the_context():
    context = SentenceContext(TITLES, ("The old mill burned down [1].",))
    for name in ("paper", "released", "printed"):
        profile = aliice_profile(name)
        sentences = ["It was built of glass[1] and steel[2].", "Paper [1] describes bridges[2]."]
        without = read_sentences(sentences, find_parser(), profile)
        assert read_sentences(sentences, find_parser(), profile, [context] * 2) == without
