"""Kills at random moments of a download: a file is there whole or not at all, and the next try gets it."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import multiprocessing
import os
import random
import signal
import time

import pytest

from metaeval.corpus.dataset import SourceFile
from metaeval.corpus.loading import download

CONTENT = random.Random(1).randbytes(2_000_000)
PARTS = 20
PAUSE = 0.01
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Slow(http.server.BaseHTTPRequestHandler):
    """The file in parts, so that a download takes its time."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        size = len(CONTENT) // PARTS
        with contextlib.suppress(ConnectionError):  # the reader was killed
            for number in range(PARTS):
                self.wfile.write(CONTENT[number * size : (number + 1) * size])
                time.sleep(PAUSE)

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def url(serve_with):
    return f"{serve_with(Slow)}/file"


@pytest.mark.parametrize(("kills", "seed"), [(4, 1), pytest.param(60, 2, marks=pytest.mark.slow)])
def test_a_killed_download_leaves_no_part_under_its_name(url, tmp_path, monkeypatch, kills, seed):
    monkeypatch.setenv("no_proxy", "*")
    file = SourceFile("file", url, hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["metaeval.corpus.loading"])
    rng, path, landed = random.Random(seed), tmp_path / "file", 0
    for number in range(kills):
        path.unlink(missing_ok=True)
        child = processes.Process(target=download, args=(file, path, "file", ""))
        child.start()
        time.sleep(rng.uniform(0, 1.5 * PARTS * PAUSE))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, SIGNALS[number % len(SIGNALS)])
        child.join(120)
        landed += child.exitcode != 0
        assert not path.exists() or path.read_bytes() == CONTENT
    assert landed >= kills // 4
    download(file, path, "file", "")
    assert path.read_bytes() == CONTENT
