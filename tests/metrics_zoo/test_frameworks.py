"""The judges of frameworks: what they declare without the frameworks, and their numbers with each, over loopback."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import metaeval
from metaeval.analyses.readiness import registered_states
from metaeval.cli.app import main
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.core.files import csv_text
from metaeval.runs import metrics as loaded
from metaeval.runs.metrics import load_metric
from metaeval.scoring.contract import Metric, MetricCard, PairScore
from metrics_zoo import frameworks

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
    if card.missing:
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


def test_the_five_are_registered_as_a_whole_and_listed_without_an_import():
    states = {state.name: state.card for state in registered_states()}
    for name in EXPECTED:
        assert states[name].name == name
        assert states[name].whole_pages
        assert not registry.is_code("metric", name)
    assert registry.is_code("metric", "ragas:context_recall")
    assert not {"ragas", "deepeval", "phoenix", "trulens", "openevals"} & sys.modules.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_framework_that_is_not_installed_is_named_with_its_command(name, monkeypatch, capsys):
    monkeypatch.setattr(MetricCard, "missing", property(lambda card: list(card.modules)))
    monkeypatch.setattr(sys, "argv", ["metaeval", "score", "-m", name])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert f"pip install {registry.find('metric', name).card.install}" in " ".join(capsys.readouterr().err.split())


def identity(name, **options):
    return load_metric(name, RunConfig(metric_options={name: options})).identity()


@pytest.mark.parametrize("name", EXPECTED)
def test_model_address_and_version_are_in_the_key_of_a_score(name, monkeypatch):
    plain = identity(name)
    assert identity(name, concurrency=2, api_key_env="MY_KEY") == plain
    assert identity(name, model="other") != plain
    assert identity(name, base_url="http://127.0.0.1:1/v1") != plain
    monkeypatch.setattr(loaded, "version_of", lambda package: "99.0")
    assert identity(name)["origin"].split()[1:] == ["99.0"]
    assert identity(name) != plain


def test_a_framework_is_imported_when_its_reports_are_off_and_with_its_command_where_it_cannot_be(monkeypatch):
    class Told(frameworks.RagasFaithfulness):
        def made(self, **server):
            return {**os.environ}, server

    class Broken(frameworks.RagasFaithfulness):
        def made(self, **server):
            import langchain_community.no_such_module as found

            return found

    for name in frameworks.QUIET:
        monkeypatch.setenv(name, "as before")
    options = Told.Options(base_url="http://127.0.0.1:1/v1")
    environment, server = Told(options).judge
    assert frameworks.QUIET.items() <= environment.items()
    assert server == {"base_url": "http://127.0.0.1:1/v1", "api_key": "none"}
    with pytest.raises(UserError, match=r"pip install ragas 'langchain-community<0\.4'"):
        _ = Broken(options).judge
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        _ = Told().judge


class Whole(Metric):
    """A metric made for whole contexts."""

    card = MetricCard(
        name="whole", family="none", summary="none", paper="none", licence="none", low=0.0, high=1.0, whole_pages=True
    )

    def score(self, sources, statements):
        return [PairScore(len(statement) % 7 / 7) for statement in statements]


def test_a_metric_for_whole_contexts_warns_of_parts_of_pages(caplog, tmp_path, ten_documents):
    settings = {"interval": {"resamples": 0}, "controls": False, "protocols": ["classification"]}
    settings |= {"dataset": "jsonl", "data": ten_documents, "chunk": {"size": 20}}
    for unit, warned in (("page", 0), ("chunk", 1)):
        caplog.clear()
        metaeval.run(metrics=[Whole], unit=unit, results=tmp_path, **settings)
        assert len([record for record in caplog.records if "whole contexts" in record.message]) == warned
