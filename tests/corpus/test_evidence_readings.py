"""The figures of docs/evidence.md: how chunks with a part of the evidence read, and what the table says of them."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import metaeval
from metaeval.config import RunConfig
from metaeval.stats.agreement import cohen_kappa

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
VERDICTS = ("full", "partial", "none")
READINGS = [json.loads(line) for line in (ROOT / "tests/golden/evidence_readings.jsonl").read_text().splitlines()]
HALVES = {level: [one for one in READINGS if one["citation_level"] == level] for level in ("full", "partial")}
PAGE = (ROOT / "docs/evidence.md").read_text()
SAID = " ".join(PAGE.split())


def agreement(readings):
    """How many verdicts are the same, and Cohen's kappa."""
    found = Counter((one["reader_a"], one["reader_b"]) for one in readings)
    counts = np.array([[float(found[a, b]) for b in VERDICTS] for a in VERDICTS])
    return int(np.trace(counts)), float(cohen_kappa(counts))


def test_fifty_of_each_are_read():
    assert {level: len(half) for level, half in HALVES.items()} == {"full": 50, "partial": 50}
    assert not any(one["whole_set"] for one in HALVES["full"])


@pytest.mark.parametrize("level", HALVES)
@pytest.mark.parametrize("reader", ["a", "b"])
def test_the_page_has_the_counts_of_each_reader(level, reader):
    counts = Counter(one[f"reader_{reader}"] for one in HALVES[level])
    rows = [line for line in PAGE.splitlines() if f"| {reader.upper()} |" in line]
    assert rows[level == "partial"].endswith(f"| {reader.upper()} | {' | '.join(str(counts[v]) for v in VERDICTS)} |")


def test_the_page_has_the_agreement():
    same, kappa = agreement(READINGS)
    assert f"agree on {same} of 100 (Cohen's kappa {kappa:.2f}; " in SAID
    same, kappa = agreement(HALVES["full"])
    assert f"on the first half {same} of 50, {kappa:.2f})" in SAID


def test_incomplete_sets_mostly_read_as_partial_or_the_default_would_be_drop():
    read = Counter(one[f"reader_{reader}"] for one in HALVES["full"] for reader in "ab")
    shares = {verdict: read[verdict] / read.total() for verdict in VERDICTS}
    assert f"as partial, {100 * shares['partial']:.0f} % of the readings, and hardly ever as full" in SAID
    assert f"hardly ever as full, {100 * shares['full']:.0f} %" in SAID
    assert f"But {100 * shares['none']:.0f} % read as none" in SAID
    low, high = binomtest(33, 50).proportion_ci(method="wilson")
    assert f"33 of 50 has a 95 % interval of {100 * low:.0f} to {100 * high:.0f} %" in SAID
    assert shares["partial"] > 0.5
    assert RunConfig().evidence.rule == "complete"


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_the_chunks_are_what_the_page_says():
    made = {pair.pair_id: pair for pair in metaeval.pairs(dataset="wice", split="dev", data=DATA)}
    for level, half in HALVES.items():
        pairs = [made[one["pair_id"]] for one in half]
        assert {pair.citation_level.label for pair in pairs} == {level}
        assert [pair.held == 1 for pair in pairs] == [one["whole_set"] for one in half]
        assert all(pair.held > 0 for pair in pairs)


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_the_smallest_sets_are_as_long_as_the_page_says():
    full = [one.evidence for one in metaeval.load_corpus("wice", data=DATA).citations if one.level.label == "full"]
    sizes = [min(len(one.sentences) for one in sets) for sets in full if sets]
    assert f"test split has {np.mean(sizes):.1f} sentences on average" in SAID
