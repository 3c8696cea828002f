"""Model files from a hub: fetched at the pinned revision, kept, and checked before use."""

import hashlib
import json

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
def hub(serve_hub):
    """Asks a hub that serves one model at one revision; `asked` lists what was fetched from it."""

    def answer(path):
        if path.rpartition("/")[0] != f"/someone/some-model/resolve/{REVISION}":
            return 404, "EntryNotFound"
        return None

    asked = []
    run = serve_hub(answer, REVISION, CONTENT, asked)
    return lambda sha256: run(CODE, REVISION, json.dumps(sha256)).stdout, asked


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
