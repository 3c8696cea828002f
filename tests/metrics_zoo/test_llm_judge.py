"""The judges: what they ask, how a pair gets its score, and what is a score's identity."""

import json
from collections import Counter
from math import log

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

from metaeval.core.errors import UserError
from metaeval.scoring.contract import PairScore, Status
from metrics_zoo.llm_judge import LLMContinuous, LLMDiscrete
from tests.llm import server as fake

SOURCE = "The lighthouse was built in 1873."
STATEMENT = "The lighthouse is old."


pytestmark = pytest.mark.usefixtures("own_environment")


def judge(url="http://127.0.0.1:9/v1", kind=LLMDiscrete, **options):
    return kind(kind.Options(base_url=url, backoff=0.01, **options))


def score(answer, pairs=((SOURCE, STATEMENT),), kind=LLMDiscrete, **options):
    """Scores of pairs by a judge whose server answers with `answer`: a text, a dict, or a function of the body."""
    with fake.ChatServer(answer=answer if callable(answer) else lambda body: answer) as server:
        metric = judge(server.url, kind, **options)
        sources, statements = zip(*pairs, strict=True)
        metric.prepare(sources, statements)
        return metric.score(sources, statements), metric, server


def test_the_prompt_has_the_papers_structure_and_is_one_message():
    _, _, server = score("2")
    (body,) = server.bodies
    (message,) = body["messages"]
    assert message["role"] == "user"
    places = "Instruction: ", "Let's think step by step.", f"Statement: {STATEMENT}", f"Citation: {SOURCE}"
    positions = [message["content"].index(place) for place in places]
    assert positions == sorted(positions)
    assert positions[0] == 0
    assert message["content"].endswith("\n\nPrediction:")
    assert body == {"model": "gpt-3.5-turbo-0125", "max_tokens": 512, "temperature": 0.0, "messages": [message]}


def test_options_reach_the_request():
    extra = {"top_p": 0.9, "chat_template_kwargs": {"enable_thinking": False}}
    options = {"temperature": None, "max_tokens": 9, "max_tokens_name": "max_completion_tokens", "role": "system"}
    _, _, server = score("2", model="m", seed=5, samples=2, extra=extra, **options)
    bodies = sorted(server.bodies, key=lambda body: body["seed"])
    assert [body.pop("seed") for body in bodies] == [5, 6]
    assert bodies[0].pop("messages")[0]["role"] == "system"
    assert bodies[0] == {"model": "m", "max_completion_tokens": 9, **extra}


UNPARSED = PairScore(None, Status.UNPARSED, 100)
STATUSES = [
    ("It is all there.\nPrediction: 2", LLMDiscrete, PairScore(2.0, tokens=100)),
    ("Prediction: 0.25", LLMContinuous, PairScore(0.25, tokens=100)),
    ("Prediction: 3", LLMDiscrete, UNPARSED),
    ("Prediction: 85", LLMContinuous, UNPARSED),
    ("I would rather not say.", LLMDiscrete, UNPARSED),
    ("", LLMDiscrete, PairScore(None, Status.FAILED, 100)),
    (fake.completion(None, message={"content": [{"type": "thinking", "thinking": "2"}]}), LLMDiscrete, UNPARSED),
    (fake.completion("Prediction: 2", finish_reason="length"), LLMDiscrete, UNPARSED),
    (fake.completion(None, message={"content": None, "refusal": "I cannot"}), LLMDiscrete, UNPARSED),
]


@pytest.mark.parametrize(("answer", "kind", "expected"), STATUSES)
def test_a_reply_is_a_score_or_unparsed_and_never_nought(answer, kind, expected):
    answers, metric, server = score(answer, kind=kind)
    assert (answers, server.attempts.total()) == ([expected], 1)
    assert metric._session.ledger.unparsed == (expected.score is None)
    assert ("1 reply without a score" in metric.note()) == (expected.score is None)


def test_texts_without_words_are_empty_and_not_asked_about():
    pairs = [("", STATEMENT), (SOURCE, " \n"), (SOURCE, STATEMENT), ("--", STATEMENT)]
    answers, _, server = score("2", pairs)
    empty = PairScore(None, Status.EMPTY)
    assert answers == [empty, empty, PairScore(2.0, tokens=100), empty]
    assert server.attempts.total() == 1


