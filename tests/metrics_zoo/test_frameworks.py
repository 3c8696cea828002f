"""The judges of frameworks: what they declare without the frameworks, and their numbers with each, over loopback."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from metaeval import registry
from metaeval.files import csv_text
from metaeval.runs.loaded_metrics import missing_packages

HERE = Path(__file__).parent
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


# By name: the scores of STATEMENTS (None: none), and the requests for all of them.
EXPECTED = {
    "ragas:faithfulness": ([1, 0.5, 0, 0, None], 2 + 2 + 2 + 2 + 1),
    "deepeval:faithfulness": ([1, 1, 1, 0, 1], 3 + 3 + 3 + 3 + 2),
    "phoenix:faithfulness": ([1, 0, 0, 0, 1], 5),
    "trulens:groundedness": ([1, 0.5, 0, 0, 0], 3 + 3 + 4 + 2 + 1),
    "openevals:groundedness": ([1, 0, 0, 0, 1], 5),
}


@pytest.fixture
def server(fake):
    class Server(fake.ChatServer):
        """A chat server with /v1/responses, on which TruLens asks for its grades."""

        async def respond(self, writer, path, headers, body):
            contents = [message["content"] for message in body.get("messages") or body["input"]]
            texts = [content if isinstance(content, str) else content[0]["text"] for content in contents]
            body = {**body, "messages": [{"role": "user", "content": "\n".join(texts)}]}
            if path != "/v1/responses":
                return await super().respond(writer, path, headers, body)
            self.bodies.append(body)
            part = {"type": "output_text", "text": self.answer(body), "annotations": []}
            message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
            reply = {"id": "r", "object": "response", "created_at": 1, "model": "tiny", "output": [message]}
            reply |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
            return await self.send(writer, 200, reply)

    def answer(body):
        reply = judged(body["messages"][0]["content"])
        return reply if isinstance(reply, str) else json.dumps(reply)

    with Server(answer=answer) as running:
        yield running


@pytest.fixture
def run(tmp_path, server):
    """Run `metaeval ARGS... -m NAME` in a process that can reach nothing but this machine; it must end with code 0."""

    def run(name, *args, model="tiny"):
        settings = [f"-smetric_options.{name}.{option}" for option in (f"base_url={server.url}", f"model={model}")]
        ended = subprocess.run(
            [sys.executable, "-c", GUARD, str(tmp_path / "tried"), *args, "-m", name, *settings],
            env={**os.environ, "METAEVAL_CACHE": "cache", "HOME": str(tmp_path), "PYTHONPATH": str(HERE.parents[1])},
            **{"capture_output": True, "text": True, "cwd": tmp_path, "timeout": 300},
        )
        assert ended.returncode == 0, ended.stderr
        assert not (tmp_path / "tried").exists(), (tmp_path / "tried").read_text()
        return ended

    return run


@pytest.fixture(params=EXPECTED)
def installed(request):
    """The name of a metric whose framework is installed here."""
    card = registry.find("metric", request.param).card
    if missing_packages(card):
        pytest.skip(f"{request.param} runs where its framework is installed: pip install {card.install}")
    return request.param


@pytest.mark.slow
def test_a_framework_gives_its_own_numbers_once_and_reaches_nobody_else(installed, run, server, tmp_path):
    rows = [("statement", "source"), *((statement, SOURCE) for statement in STATEMENTS.values())]
    (tmp_path / "pairs.csv").write_text(csv_text(rows))
    command = (installed, "score", "-dratings", "--data", "pairs.csv", "-o", "out")
    scores, calls = EXPECTED[installed]
    run(*command)
    (path,) = (tmp_path / "out").glob("*.jsonl")
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["score"] for row in found if "score" in row] == scores
    assert len(server.bodies) == calls
    run(*command)
    assert len(server.bodies) == calls  # all is stored
    run(*command, model="other")
    assert len(server.bodies) == 2 * calls


@pytest.mark.slow
def test_a_framework_judges_a_corpus_by_pages(installed, run, server):
    ended = run(installed, "run", "-dmini", "-upage", "-sinterval.resamples=0")
    assert "whole contexts" not in ended.stderr
    assert len(server.bodies) > 20
