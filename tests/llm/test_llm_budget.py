"""Money: the estimate before, the count during, and the stop at the budget."""

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

from metaeval.core.errors import UserError


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_run_stops_before_its_budget_and_goes_on_with_the_next(fake, new_session, question, concurrency):
    questions = [question(f"{number:04}") for number in range(40)]
    # A reply costs (100 * 10 + 10 * 30) / 1e6 = 0.0013; at the worst (64 + 4) * 10 + 64 * 30 = 0.0026.
    with fake.ChatServer(answer=lambda body: "2", latency=0.01) as server:
        given = {"prices": (10, 30), "budget": 0.02, "concurrency": concurrency}
        session = new_session(server.url, **given)
        with pytest.raises(UserError, match=r"The budget of \$0.0200 is not enough .*: \$0\.0\d+ was spent") as error:
            session.ask(questions)
        assert "Every reply is kept" in str(error.value)
        # Fourteen replies are 0.0182, and 0.0182 + 0.0026 is beyond 0.02; after thirteen (0.0169) there is room.
        assert server.completed.total() == 14
        assert session.ledger.purse.paid == pytest.approx(0.0182)
        asked = 14
        while asked < 40:
            try:
                new_session(server.url, **given).ask(questions)
            except UserError:
                assert server.completed.total() == asked + 14
            asked = server.completed.total()
    assert set(server.completed.values()) == {1}


@pytest.mark.parametrize(("budget", "answered"), [(0.0025, 0), (0.0026, 1)])
def test_a_budget_below_one_request_says_what_it_has_to_be(fake, new_session, question, budget, answered):
    # At the worst (64 + 4) * 10 + 64 * 30 = 0.0026, of which the sentence speaks: running again would change nothing.
    with fake.ChatServer(answer=lambda body: "2") as server:
        session = new_session(server.url, prices=(10, 30), budget=budget)
        if answered:
            session.ask([question("0123")])
        else:
            with pytest.raises(UserError, match=r"may cost up to \$0.0026: set a budget of at least that") as error:
                session.ask([question("0123")])
            assert "again" not in str(error.value)
        assert server.completed.total() == answered


def test_answers_that_never_came_count_at_their_worst(fake, new_session, question, hangs_end):
    with fake.ChatServer(faults=1, kinds=("timeout",)) as server:
        hangs_end(server)
        session = new_session(server.url, prices=(10, 30), budget=0.01, retries=20)
        with pytest.raises(UserError, match=r"\$0.0000 was spent in this run, and up to \$0.0078 for replies that"):
            session.ask([question("0123")])
    # Three attempts at 0.0026 leave no room for a fourth.
    assert server.attempts.total() == 3


def test_a_reply_without_a_token_count_is_charged_at_its_worst(fake, new_session, question):
    def uncounted(body):
        return {**fake.completion("2"), "usage": {"prompt_tokens": 1}}

    with fake.ChatServer(answer=uncounted) as server:
        session = new_session(server.url, prices=(10, 30))
        session.ask([question("0123")])
    assert session.ledger.purse.unconfirmed == pytest.approx(((64 + 4) * 10 + 64 * 30) / 1e6)
    assert "1 reply without a usable token count" in session.ledger.note()
