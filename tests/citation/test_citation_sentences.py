"""From answers to sentences: what is cut, what moves, and that offsets survive."""

import json
from pathlib import Path

import pytest

from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_sentence_splitter, move_leading, prepare, split, whole
from metaeval.corpus.sentences import RULES, SPLITTER, SentenceSplitter

GOLDEN = Path(__file__).parents[1] / "golden" / "aliice_eval.json"


def moved(text, leading):
    return [sentence.text for sentence in move_leading(split(whole(text), RULES), leading)]


def test_offsets_lead_back_to_the_text():
    text = "  It rained. It rained.\nThe river  rose [1]. \n"
    sentences = split(whole(text))
    assert [sentence.text for sentence in sentences] == ["It rained.", "It rained.", "The river  rose [1]."]
    assert [sentence.span() for sentence in sentences] == [(2, 12), (13, 23), (24, 44)]


def test_a_splitter_that_changes_the_text_is_refused():
    loud = SentenceSplitter("loud", lambda text: [text.upper()])
    with pytest.raises(ValueError, match="splitter loud changed the text of sentence 'IT RAINED'"):
        split(whole("it rained"), loud)


def test_the_splitter_that_ran_is_named(punkt_data):
    assert find_sentence_splitter("rules").name == RULES.name == SPLITTER
    import nltk

    assert find_sentence_splitter("nltk").name.startswith(f"nltk-{nltk.__version__}/punkt_tab-english@")


@pytest.mark.parametrize(
    ("text", "lines", "read"),
    [
        ("\n A [1].\nB [2].", "first", "A [1]."),
        ("\n A [1].\nB [2]. ", "all", "A [1].\nB [2]."),
        ("A<|im_end|> b.", "first", "A b."),
        ("A<|im_end|> b.<|im_end|>", "all", "A b."),
        (" \n ", "first", ""),
        ("", "all", ""),
    ],
)
def test_preparation_is_as_named_and_keeps_offsets(text, lines, read):
    reading = prepare(Answer("a", text, ()), lines)
    assert reading.text == read
    assert "".join(text[offset] for offset in reading.at) == read


def test_marks_behind_the_full_stop_stay_or_move_as_asked():
    text = "It rained. [1][4] The river rose [5]. [2]"
    assert moved(text, "keep") == ["It rained.", "[1][4] The river rose [5].", "[2]"]
    assert moved(text, "move first") == ["It rained.[1]", "[4] The river rose [5].[2]", ""]
    assert moved(text, "move all") == ["It rained.[1][4]", " The river rose [5].[2]", ""]


def test_the_first_sentence_keeps_what_opens_it():
    assert moved("[1] It rained. It poured.", "move all") == ["[1] It rained.", "It poured."]


def test_moving_the_first_takes_the_first_plain_mark_wherever_it_stands():
    # Released ALiiCE looks whether the sentence opens with a bracket, then cuts out the first "[digits]".
    assert moved("It rained. [Sic] it poured [3] here.", "move first") == ["It rained.[3]", "[Sic] it poured  here."]
    assert moved("It rained. [Sic] it poured [3] here.", "move all") == ["It rained.", "[Sic] it poured [3] here."]


def test_moved_marks_keep_their_place_in_the_answer():
    text = "It rained. [1] The river rose."
    first, second = move_leading(split(whole(text), RULES), "move first")
    assert (first.text, first.at[-3:]) == ("It rained.[1]", (11, 12, 13))
    assert (second.text, second.at[:2]) == (" The river rose.", (14, 15))


def test_moving_the_first_gives_the_sentences_of_the_released_code():
    """The sentences of released ALiiCE on real punkt; on these texts the rules cut at the same places."""
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    assert [moved(case["raw_output"], "move first") for case in cases] == [case["sentences"] for case in cases]
