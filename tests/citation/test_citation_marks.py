"""Marks and sentences: which are read under which styles, where they stand and move, and what is unparsable."""

import json
from pathlib import Path

import pytest

from metaeval.citation import marks_and_sentences
from metaeval.citation.data_model import Answer, Mark
from metaeval.citation.marks_and_sentences import (
    added,
    cited_spans,
    find_marks,
    find_sentence_splitter,
    joined,
    move_leading,
    prepare,
    split,
    unread,
    whole,
)
from metaeval.corpus.sentences import RULES, SPLITTER, SentenceSplitter, split_sentences

# Text, and the numbers read with every style on (None: unparsable).
CASES = json.loads(Path(__file__).with_name("citation_marks.json").read_text(encoding="utf-8"))
CASES["five thousand digits"] = (f"A [{'9' * 5000}].", [None])


@pytest.mark.parametrize(("text", "numbers"), CASES.values(), ids=CASES.keys())
def test_every_bracket_with_a_digit_is_read_or_reported(text, numbers):
    assert [mark.number for mark in find_marks(text)] == numbers


@pytest.mark.parametrize(("styles", "numbers"), [("plain", [1, *[None] * 4]), ("unclosed", [1, 1, 2])])
def test_what_the_styles_do_not_read_is_an_unparsable_mark(styles, numbers):
    # "[^4]" does not open on a digit.
    assert [mark.number for mark in find_marks("A [1] B [1, 2] C [2-3] D [^4] E 【5】", styles)] == numbers


@pytest.mark.parametrize(
    "text", ["superscript digits", "lists of superscript digits", "tags", "names", "words in a list"]
)
def test_what_is_read_leaves_the_text(text):
    left = whole(CASES[text][0]).without_marks().text
    assert not any(character.isdigit() for character in left.replace("1936", "").replace("45%", ""))
    assert find_marks(left) == []


