"""The manifest: hashes of what went in and out, the check of a file, and result files that depend on nothing else."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys

import pytest

from metaeval.core.config import RunConfig, load_run
from metaeval.report.result import save_result
from metaeval.runs.evaluate import run
from metaeval.runs.job import Command, Kept, check, manifest, write_manifests, write_run
from metaeval.scoring.score_files import manifest_path

SEED = 20_240_615


def quick(folder):
    return load_run(
        None, {"metrics": "overlap", "protocols": "correlation", "results": folder}, ["interval.resamples=5"]
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a quick run finds."""
    return run(quick(tmp_path_factory.mktemp("quick")))


@pytest.fixture
def written(found, tmp_path):
    """Its configuration, results and files in the folder of the test, with their manifest."""
    config = quick(tmp_path)
    paths = write_run(config, found)
    return config, [result.data for result in found.results], paths


def test_score_files_and_their_manifests_are_hashed(tmp_path):
    scores = tmp_path / "mine.jsonl"
    scores.write_text('{"pair_id": "a", "score": 1}\n', encoding="utf-8")
    manifest_path(scores).write_text("{}", encoding="utf-8")
    config = RunConfig(metrics=(f"scores:{scores}", "overlap"))

    found = manifest(config, Command("run"), [], [])["scores"]

    assert found == {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in (scores, manifest_path(scores))
    }


def test_a_written_file_is_the_same_changed_unlisted_or_without_a_manifest(written, tmp_path):
    _, _, paths = written
    file = next(path for path in paths if path.suffix == ".json")
    assert check(file) is Kept.SAME
    file.write_bytes(file.read_bytes() + b"\n")
    assert check(file) is Kept.CHANGED
    stranger = paths[0].with_name("stranger.json")
    alone = tmp_path / "alone" / "result.json"
    alone.parent.mkdir()
    for path in (stranger, alone):
        path.write_text("{}", encoding="utf-8")

    assert check(stranger) is Kept.UNLISTED
    assert check(alone) is Kept.NO_MANIFEST


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"files": 3}'])
def test_a_broken_manifest_stops_nothing_and_lists_nothing(written, broken):
    config, data, paths = written
    (paths[0].parent / "manifest.json").write_text(broken, encoding="utf-8")

    assert check(paths[0]) in (Kept.UNREADABLE, Kept.UNLISTED)
    write_manifests(config, Command("run"), data, paths)
    assert check(paths[0]) is Kept.SAME


def test_what_an_earlier_run_left_in_the_folder_stays_listed(written):
    config, _, paths = written
    other = config.model_copy(update={"protocols": ("classification",)})
    (result,) = run(other).results
    later = paths[0].with_name("classification.json")
    save_result(result, later)
    paths[-1].unlink()

    write_manifests(other, Command("run"), [result.data], [later])

    kept = json.loads((later.parent / "manifest.json").read_text(encoding="utf-8"))
    assert set(kept["files"]) == {"classification.json"}
    assert set(kept["earlier"]) == {path.name for path in paths[:-1]}
    assert kept["config"]["protocols"] == ["classification"]
    assert [check(path) for path in (later, *paths[:-1])] == [Kept.SAME] * len(paths)


@pytest.fixture(scope="module")
def corpora(ten_documents, tmp_path_factory):
    """Ten documents of the shipped corpus as a file, and with its rows in another order."""
    folder = tmp_path_factory.mktemp("corpora")
    shutil.copy(ten_documents, folder / "kept.jsonl")
    header, *lines = (folder / "kept.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(SEED).shuffle(lines)
    (folder / "shuffled.jsonl").write_text(header + "".join(lines), encoding="utf-8")
    return folder


def test_result_files_depend_on_neither_threads_hashing_and_place_nor_the_order_of_rows(corpora, tmp_path):
    quick = ("--set", "interval.resamples=20", "--set", "comparison.permutations=20")
    found = []
    places = ({"LC_ALL": "C.UTF-8", "TZ": "UTC"}, {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"})
    for number, (threads, hashing, name) in enumerate([("1", "0", "kept"), ("2", "12345", "shuffled")]):
        folder = tmp_path / str(number)
        settings = ("-m", "overlap,bm25,rouge", *quick, "-q", "--results", str(folder))
        command = (sys.executable, "-m", "metaeval", "run", "-d", "jsonl", "--data", str(corpora / f"{name}.jsonl"))
        environment = {
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "PYTHONHASHSEED": hashing,
            **places[number],
        }
        subprocess.run((*command, *settings), env={**os.environ, **environment}, check=True, capture_output=True)
        files = {path.name: path.read_bytes() for path in folder.glob("*/*") if path.name != "manifest.json"}
        assert len(files) == 6  # three protocols, the agreement of their ranks, their page, and the pairs
        found.append(files)

    assert found[0] == found[1]
