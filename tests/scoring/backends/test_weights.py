"""Model files from a hub: fetched at the pinned revision, kept, and checked before use."""

import hashlib
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

pytest.importorskip("huggingface_hub", reason="needs the extra 'models'")

REVISION = "1" * 40
CONTENT = {"model.safetensors": b"weights" * 1000, "tokenizer.json": b"{}"}
CODE = """
import json, sys
from metaeval.errors import UserError
from metaeval.scoring.backends.minilm import ModelFiles, locate
revision, sha256 = sys.argv[1], json.loads(sys.argv[2])
try:
    paths = locate(ModelFiles("someone/some-model", revision, sha256, "7 kB, MIT", "no-such-package", "x"))
    print(json.dumps({name: path.read_bytes().decode() for name, path in paths.items()}))
except UserError as error:
    print(error)
"""


@pytest.fixture
def hub(tmp_path):
    """A hub on loopback that serves one model at one revision; `asked` lists what was fetched from it."""
    asked = []

    class Hub(BaseHTTPRequestHandler):
        def answer(self, with_body):
            name = self.path.rpartition("/")[2]
            if self.path != f"/someone/some-model/resolve/{REVISION}/{name}" or name not in CONTENT:
                self.send_error(404)
                return
            body = CONTENT[name]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", REVISION)
            self.end_headers()
            if with_body:
                asked.append(name)
                self.wfile.write(body)

        def do_HEAD(self):
            self.answer(with_body=False)

        def do_GET(self):
            self.answer(with_body=True)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        **os.environ,
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
    }

    def locate(sha256):
        command = [sys.executable, "-c", CODE, REVISION, json.dumps(sha256)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    yield locate, asked
    server.shutdown()


def hashes():
    return {name: hashlib.sha256(body).hexdigest() for name, body in CONTENT.items()}


def test_files_are_fetched_at_the_revision_once_and_kept(hub):
    locate, asked = hub
    expected = {name: body.decode() for name, body in CONTENT.items()}
    assert json.loads(locate(hashes())) == expected
    assert json.loads(locate(hashes())) == expected
    assert sorted(asked) == sorted(CONTENT)


def test_a_file_that_is_not_the_published_one_is_refused(hub):
    locate, _ = hub
    said = locate({**hashes(), "model.safetensors": "0" * 64})
    assert "is not the published model.safetensors of someone/some-model" in said
    assert "expected 0000" in said


def test_a_file_that_the_hub_does_not_have_is_one_sentence(hub):
    locate, _ = hub
    said = locate({"other.bin": "0" * 64})
    assert "7 kB, MIT" in said
    assert "pip install no-such-package" in said
