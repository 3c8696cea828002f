"""Endpoints without a server: addresses, keys, faults and what they mean, masks, prices, purses and what a run says."""

import asyncio
import json
import random
from dataclasses import asdict
from itertools import product
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
from metaeval.llm import endpoint as of
from metaeval.llm.batch_files import BatchSession, write_batch
from metaeval.llm.budget import Ledger, Purse, estimate, usd, usd_enough
from metaeval.llm.endpoint import Cause, Endpoint, ModelOptions, Prices, fault_of_status
from metaeval.llm.messages import ChatRequest, read_reply
from metaeval.llm.reply_store import ReplyStore, replies_path

CASES = json.loads(Path(__file__).with_name("endpoints.json").read_text(encoding="utf-8"))


def tried(call, *arguments):
    """What a call returns, or that it refuses."""
    try:
        return call(*arguments)
    except (UserError, ValueError) as error:
        return type(error).__name__ + " with a key" * ("sk-" in str(error))


def test_an_answer_that_is_no_success_is_the_fault_that_it_was(recorded):
    """By its status, and by the code and the message in its body; with the rest that its header asks for."""
    faults = {status: [fault_of_status(status, body, {}) for body in CASES["bodies"]] for status in CASES["statuses"]}
    found = {status: [[fault.cause, fault.detail] for fault in of_bodies] for status, of_bodies in faults.items()}
    headers = [{"location": "http://x"}, *({"retry-after": each} for each in CASES["rests"])]
    found["headers"] = [asdict(fault_of_status(status, "", each)) for status in (307, 429) for each in headers]
    sets = {"passing": of.PASSING, "ending": of.ENDING, "charged": of.MAYBE_CHARGED}
    found |= {name: sorted(causes) for name, causes in sets.items()}
    short = [of.shortened(text) for text in ("a \n b", "x" * 200, "x" * 201)]
    recorded.held("llm-faults", {**found, "shortened": [[len(text), text[-4:]] for text in short]})


def test_each_cause_ends_a_run_with_its_own_sentence():
    sentences = {}
    for cause, key in product(Cause, ("", "sk")):
        at = Endpoint("http://a/v1,http://b/v1,http://a/v1", "m", "MY_KEY", key)
        error = of.ending_error(of.Fault(cause, "said"), at)
        assert error.cause is cause
        assert "http://a/v1, http://b/v1" in str(error)
        assert "run the same command again" in str(error)
        sentences[cause, key] = str(error)
    kinds = [sentences[cause, ""].replace(" ", "")[:200] for cause in Cause]
    assert len({*kinds}) == 5 + 2, "five have their own, those that pass and those that are refused share one each"
    assert sentences[Cause.KEY, ""] != sentences[Cause.KEY, "sk"]
    assert [sentences[cause, ""] == sentences[Cause.TIMEOUT, ""] for cause in Cause] == [
        cause in of.PASSING - {Cause.UNREACHABLE} for cause in Cause
    ]


