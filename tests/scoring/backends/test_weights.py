"""Model files: from the hub's cache, the hub at the pinned revision, or a package, and checked before use."""

import hashlib
import json

import pytest

pytest.importorskip("huggingface_hub", reason="needs the extra 'models'")

from tests.scoring.backends.conftest import listed

REVISION = "1" * 40
CONTENT = {"model.safetensors": b"weights" * 1000, "tokenizer.json": b"{}"}
CODE = """
import json, sys
from metaeval.core.errors import UserError
from metaeval.scoring.backends.minilm import ModelFiles, locate
revision, sha256, hub, site = sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:]
sys.path.append(site)
if hub != "there":
    from huggingface_hub import constants
    constants.ENDPOINT, constants.HF_HUB_OFFLINE = "http://127.0.0.1:9", hub == "offline"
try:
    paths = locate(ModelFiles("someone/some-model", revision, sha256, "7 kB, MIT", "some-weights", "files"))
    packaged = any(path.is_relative_to(site) for path in paths.values())
    print(packaged, json.dumps({name: path.read_bytes().decode() for name, path in paths.items()}))
except UserError as error:
    print(error)
"""


def expected(packaged):
    """What CODE prints where all files are found."""
    return f"{packaged} {json.dumps({name: body.decode() for name, body in CONTENT.items()})}\n"


@pytest.fixture
def hub(serve_hub):
    """Asks a hub that serves one model at one revision; `asked` lists what was fetched from it."""

    def answer(path):
        if path.startswith("/api/models/someone/some-model/") and REVISION in path:
            return listed(path, "someone/some-model", REVISION, CONTENT)
        return None if f"/someone/some-model/resolve/{REVISION}/" in path else (404, "EntryNotFound")

    asked = []
    run = serve_hub(answer, REVISION, CONTENT, asked)

    def locate(sha256, hub="there", site="/nowhere"):
        return run(CODE, REVISION, json.dumps(sha256), hub, str(site)).stdout

    return locate, asked


@pytest.fixture
def site(tmp_path):
    """A folder of installed packages, with some-weights in it."""
    described = tmp_path / "site" / "some_weights-1.0.dist-info" / "METADATA"
    described.parent.mkdir(parents=True)
    described.write_text("Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0\n")
    (tmp_path / "site" / "files").mkdir()
    for name, body in CONTENT.items():
        (tmp_path / "site" / "files" / name).write_bytes(body)
    return tmp_path / "site"


def hashes():
    return {name: hashlib.sha256(body).hexdigest() for name, body in CONTENT.items()}


def test_the_hub_comes_before_the_package_and_its_cache_before_both(hub, site):
    locate, asked = hub
    assert locate(hashes(), "away", site) == expected(True)
    assert not asked
    assert locate(hashes(), "there", site) == expected(False)
    assert sorted(asked) == sorted(CONTENT)
    assert locate(hashes(), "away", site) == expected(False)


@pytest.mark.parametrize("state", ["offline", "away"])
def test_without_a_hub_the_package_serves_and_is_checked(hub, site, state):
    locate, _ = hub
    assert locate(hashes(), state, site) == expected(True)
    (site / "files" / "tokenizer.json").write_bytes(b"[]")
    assert "is not the published tokenizer.json of someone/some-model" in locate(hashes(), state, site)


def test_where_the_hub_lacks_a_file_the_package_serves(hub, site):
    locate, _ = hub
    (site / "files" / "other.bin").write_bytes(b"other")
    digest = hashlib.sha256(b"other").hexdigest()
    assert locate({"other.bin": digest}, "there", site) == 'True {"other.bin": "other"}\n'


def test_a_file_that_is_not_the_published_one_is_refused(hub):
    locate, _ = hub
    said = locate({**hashes(), "model.safetensors": "0" * 64})
    assert "is not the published model.safetensors of someone/some-model" in said
    assert "expected 0000" in said