def test_a_failed_request_makes_its_pair_failed_and_a_refused_length_too_long():
    def answer(body):
        prompt = fake.prompt_of(body)
        if "broken" in prompt:
            return 500, "broken"
        if "long" in prompt:
            return 400, {"error": {"message": "too many tokens", "code": "context_length_exceeded"}}
        return "1"

    pairs = [(SOURCE, "It is broken."), (SOURCE, STATEMENT), (SOURCE, "It is long.")]
    answers, metric, _ = score(answer, pairs, retries=1)
    assert [answer.status for answer in answers] == [Status.FAILED, Status.OK, Status.TOO_LONG]
    assert metric._session.ledger.failed.total() == 2


def test_the_score_is_the_mean_of_the_samples_that_hold_one():
    replies = iter(["Prediction: 2", "Prediction: 1", "no idea", "Prediction: 2"])
    answers, metric, server = score(lambda body: next(replies), samples=4, temperature=1.0, concurrency=1)
    # (2 + 1 + 2) / 3; the third sample holds no score
    assert answers == [PairScore(pytest.approx(5 / 3), tokens=100)]
    assert (server.attempts.total(), metric._session.ledger.unparsed) == (4, 1)


def test_replies_without_a_score_are_asked_for_once_more_and_both_are_counted():
    times = Counter()

    def answer(body):
        statement, _ = fake.parts_of(fake.prompt_of(body))
        times[statement] += 1
        return "Prediction: 1" if statement == "b" and times[statement] > 1 else "Hard to say."

    pairs = [(SOURCE, "a"), (SOURCE, "b")]
    with fake.ChatServer(answer=answer) as server:
        first = judge(server.url)
        assert [one.status for one in first.score(*zip(*pairs, strict=True))] == [Status.UNPARSED] * 2
        for _ in range(2):  # the second time all four replies are served
            again = judge(server.url, ask_again="unparsed")
            answers = again.score(*zip(*pairs, strict=True))
            assert answers == [PairScore(None, Status.UNPARSED, 100), PairScore(1.0, tokens=100)]
            ledger = again._session.ledger
            assert (ledger.unparsed, ledger.asked_again, ledger.read_again) == (3, 2, 1)
            assert "3 replies without a score; 2 of them asked for again, 1 read then" in again.note()
    assert times == {"a": 2, "b": 2}
    assert again.identity() != first.identity()


def test_more_samples_later_ask_for_those_alone():
    with fake.ChatServer(answer=lambda body: "2") as server:
        for samples in (2, 5):
            judge(server.url, samples=samples).score([SOURCE], [STATEMENT])
    assert server.attempts.total() == 5


def with_logprobs(*tokens):
    """A completion of tokens, each given as {text: probability}, the chosen one first."""
    content = [
        {
            "token": next(iter(chances)),
            "logprob": log(next(iter(chances.values()))),
            "bytes": list(next(iter(chances)).encode()),
            "top_logprobs": [{"token": text, "logprob": log(chance)} for text, chance in chances.items()],
        }
        for chances in tokens
    ]
    return fake.completion("".join(token["token"] for token in content), logprobs={"content": content})


def test_logprob_mode_gives_the_expectation_at_the_score():
    reply = with_logprobs({"Prediction": 0.9}, {":": 1.0}, {" 1": 0.5, " 2": 0.3, " 0": 0.1, " a": 0.1})
    answers, _, server = score(reply, mode="logprob")
    # (0.5 * 1 + 0.3 * 2 + 0.1 * 0) / (0.5 + 0.3 + 0.1)
    assert answers == [PairScore(pytest.approx(1.1 / 0.9), tokens=100)]
    assert server.bodies[0]["logprobs"] is True
    assert server.bodies[0]["top_logprobs"] == 20


