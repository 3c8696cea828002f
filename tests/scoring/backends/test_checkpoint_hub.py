"""Checkpoints from a hub on loopback: fetched once, one format of weights, and each refusal in a sentence."""

import hashlib
import json
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub", reason="needs the extra 'models'")

from tests.scoring.backends.conftest import listed

COMMIT = "2" * 40
CONTENT = {"config.json": b"{}", "model.safetensors": b"weights", "pytorch_model.bin": b"pickle", "vocab.txt": b"a"}
CODE = """
import json, sys
from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model
try:
    found = find_model(Checkpoint(sys.argv[1], "7 kB, MIT", sys.argv[2]))
    print(json.dumps([found.files, found.fingerprint]))
except UserError as error:
    print(error)
"""


@pytest.fixture
def hub(serve_hub):
    """Asks a hub that serves someone/some-model at main, and someone/gated; `asked` lists the files fetched."""

    def answer(path):
        if "gated" in path:
            return 403, "GatedRepo"
        if "/some-model" not in path:
            return 404, "RepoNotFound"
        if "main" not in path and COMMIT not in path:
            return 404, "RevisionNotFound"
        return listed(path, "someone/some-model", COMMIT, CONTENT)

    asked = []
    run = serve_hub(answer, COMMIT, CONTENT, asked)

    def find(name, revision="main"):
        done = run(CODE, name, revision)
        return done.stdout, done.stderr

    return find, asked


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
        ("someone/else", "main", "The hub has no public model 'someone/else'"),
        ("someone/some-model", "v9", "has no revision 'v9'"),
        ("someone/gated", "main", "is gated: accept its terms"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(hub, name, revision, sentence):
    find, _ = hub
    said, _ = find(name, revision)
    assert sentence in said
    assert said.count("\n") == 1


HOSTILE = {
    "up": ["../../../../../up.json", "sub/../../../../../../up.json"],
    "absolute": ["{outside}/absolute.json"],
    "pattern": ["*.json", "../../../../../pattern.json"],
    "listing": [7],
}
TRUSTING = CODE.replace("sys.argv[2]))", "sys.argv[2], also=('*.json', '*.py')))")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hub_cannot_place_a_file_outside_of_the_model(serve_hub, tmp_path, name):
    names = [*CONTENT, *(one.format(outside=tmp_path) if isinstance(one, str) else one for one in HOSTILE[name])]

    def answer(path):
        if path.startswith("/api/models/"):
            return listed(path, f"someone/{name}", COMMIT, names)
        return b"hostile" if path.endswith(f"{name}.json") else None

    done = serve_hub(answer, COMMIT, CONTENT, [])(TRUSTING, f"someone/{name}", "main")

    said = done.stdout
    assert said.startswith("[[") or "unusable" in said or "could not be downloaded" in said, said
    assert said.count("\n") == 1
    inside = tmp_path / "hub" / f"models--someone--{name}"
    assert [path for path in tmp_path.parent.rglob(f"{name}.json") if inside not in path.parents] == []


LOCATE = CODE.replace("checkpoint import Checkpoint, find_model", "minilm import ModelFiles, locate").replace(
    'find_model(Checkpoint(sys.argv[1], "7 kB, MIT", sys.argv[2]))',
    'sys.exit(print(locate(ModelFiles(sys.argv[1], "main", json.loads(sys.argv[3]), "7 kB", sys.argv[2], "pytest"))))',
)


def test_pinned_files_come_from_the_hub_or_else_from_the_package_that_has_them(serve_hub, tmp_path):
    folder, content = Path(pytest.__file__).parent, {"py.typed": b""}
    pinned = json.dumps({name: hashlib.sha256(text).hexdigest() for name, text in content.items()})

    def answer(path):
        return (403, "No") if "/a/b" in path else listed(path, "some/model", COMMIT, content)

    run = serve_hub(answer, COMMIT, content, [])
    places = {("some/model", "pytest"): tmp_path / "hub", ("a/b", "pytest"): folder, ("a/b", "no-such"): "HTTPError"}
    for names, place in places.items():
        assert str(place) in run(LOCATE, *names, pinned).stdout
