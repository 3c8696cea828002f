"""SCiFi's sentences, segments and assignment: hand-made texts, offsets counted by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.data_model import Answer, Mark
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.scifi.data_model import Fact, PlacedGroup, Sentence, find_segment, read_sentences, unread_marks
from metaeval.citation.scifi.fact_entailment import assign


def read(text, first=1):
    return read_sentences(Answer("a", text, (), first=first))


def placed(text):
    """(text, [(place, numbers)]) of each sentence."""
    return [
        (one.text, [(group.at, tuple(mark.number for mark in group.marks)) for group in one.groups])
        for one in read(text)
    ]


def test_marks_go_with_the_space_before_them_and_keep_their_places():
    text = "Cups are glass [1] or [2] plastic [3][4]."
    # "Cups are glass" is 14 characters, " or" 3 more, " plastic" 8 more.
    assert placed(text) == [("Cups are glass or plastic.", [(14, (1,)), (17, (2,)), (25, (3, 4))])]
    (sentence,) = read(text)
    assert (sentence.start, sentence.end, sentence.number) == (0, len(text), 1)
    assert [text[mark.start : mark.end] for group in sentence.groups for mark in group.marks] == [
        "[1]",
        "[2]",
        "[3]",
        "[4]",
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        # Behind the full stop: to the sentence before. The bracket of a list holds marks of one place.
        ("It rained. [1, 3] It poured [2].", [("It rained.", [(10, (1, 3))]), ("It poured.", [(9, (2,))])]),
        ("[2] It rained [1].", [("It rained.", [(0, (2,)), (9, (1,))])]),
        # Two words stay two, whatever stood between them.
        ("glass[1]or [2]plastic", [("glass or plastic", [(5, (1,)), (8, (2,))])]),
        # Nothing but marks or signs is no sentence, and a list's number neither.
        ("1. It rained [1].\n--\n2.", [("It rained.", [(9, (1,))])]),
        ("How many? 42 [1].", [("How many?", []), ("42.", [(2, (1,))])]),
        ("-- [1]", []),
        ("", []),
        # What the styles do not read stays text.
        ("It rained [2020 edition].", [("It rained [2020 edition].", [])]),
    ],
)
def test_what_is_a_sentence_and_where_its_marks_are(text, sentences):
    assert placed(text) == sentences


def test_numbers_count_from_one_whatever_the_text_counts_from():
    (sentence,) = read("It rained [0].", first=0)
    assert sentence.groups == (PlacedGroup(9, (Mark(10, 13, 1),)),)


def test_marks_of_no_sentence_are_reported():
    text = "-- [1]\nIt rained [2][x3] and [4, 5] hail."
    answer = Answer("a", text, ())
    missed = unread_marks(answer, read_sentences(answer))
    # [1] stands in no sentence, and [x3] is no number.
    assert [mark.number for mark in missed] == [1, None]


@given(st.lists(st.sampled_from(["Cups", "are", ".", "? ", "\n", " ", "[1]", "[2, 3]", "[", "]", "[x1]", "é", "1."])))
def test_every_mark_is_in_a_group_or_reported_and_no_plain_mark_is_twice(pieces):
    answer = Answer("a", "".join(pieces), ())
    sentences = read_sentences(answer)
    marks = [mark for one in sentences for group in one.groups for mark in group.marks]
    every = Counter((mark.start, mark.number) for mark in find_marks(answer.text))
    found = Counter((mark.start, mark.number) for mark in (*marks, *unread_marks(answer, sentences)))
    assert every <= found
    assert max(Counter((mark.start, mark.number) for mark in marks).values(), default=1) == 1
    for one in sentences:
        places = [group.at for group in one.groups]
        assert places == sorted(places)
        assert all(0 <= place <= len(one.text) for place in places)
        assert 0 <= one.start < one.end <= len(answer.text)


SENTENCE = "He made his debut in 1992, and by 1999 he had started an art school."


@pytest.mark.parametrize(
    ("said", "stretch", "found"),
    [
        ("1992", "1992", "verbatim"),  # the paper's Table 12: a segment may be one number
        (" his debut in 1992 ", "his debut in 1992", "verbatim"),
        ("art", "art", "verbatim"),  # the word, not the letters in "started"
        ("tarted", "tarted", "verbatim"),
        ("HE HAD\nstarted", "he had started", "case folded"),
        ("made his first debut in 1992", "made his debut in 1992", "fuzzy"),
        ("he had begun an art school", "he had started an art school", "fuzzy"),
        ("nothing of the kind", SENTENCE, "sentence"),
        ("", SENTENCE, "sentence"),
    ],
)
def test_a_segment_is_found_as_far_as_it_goes(said, stretch, found):
    segment = find_segment(SENTENCE, said)
    assert (SENTENCE[slice(*segment[:2])], segment[2]) == (stretch, found)


def assigned(text, groups, segment):
    """(place, distance) of the group that a fact of this segment is assigned."""
    start = text.index(segment)
    fact = Fact(1, "A fact.", 1, (start, start + len(segment), "verbatim"), "model")
    sentence = Sentence(
        1, text, 0, 99, tuple(PlacedGroup(at, (Mark(0, 3, number),)) for number, at in enumerate(groups))
    )
    group, distance = assign(fact, sentence)
    return None if group is None else group.at, distance


def test_the_nearest_citation_to_the_segments_end_is_taken():
    (sentence,) = read("He made his acting debut in a film [1] in 1992 [2], and left [3].")
    text, groups = sentence.text, [group.at for group in sentence.groups]
    assert text == "He made his acting debut in a film in 1992, and left."
    assert groups == [34, 42, 52]
    # The paper's fact "He made his acting debut in 1992" stands in "1992": its end is 42, where [2] stands.
    assert assigned(text, groups, "1992") == (42, 0)
    # "acting debut" ends at 24: |34 - 24| = 10, |42 - 24| = 18.
    assert assigned(text, groups, "acting debut") == (34, 10)
    # A citation inside the segment counts by its distance to the end as well: |52 - 52| = 0.
    assert assigned(text, groups, "in a film in 1992, and left") == (52, 0)
    assert assigned(text, [34], "left") == (34, 18)
    assert assigned(text, [], "left") == (None, None)
