"""Sessions and requests, in an environment in which nothing of the user's own is read or written."""

import pytest


@pytest.fixture(autouse=True)
def always_own_environment(own_environment):
    """For every test of this room."""


@pytest.fixture
def new_session(tmp_path):
    """Make a session with an endpoint: quick back-off, a reply store in the test's folder."""
    from metaeval.llm.budget import Prices, Purse
    from metaeval.llm.client import ChatSession
    from metaeval.llm.endpoint import Endpoint, EndpointOptions
    from metaeval.llm.replies import ReplyStore

    made = []

    def make(url, key="", prices=None, budget=None, replies="replies.sqlite", **options):
        options = {"backoff": 0.01, "timeout": 3.0, **options}
        purse = Purse(Prices(*prices) if prices else None, budget)
        endpoint = Endpoint(url, "tiny", "OPENAI_API_KEY", key)
        made.append(ChatSession(endpoint, EndpointOptions(**options), ReplyStore(tmp_path / replies), purse))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture(scope="session")
def question():
    """Make a request with this text."""
    from metaeval.llm.exchange import ChatRequest

    def make(text, sample=0, **settings):
        messages = [{"role": "user", "content": text}]
        return ChatRequest({"model": "tiny", "max_tokens": 64, "messages": messages, **settings}, sample)

    return make
