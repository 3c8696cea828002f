"""The judges of frameworks: what they declare without the frameworks, and their numbers with each, over loopback."""

import ast
import csv
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from metaeval import registry

HERE = Path(__file__).parent
NAMES = (
    "deepeval:faithfulness",
    "openevals:groundedness",
    "phoenix:faithfulness",
    "ragas:faithfulness",
    "trulens:groundedness",
)
SOURCE = "The tower was built in 1873. It is old and made of granite."
STATEMENTS = {
    "all": "The tower was built in 1873. It is old and made of granite.",
    "half": "The tower was built in 1873. It has a red door.",
    "none": "Cows fly south. The moon is made of cheese. It rains in Rome.",
    "denied": "The tower was not built in 1873.",
    "no claims": "Hello there!",
}

# Run as `python -c GUARD FILE ARGUMENTS`: every connection and look-up that is not of this machine goes into the file.
GUARD = """
import socket, sys
log, sys.argv[1:] = sys.argv[1], sys.argv[2:]
def guarded(call, host):
    def asked(*given, **named):
        place = host(given, named)
        if isinstance(place, str | bytes) and str(place) not in ("127.0.0.1", "localhost", "::1"):
            print(place, file=open(log, "a"))
            raise OSError("no network here")
        return call(*given, **named)
    return asked
for name in ("connect", "connect_ex"):
    address = lambda given, named: given[1][0] if isinstance(given[1], tuple) else None
    setattr(socket.socket, name, guarded(getattr(socket.socket, name), address))
socket.getaddrinfo = guarded(socket.getaddrinfo, lambda given, named: given[0])
from metaeval.cli import main
main()
"""


def claims(text):
    return [sentence for sentence in re.split(r"(?<=[.!])\s+", text) if not sentence.startswith("Hello")]


def between(text, start, end):
    return text.rsplit(start, 1)[1].split(end, 1)[0].strip()


def judged(prompt):
    """The reply to any framework's prompt, of a model that finds a claim where it stands in the source."""
    ragas = between(prompt, "\ninput: ", "\nOutput:") if "\nOutput:" in prompt else ""
    if "StatementGeneratorOutput" in prompt:
        return {"statements": claims(json.loads(ragas)["answer"])}
    if "NLIStatementOutput" in prompt:
        asked = json.loads(ragas)
        verdicts = [(claim, int(claim in asked["context"])) for claim in asked["statements"]]
        return {"statements": [{"statement": claim, "reason": "", "verdict": found} for claim, found in verdicts]}
    if "\nAI Output:\n" in prompt:
        return {"claims": claims(between(prompt, "\nAI Output:\n", "\n\nJSON:"))}
    if "\nClaims:\n" in prompt:
        facts = between(prompt, "\nRetrieval Contexts:\n", "\n\nClaims:")
        listed = ast.literal_eval(between(prompt, "\nClaims:\n", "\n\nJSON:"))
        said = ["yes" if claim in facts else "no" if " not " in claim else "borderline" for claim in listed]
        return {"verdicts": [{"verdict": verdict, "reason": None} for verdict in said]}
    if "\nText:\n" in prompt:
        return {"truths": claims(between(prompt, "\nText:\n", "\n\nJSON:"))}
    if "ALL STATEMENTS: " in prompt:
        return str(claims(" ".join(ast.literal_eval(between(prompt, "ALL STATEMENTS: ", "\n")))))
    if "\nSTATEMENT: " in prompt:
        found = between(prompt, "\nSTATEMENT: ", "\n\n") in between(prompt, "SOURCE: ", "\nSTATEMENT: ")
        return {"criteria": "c", "supporting_evidence": "e", "score": 3 * found}
    context = between(prompt, "<context>\n", "\n</context>")
    answer = "<outputs>" if "<outputs>" in prompt else "<response>"
    whole = all(claim in context for claim in claims(between(prompt, f"{answer}\n", "\n</")))
    if answer == "<outputs>":
        return {"reasoning": "r", "score": whole}
    return {"explanation": "e", "label": "faithful" if whole else "unfaithful"}


# By kind of statement: the score (None: none) and the requests for it.
EXPECTED = {
    "ragas:faithfulness": {"all": (1, 2), "half": (0.5, 2), "none": (0, 2), "denied": (0, 2), "no claims": (None, 1)},
    "deepeval:faithfulness": {"all": (1, 3), "half": (1, 3), "none": (1, 3), "denied": (0, 3), "no claims": (1, 2)},
    "phoenix:faithfulness": {"all": (1, 1), "half": (0, 1), "none": (0, 1), "denied": (0, 1), "no claims": (1, 1)},
    "trulens:groundedness": {"all": (1, 3), "half": (0.5, 3), "none": (0, 4), "denied": (0, 2), "no claims": (0, 1)},
    "openevals:groundedness": {"all": (1, 1), "half": (0, 1), "none": (0, 1), "denied": (0, 1), "no claims": (1, 1)},
}


@pytest.fixture
def server(fake):
    class Server(fake.ChatServer):
        """A chat server with /v1/responses, on which TruLens asks for its grades."""

        async def respond(self, writer, path, headers, body):
            messages = body.get("messages") or body["input"]
            texts = [
                text if isinstance(text := message["content"], str) else text[0]["text"] for message in messages
            ]
            body = {**body, "messages": [{"role": "user", "content": "\n".join(texts)}]}
            if path != "/v1/responses":
                return await super().respond(writer, path, headers, body)
            self.bodies.append(body)
            part = {"type": "output_text", "text": self.answer(body), "annotations": []}
            message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
            reply = {"id": "r", "object": "response", "created_at": 1, "model": "tiny", "output": [message]}
            return await self.send(writer, 200, {**reply, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []})

    def answer(body):
        reply = judged(body["messages"][0]["content"])
        return reply if isinstance(reply, str) else json.dumps(reply)

    with Server(answer=answer) as running:
        yield running


@pytest.fixture
def run(tmp_path, server):
    """Run `metaeval ARGS...` in a process of its own, where nothing but this machine can be reached."""

    def run(name, *args, code=0):
        settings = [f"metric_options.{name}.{option}" for option in (f"base_url={server.url}", "model=tiny")]
        command = [sys.executable, "-c", GUARD, tmp_path / "tried", *args, "-m", name, *(f"-s{one}" for one in settings)]
        kept = {"METAEVAL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path), "PYTHONPATH": str(HERE.parents[1])}
        ended = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, env={**os.environ, **kept}, cwd=tmp_path, timeout=300
        )
        assert ended.returncode == code, ended.stderr
        assert not (tmp_path / "tried").exists(), (tmp_path / "tried").read_text()
        return ended

    return run


def needs(name):
    card = registry.find("metric", name).card
    if any(importlib.util.find_spec(module) is None for module in card.modules):
        pytest.skip(f"{name} runs where its framework is installed: pip install {card.install}")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_framework_gives_its_own_numbers_and_asks_nobody_else(name, run, server, tmp_path):
    needs(name)
    for kind, (score, calls) in EXPECTED[name].items():
        with open(tmp_path / "pairs.csv", "w", newline="") as file:
            csv.writer(file).writerows([("statement", "source"), (STATEMENTS[kind], SOURCE)])
        before = len(server.bodies)
        run(name, "score", "-dratings", "--data", "pairs.csv", "-o", "out")
        (path,) = (tmp_path / "out").glob("*.jsonl")
        row = json.loads(path.read_text().splitlines()[-1])
        assert (kind, row["score"], len(server.bodies) - before) == (kind, score, calls)
        path.unlink()
