"""Several servers under one name: who is asked, what happens when one dies, and that no byte depends on it."""

import contextlib
from contextlib import ExitStack

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

import metaeval
from metaeval.citation.chat_models import ChatOptions
from metaeval.core.config_files import UntrustedError, check_file
from metaeval.core.errors import UserError
from metaeval.llm import chat_client
from metaeval.llm.messages import Reply

NOBODY = "http://127.0.0.1:9/v1"
QUICK = {"interval": {"resamples": 0}, "protocols": ["correlation"], "controls": False}


def echo(body):
    return f"said {body['messages'][-1]['content']}"


def dies_after(count, answer=echo):
    """An answer of a server that is killed when it has answered so often: open requests are dropped, others refused."""

    def answered(body):
        if answered.server.completed.total() >= count:
            answered.server.server.close()
            raise ConnectionResetError
        return answer(body)

    return answered


@pytest.fixture
def farm(fake):
    """Start servers, one for each answer; the list of them."""
    with ExitStack() as stack:

        def start(*answers, **options):
            servers = [stack.enter_context(fake.ChatServer(answer=answer, **options)) for answer in answers]
            for server, answer in zip(servers, answers, strict=True):
                with contextlib.suppress(AttributeError):
                    answer.server = server
            return servers

        yield start


def joined(servers):
    return ",".join(server.url for server in servers)


def test_a_run_gives_the_same_bytes_from_one_server_from_two_and_from_three_of_which_one_dies(
    farm, fake, ten_documents, tmp_path
):
    def rows(folder, *answers):
        servers = farm(*answers)
        given = {"base_url": [server.url for server in servers], "server": "judges", "backoff": 0.01}
        options = {"metric_options": {"llm-discrete": {**given, "replies": str(tmp_path / folder / "replies.sqlite")}}}
        data = {"dataset": "jsonl", "data": str(ten_documents)}
        settings = {"metrics": ["llm-discrete"], "results": str(tmp_path / folder), **data, **options, **QUICK}
        (result,) = metaeval.run(**settings)
        completed = [server.completed for server in servers]
        assert all(completed)
        paid = sum(completed, type(completed[0])())
        assert set(paid.values()) == {1}
        # With another list, everything is found again.
        options["metric_options"]["llm-discrete"]["base_url"] = NOBODY
        (tmp_path / folder / "scores.sqlite").unlink()
        assert metaeval.run(**settings) == [result]
        return result

    one = rows("one", fake.judge)
    assert "server=judges" in one.rows[0].signature
    assert rows("two", fake.judge, lambda body: fake.judge(body)) == one
    dying = dies_after(30, fake.judge)
    assert rows("three", fake.judge, dying, lambda body: fake.judge(body)) == one
    assert dying.server.completed.total() == 30


def test_the_server_with_the_fewest_open_requests_is_asked(farm, new_session, question):
    slow, fast = farm(lambda body: "slow", lambda body: "fast")
    slow.until = lambda _: fast.completed.total() == 56
    session = new_session(joined([slow, fast]), concurrency=8)
    answers = session.ask([question(str(number)) for number in range(60)])
    said = [answer.content for answer in answers]
    # Eight are open: four of them at the slow one when all begin, and there they stay until the others are answered.
    assert (said.count("slow"), said.count("fast")) == (4, 56)
    counts = sorted([(slow.url, said.count("slow")), (fast.url, said.count("fast"))])
    assert "answered by " + ", ".join(f"{url} ({one})" for url, one in counts) in session.ledger.note()
    assert session.ledger.attempts == 60


@pytest.mark.parametrize("open_at_once", [1, 8])
def test_a_dead_server_is_left_out_said_once_and_no_request_waits_or_fails_for_it(
    farm, new_session, question, caplog, open_at_once
):
    (good,) = farm(echo)
    # Nothing is repeated, and a repetition would wait: a request that was never sent is not one.
    session = new_session(f"{NOBODY},{good.url}", retries=0, backoff=30, concurrency=open_at_once)
    answers = session.ask([question(str(number)) for number in range(50)])
    assert all(isinstance(answer, Reply) for answer in answers)
    assert good.completed.total() == 50
    (said,) = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert said.startswith(
        f"The server {NOBODY} is left out after 3 failures in a row (last: no connection: Connection refused)"
    )
    assert said.endswith("and tried again every 60 s; the other servers go on.")
    assert f"{NOBODY} was left out (no connection: Connection refused)" in session.ledger.note()
    assert 3 <= session.ledger.retries.total() <= max(3, open_at_once)


def test_a_server_that_was_left_out_is_asked_again_after_a_while(farm, new_session, question, monkeypatch):
    monkeypatch.setattr(chat_client, "_LEFT_OUT_FOR", 0.0)
    ill = True
    first, second = farm(lambda body: (500, "ill") if ill else "well", echo)
    session = new_session(joined([first, second]), concurrency=1)
    session.ask([question(f"a{number}") for number in range(5)])
    ill = False
    session.ask([question(f"b{number}") for number in range(10)])
    assert first.completed.total() > 0


def test_all_servers_that_are_down_end_the_run_with_all_their_addresses(new_session, question):
    with pytest.raises(UserError, match=r"Cannot reach http://127.0.0.1:9/v1, http://127.0.0.1:7/v1 \(Connection ref"):
        new_session(f"{NOBODY},http://127.0.0.1:7/v1").ask([question("a")])


def test_a_server_without_the_model_is_named_alone(farm, new_session, question):
    good, other = farm(echo, echo)
    other.model = "another"
    with pytest.raises(UserError, match=f"{other.url} knows no model 'tiny'"):
        new_session(joined([good, other])).ask([question(str(number)) for number in range(9)])


def test_each_address_is_checked():
    for wrong in ("http://a/v1,", ["http://a/v1", "b:8000"], ["http://a/v1", 3]):
        with pytest.raises(ValueError, match="base_url"):
            ChatOptions(base_url=wrong)
    with pytest.raises(UntrustedError, match="base_url"):
        check_file("x.yaml", {"metric_options": {"llm-discrete": {"base_url": ["http://a/v1", "http://b/v1"]}}})
