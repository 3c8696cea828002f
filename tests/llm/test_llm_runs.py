"""Whole runs through the front door: faults, kills, interrupts, and what a user reads when nothing can work."""

import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

pytest.importorskip("openai", reason="needs the extra 'llm'")

import metaeval
from metaeval.cli.app import main
from metaeval.explorer.page_data import View, show_job
from metaeval.scoring.contract import Status

PAIRS = 413
"""Pairs of ten documents."""


@pytest.fixture
def command(ten_documents, tmp_path):
    """The words that run llm-discrete on them."""

    def words(url, **options):
        given = [f"metric_options.llm-discrete.{name}={value}" for name, value in {"base_url": url, **options}.items()]
        parts = ["run", "-m", "llm-discrete", "-p", "correlation", "--results", str(tmp_path)]
        parts += ["-d", "jsonl", "--data", str(ten_documents)]
        for setting in [*given, "interval.resamples=0", "controls=false"]:
            parts += ["--set", setting]
        return parts

    return words


@pytest.fixture
def stored(rows_stored):
    return partial(rows_stored, table="replies")


def test_replies_without_a_score_are_counted_and_bound_the_numbers(ten_documents, fake, tmp_path):
    def sometimes(body):
        return "I cannot tell." if "1" in fake.parts_of(fake.prompt_of(body))[0] else fake.judge(body)

    protocols = ["correlation", "classification"]
    quick = {"interval": {"resamples": 5}, "protocols": protocols, "controls": False, "results": str(tmp_path)}
    with fake.ChatServer(answer=sometimes) as server:
        options = {"llm-discrete": {"base_url": server.url}}
        given = {"dataset": "jsonl", "data": str(ten_documents), "metric_options": options, **quick}
        # A reply without a score is a stable answer: neither the reply nor the score is asked for again.
        first, again = (metaeval.run(metrics=["llm-discrete"], **given) for _ in range(2))
        assert first == again
        assert server.attempts.total() == PAIRS
        assert [len(one) for one in show_job(first.write(), View(trust=True))["replies-0"]] == [1] * PAIRS
    rows = {result.protocol: result.rows[0] for result in first}
    row = rows["correlation"]
    assert row.statuses == {Status.UNPARSED: row.unscored}
    assert 0 < row.unscored < row.total == PAIRS
    for value in row.values.values():
        worst, best = value.bounds
        assert worst < value.value < best
    assert all(value.bounds for value in rows["classification"].values.values())


def test_a_killed_run_asks_only_for_what_is_missing(start, command, fake, stored, tmp_path):
    replies, killed = tmp_path / "cache" / "replies.sqlite", threading.Event()
    with fake.ChatServer(until=lambda _: server.completed.total() < 150 or killed.is_set()) as server:
        process = start(*command(server.url, concurrency=8), stderr=subprocess.PIPE)
        while server.attempts.total() < 150 + 8 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        kept, attempts = stored(replies), server.attempts.total()
        # A kill can lose no more than what was in flight.
        assert server.completed.total() - kept <= 8
        killed.set()
        ended = start(
            *command(server.url, concurrency=64), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        _, said = ended.communicate()
        assert ended.returncode == 0, said
        assert server.attempts.total() - attempts == PAIRS - kept
        assert stored(replies) == PAIRS


def test_an_interrupt_stops_at_once_and_keeps_what_is_in_flight(start, command, fake, stored, tmp_path):
    replies, stopped = tmp_path / "cache" / "replies.sqlite", threading.Event()
    with fake.ChatServer(until=lambda _: server.completed.total() < 16 or stopped.is_set(), latency=0.3) as server:
        # A test run that a shell put into the background ignores Ctrl-C.
        hears = (signal.SIGINT,)
        process = start(*command(server.url, concurrency=8), stderr=subprocess.PIPE, text=True, hears=hears)
        while server.attempts.total() < 16 + 8 and process.poll() is None:
            time.sleep(0.02)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        stopped.set()
        _, said = process.communicate(timeout=120)
        assert process.returncode == 130
        assert time.monotonic() - sent < 60
        assert "Traceback" not in said
        assert stored(replies) == server.completed.total() == server.attempts.total() < 100


@pytest.mark.parametrize(
    "typed",
    [
        ["base_url=http://u:sk-FAKE-0123456789@127.0.0.1:1/v1", "base_url=http://127.0.0.1:1/v1"],
        *([f"base_url={key}"] for key in ("sk-FAKE-0123456789", "http://h/sk-FAKE-01", "[1, 'http://u:sk-FAKE@h']")),
        ["base_url={x: http://u:sk-FAKE@h, x: http://u:sk-FAKE@h}"],
        *([f"api_key_env={key}"] for key in ("sk-FAKE-0123456789", "gsk_FAKE0123456789", "[sk-FAKE", "[sk-FAKE]")),
    ],
)
def test_a_key_typed_in_a_wrong_place_is_not_repeated(command, monkeypatch, capsys, caplog, typed):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-FAKE-01")
    words = [word for one in typed for word in ("--set", f"metric_options.llm-discrete.{one}")]
    monkeypatch.setattr(sys, "argv", ["metaeval", *command("http://127.0.0.1:1/v1"), *words])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr().err + caplog.text
    assert end.value.code == 2
    assert typed[0].partition("=")[0] in said
    assert "FAKE" not in said
