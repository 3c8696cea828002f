"""The judge against `transformers serve`, a real OpenAI-compatible server, with a tiny model (`tiny_chat.py`)."""

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")
from metaeval.core.errors import UserError
from metaeval.scoring.contract import Status
from metrics_zoo.llm_judge import LLMDiscrete

PAIRS = [(f"The lighthouse was built in {year}.", "The lighthouse is old.") for year in range(1870, 1876)]
SOURCES, STATEMENTS = zip(*PAIRS, strict=True)


@pytest.fixture(scope="module")
def served(tiny_chat, tmp_path_factory):
    """(base address, model name) of a running server."""
    with tiny_chat.serving(tmp_path_factory.mktemp("model"), "\nPrediction: 1") as found:
        yield found


def judge(served, **options):
    url, model = served
    return LLMDiscrete(
        LLMDiscrete.Options(**{"base_url": url, "model": model, "backoff": 0.01, "retries": 2} | options)
    )


def test_pairs_are_scored_once_for_all_runs(served):
    metric = judge(served, max_tokens=16)
    answers = metric.score(SOURCES, STATEMENTS)
    assert [answer.score for answer in answers] == [1.0] * 6
    assert all(answer.tokens > 300 for answer in answers)  # the server's own count, near one a byte here
    ledger = metric._session.ledger
    assert (ledger.answered, ledger.retries.total(), ledger.unparsed) == (6, 0, 0)
    assert ledger.tokens_out == 6 * 2  # the reply, which is one token, and the end
    again = judge(served, max_tokens=16)
    assert again.score(SOURCES, STATEMENTS) == answers
    assert (again._session.ledger.attempts, again._session.ledger.stored) == (0, 6)


def test_a_reply_cut_at_the_limit_is_unparsed(served):
    answers = judge(served, max_tokens=1).score(SOURCES, STATEMENTS)
    assert {answer.status for answer in answers} == {Status.UNPARSED}


def test_a_server_that_ignores_the_schema_gives_unparsed_replies_and_not_scores(served):
    answers = judge(served, max_tokens=16, output="json_schema").score(SOURCES, STATEMENTS)
    assert {answer.status for answer in answers} == {Status.UNPARSED}


def test_what_this_server_lacks_is_said_in_a_sentence(served):
    with pytest.raises(UserError, match=r"no log-probabilities: set mode=reply"):
        judge(served, max_tokens=16, mode="logprob").score(SOURCES, STATEMENTS)
    with pytest.raises(UserError, match=r"refuses what is asked of model 'another' \(HTTP 400: Server is pinned to"):
        judge(served, model="another").score(SOURCES, STATEMENTS)