@pytest.mark.parametrize("broken", ["", "Prediction: 1", with_logprobs({"1": 0.75, "2": 0.9})])
def test_a_server_that_is_repaired_is_asked_again_and_its_reply_is_kept(broken):
    mode = {"mode": "reply" if broken == "" else "logprob"}
    answers = iter([broken, with_logprobs({"1": 0.75, "2": 0.25})])
    with fake.ChatServer(answer=lambda body: next(answers)) as server:
        if broken == "":
            assert judge(server.url).score([SOURCE], [STATEMENT]) == [PairScore(None, Status.FAILED, 100)]
        else:
            with pytest.raises(UserError, match="no log-probabilities"):
                judge(server.url, **mode).score([SOURCE], [STATEMENT])
            assert judge(server.url, **mode).replies(SOURCE, STATEMENT) != []  # kept, to be read
        for _ in range(2):  # the second time from the store
            (repaired,) = judge(server.url, **mode).score([SOURCE], [STATEMENT])
            assert repaired.score == pytest.approx(1 if broken == "" else 1.25)
    assert server.attempts.total() == 2


def test_one_reply_without_log_probabilities_fails_its_pair_alone():
    def answer(body):
        return "1" if "bad" in fake.prompt_of(body) else with_logprobs({"1": 0.75, "2": 0.25})

    answers, *_ = score(answer, [(SOURCE, "It is bad."), (SOURCE, STATEMENT)], mode="logprob")
    assert [one.status for one in answers] == [Status.FAILED, Status.OK]


def test_structured_output_is_asked_for_and_read_to_the_letter():
    replies = {"a": '{"reasoning": "r", "score": 2}', "b": "Prediction: 2", "c": '{"score": 2}'}
    pairs = [(SOURCE, f"Statement {name}") for name in replies]
    answers, _, server = score(
        lambda body: replies[fake.parts_of(fake.prompt_of(body))[0][-1]], pairs, output="json_schema"
    )
    assert [answer.score for answer in answers] == [2, None, None]
    assert {body["response_format"]["type"] for body in server.bodies} == {"json_schema"}


def test_structured_output_that_is_refused_is_an_error_and_never_a_silent_change():
    refusal = (400, {"error": {"message": "response_format is not supported"}})
    with pytest.raises(UserError, match=r"refuses what is asked .*response_format is not supported.*change the option"):
        score(refusal, output="json_schema")


def test_structured_output_and_logprobs_agree_or_there_is_no_score():
    tokens = [{'{"reasoning": "", "score": ': 1.0}, {"1": 0.75, "2": 0.25}, {"}": 1.0}]
    answers, *_ = score(with_logprobs(*tokens), output="json_schema", mode="logprob")
    assert answers == [PairScore(pytest.approx(1.25), tokens=100)]


def test_the_identity_holds_what_can_change_a_score_and_nothing_else():
    plain = judge().identity()
    speed = judge(concurrency=3, requests_per_minute=9, timeout=9, retries=1, price_in=1, price_out=1, budget=1)
    assert speed.identity() == plain == json.loads(json.dumps(plain))
    changes = [
        {"model": "m"}, {"temperature": None}, {"samples": 2}, {"seed": 0}, {"max_tokens": 9}, {"mode": "logprob"},
        {"output": "json_schema"}, {"role": "system"}, {"extra": {"top_p": 1}}, {"url": "http://127.0.0.1:8/v1"},
    ]  # fmt: skip
    identities = [json.dumps(judge(**change).identity()) for change in changes]
    assert len({*identities, json.dumps(plain)}) == len(changes) + 1


def test_a_prompt_of_ones_own_is_part_of_the_identity(tmp_path):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("Q: {citation} -> {statement}?")
    two.write_text("Q: {citation} => {statement}?")
    prompts = [judge(prompt_file=path).identity()["options"]["prompt"] for path in (one, two)]
    assert len({*prompts, judge().identity()["options"]["prompt"]}) == 3
    _, _, server = score("2", prompt_file=one)
    assert fake.prompt_of(server.bodies[0]) == f"Q: {SOURCE} -> {STATEMENT}?"
    with pytest.raises(UserError, match="Cannot read"):
        judge(prompt_file=tmp_path / "none.txt").identity()


