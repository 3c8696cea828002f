"""The fake server, and an environment in which nothing of the user's own is read or written."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def fake():
    """The module tests/llm/server.py."""
    spec = importlib.util.spec_from_file_location("fake_chat_server", Path(__file__).with_name("server.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path):
    """No key, no proxy, a cache of its own."""
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def new_session(tmp_path):
    """Make a session with an endpoint: quick back-off, a reply store in the test's folder."""
    from metaeval.llm.budget import Prices, Purse
    from metaeval.llm.conduct import Conduct
    from metaeval.llm.endpoint import Endpoint
    from metaeval.llm.replies import ReplyStore
    from metaeval.llm.session import ChatSession

    made = []

    def make(url, key="", prices=None, budget=None, replies="replies.sqlite", **conduct):
        conduct = {"backoff": 0.01, "timeout": 3.0, **conduct}
        purse = Purse(Prices(*prices) if prices else None, budget)
        endpoint = Endpoint(url, "tiny", "OPENAI_API_KEY", key)
        made.append(ChatSession(endpoint, Conduct(**conduct), ReplyStore(tmp_path / replies), purse))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture(scope="session")
def question():
    """Make a request with this text."""
    from metaeval.llm.request import ChatRequest

    def make(text, sample=0, **settings):
        messages = [{"role": "user", "content": text}]
        return ChatRequest({"model": "tiny", "max_tokens": 64, "messages": messages, **settings}, sample)

    return make
