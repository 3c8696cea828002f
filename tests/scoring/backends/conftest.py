"""A hub on loopback, for what fetches model files."""

import hashlib
import json
import os
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest


def listed(path, name, commit, content):
    """What the hub says of a model's files: a list of them, or the model with their names; None for another path."""
    if path.startswith(f"/api/models/{name}/tree"):
        return json.dumps([{"type": "file", "path": one, "size": 7, "oid": "0"} for one in content]).encode()
    if path.startswith(f"/api/models/{name}"):
        files = [{"rfilename": one} for one in content]
        return json.dumps({"id": name, "sha": commit, "siblings": files}).encode()
    return None


@pytest.fixture
def serve_hub(start, tmp_path):
    """Serve a hub; returns the function that runs Python code, with arguments, in a process that knows this hub alone.

    answer: path of a request -> the body (bytes) of a listing, (status, error code) of a refusal, or None for the file
    of that name in `content`. `asked` lists the files that were fetched.
    """
    servers = []

    def serve(answer, commit, content, asked):
        class Hub(BaseHTTPRequestHandler):
            def respond(self, with_body):
                name = self.path.rpartition("/")[2]
                found = answer(self.path)
                if found is None:
                    found = content.get(name, (404, "EntryNotFound"))
                    if with_body and name in content:
                        asked.append(name)
                self.send_response(200 if isinstance(found, bytes) else found[0])
                if isinstance(found, bytes):
                    self.send_header("ETag", f'"{hashlib.sha256(found).hexdigest()}"')
                    self.send_header("X-Repo-Commit", commit)
                else:
                    self.send_header("X-Error-Code", found[1])
                self.send_header("Content-Length", str(len(found) if isinstance(found, bytes) else 0))
                self.end_headers()
                if with_body and isinstance(found, bytes):
                    self.wfile.write(found)

            def do_HEAD(self):
                self.respond(with_body=False)

            def do_GET(self):
                self.respond(with_body=True)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        address = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path)}
        environment = {**os.environ, **address, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}

        def run(code, *arguments):
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            asking = start(*arguments, code=code, env=environment, **streams)
            said = asking.communicate()
            assert asking.returncode == 0, said
            return SimpleNamespace(stdout=said[0], stderr=said[1])

        return run

    yield serve
    for server in servers:
        server.shutdown()
