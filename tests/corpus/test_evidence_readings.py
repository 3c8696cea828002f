"""The numbers of docs/explanation/evidence.md: how two readers judged chunks with a part of the evidence."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import metaeval
from metaeval.core.config import RunConfig
from metaeval.stats.agreement import cohen_kappa

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
VERDICTS = ("full", "partial", "none")
READINGS = [json.loads(line) for line in (ROOT / "tests/golden/evidence_readings.jsonl").read_text().splitlines()]
HALVES = {level: [one for one in READINGS if one["citation_level"] == level] for level in ("full", "partial")}
PAGE = (ROOT / "docs/explanation/evidence.md").read_text()
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


def page_has(*numbers):
    """Whether the page has these numbers one after the other, with a few words between them."""
    return re.search(r"[^|]{0,80}?".join(rf"(?<![\d.]){re.escape(number)}(?!\d)" for number in numbers), SAID)


def test_the_page_has_the_agreement():
    same, kappa = agreement(READINGS)
    assert page_has(str(same), "100", f"{kappa:.2f}")
    same, kappa = agreement(HALVES["full"])
    assert page_has(str(same), "50", f"{kappa:.2f}")


def test_incomplete_sets_mostly_read_as_partial_or_the_default_would_be_drop():
    read = Counter(one[f"reader_{reader}"] for one in HALVES["full"] for reader in "ab")
    shares = {verdict: read[verdict] / read.total() for verdict in VERDICTS}
    assert page_has(*(f"{100 * shares[verdict]:.0f} %" for verdict in ("partial", "full")))
    assert page_has(f"{100 * shares['none']:.0f} %")
    low, high = binomtest(33, 50).proportion_ci(method="wilson")
    assert page_has("33", "50", "95 %", f"{100 * low:.0f}", f"{100 * high:.0f} %")
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
    assert page_has(f"{np.mean(sizes):.1f}")
