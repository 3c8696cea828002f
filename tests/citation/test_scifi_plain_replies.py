"""Plain replies of a chat model, as SCiFi's prompts (Tables 8, 10 and 12 of arXiv 2406.06125) are answered."""

import json

import pytest

from metaeval.citation.chat_models import ChatOptions
from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.scifi.answer_measures import entailments
from metaeval.citation.scifi.data_model import ScifiOptions
from metaeval.citation.scifi.facts import facts_signature, read_line, read_listed, read_with_model
from metaeval.llm.messages import read_reply

CHAT = ChatOptions(model="tiny", base_url="http://127.0.0.1:9/v1", output="text")
FILM = "He acted in a film [1] in 1992 [2]."


def asked_with(replies):
    """A model that answers in turn; the contents of its requests are kept."""
    contents = []

    def ask(requests):
        contents.extend(request.body for request in requests)
        texts = [replies.pop(0) for _ in requests]
        return [
            read_reply(json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))
            for text in texts
        ]

    return ask, contents


@pytest.mark.parametrize(
    ("reply", "facts", "others"),
    [
        ("- He acted.\n- It was in 1992.", ("He acted.", "It was in 1992."), 0),
        ("Facts:\n1. He acted.\n2) It was in 1992.\n", ("He acted.", "It was in 1992."), 1),
        ("• He acted.\n\n* He acted.", ("He acted.",), 0),
        ("He acted in a film.", ("He acted in a film.",), 0),
        ("1992. A year.", ("1992. A year.",), 0),
        ("-no space after the dash", ("-no space after the dash",), 0),
    ],
)
def test_each_item_of_a_list_is_a_fact(reply, facts, others):
    found, counted = read_listed(reply)
    assert found == facts
    assert counted["line that is not a list item"] == others


@pytest.mark.parametrize("reply", ["", " \n", "He acted.\nIt was in 1992.", '{"facts":\n["He acted."]}'])
def test_several_lines_without_items_cannot_be_read(reply):
    assert read_listed(reply) is None


@pytest.mark.parametrize(
    ("reply", "segment"),
    [
        ("in 1992", "in 1992"),
        ('Segment: "in 1992"\n', "in 1992"),
        ("question: “a film”", "a film"),
        ("'twas", "'twas"),
        ("", None),
        ("Segment:", None),
        ("in 1992\nbecause it names the year", None),
    ],
)
def test_a_segment_is_the_only_line(reply, segment):
    assert read_line(reply) == segment


def test_a_papers_prompts_are_answered_in_plain_text(tmp_path):
    (tmp_path / "decomposition.txt").write_text("Break this up: {sentence}\n")
    (tmp_path / "mapping.txt").write_text("Sentence: {sentence}\nClaim: {fact}\nSegment:\n")
    options = ScifiOptions(facts="model", prompts=tmp_path)
    ask, sent = asked_with(["- He acted in a film.\n- He acted in 1992.", "a film", "Segment: in 1992"])
    answer = Answer("a", FILM, (Passage("A film."), Passage("The year.")))
    (read,) = read_with_model([answer], options, ask, CHAT)
    assert [body["messages"][0]["content"] for body in sent] == [
        "Break this up: He acted in a film in 1992.",
        "Sentence: He acted in a film in 1992.\nClaim: He acted in a film.\nSegment:",
        "Sentence: He acted in a film in 1992.\nClaim: He acted in 1992.\nSegment:",
    ]
    assert not any("response_format" in body for body in sent)
    assert facts_signature(options, CHAT).endswith("read by the rules items and line")
    assert [fact.segment[2] for fact in read.facts] == ["verbatim", "verbatim"]
    assert [read.sentences[0].text[slice(*f.segment[:2])] for f in read.facts] == ["a film", "in 1992"]


def test_our_prompts_ask_for_plain_text_and_unreadable_replies_are_counted(made):
    ask, sent = asked_with(["- He acted in a film.\n- He acted in 1992.", "a film", "I think:\nin 1992"])
    (read,) = read_with_model([made.facts_of(FILM).answer], ScifiOptions(facts="model"), ask, CHAT)
    assert "JSON" not in sent[0]["messages"][0]["content"] + sent[1]["messages"][0]["content"]
    assert [fact.trouble for fact in read.facts] == ["", "unparsed"]
    assert read.problems["segment: unparsed"] == 1
    ask, _ = asked_with(["Two facts.\nOr three."])
    (read,) = read_with_model([made.facts_of(FILM).answer], ScifiOptions(facts="model"), ask, CHAT)
    assert read.lost == {1: "unparsed"}
    assert entailments([read], [])[0].open == 1
