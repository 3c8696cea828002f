"""`--requests FILE` and `--replies FILE` as they are typed: the batch that is written, answered elsewhere, and read."""

import json
from typing import get_args, get_type_hints

import pytest

from tests.cli.samples import RIVERS, lines_of
from tests.cli.samples import write_lines as write

pytestmark = pytest.mark.usefixtures("own_environment")

NOBODY = "http://127.0.0.1:9/v1"
OPTION = "metric_options.llm-discrete"
JUDGE = ("-m", "llm-discrete", "-s", f"{OPTION}.base_url={NOBODY}", "-s", f"{OPTION}.server=farm")
SAMPLE = RIVERS | {"output": "Dams store water [1] and barges carry wood [2]. Rivers flow."}


def answered(request, body, status=200):
    """A line of a batch's output, as a batch API writes it, and `vllm run-batch`."""
    response = {"status_code": status, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "custom_id": request["custom_id"], "response": response, "error": None}


@pytest.fixture
def pairs(cli, small, tmp_path):
    """Type a command on the small corpus with a judge whose server is not there."""

    def typed(command, *more):
        elsewhere = any("base_url" in word for word in more)
        return cli(command, *(JUDGE[:2] + JUDGE[4:] if elsewhere else JUDGE), *small, *more)

    return typed


def test_a_run_through_a_batch_has_the_bytes_of_one_that_asks_a_server(pairs, fake, contents, tmp_path):
    from metaeval.llm.messages import ChatRequest

    told = pairs("run", "--requests", "ask.jsonl")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("27 requests written to ask.jsonl, and nothing asked. Have a batch API or 'vllm run-b")
    requests = lines_of(tmp_path / "ask.jsonl")
    assert all((one["method"], one["url"]) == ("POST", "/v1/chat/completions") for one in requests)
    # The body is what a server would be sent, and the name of a line is the key of its reply.
    body = requests[0]["body"]
    assert body.keys() == {"model", "max_tokens", "temperature", "messages"}
    assert requests[0]["custom_id"] == ChatRequest(body).key("farm").hex()
    write(
        tmp_path / "got.jsonl", [answered(one, fake.completion(fake.judge(one["body"]))) for one in reversed(requests)]
    )
    taken = pairs("run", "--replies", "got.jsonl", "--results", "batch")
    assert (taken.code, "Traceback" in taken.err) == (0, False), taken.err
    with fake.ChatServer() as server:
        asked = ("-s", f"{OPTION}.base_url={server.url}", "-s", f"{OPTION}.replies=other.sqlite")
        assert pairs("run", *asked, "--results", "asked").code == 0
        assert sorted(server.bodies, key=str) == sorted((one["body"] for one in requests), key=str)
    # The page names its folder, whose hash holds where the replies came from.
    batch, served = (contents(tmp_path / name / "latest") for name in ("batch", "asked"))
    assert batch.keys() == served.keys()
    assert {name for name in batch if batch[name] != served[name]} <= {"report.html"}
    # The replies are kept: without the file, and without a server, a new store of scores is filled again.
    assert pairs("run", "--results", "again").code == 0
    again = contents(tmp_path / "again" / "latest")
    assert {name for name in served if again[name] != served[name]} <= {"report.html"}
    assert pairs("run", "--results", "new", "--requests", "ask.jsonl").out.startswith("0 requests written to ask.jsonl")


