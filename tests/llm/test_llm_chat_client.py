"""The client against a server that misbehaves: everything asked is answered or counted, and paid for once."""

import asyncio
import gzip
import json
import logging
import re
import socketserver
import ssl
import threading
from base64 import b64decode
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

from metaeval.core.errors import UserError
from metaeval.llm.endpoint import Cause, Endpoint
from metaeval.llm.http_attempt import Pace, Transport, _reason
from metaeval.llm.messages import Failure, Reply


def echo(body):
    return f"said {body['messages'][-1]['content']}"


def contents(answers):
    return [answer.content for answer in answers]


def test_a_fifth_of_the_answers_fail_in_every_way_and_each_question_is_paid_for_once(
    fake, new_session, question, hangs_end
):
    questions = [question(f"q{number}") for number in range(400)]
    with fake.ChatServer(answer=echo, faults=0.2, seed=5) as server:
        hangs_end(server)
        session = new_session(server.url, concurrency=64)
        answers = session.ask(questions)
    assert contents(answers) == [f"said q{number}" for number in range(400)]
    assert set(server.completed.values()) == {1}
    assert set(server.faulted) == set(fake.FAULTS)
    ledger = session.ledger
    assert ledger.answered == 400
    assert ledger.attempts == server.attempts.total() == 400 + ledger.retries.total()
    assert ledger.retries.total() == server.faulted.total()
    assert ledger.retries["HTTP 429"] == server.faulted["429"] + server.faulted["429 retry-after"]
    assert ledger.retries["HTTP 5xx"] == server.faulted["500"]
    assert ledger.retries["timeout"] == server.faulted["timeout"]
    assert ledger.retries["no chat completion"] == server.faulted["garbage"] + server.faulted["wrong json"]
    assert ledger.retries["connection dropped"] == server.faulted["closed"] + server.faulted["half-closed"]
    assert (ledger.tokens_in, ledger.tokens_out) == (40_000, 4_000)


def test_equal_questions_are_asked_once_and_samples_apart(fake, new_session, question):
    with fake.ChatServer(answer=echo) as server:
        answers = new_session(server.url).ask([question("a"), question("b"), question("a"), question("a", sample=1)])
        again = new_session(server.url)
        assert again.ask([question("a"), question("b")]) == answers[:2]
    assert contents(answers) == ["said a", "said b", "said a", "said a"]
    assert server.completed == {"a": 2, "b": 1}
    assert (again.ledger.attempts, again.ledger.stored) == (0, 2)


def test_no_more_are_in_flight_than_asked_for(fake, new_session, question):
    with fake.ChatServer(answer=echo, until=lambda _: server.most_in_flight >= 7, latency=0.02) as server:
        new_session(server.url, concurrency=7).ask([question(str(number)) for number in range(40)])
    assert server.most_in_flight == 7


def test_a_question_that_always_fails_fails_alone_and_is_asked_again_next_time(fake, new_session, question):
    def one_bad(body):
        return (500, "broken") if "bad" in str(body) else echo(body)

    with fake.ChatServer(answer=one_bad) as server:
        answers = new_session(server.url, retries=2).ask([question("a"), question("bad"), question("b")])
        assert answers[1] == Failure(Cause.SERVER_ERROR, "HTTP 500: broken")
        assert [type(answer) for answer in answers] == [Reply, Failure, Reply]
        assert server.attempts == {"a": 1, "bad": 3, "b": 1}
        # The next run asks for what failed alone, and does not mind that nothing else is left.
        again = new_session(server.url, retries=2)
        assert again.ask([question("bad")]) == [answers[1]]
        assert "1 request failed (HTTP 5xx 1): the next run asks again" in again.ledger.note()


def test_a_refusal_of_one_text_is_not_tried_again_and_stops_nothing(fake, new_session, question):
    def filtered(body):
        error = {"error": {"message": "content policy", "code": "content_filter"}}
        return (400, error) if "bad" in str(body) else echo(body)

    bad = [question(f"bad {number}") for number in range(30)]
    with fake.ChatServer(answer=filtered) as server:
        answers = new_session(server.url, concurrency=1).ask([question("a"), *bad])
        assert answers[1:] == [Failure(Cause.REFUSED, "HTTP 400: content policy")] * 30
        assert new_session(server.url).ask(bad) == answers[1:]
    assert server.attempts.total() == 61