@pytest.mark.parametrize(
    "piece", ["[", "<", "¹ ", "[1,", "<sup>", "¹=", "[doc ", "<sup>[1]", ".¹ ", "。 ¹", ". <sup [", "[1 and "]
)
def test_long_runs_of_pieces_of_marks_are_read(piece):
    text = piece * (100_000 // len(piece))
    assert all(0 <= mark.start < mark.end <= len(text) for mark in find_marks(text))
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("mark", ["¹", "¹,²", "［1］", "<sup>1</sup>", "[doc1]", "[1 and 2]", "<sup>[1]</sup>"])
def test_sentences_keep_the_marks_behind_their_stop(mark):
    assert split_sentences(f"It opened in 1936.{mark} The dam") == (f"It opened in 1936.{mark}", "The dam")
    assert split_sentences(f"It opened in 1936. {mark} The dam") == ("It opened in 1936.", f"{mark} The dam")
    assert split_sentences(f"大坝于1936年开放。{mark}大坝") == (f"大坝于1936年开放。{mark}", "大坝")


def test_offsets_are_the_brackets_own():
    text = "A[1] b [2, 3]."
    assert find_marks(text) == [Mark(1, 4, 1), Mark(7, 13, 2), Mark(7, 13, 3)]
    assert [text[mark.start : mark.end] for mark in find_marks(text)] == ["[1]", "[2, 3]", "[2, 3]"]
    # Unclosed marks end with their digits.
    assert find_marks(text, "unclosed") == [Mark(1, 3, 1), Mark(7, 9, 2)]
    assert [mark.number for mark in find_marks("A [0, 10].", first=0)] == [1, 11]


def test_adjacent_marks_are_one_group_and_unread_ones_are_counted():
    text = "A [1][2] [3]\n[4], [5] b [6, 7]. [8]"
    groups = cited_spans(text)
    assert [[mark.number for mark in group.marks] for group in groups] == [[1, 2, 3, 4], [5], [6, 7], [8]]
    assert text[groups[0].start : groups[0].end] == "[1][2] [3]\n[4]"
    assert groups[2] == marks_and_sentences.MarkGroup(24, 30, (Mark(24, 30, 6), Mark(24, 30, 7)))
    # An unparsable mark stands in no group.
    assert [[mark.number for mark in group.marks] for group in cited_spans("A [1][x2][3].")] == [[1], [3]]
    every = find_marks("A [4, 5] b [4][4].")
    read = find_marks("A [4, 5] b [4][4].", "unclosed")
    assert unread(every, read) == [Mark(2, 8, 5)]
    assert unread(every, []) == every


def test_a_reading_keeps_each_characters_place():
    text = "The [1] bridge."
    reading = whole(text).without([(3, 7)])
    assert (reading.text, reading.at[3:5]) == ("The bridge.", (7, 8))
    asked = joined(added("Who? "), whole(text).part(4, 15))
    assert (asked.span(), asked.text) == ((4, 15), "Who? [1] bridge.")
    assert asked.marks() == [Mark(4, 7, 1)]
    # A mark in added text is not the answer's.
    assert joined(added("Who [2]? "), whole(text)).marks() == [Mark(4, 7, 1)]
    assert added("Who?").span() == (0, 0)


GOLDEN = Path(__file__).parents[1] / "golden" / "aliice_eval.json"


def moved(text, leading):
    return [sentence.text for sentence in move_leading(split(whole(text), RULES), leading)]


def test_offsets_lead_back_to_the_text():
    text = "  It rained. It rained.\nThe river  rose [1]. \n"
    sentences = split(whole(text))
    assert [sentence.text for sentence in sentences] == ["It rained.", "It rained.", "The river  rose [1]."]
    assert [sentence.span() for sentence in sentences] == [(2, 12), (13, 23), (24, 44)]
    loud = SentenceSplitter("loud", lambda text: [text.upper()])
    with pytest.raises(ValueError, match="splitter loud changed the text of sentence 'IT RAINED'"):
        split(whole("it rained"), loud)


def test_the_splitter_that_ran_is_named(punkt_data):
    assert find_sentence_splitter("rules").name == RULES.name == SPLITTER
    import nltk

    assert find_sentence_splitter("nltk").name.startswith(f"nltk-{nltk.__version__}/punkt_tab-english@")


@pytest.mark.parametrize(
    ("text", "first", "every"),
    [
        ("\n A [1].\nB [2]. ", "A [1].", "A [1].\nB [2]."),
        ("A<|im_end|> b.<|im_end|>", "A b.", "A b."),
        (" \n ", "", ""),
        ("", "", ""),
    ],
)
def test_preparation_is_as_named_and_keeps_offsets(text, first, every):
    for lines, read in (("first", first), ("all", every)):
        reading = prepare(Answer("a", text, ()), lines)
        assert reading.text == read
        assert "".join(text[offset] for offset in reading.at) == read


def test_marks_behind_the_full_stop_stay_or_move_as_asked():
    text = "It rained. [1][4] The river rose [5]. [2]"
    assert moved(text, "keep") == ["It rained.", "[1][4] The river rose [5].", "[2]"]
    assert moved(text, "move first") == ["It rained.[1]", "[4] The river rose [5].[2]", ""]
    assert moved(text, "move all") == ["It rained.[1][4]", " The river rose [5].[2]", ""]
    assert moved("[1] It rained. It poured.", "move all") == ["[1] It rained.", "It poured."]  # nothing is before it
    # Released ALiiCE looks whether the sentence opens with a bracket, then cuts out the first "[digits]".
    assert moved("It rained. [Sic] it poured [3] here.", "move first") == ["It rained.[3]", "[Sic] it poured  here."]
    assert moved("It rained. [Sic] it poured [3] here.", "move all") == ["It rained.", "[Sic] it poured [3] here."]
    text = "It rained. [1] The river rose."
    first, second = move_leading(split(whole(text), RULES), "move first")
    assert (first.text, first.at[-3:]) == ("It rained.[1]", (11, 12, 13))
    assert (second.text, second.at[:2]) == (" The river rose.", (14, 15))


def test_moving_the_first_gives_the_sentences_of_the_released_code():
    """The sentences of released ALiiCE on real punkt; on these texts the rules cut at the same places."""
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    assert [moved(case["raw_output"], "move first") for case in cases] == [case["sentences"] for case in cases]
