"""What every command that asks a chat model refuses in the same words, before anything is asked."""

import json

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

PASSAGES = [{"title": "Oder", "text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
QUESTION = {"id": "a", "question": "How long is it?", "passages": PASSAGES}
ANSWER = QUESTION | {"group": "q", "system": "s", "text": "The Oder is 840 kilometres long [1]. Barges sail [2]."}
GENERATE, IMPROVE, CITEEVAL, SCIFI = "generate -o a.jsonl", "improve -o a.jsonl", "citeeval", "scifi"
EVERY = (GENERATE, IMPROVE, CITEEVAL, SCIFI)
REFUSED = {
    "--model tiny": (EVERY, "the environment variable OPENAI_API_KEY is not set: type export OPENAI_API_KEY=..."),
    "--model tiny --base-url nowhere": (EVERY, "'base_url' in the options of the chat model: an address"),
    "--model tiny --base-url http://127.0.0.1:9/v1 --budget 1": (EVERY, "both price_in and price_out"),
    "--replay none.jsonl": (EVERY, "none.jsonl"),
    "--model tiny --replay a --record b": (EVERY, "give only one of --record and --replay"),
    "": (EVERY[:3], "and none is given: give --model NAME"),
    "--model tiny -s scenario=citde": (EVERY[1:3], "'full' or 'cited'"),
    "--model tiny -s chat.concurency=1": (EVERY[1:3], "concurency"),
    "--model tiny -s chat.model=large": (EVERY, '"tiny" and, as chat.model, "large"'),
    "--model tiny -s uncited=fails -s chat.uncited=rated": ((CITEEVAL,), 'chat.uncited, "rated"'),
    "--model tiny -s chat.mode=cot -s mode=vanilla": ((CITEEVAL,), '"vanilla" and, as chat.mode, "cot"'),
    "--model tiny -s mode=cot -s chat.mode=cot": ((CITEEVAL,), "OPENAI_API_KEY is not set"),
    "--model tiny -s concurrency=1": (EVERY[1:3], "'chat.concurrency'"),
}


@pytest.mark.parametrize(("command", "options"), [(one, options) for options in REFUSED for one in REFUSED[options][0]])
def test_what_no_chat_model_can_be_asked_with_is_one_sentence(refused, tmp_path, command, options):
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(QUESTION if command == GENERATE else ANSWER) + "\n")
    name, *more = command.split()
    assert REFUSED[options][1] in refused("cite", name, path, *more, *options.split())
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "a.jsonl").exists()