def test_what_is_wrong_with_a_batch_is_counted_and_what_has_no_reply_has_failed(pairs, fake, tmp_path, caplog):
    pairs("score", "--requests", "ask.jsonl")
    requests = lines_of(tmp_path / "ask.jsonl")
    refused = {"error": {"message": "This model's maximum context length is 8", "code": "context_length_exceeded"}}
    lacking = {"service_tier": None, "prompt_logprobs": None}  # what a reply lacks stands in vLLM's as null
    rows = [answered(one, fake.completion("Prediction: 2") | lacking) for one in requests]
    rows[0] = answered(requests[0], refused, 400)
    rows[1] = answered(requests[1], None, 500)
    rows[2] = {**rows[2], "response": None}
    rows[3] = answered(requests[3], {"status": "ok"})
    rows[4] = answered(requests[4], fake.completion("I cannot tell."))
    rows[5] = {"custom_id": requests[5]["custom_id"]}
    rows[9] = answered(requests[9], None, 400)
    wrong = ["{", "7", {"custom_id": 3, "response": {}}, json.dumps(rows[6])[:-9]]
    foreign = {**rows[7], "custom_id": "another run's"}
    # A reply counts, whatever was written about the same request before or after it.
    twice = [answered(requests[8], refused, 429), rows[8], answered(requests[8], refused, 429)]
    write(tmp_path / "got.jsonl", [*rows[:6], *wrong, foreign, *rows[8:], *twice])
    assert pairs("score", "--replies", "got.jsonl", "-o", "out").code == 0
    assert "19 replies taken from got.jsonl, 0 from the reply store; 8 requests without one" in caplog.text
    scores = lines_of(tmp_path / "out" / "llm-discrete.jsonl")
    states = [row["status"] for row in scores]
    assert {state: states.count(state) for state in states} == {"ok": 18, "unparsed": 1, "too long": 1, "failed": 7}
    # The next batch holds what still has no score.
    assert pairs("score", "--requests", "left.jsonl").out.startswith("7 requests written to left.jsonl")
    assert {one["custom_id"] for one in lines_of(tmp_path / "left.jsonl")} < {one["custom_id"] for one in requests}


def test_what_is_out_of_form_is_asked_for_again_in_the_next_batch(pairs, fake, tmp_path):
    again = ("-s", f"{OPTION}.ask_again=unparsed")
    pairs("score", *again, "--requests", "ask.jsonl")
    requests = lines_of(tmp_path / "ask.jsonl")
    rows = [answered(one, fake.completion("Prediction: 2")) for one in requests]
    rows[:2] = [answered(one, fake.completion("I cannot tell.")) for one in requests[:2]]
    write(tmp_path / "got.jsonl", rows)
    taking = (*again, "-o", "out", "--replies")
    assert pairs("score", *taking, "got.jsonl").code == 0

    def states():
        return sorted(row["status"] for row in lines_of(tmp_path / "out" / "llm-discrete.jsonl"))

    assert states() == [*["failed"] * 2, *["ok"] * 25]
    pairs("score", *again, "--requests", "second.jsonl")
    _, second = lines_of(tmp_path / "second.jsonl")
    assert second["body"] == requests[1]["body"]
    assert second["custom_id"] != requests[1]["custom_id"]
    write(tmp_path / "got.jsonl", [answered(second, fake.completion("Prediction: 1"))])
    assert pairs("score", *taking, "got.jsonl").code == 0
    assert states() == ["failed", *["ok"] * 26]  # the first has no reply yet


ROUNDS = {
    "facts": (
        "cite scifi answers.jsonl --model tiny -s splitter=rules",
        ("-s", "chat.server=farm", "--base-url", NOBODY),
        ("-s", "chat.replies=other.sqlite", "--base-url"),
    ),
    "judge": (
        "cite alce answers.jsonl --nli llm-discrete --threshold llm-discrete=1",
        ("-s", f"{OPTION}.server=farm", "-s", f"{OPTION}.base_url={NOBODY}"),
        ("-s", f"{OPTION}.server=farm", "-s", f"{OPTION}.replies=other.sqlite", "-s"),
    ),
}
"""Pipelines that ask round after round: what is typed, without a server, and with one, whose address comes last."""