REFUSED = {"error": {"message": "Unsupported parameter: 'max_tokens'", "code": "unsupported_parameter"}}
SENTENCES = [
    ((401, {"error": {"message": "Incorrect API key provided: sk-secret-key"}}), r"refuses the key in OPENAI_API_KEY"),
    ((403, {"error": {"message": "no access"}}), r"refuses the key in OPENAI_API_KEY \(HTTP 403: no access\)"),
    ((404, {"error": {"message": "no such model"}}), r"knows no model 'tiny'.*curl http://127\.0\.0\.1:\d+/v1/models"),
    ((429, {"error": {"message": "quota", "code": "insufficient_quota"}}), r"no credit left \(HTTP 429: quota\)"),
    ((402, "pay"), r"no credit left \(HTTP 402: pay\)"),
    ((400, REFUSED), r"refuses what is asked of model 'tiny' \(HTTP 400: Unsupported parameter: 'max_tokens'\)"),
    ((422, {"detail": "bad field"}), r"refuses what is asked of model 'tiny' \(HTTP 422: bad field\)"),
    ((500, "x" * 1000), r"gave no usable reply .*\(last: HTTP 500: x{190}\.\.\.\)"),
    ((200, {"error": "overloaded"}), r"gave no usable reply .*\(last: not a chat completion: .*overloaded"),
]


@pytest.mark.parametrize(("answer", "sentence"), SENTENCES)
@pytest.mark.parametrize("count", [2, 200])
def test_what_no_request_could_pass_ends_the_run_with_a_sentence(fake, new_session, question, answer, sentence, count):
    with fake.ChatServer(answer=lambda body: answer, key="sk-secret-key") as server:
        session = new_session(server.url, key="sk-secret-key", concurrency=1, retries=1)
        with pytest.raises(UserError, match=sentence) as error:
            session.ask([question(str(number)) for number in range(count)])
    said = str(error.value)
    assert server.url in said
    assert "run the same command again" in said
    assert "sk-secret-key" not in said
    assert "\n" not in said
    assert server.attempts.total() in {1, min(count, 5), 2 * min(count, 5)}


def test_a_certificate_that_is_not_trusted_is_said(fake, new_session, question):
    own = Path(__file__).with_name("localhost.pem")  # made with `openssl req -x509 -subj /CN=localhost`
    with (
        fake.ChatServer(certificate=own) as server,
        pytest.raises(UserError, match="certificate is not trusted: self-signed certificate; SSL_CERT_FILE"),
    ):
        new_session(server.url.replace("http:", "https:")).ask([question("a")])
    plain = ssl.MemoryBIO()
    plain.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(ssl.SSLError) as error:
        ssl.create_default_context().wrap_bio(plain, ssl.MemoryBIO(), server_hostname="a").do_handshake()
    assert "expect http instead of https" in _reason(error.value)


def test_a_server_that_goes_away_is_waited_for_and_then_given_up(fake, new_session, question):
    with fake.ChatServer(answer=echo) as server:
        session = new_session(server.url, retries=2, concurrency=1)
        session.ask([question("a")])
    with pytest.raises(UserError, match="Cannot reach"):
        session.ask([question(str(number)) for number in range(50)])
    assert session.ledger.retries["no connection"] == 40


def test_what_is_in_flight_when_a_run_ends_is_kept(fake, new_session, question):
    def slow_or_ending(body):
        return (404, "gone") if "end" in str(body) else echo(body)

    def in_their_order(body):
        """The end comes while all are in flight, and the slow ones when the session knows of it."""
        return session._client._pace.stopping.is_set() if "slow" in str(body) else server.in_flight == 4

    questions = [question(f"slow {number}") for number in range(3)]
    with fake.ChatServer(answer=slow_or_ending, until=in_their_order) as server:
        session = new_session(server.url, concurrency=4)
        with pytest.raises(UserError, match="knows no model"):
            session.ask([*questions, question("end"), question("never asked")])
        assert server.attempts["never asked"] == 0
        assert session.ask(questions)
    assert server.attempts.total() == 4


def test_it_works_inside_a_running_event_loop(fake, new_session, question):

    async def notebook(url):
        return new_session(url).ask([question("a")])

    with fake.ChatServer(answer=echo) as server:
        assert contents(asyncio.run(notebook(server.url))) == ["said a"]


def test_a_session_that_is_closed_or_collected_leaves_no_thread(fake, new_session, question):
    with fake.ChatServer(answer=echo) as server:
        for close in (lambda one: one.close(), lambda one: one._loop.call_soon_threadsafe(one._close)):
            session = new_session(server.url)
            session.ask([question("a")])
            assert session._thread.is_alive()
            close(session)  # or in its own thread, as garbage collection does
            session._thread.join(60)
            assert not session._thread.is_alive()
            session.close()


