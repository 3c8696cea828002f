"""Checkpoints: folders checked for completeness, the hub's cache, fingerprints that follow the bytes."""

import hashlib
import json
import os

import pytest

from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model, forget_hashes, is_cached

pytest.importorskip("huggingface_hub", reason="the hub's client comes with the extra 'models'")

WANTED = Checkpoint("someone/some-model", "1 MB, MIT")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "cache"


def folder(path, files=()):
    path.mkdir(parents=True, exist_ok=True)
    for name, content in {"config.json": "{}", "model.safetensors": "weights", **dict(files)}.items():
        if content is not None:
            (path / name).write_text(content, encoding="utf-8")
    return path


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"no model .*nowhere, and the folder .* holds nothing"):
        find_model(WANTED, tmp_path / "nowhere")


def test_the_fingerprint_follows_the_bytes_and_not_the_place(tmp_path):
    one, same = find_model(WANTED, folder(tmp_path / "a")), find_model(WANTED, folder(tmp_path / "b"))
    other = find_model(WANTED, folder(tmp_path / "c", {"model.safetensors": "Weights"}))
    settings = find_model(WANTED, folder(tmp_path / "d", {"config.json": '{"eps": 1}'}))
    assert one.fingerprint == same.fingerprint
    assert len({one.fingerprint, other.fingerprint, settings.fingerprint}) == 3
    contents = {"config.json": b"{}", "model.safetensors": b"weights"}
    files = {name: hashlib.sha256(text).hexdigest() for name, text in contents.items()}
    whole = hashlib.sha256(json.dumps(files, separators=(",", ":")).encode()).hexdigest()
    assert one.fingerprint == f"sha256:{whole[:16]}"


def test_the_hash_of_weights_is_remembered_until_the_file_changes(tmp_path, cache, monkeypatch):
    path = folder(tmp_path / "a")
    first = find_model(WANTED, path).fingerprint
    hashed = []
    from metaeval.scoring.backends import checkpoint

    real = checkpoint.sha256_file
    monkeypatch.setattr(checkpoint, "sha256_file", lambda file: hashed.append(file.name) or real(file))
    assert find_model(WANTED, path).fingerprint == first
    assert hashed == ["config.json"]
    (path / "model.safetensors").write_text("others!!")
    assert find_model(WANTED, path).fingerprint != first
    assert hashed.count("model.safetensors") == 1


def put_in_place(path, content):
    """Write other weights of the same size, with the same time of change, as a copying tool can."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("place", [0, 500_001, -1])
def test_other_weights_of_the_same_path_size_and_time_have_another_fingerprint(tmp_path, monkeypatch, place, marks):
    from metaeval.scoring.backends import checkpoint

    if not marks:  # as on a file system that keeps neither the inode's number nor its time of change
        monkeypatch.setattr(checkpoint, "marks_of", lambda path: [path.stat().st_size, path.stat().st_mtime_ns])
    weights = bytearray(1_000_000)
    path = folder(tmp_path / "a")
    (path / "model.safetensors").write_bytes(weights)
    first = find_model(WANTED, path).fingerprint
    weights[place] = 1
    put_in_place(path / "model.safetensors", weights)
    assert find_model(WANTED, path).fingerprint != first


def test_rehash_forgets_what_is_remembered(tmp_path, cache, monkeypatch):
    path = folder(tmp_path / "a")
    first = find_model(WANTED, path).fingerprint
    # A lie in the cache is told again, until the hashes are forgotten.
    note = cache / "weights.json"
    note.write_text(note.read_text().replace(hashlib.sha256(b"weights").hexdigest(), "0" * 64))
    assert find_model(WANTED, path).fingerprint != first
    forget_hashes()
    forget_hashes()  # with nothing to forget
    assert find_model(WANTED, path).fingerprint == first


@pytest.mark.parametrize("note", ["", "[]", "5", '{"PATH": 5}', '{"PATH": {"seen": 1}}', '{"PATH|7|123": "0"}'])
def test_notes_of_an_earlier_version_and_broken_ones_are_not_believed(tmp_path, cache, note):
    path = folder(tmp_path / "a")
    first = find_model(WANTED, path).fingerprint
    (cache / "weights.json").write_text(note.replace("PATH", str(path / "model.safetensors")))
    assert find_model(WANTED, path).fingerprint == first


def hubs_snapshot(tmp_path):
    """A snapshot in the hub's cache, and its weights: it holds large files under their SHA-256, and links to them."""
    base = tmp_path / "hub" / "models--someone--some-model"
    (base / "refs").mkdir(parents=True)
    (base / "refs" / "main").write_text("abc123")
    snapshot = folder(base / "snapshots" / "abc123")
    blob = base / "blobs" / hashlib.sha256(b"weights").hexdigest()
    blob.parent.mkdir()
    (snapshot / "model.safetensors").rename(blob)
    (snapshot / "model.safetensors").symlink_to(blob)
    return snapshot, blob


def test_the_hubs_cache_is_read_without_a_network(tmp_path):
    assert not is_cached(WANTED)
    snapshot, _ = hubs_snapshot(tmp_path)
    assert is_cached(WANTED)
    found = find_model(WANTED)
    assert found.folder == snapshot
    assert found.fingerprint == find_model(WANTED, folder(tmp_path / "copy")).fingerprint


def test_a_snapshot_with_missing_weights_does_not_count_as_here(tmp_path):
    snapshot, _ = hubs_snapshot(tmp_path)
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"someone/some-model \(1 MB, MIT\) is not on this machine"):
        find_model(WANTED, fetch=False)
