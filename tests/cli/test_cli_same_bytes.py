"""The same run gives the same bytes; what does not matter to a result does not move it."""

import json
import random

import pytest

RUN = ("run", "-m", "overlap,bm25", "-q", "--set", "interval.resamples=20")


def test_two_runs_give_the_same_bytes(cli, contents, tmp_path):
    first = cli(*RUN, "--results", "one")
    second = cli(*RUN, "--results", "two")

    assert (first.code, second.code) == (0, 0)
    one, two = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert len(one) == 5
    assert one == two


@pytest.fixture(scope="module")
def seed():
    return 20_240_615


def test_the_order_of_a_corpus_file_moves_no_estimate(cli, contents, tmp_path, seed):
    assert cli("data", "convert", "mini", "mini.jsonl").code == 0
    header, *lines = (tmp_path / "mini.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    (tmp_path / "shuffled.jsonl").write_text(header + "".join(lines), encoding="utf-8")

    for name in ("mini", "shuffled"):
        assert cli(*RUN, "-d", "jsonl", "--data", f"{name}.jsonl", "--results", name).code == 0

    kept, moved = contents(tmp_path / "mini"), contents(tmp_path / "shuffled")
    assert kept.keys() == moved.keys()
    different = []
    for name in (name for name in kept if name.endswith(".json")):
        rows = [json.loads(files[name])["rows"] for files in (kept, moved)]
        for one, other in zip(*rows, strict=True):
            different += [
                (name, one["metric"], k, v, other["values"][k])
                for k, v in one["values"].items()
                if v != other["values"][k]
            ]
    assert different == []
    assert kept == moved