KEY = 'sk-proj/secret"key-0123456789'


def test_a_key_that_the_server_repeats_is_masked_before_it_is_kept(fake, new_session, question, tmp_path):
    def repeat(body):
        text = json.dumps(fake.completion(f"Your key is {KEY}, I say {KEY}.\nPrediction: 2"))
        return 200, text.replace("secret", "\\u0073ecret", 1).replace("/", "\\/", 1)

    with fake.ChatServer(answer=repeat, key=KEY) as server:
        session = new_session(server.url, key=KEY)
        (answer,) = session.ask([question("a")])
    session.close()

    assert answer.content == "Your key is ***, I say ***.\nPrediction: 2"
    assert "secret" not in answer.raw
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes()


def test_a_key_is_removed_from_all_that_a_server_says_before_a_message_is_cut(fake, new_session, question):
    said = "w" * 155 + f" {KEY}"
    answers = [
        *((401, {"error": {"message": said}}), (401, said), (500, '{"error": "' + said), (200, said)),
        (200, {"error": {"message": said}}),
        (302, "", {"Location": quote(said, safe="/%&#;=")}),
        (200, "", {"Content-Encoding": said}),
    ]
    for number, answer in enumerate(answers):
        with fake.ChatServer(answer=lambda body, answer=answer: answer) as server:
            session = new_session(server.url, key=KEY, retries=0, replies=f"{number}.sqlite")
            with pytest.raises(UserError) as error:
                session.ask([question("a")])
        assert "***" in str(error.value)
        assert not any(KEY[at : at + 9] in str(error.value) for at in range(len(KEY) - 8))


@pytest.mark.parametrize("charset", [*("hex", "rot13", "zlib", "undefined", "idna", "punycode", "nonsense", "utf-16")])
@pytest.mark.parametrize("text", ["Prediction: 2", "caf\xe9\nPrediction: 2"])
def test_a_reply_is_read_whatever_its_charset_is_called(fake, new_session, question, charset, text):
    for encoding in ("utf-8", "latin-1", "utf-16-le"):
        data = json.dumps(fake.completion(text), ensure_ascii=False).encode(encoding)
        head = f"Content-Type: application/json; charset={charset}\r\nContent-Length: {len(data)}\r\n"
        with fake.ChatServer(answer=Wire(head=head, piece=data, times=1)) as server:
            (answer,) = new_session(server.url, replies=f"{encoding}.sqlite").ask([question("a")])
        assert answer.content.endswith("Prediction: 2")


SENT = {*"accept accept-encoding authorization connection content-length content-type host user-agent".split()}
AMBIENT = {
    **{"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1", "OPENAI_ADMIN_KEY": "sk-admin-0123"},
    **{"OPENAI_API_KEY": "sk-another-0123", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
    "OPENAI_CUSTOM_HEADERS": "X-Secret: hidden\nauthorization: Bearer hidden\nuser-agent: other\nX-\u00e9: \u00e9",
}


@pytest.mark.parametrize("key", ["sk-secret-key", ""])
def test_a_server_gets_the_key_that_is_meant_for_it_and_nothing_else_of_the_environment(
    fake, new_session, question, monkeypatch, key
):
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)

    with fake.ChatServer(answer=echo) as server:
        new_session(server.url, key=key).ask([question("a")])

    (headers,) = server.headers
    assert {name for name in headers if name} == SENT
    assert headers["authorization"] == f"Bearer {key or 'none'}"
    assert (headers["user-agent"], headers["content-type"]) == ("metaeval", "application/json")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        *(("https://api.openai.com/v1", True), ("https://eu.api.openai.com/v1", True)),
        *(("http://api.openai.com/v1", False), ("https://example.org/api.openai.com", False)),
        *(("https://api.openai.com.example.org/v1", False), ("https://notapi.openai.com/v1", False)),
    ],
)
def test_organisation_and_project_are_told_to_openai_alone(monkeypatch, url, told):
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)

    async def headers():
        endpoint = Endpoint(url, "tiny", "OPENAI_API_KEY", "sk-secret-key")
        assert endpoint.is_openai is told
        transport = Transport(endpoint, 1, 1.0, 1000)
        client = transport._client
        await transport.close()
        return str(client.base_url), {**client.auth_headers, **client.default_headers}

    base_url, sent = asyncio.run(headers())
    assert base_url == f"{url}/"
    assert sent["Authorization"] == "Bearer sk-secret-key"
    own = sent["OpenAI-Organization"], sent["OpenAI-Project"]
    assert own == ("org-1", "proj-1") if told else not any(isinstance(value, str) for value in own)
    assert not {"x-secret", "x-stainless-os"} & {name.lower() for name in sent}


