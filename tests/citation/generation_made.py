"""Questions about rivers, and a chat model whose replies are a function of the prompt, for the tests of generation."""

import json

from metaeval.citation.chat_models import ChatOptions
from metaeval.citation.data_model import Answer, Passage
from metaeval.llm.messages import read_reply

CHAT = ChatOptions(model="tiny", base_url="http://127.0.0.1:9/v1", output="json_schema")
TEXT = CHAT.model_copy(update={"output": "text"})
LONG = "The Oder is long. " + " ".join(f"It passes town {n}." for n in range(60))  # 4 + 60 * 4 words
PASSAGES = (Passage(LONG, "Oder"), Passage("Barges carry coal."), Passage(""), Passage("Fish live in it."))


def question(number=1, passages=PASSAGES):
    return Answer(f"q{number}", "not to be read [9]", passages, f"What of river {number}?", reference={"answer": "x"})


def reply(text, finish="stop"):
    choice = {"message": {"content": text}, "finish_reason": finish}
    return read_reply(json.dumps({"choices": [choice], "model": "tiny-1"}))


def prompt_of(request):
    return request.body["messages"][0]["content"]


class Model:
    """What is asked is kept; what is said is a function of the prompt."""

    def __init__(self, say):
        self.say, self.rounds = say, []

    def __call__(self, requests):
        self.rounds.append(list(requests))
        said = [self.say(prompt_of(request)) for request in requests]
        return [reply(one) if isinstance(one, str) else one for one in said]


def documents(prompt):
    """What a prompt shows: title and text by number."""
    lines = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"document": ')]
    return {one["document"]: (one.get("title", ""), one["text"]) for one in lines}


def document(prompt):
    return json.loads(prompt.rpartition("Document: ")[2])
