"""Sessions and requests, in an environment in which nothing of the user's own is read or written."""

import time

import pytest


@pytest.fixture(autouse=True)
def always_own_environment(own_environment):
    """For every test of this room."""


@pytest.fixture
def new_session(tmp_path):
    """Make a session with an endpoint: quick back-off, patience, a reply store in the test's folder."""
    from metaeval.llm.budget import Purse
    from metaeval.llm.chat_client import ChatSession
    from metaeval.llm.endpoint import Endpoint, EndpointOptions, Prices
    from metaeval.llm.reply_store import ReplyStore

    made = []

    def make(url, key="", prices=None, budget=None, replies="replies.sqlite", **options):
        options = {"backoff": 0.01, "timeout": 60.0, **options}
        purse = Purse(Prices(*prices) if prices else None, budget)
        endpoint = Endpoint(url, "tiny", "OPENAI_API_KEY", key)
        made.append(ChatSession(endpoint, EndpointOptions(**options), ReplyStore(tmp_path / replies), purse))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture
def hangs_end(monkeypatch):
    """Where all open requests of a session hang at a server, let the minutes until they are given up pass at once.

    A timeout that is short for a test would at times be too short for a busy machine, whose answer it takes for none.
    """
    from metaeval.llm.chat_client import ChatSession

    def at(server):
        begin = ChatSession.__init__

        def begun(session, *args):
            begin(session, *args)
            loop, client, ledger, passed = session._loop, session._client, session.ledger, [0.0]

            def look():
                given_up = ledger.retries["timeout"] + ledger.failed["timeout"]
                if sum(one.in_flight for one in client._servers) == server.faulted["timeout"] - given_up > 0:
                    passed[0] += 60.0
                loop.call_later(0.005, look)

            monkeypatch.setattr(loop, "time", lambda: time.monotonic() + passed[0])
            loop.call_soon_threadsafe(look)

        monkeypatch.setattr(ChatSession, "__init__", begun)

    return at


@pytest.fixture(scope="session")
def question():
    """Make a request with this text."""
    from metaeval.llm.messages import ChatRequest

    def make(text, sample=0, **settings):
        messages = [{"role": "user", "content": text}]
        return ChatRequest({"model": "tiny", "max_tokens": 64, "messages": messages, **settings}, sample)

    return make
