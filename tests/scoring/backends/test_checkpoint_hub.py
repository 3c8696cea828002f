"""Checkpoints from a hub on loopback: fetched once, one format of weights, and each refusal in a sentence."""

import hashlib
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

pytest.importorskip("huggingface_hub", reason="needs the extra 'models'")

COMMIT = "2" * 40
CONTENT = {"config.json": b"{}", "model.safetensors": b"weights", "pytorch_model.bin": b"pickle", "vocab.txt": b"a"}
CODE = """
import json, sys
from metaeval.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model
try:
    found = find_model(Checkpoint(sys.argv[1], "7 kB, MIT", sys.argv[2]))
    print(json.dumps([found.files, found.fingerprint]))
except UserError as error:
    print(error)
"""


@pytest.fixture
def hub(tmp_path):
    """Asks a hub that serves someone/some-model at main, and someone/gated; `asked` lists the files fetched."""
    asked = []

    class Hub(BaseHTTPRequestHandler):
        def answer(self, with_body):
            name = self.path.rpartition("/")[2]
            if "gated" in self.path:
                self.refuse(403, "GatedRepo")
            elif "/some-model" not in self.path:
                self.refuse(404, "RepoNotFound")
            elif "main" not in self.path and COMMIT not in self.path:
                self.refuse(404, "RevisionNotFound")
            elif self.path.startswith("/api/models/someone/some-model/tree"):
                files = [
                    {"type": "file", "path": name, "size": len(body), "oid": "0"} for name, body in CONTENT.items()
                ]
                self.send(json.dumps(files).encode(), with_body)
            elif self.path.startswith("/api/models/someone/some-model"):
                files = [{"rfilename": name} for name in CONTENT]
                body = {"id": "someone/some-model", "sha": COMMIT, "siblings": files}
                self.send(json.dumps(body).encode(), with_body)
            elif name in CONTENT:
                if with_body:
                    asked.append(name)
                self.send(CONTENT[name], with_body)
            else:
                self.refuse(404, "EntryNotFound")

        def send(self, body, with_body):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def refuse(self, status, code):
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

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

    def find(name, revision="main"):
        command = [sys.executable, "-c", CODE, name, revision]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    yield find, asked
    server.shutdown()


def test_a_model_is_fetched_once_in_one_format_and_its_size_and_licence_are_said_before(hub):
    find, asked = hub
    said, told = find("someone/some-model")
    files, fingerprint = json.loads(said)
    assert files == ["config.json", "model.safetensors", "vocab.txt"]
    assert "Downloading someone/some-model (7 kB, MIT)" in told
    again, silence = find("someone/some-model")
    assert json.loads(again) == [files, fingerprint]
    assert "Downloading" not in silence
    assert sorted(asked) == files


@pytest.mark.parametrize(
    ("name", "revision", "sentence"),
    [
        ("someone/else", "main", "The hub knows no model 'someone/else'"),
        ("someone/some-model", "v9", "has no revision 'v9'"),
        ("someone/gated", "main", "asks for its terms to be accepted"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(hub, name, revision, sentence):
    find, _ = hub
    said, _ = find(name, revision)
    assert sentence in said
    assert said.count("\n") == 1
