"""Marks and sentences: which are read under which styles, where they stand and move, and what is unparsable."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from metaeval.citation.data_model import Answer, LeftOut
from metaeval.citation.marks_and_sentences import (
    added,
    cited_spans,
    cleaned,
    find_marks,
    find_sentence_splitter,
    joined,
    leading_in,
    move_leading,
    opens_with_mark,
    prepare,
    reading_of,
    split,
    states,
    unread,
    whole,
)
from metaeval.corpus.sentences import RULES, SPLITTER, SentenceSplitter, split_sentences


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


def runs(at):
    """Offsets as text, consecutive ones together: 0-4 7-9."""
    starts = [place for place, offset in enumerate(at) if not place or offset != at[place - 1] + 1]
    return " ".join(f"{at[a]}-{at[b - 1]}" for a, b in pairwise([*starts, len(at)]))


def told(marks):
    return " ".join(f"{mark.start}-{mark.end}:{mark.number}" for mark in marks)


def parts(text, readings):
    """Where the characters of readings stand, which are those of the text."""
    found = [*readings]
    assert all("".join(text[offset] for offset in reading.at) == reading.text for reading in found)
    return [runs(reading.at) for reading in found]


def opens(sentence):
    return opens_with_mark(sentence), states(sentence.text), states(sentence.text, cited=True)


def read_in_every_way(text):
    """What each function of the module makes of a text: marks, groups, sentences, moved marks, readings."""
    every, reading, middle, sentences = find_marks(text), whole(text), len(text) // 2, split(whole(text))
    pieces = [LeftOut(min(1, middle), min(3, middle), "a", "x [3]. "), LeftOut(middle, min(middle + 3, len(text)), "b")]
    answer = Answer("a", text, ())
    shortened = Answer("a", text, (), left_out=tuple(pieces[: len(text)]))
    around = joined(added("[9] x "), reading.part(1, len(text)), added(" y"))
    styles = ("all", "plain")
    found = {
        "marks": told(every),
        "plain": told(unread(find_marks(text, "plain"), every)),
        "unclosed": told(find_marks(text, "unclosed", 0)),
        "unread": told(unread(every, find_marks(text, "unclosed"))),
        "from 0": [mark.number for mark in reading.marks(first=0)],
        "groups": [f"{one.start}-{one.end}: {told(one.marks)}" for of in styles for one in cited_spans(text, of)],
        "without": parts(text, (reading.without_marks(of, 0) for of in styles)),
        "sentences": [[*one.span(), *opens(one)] for one in sentences],
        "moved": [parts(text, move_leading(sentences, of)) for of in ("move first", "move all")],
        "moved plain": parts(text, move_leading(sentences, "move all", "plain")),
        "leading": [leading_in(reading, "auto", of) for of in styles] + [leading_in(reading, "keep")],
        "prepared": parts(text, [prepare(answer), prepare(answer, "first"), reading.stripped()]),
        "around": [around.span(), told(around.marks()), around.without_marks().text],
        "left out": [runs(reading_of(shortened).at), cleaned(shortened).text, cleaned(answer) == answer],
    }
    return {name: value for name, value in found.items() if value}


def test_texts_are_read_in_every_way_as_recorded(recorded):
    """The keys of the record are the texts."""
    texts = [*json.loads((recorded.FOLDER / "marks-read.json").read_text(encoding="utf-8"))]
    assert len(texts) > 90
    assert [mark.number for mark in find_marks(f"A [{'9' * 5000}].")] == [None]
    recorded.held("marks-read", {text: read_in_every_way(text) for text in texts}, whole=True)


def test_a_splitter_that_changes_the_text_is_refused():
    loud = SentenceSplitter("loud", lambda text: [text.upper()])
    with pytest.raises(ValueError, match="splitter loud changed the text of sentence 'IT RAINED'"):
        split(whole("it rained"), loud)


def test_the_splitter_that_ran_is_named(punkt_data):
    assert find_sentence_splitter("rules").name == RULES.name == SPLITTER
    import nltk

    assert find_sentence_splitter("nltk").name.startswith(f"nltk-{nltk.__version__}/punkt_tab-english@")


def test_moving_the_first_gives_the_sentences_of_the_released_code():
    """The sentences of released ALiiCE on real punkt; on these texts the rules cut at the same places."""
    golden = Path(__file__).parents[1] / "golden" / "aliice_eval.json"
    for case in json.loads(golden.read_text(encoding="utf-8"))["cases"]:
        moved = move_leading(split(whole(case["raw_output"]), RULES), "move first")
        assert [sentence.text for sentence in moved] == case["sentences"]