@pytest.mark.parametrize("kind", [*ROUNDS, "facts without a schema"])
def test_a_pipeline_is_answered_in_batches_round_after_round(ran, fake, contents, tmp_path, kind):
    write(tmp_path / "answers.jsonl", [SAMPLE])
    typed, alone, served = ROUNDS[kind.split()[0]]
    plain = ("-s", "chat.output=json") * ("schema" in kind)  # typed for the first batch alone; the others follow it
    command = (*typed.split(), "-q", "-s", "interval.resamples=0", *(() if kind == "judge" else ("--nli", "overlap")))
    reply, rounds = fake.judge if kind == "judge" else fake.facts, []
    for number in range(5):
        taken = ("-s", f"batch=got{number - 1}.jsonl") if number else plain
        told = ran(*command, *alone, "-s", f"requests=ask{number}.jsonl", *taken)
        if " written to " not in told.out:
            break
        rounds.append(lines_of(tmp_path / f"ask{number}.jsonl"))
        got = [answered(one, fake.completion(reply(one["body"]))) for one in rounds[-1]]
        write(tmp_path / f"got{number}.jsonl", got)
    asked = [one["custom_id"] for requests in rounds for one in requests]
    assert len(asked) == len(set(asked)) > len(rounds) > 0
    # The sentences of output and reference; then each fact of the sentence that cites twice.
    assert kind == "judge" or list(map(len, rounds)) == [4, 2]
    with fake.ChatServer(answer=reply) as server:
        address = f"{OPTION}.base_url={server.url}" if kind == "judge" else server.url
        ran(*command, *plain, *served, address, "--results", "asked")
    assert contents(tmp_path / "results" / "latest") == contents(tmp_path / "asked" / "latest")


SCIFI = ("cite", "scifi", "answers.jsonl", "--model", "tiny", "--base-url", NOBODY, "-q", "--nli", "overlap", "-s")
FORMS = (
    ("score", "--requests"),
    ("score", "-s", f"{OPTION}.mode=logprob", "--requests"),
    ("score", "-s", f"{OPTION}.seed=3", "-s", f"{OPTION}.output=json_schema", "--requests"),
    (*SCIFI, "chat.output=json", "-s"),
    SCIFI,
)
"""A request of each kind that is written: scores as text, probabilities of digits, and facts held to a schema."""


def test_requests_are_what_openais_types_allow(cli, pairs, tmp_path):
    """Of the package `openai`: each field of a body, and nothing that it does not know; and an endpoint of batches."""
    pytest.importorskip("openai", reason="needs the extra 'llm'")
    from openai.types.batch_create_params import BatchCreateParams
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from pydantic import TypeAdapter

    write(tmp_path / "answers.jsonl", [SAMPLE])
    body, known = TypeAdapter(CompletionCreateParamsNonStreaming), get_type_hints(CompletionCreateParamsNonStreaming)
    endpoints, kinds = get_args(get_type_hints(BatchCreateParams)["endpoint"]), set()
    for form in FORMS:
        told = cli(*form, "requests=r.jsonl") if form[0] == "cite" else pairs(*form, "r.jsonl")
        assert told.code == 0, told.err
        requests = lines_of(tmp_path / "r.jsonl")
        assert len({one["custom_id"] for one in requests}) == len(requests)
        for one in requests:
            assert (one.keys(), one["method"]) == ({"custom_id", "method", "url", "body"}, "POST")
            assert one["url"] in endpoints
            assert one["body"].keys() <= known.keys()
            kinds |= one["body"].keys()
            read = body.validate_python(one["body"])
            assert [dict(message) for message in read["messages"]] == one["body"]["messages"]  # read one by one
    assert {"logprobs", "top_logprobs", "response_format", "seed", "temperature", "max_tokens"} <= kinds


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("run -m overlap --replies got.jsonl", "None of overlap asks a chat model, as --replies requires"),
        ("score -m llm-discrete --replies gone.jsonl", "Cannot read gone.jsonl: No such file or directory; give the"),
        ("score -m llm-discrete --replies answers.jsonl", "answers.jsonl holds no line of a batch's output, {"),
        ("cite scifi answers.jsonl --replay a -s requests=b", "Replies have one source"),
        ("cite scifi answers.jsonl -s requests=b", "--set requests is for chat models"),
    ],
)
def test_what_cannot_be_is_one_sentence(refused, tmp_path, typed, sentence):
    write(tmp_path / "answers.jsonl", [SAMPLE])
    assert sentence in refused(*typed.split())
