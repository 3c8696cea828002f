"""A pack of one's own is added in two commands, on a folder of its own."""

import csv
import json

from metaeval.runs.score_packs import fingerprint_of, reference_sets, row_ids
from tests.conftest import MINI


def test_a_pack_is_added_as_it_is_typed_and_everything_recomputed(ran, refused, tmp_path):
    (tmp_path / "sets.yaml").write_text(json.dumps({"own": {"title": "Own", "dataset": "jsonl", "unit": "page"}}))
    source = reference_sets(tmp_path)["own"].load(MINI)
    card = {
        **{"format": "metaeval-pack/1", "metric": "mine", "version": "1", "signature": "mine@v1", "run": "by hand"},
        **{"by": "a test", "licence": "MIT", "commercial": True, "date": "2026-01-02", "needs": "cpu"},
        "scores": {"own": {"file": "own.csv", "data": fingerprint_of(source)}},
    }
    pack = tmp_path / "mine"
    pack.mkdir()
    (pack / "card.yaml").write_text(json.dumps(card))
    rows = [f"{one},{len(one) * (row.level or 0)},ok" for one, row in zip(row_ids(source), source.rows, strict=True)]
    (pack / "own.csv").write_text("\n".join(["pair,score,status", *rows]) + "\n")
    where = ("--folder", str(tmp_path), "--data", str(MINI))

    ended = ran("results", "reference", "add", str(pack), *where)
    assert "1 data set recomputed" in ended.out
    assert (tmp_path / "packs" / "mine" / "card.yaml").is_file()
    with (tmp_path / "cells.csv").open() as file:
        assert {row["pack"] for row in csv.DictReader(file)} == {"mine", ""}
    before = (tmp_path / "cells.csv").read_bytes()

    ran("results", "reference", *where)
    assert (tmp_path / "cells.csv").read_bytes() == before
    assert "Did you mean 'own'" in refused("results", "reference", "onw", *where)