def test_the_bytes_of_a_request_are_sent_as_they_are(fake, new_session, question):
    questions = [
        question("caf\u00e9 \u4e2d \ud83d\ude00 \ud800 </script>\u2028", temperature=0.0),
        question("", top_p=1e-7),
    ]
    with fake.ChatServer(answer=lambda body: "2") as server:
        new_session(server.url, concurrency=1).ask(questions)
    assert server.raw == [question.content for question in questions]


def test_cookies_are_not_sent_back(fake, new_session, question):
    answer = (200, fake.completion("2"), {"Set-Cookie": "server=1; Path=/"})
    with fake.ChatServer(answer=lambda body: answer) as server:
        session = new_session(server.url.replace("127.0.0.1", "localhost"), concurrency=1)
        assert contents(session.ask([question("a"), question("b")])) == ["2", "2"]
    assert [headers.get("cookie") for headers in server.headers] == [None, None]


class Proxy(socketserver.StreamRequestHandler):
    """Answers itself what is to be sent on, and notes it."""

    def handle(self):
        head = b"".join(iter(self.rfile.readline, b"\r\n")).decode()
        self.rfile.read(int(re.search(r"(?i)content-length: (\d+)", head)[1]))
        self.server.heads.append(head)
        body = self.server.body
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


@pytest.fixture
def proxy(fake):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server:
        server.heads, server.body = [], json.dumps(fake.completion("by proxy")).encode()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
@pytest.mark.parametrize(("scheme", "user"), [("http://", ""), ("", ""), ("http://", "u:p%40ss@")])
def test_the_proxy_of_the_environment_is_asked(proxy, new_session, question, monkeypatch, variable, scheme, user):
    monkeypatch.setenv(variable, f"{scheme}{user}127.0.0.1:{proxy.server_address[1]}")
    session = new_session("http://judge.invalid:8000/v1", key="sk-secret-key")
    assert contents(session.ask([question("a")])) == ["by proxy"]
    (head,) = proxy.heads
    assert head.startswith("POST http://judge.invalid:8000/v1/chat/completions HTTP/1.1")
    coded = re.search(r"(?i)proxy-authorization: Basic (\S+)", head)
    assert (coded and b64decode(coded[1])) == (b"u:p@ss" if user else None)


@pytest.mark.parametrize(
    "proxy", ["ftp://u:hidden-word@h:1", "http://u:hidden-word@h:x1", "http://u:hidden-word@127.0.0.1:99999"]
)
def test_a_proxy_that_cannot_be_asked_is_said_without_its_password(new_session, question, monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy)
    session = new_session("http://127.0.0.1:9/v1")
    with pytest.raises(UserError, match=r"Cannot reach http://127\.0\.0\.1:9/v1 \(") as error:
        session.ask([question("a")])
    assert "hidden-word" not in str(error.value)
    assert session.ledger.attempts == 1


