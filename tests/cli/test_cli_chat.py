"""What every command that asks a chat model refuses in the same words, before anything is asked."""

import json

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

PASSAGES = [{"title": "Oder", "text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
TEXT = "The Oder is 840 kilometres long [1]. Barges sail [2]."
ITEM = {"id": "a", "group": "q", "system": "s", "question": "How long is it?", "passages": PASSAGES}
ANSWER = ITEM | {"text": TEXT}
QUESTION = {name: ITEM[name] for name in ("id", "question", "passages")}
COMMANDS = {
    "cite generate": (QUESTION, ("-o", "a.jsonl")),
    "cite improve": (ANSWER, ("-o", "a.jsonl")),
    "cite citeeval": (ANSWER, ()),
    "cite scifi": (ANSWER, ()),
}


@pytest.fixture
def refused_with(refused, tmp_path):
    """Refuse a command with these options on one item, and write nothing; returns the sentence."""

    def run(command, options):
        item, given = COMMANDS[command]
        path = tmp_path / "items.jsonl"
        path.write_text(json.dumps(item) + "\n")
        said = refused(*command.split(), path, *given, *options)
        assert not (tmp_path / "results").exists()
        assert not (tmp_path / "a.jsonl").exists()
        return said

    return run


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--model", "tiny"), "the environment variable OPENAI_API_KEY is not set: type export OPENAI_API_KEY=..."),
        (("--model", "tiny", "--base-url", "nowhere"), "'base_url' in the options of the chat model: an address"),
        (("--model", "tiny", "--base-url", "http://127.0.0.1:9/v1", "--budget", "1"), "both price_in and price_out"),
        (("--replay", "none.jsonl"), "none.jsonl"),
        (("--model", "tiny", "--replay", "a", "--record", "b"), "give only one of --record and --replay"),
    ],
)
def test_what_no_chat_model_can_be_asked_with_is_one_sentence(refused_with, command, options, says):
    assert says in refused_with(command, options)


@pytest.mark.parametrize(
    ("command", "does"),
    [("cite generate", "writes the answers"), ("cite improve", "judges"), ("cite citeeval", "judges")],
)
def test_a_chat_model_has_to_be_named(refused_with, command, does):
    assert f"A chat model {does}, and none is given: give --model NAME" in refused_with(command, ())


@pytest.mark.parametrize("command", ["cite improve", "cite citeeval"])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--model", "tiny", "-s", "scenario=citde"), "'full' or 'cited'"),
        (("--model", "tiny", "-s", "chat.concurency=1"), "concurency"),
        (("--model", "tiny", "-s", "concurrency=1"), "'chat.concurrency'"),
    ],
)
def test_what_citeeval_does_not_know_is_one_sentence(refused_with, command, options, says):
    assert says in refused_with(command, options)