def test_addresses_names_keys_and_prices_are_read_as_they_were(recorded, own_environment, monkeypatch):
    monkeypatch.setenv("SECRET", "sk-01234")
    monkeypatch.setenv("lower", "sk-1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = {"urls": {url: tried(of.checked_url, url) for url in CASES["urls"]}}
    found["variables"] = {str(name): tried(of._variable, name) for name in CASES["variables"]}
    options = []
    for given in CASES["options"]:
        made = tried(lambda given: ModelOptions(**given), given)
        if isinstance(made, ModelOptions):
            at = tried(made.endpoint)
            shown = [at.addresses, at.name, at.key_name, at.key, at.is_openai] if isinstance(at, Endpoint) else at
            made = [made.base_url, made.server_name, shown, tried(lambda made: made.prices, made)]
        options.append(made)
    for key in ("a b", "sk-\u00e9", "sk-\n"):
        monkeypatch.setenv("SECRET", f" {key} ")
        options.append(tried(ModelOptions(api_key_env="SECRET", base_url="http://a/v1").endpoint))
    found["options"] = [option.key if isinstance(option, Endpoint) else option for option in options]
    found["defaults"] = ModelOptions().model_dump()
    found["store"] = [replies_path(path).name for path in (None, Path("~/x.sqlite"))]
    assert "sk-0123" not in repr(Endpoint("http://a", "m", "K", "sk-0123"))
    recorded.held("llm-endpoints", found)


def test_a_key_is_masked_in_every_form_where_it_stands_and_no_further(recorded):
    """Plain, escaped, coded, in base64, in half and next to other text; what is as long and no key stays."""
    found = {"coded": [of.without_key(text, CASES["key"]) for text in CASES["coded"]]}
    for key in ("sk-proj/Secret+key9", "password1", "keykeyke", "shorter"):
        texts = [text.replace("KEY", key) for text in CASES["masked"]]
        texts += [f"a {key[:length]} b {key[-length:]}" for length in (4, 7, 8, 9, 12)]
        found[key] = [of.without_key(text, key) for text in texts]
    recorded.held("llm-masks", {key: [text.replace(" ", "·") for text in texts] for key, texts in found.items()})


def spent(store, prices, budget):
    """What a purse says and holds after each step of a run."""
    body = {"max_tokens": 64, "messages": [{"content": "abcd"}]}
    small, large = ChatRequest(body), ChatRequest({**body, "max_tokens": 5000})
    purse, said = Purse(prices, budget), []
    for step in ("hold", "hold", "paid", "hold", "lost", "hold", "free", "dear"):
        done = None
        if step in ("hold", "dear"):
            done = purse.hold(large if step == "dear" else small)
        else:
            purse.settle(small, (100, 10) if step == "paid" else None, step == "lost")
        said.append([step, done, purse.paid, purse.unconfirmed, purse.idle])
    told = [str(purse.spent_out(left)) for left in ([], [small], [small, large])]
    costs = [estimate([small, small, large], "s", store, each) for each in (prices, None)]
    return [*said, *told, *([asdict(cost), str(cost)] for cost in costs)]


def test_money_is_held_booked_and_said_as_it_was(recorded, tmp_path, fake):
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        request = ChatRequest({"max_tokens": 64, "messages": [{"content": "abcd"}]})
        found = {"nothing": spent(store, None, None), "no budget": spent(store, Prices(10, 30), None)}
        found |= {f"{budget}": spent(store, Prices(10, 30), budget) for budget in (0.0025, 0.0026, 0.0045, 0.0066, 0.2)}
        store.put(request.key("s"), "s", request, read_reply(json.dumps(fake.completion("2"))), 0.0)
        found["stored"] = spent(store, Prices(0.5, 1.5), 9.0)
    amounts = (0, 0.00001, 0.0150400001, 0.3, 0.99999, 1, 1.001, 2.675, 1234.5)
    found["amounts"] = [[usd(amount), usd_enough(amount)] for amount in amounts]
    ledger = Ledger(Purse(None, None))
    notes = [ledger.note()]
    for model, counted in (
        ("a", {"prompt_tokens": 1000, "completion_tokens": 1}),
        ("b", None),
        ("b", {"prompt_tokens": 1}),
    ):
        ledger.book(read_reply(json.dumps({**fake.completion("2"), "model": model, "usage": counted})))
        notes.append(ledger.note())
    changes = {"stored": 1234, "damaged": 2, "unparsed": 3, "asked_again": 4, "read_again": 1}
    changes |= {"servers": {"u1": 1}, "failed": {Cause.TIMEOUT: 1}, "retries": {Cause.GARBLED: 2, Cause.TIMEOUT: 3000}}
    for name, value in changes.items():
        getattr(ledger, name).update(value) if isinstance(value, dict) else setattr(ledger, name, value)
        notes.append(ledger.note())
    ledger.servers["u2"] = 5000
    ledger.left_out["u2"] = "why 7"
    ledger.purse.paid, ledger.purse.unconfirmed, ledger.purse.prices = 1.5, 0.25, Prices(1, 1)
    notes.append(ledger.note())
    assert notes[-1].count(";") == 12
    recorded.held("llm-money", {**found, "notes": notes, "ledger": ledger})


def test_a_batch_is_written_and_what_came_back_is_read_line_by_line(recorded, tmp_path, fake, caplog):
    requests = [ChatRequest({"messages": [{"content": str(number)}], "model": "m"}) for number in range(15)]
    keys = [request.key("s").hex() for request in requests]
    assert tried(write_batch, tmp_path / "none.jsonl", {}).startswith("0 requests")
    write_batch(tmp_path / "ask.jsonl", {name: one.content for name, one in zip(keys, requests, strict=True)})
    lines = [line for line in (tmp_path / "ask.jsonl").read_text().splitlines() if "messages" in line]
    assert [json.loads(line)["body"] for line in lines] == [request.body for request in requests]
    assert {(json.loads(line)["method"], json.loads(line)["url"]) for line in lines} == {
        ("POST", "/v1/chat/completions")
    }
    rows = [
        row
        if isinstance(row, str)
        else json.dumps({"custom_id": row["id"] if "id" in row else keys[row["n"]], **row["line"]})
        for row in CASES["batch"]
    ]
    text = "\n".join(rows).replace('"COMPLETION"', json.dumps(fake.completion("2")))
    (tmp_path / "got.jsonl").write_text(text, encoding="utf-8")
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        store.put(bytes.fromhex(keys[11]), "s", requests[11], read_reply(json.dumps(fake.completion("1"))), 0.0)
        session, told = BatchSession(tmp_path / "got.jsonl", "s", store, Purse(None, None)), []
        notes = [session.note()]
        answers = session.ask([*requests, requests[0]], lambda *done: told.append(done))
        shown = [[getattr(answer, name, "") for name in ("content", "cause", "detail")] for answer in answers]
        notes += [session.note(), *caplog.messages]
        again = BatchSession(tmp_path / "got.jsonl", "s", store, Purse(None, None))
        again.ask(requests)
        knows = [store.knows(request.settings(server)) for server in "st" for request in requests[:1]]
        session.close()
    held = [session.holds(request) for request in requests]
    counts = {
        "told": told,
        "notes": [note.replace(str(tmp_path), "") for note in (*notes, again.note())],
        "knows": knows,
        "ledger": session.ledger,
    }
    recorded.held("llm-batch", {"answers": shown, "held": held, **counts})
    (tmp_path / "got.jsonl").write_text("{}\n\n7\n", encoding="utf-8")
    with pytest.raises(UserError, match="holds no line of a batch's output"):
        BatchSession(tmp_path / "got.jsonl", "s", store, Purse(None, None))


@pytest.mark.parametrize("minute", [None, 120])
def test_attempts_start_at_the_pace_that_was_set_and_wait_as_they_are_told(recorded, minute):
    """Evenly spread, behind the rest that a server asks for, and longer after each failure, up to a minute."""
    pytest.importorskip("openai", reason="needs the extra 'llm'")
    from metaeval.llm.http_attempt import Pace, Stopping

    async def kept():
        pace, loop, waits = Pace(minute, 2.0), asyncio.get_running_loop(), []
        pace._random, loop.time = random.Random(5), lambda: 100.0 + sum(waits)

        async def sleep(seconds):
            waits.append(seconds)

        pace._sleep = sleep
        for tries, rest in ((1, None), (2, 0.5), (5, 9.0), (6, None), (7, 400.0), (9, 1.0)):
            await pace.turn()
            await pace.turn()
            await pace.back_off(of.Fault(Cause.RATE_LIMIT, "", rest), tries)
        pace.stopping.set()
        with pytest.raises(Stopping):
            await pace.turn()
        del loop.time
        return waits

    recorded.held(f"llm-pace-{minute}", {"waits": asyncio.run(kept())})