URLS = ["http://127.0.0.1:99999/v1", "http://a..b/v1", f"http://{'a' * 300}.invalid/v1", "http://x\x00/v1"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", *URLS])
def test_an_address_where_nothing_listens_or_can_is_said_at_once(new_session, question, url):
    session = new_session(url)
    with pytest.raises(UserError, match="Cannot reach"):
        session.ask([question(str(number)) for number in range(50)])
    assert session.ledger.retries.total() == 0  # each of which would wait


def test_neither_text_nor_key_is_logged(fake, new_session, question, caplog):
    with caplog.at_level(logging.DEBUG), fake.ChatServer(answer=echo, faults=0.5, kinds=fake.QUICK_FAULTS) as server:
        session = new_session(server.url, key="sk-secret-key")
        session.ask([question(f"private-words {number}") for number in range(20)])
    assert not re.search("private-words|sk-secret-key", caplog.text)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("scheme", ["http", "https", "file", "ftp"])
def test_nobody_is_followed_to_another_address(fake, new_session, question, status, scheme):
    with fake.ChatServer(answer=echo) as other:
        there = f"{other.url}/chat/completions" if scheme == "http" else f"{scheme}://127.0.0.1:{other.port}/v1"
        with fake.ChatServer(answer=lambda body: (status, "", {"Location": there})) as server:
            session = new_session(server.url, key="sk-secret-key")
            with pytest.raises(UserError, match=f"HTTP {status}, it sends on to {there}, which is not followed"):
                session.ask([question("a")])
    assert other.headers == []


class Wire:
    """An answer as bytes: a head, then a piece again and again, as often as somebody reads it."""

    def __init__(self, status="200 OK", head="", piece=b" " * 65_536, times=None):
        self.head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n{head}\r\n".encode()
        self.piece, self.times, self.sent = piece, times, 0

    def __call__(self, body):
        yield self.head
        while self.times is None or self.sent < self.times:
            self.sent += 1
            yield self.piece


@pytest.mark.parametrize("status", ["200 OK", "500 Error", "400 Bad Request", "302 Found"])
def test_an_answer_without_end_is_given_up_after_a_megabyte_and_called_that(fake, new_session, question, status):
    wire = Wire(status)
    with fake.ChatServer(answer=wire) as server:
        session = new_session(server.url)
        with pytest.raises(UserError, match=r"answers model 'tiny' with more than 1,000,000 bytes, .*-s reply_bytes=N"):
            session.ask([question("a")])
    assert server.attempts.total() == 1  # asked again, it would be as large
    assert wire.sent < 500  # what was read, and what the system holds between the two; no more is sent
    assert session.ledger.failed.total() == 1


def packed(text, packing="gzip"):
    data = gzip.compress(text)
    return Wire(head=f"Content-Encoding: {packing}\r\nContent-Length: {len(data)}\r\n", piece=data, times=1)


def test_a_small_reply_that_unpacks_to_32_megabytes_ends_at_the_limit(fake, new_session, question):
    with fake.ChatServer(answer=packed(b" " * 2**25)) as server:
        session = new_session(server.url)
        with pytest.raises(UserError, match="with more than 1,000,000 bytes"):
            session.ask([question("a")])
    assert server.attempts.total() == 1


def test_a_reply_that_is_packed_as_asked_is_read_and_any_other_is_not(fake, new_session, question):
    whole = json.dumps(fake.completion("2")).encode().ljust(1000)
    with fake.ChatServer(answer=packed(whole)) as server:
        assert contents(new_session(server.url, reply_bytes=1000).ask([question("a")])) == ["2"]
    assert server.headers[0]["accept-encoding"] == "gzip"
    for packing, said in (("br", "compressed as br, which was not asked for"), ("gzip", "not compressed as it says")):
        wire = packed(whole, packing)
        wire.piece = b"\x00" + wire.piece[1:]
        with fake.ChatServer(answer=wire) as server, pytest.raises(UserError, match=said):
            new_session(server.url, replies=f"{packing}.sqlite", retries=0).ask([question("a")])


def test_log_probabilities_are_not_counted_against_the_limit(fake, new_session, question):
    def answer(body):
        # All tokens but the first are of no text: together they are the reply.
        tokens = [{"token": "", "logprob": 0.0, "bytes": None, "top_logprobs": []} for _ in range(1000)]
        tokens[0] |= {"token": "2", "top_logprobs": [{"token": "2", "logprob": 0.0, "bytes": None}]}
        return fake.completion("2", logprobs={"content": tokens})

    with fake.ChatServer(answer=answer) as server:
        session = new_session(server.url, reply_bytes=1000)
        with pytest.raises(UserError, match="more than 1,000 bytes"):
            session.ask([question("a")])
        (reply,) = session.ask([question("a", logprobs=True)])
    assert len(reply.logprobs) == 1000


@pytest.mark.parametrize(("seconds", "attempts"), [("300", 5), ("301", 1)])
def test_a_server_that_asks_for_more_than_five_minutes_is_not_asked_again(
    seconds, attempts, fake, new_session, question, monkeypatch
):
    async def at_once(*_):
        """Wait no time."""

    monkeypatch.setattr(Pace, "back_off", at_once)
    refused = (429, {"error": {"message": "come back later"}})
    answer = (*refused, {"Retry-After": seconds})
    with fake.ChatServer(answer=lambda body: answer) as server, pytest.raises(UserError, match="come back later"):
        new_session(server.url, backoff=0, retries=4).ask([question("a")])
    assert server.attempts.total() == attempts


def test_the_key_is_sent_as_a_bearer_and_kept_nowhere(fake, new_session, question, tmp_path):
    with fake.ChatServer(answer=echo, key="sk-secret-key") as server:
        session = new_session(server.url, key="sk-secret-key")
        session.ask([question("a")])
    assert server.headers[0]["authorization"] == "Bearer sk-secret-key"
    session.close()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"sk-secret-key" not in path.read_bytes()
    assert not re.search("sk-secret-key", repr(vars(session)))
