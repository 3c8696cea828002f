"""Functions of one's own that ask a server: several calls at a time, failures, kills, interrupts, runs after those."""

import json
import signal
import subprocess
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zlib import crc32

import pytest

MODULE = """
import asyncio, os, metaeval

@metaeval.metric(low=0, high=1, identity={"model": os.environ["MODEL"], "temperature": 0})
async def judge(source, statement):
    body = f"{source} / {statement}".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["PORT"]))
    writer.write(b"POST / HTTP/1.0\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    head, _, text = (await reader.read()).decode().partition("\\r\\n\\r\\n")
    writer.close()
    if " 200 " not in head.partition("\\r\\n")[0]:
        raise OSError(f"{text} for the key {os.environ['MY_API_KEY']}")
    return float(text)
"""
PAIRS = 413


class Judging(ThreadingHTTPServer):
    """A server that judges texts. broken: whether a tenth of all texts is an error, and a tenth a refusal, each time.

    asked: number of requests by text. hold: number of requests after which it does not answer until it is set free.
    """

    daemon_threads, broken, hold = True, False, 1 << 30

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.lock, self.free = Counter(), threading.Lock(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A killed client leaves connections."""

    def answer(self, text):
        with self.lock:
            self.asked[text] += 1
            held = self.asked.total() > self.hold
        if held:
            self.free.wait(60)
        kind = crc32(text) % 10
        return (
            (500, "broken") if self.broken and kind == 0 else (200, "no" if self.broken and kind == 1 else f"0.{kind}")
        )


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        status, text = self.server.answer(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    (tmp_path / "asking.py").write_text(MODULE)
    judging = Judging()
    for name, value in {"PORT": judging.server_port, "MODEL": "one", "MY_API_KEY": "0xSECRETx0"}.items():
        monkeypatch.setenv(name, str(value))
    yield judging
    judging.free.set()
    judging.shutdown()
    judging.server_close()


@pytest.fixture
def words(ten_documents, tmp_path):
    settings = "interval.resamples=0", "controls=false"
    return (
        *("run", "-m", "asking:judge", "-p", "correlation", "-d", "jsonl", "--data", str(ten_documents)),
        *("--results", str(tmp_path / "results"), *(word for each in settings for word in ("--set", each))),
    )


@pytest.fixture
def ran(cli, words, monkeypatch, tmp_path):
    """Run in this process, as if the module were imported for the first time; the result's row, and the messages."""

    def run(**settings):
        monkeypatch.delitem(__import__("sys").modules, "asking", raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        ended = cli(*words)
        assert ended.code == 0, ended.err
        result = json.loads((tmp_path / "results/latest/correlation.json").read_text())
        return next(row for row in result["rows"] if row["kind"] == "metric"), ended.err

    return run


def test_a_failed_pair_is_counted_with_its_cause_and_only_it_is_asked_again(server, ran, caplog):
    server.broken = True
    first, _ = ran()
    failing = Counter(crc32(text) % 10 for text in server.asked)
    failed = failing[0] + failing[1]
    assert set(server.asked.values()) == {1}
    assert len(server.asked) == first["total"] == PAIRS
    assert first["statuses"] == {"failed": failed}
    assert first["unscored"] == failed > 40
    assert "0xSECRETx0" not in caplog.text
    note = caplog.messages[-1]
    assert f"{failed} pairs without a score" in note
    assert f"{failing[0]} OSError: broken for the key *** (asking.py, line 12)" in note
    assert f"{failing[1]} ValueError: could not convert string to float: 'no' (asking.py, line 13)" in note

    server.asked.clear()
    again, _ = ran()
    assert again == first, "pairs that fail each time do not end a run"
    assert {crc32(text) % 10 for text in server.asked} == {0, 1}
    assert server.asked.total() == failed

    server.asked.clear()
    server.broken = False
    assert ran()[0]["unscored"] == 0
    assert server.asked.total() == failed
    assert ran()[1].endswith("from the store\n")
    assert server.asked.total() == failed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_at_half_keeps_what_it_had(server, start, words, tmp_path, rows_stored, number):
    server.hold = PAIRS // 2

    def process():
        place = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        return start(*words, hears=(signal.SIGINT,), **place)

    def kept():
        return sum(rows_stored(path, "scores") for path in tmp_path.rglob("scores.sqlite"))

    first = process()
    deadline = time.monotonic() + 60
    while (server.asked.total() < server.hold + 16 or kept() < server.hold) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.asked.total() == server.hold + 16, "never more calls in flight"
    first.send_signal(number)
    if number == signal.SIGINT:
        time.sleep(0.2)
        server.free.set()  # what is in flight arrives after the signal
    said = first.communicate()[1]
    assert first.returncode == (-9 if number == signal.SIGKILL else 130), said
    assert kept() == server.hold + 16 * (number == signal.SIGINT)
    asked, rows = server.asked.total(), kept()
    server.free.set()
    second = process()
    said = second.communicate()[1]
    assert second.returncode == 0, said
    assert server.asked.total() - asked == PAIRS - rows