def test_the_estimate_needs_neither_key_nor_server():
    metric = LLMDiscrete(LLMDiscrete.Options(price_in=0.5, price_out=1.5, samples=3))
    found = metric.estimate([SOURCE, SOURCE, ""], [STATEMENT, STATEMENT, STATEMENT])
    assert (found.requests, found.tokens_out) == (3, 3 * 512)
    assert found.money == pytest.approx((found.tokens_in * 0.5 + found.tokens_out * 1.5) / 1e6)
    assert metric.note() == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, r"https://api.openai.com/v1 needs a key, and the environment variable OPENAI_API_KEY is not set"),
        ({"api_key_env": "MY_KEY", "base_url": "http://127.0.0.1:9/v1"}, r"variable MY_KEY is not set"),
        ({"budget": 5.0}, r"in USD per million tokens: set both price_in and price_out"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_asked(options, sentence):
    with pytest.raises(UserError, match=sentence):
        LLMDiscrete(LLMDiscrete.Options(**options)).prepare([SOURCE], [STATEMENT])


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (LLMContinuous, {"mode": "logprob"}),
        (LLMDiscrete, {"base_url": "127.0.0.1:8000"}),
        (LLMDiscrete, {"base_url": "http://me:secret@127.0.0.1/v1"}),
        (LLMDiscrete, {"extra": {"stream": True}}),
    ],
)
def test_options_that_make_no_sense_are_refused(kind, options):
    with pytest.raises(ValueError, match=r"validation error"):
        kind.Options(**options)


def test_the_replies_of_a_pair_are_those_of_each_sample_and_of_its_second_attempt(tmp_path):
    answers = iter(["no number here", "Prediction: 2"])
    store = {"replies": tmp_path / "replies.sqlite"}
    with fake.ChatServer(answer=lambda body: next(answers)) as server:
        judge(server.url, **store).score([SOURCE], [STATEMENT])
        again = judge(server.url, **store, ask_again="unparsed")
        assert [answer.score for answer in again.score([SOURCE], [STATEMENT])] == [2]
        assert again.replies(SOURCE, STATEMENT) == ["no number here", "Prediction: 2"]
        assert again.replies(SOURCE, " ") == []


def test_a_rule_for_free_text_is_in_the_signature_and_asks_for_no_last_line():
    reply = "All of it is there, so I would rate this as 2. That is my final answer."
    assert score(reply)[0] == [PairScore(None, Status.UNPARSED, 100)]  # the strict rule stays the default
    answers, metric, server = score(reply, reply="cued_number")
    assert answers == [PairScore(2.0, tokens=100)]
    assert metric.identity()["options"]["reply"] == "cued_number"
    assert "reply" not in judge().identity()["options"]  # scores of earlier versions are still served
    (body,) = server.bodies
    assert "End your answer" not in body["messages"][0]["content"]
    assert body["messages"][0]["content"].endswith("\n\nPrediction:")


def test_json_in_plain_text_is_read_by_name_and_a_free_rule_is_refused_for_structured_output():
    body = '```json\n{"reasoning": "so", "score": 1}\n```'
    assert score(body, reply="json")[0] == [PairScore(1.0, tokens=100)]
    with pytest.raises(ValueError, match="which reply=cued_number does not read"):
        judge(output="json_schema", reply="cued_number")


def test_the_cost_of_stored_replies():
    _, metric, _ = score("2", samples=2, seed=1, price_in=1.0, price_out=5.0)
    assert metric.cost(SOURCE, STATEMENT) == pytest.approx(2 * (100 + 5 * 10) / 1e6)
    assert metric.cost(SOURCE, "Another statement.") is None
    assert score("2")[1].cost(SOURCE, STATEMENT) is None
    for usage, cost in (({"prompt_tokens": 0, "completion_tokens": 0}, 0.0), ({"prompt_tokens": 7}, None)):
        reply = {**fake.completion("2"), "usage": usage}
        assert score(reply, seed=len(usage), price_in=1.0, price_out=5.0)[1].cost(SOURCE, STATEMENT) == cost


def test_without_a_store_there_are_no_replies_and_none_is_made(tmp_path):
    metric = judge(replies=tmp_path / "replies.sqlite", price_in=1.0, price_out=5.0)
    assert (metric.replies(SOURCE, STATEMENT), metric.cost(SOURCE, STATEMENT)) == ([], None)
    assert list(tmp_path.iterdir()) == []
