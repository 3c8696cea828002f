"""A protocol that a package of one's own registers: every command knows it by its declaration alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRATCH = Path(__file__).parent / "conformance" / "scratch.py"
SETTINGS = ("-s", "interval.resamples=50", "-s", "comparison.permutations=20", "-q")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder to work in, beside an installed package: one file, and one line that names it."""
    folder = tmp_path_factory.mktemp("own")
    site = folder / "site"
    about = site / "gap-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "scratch.py").write_bytes(SCRATCH.read_bytes())
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gap\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[metaeval.protocols]\ngap = scratch:GAP\n")
    return folder


@pytest.fixture
def metaeval(place):
    def run(*words):
        environment = {**os.environ, "PYTHONPATH": str(place / "site"), "COLUMNS": "200"}
        command = [sys.executable, "-m", "metaeval", *words]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_run_writes_its_table_under_its_name_and_takes_its_options(metaeval, place):
    metaeval("run", "-p", "gap", "-m", "overlap,rouge", *SETTINGS)
    metaeval(
        "run",
        "-p",
        "gap",
        "-m",
        "overlap,rouge",
        "-s",
        "protocol_options.gap.form=halved",
        *SETTINGS,
        "--results",
        "half",
    )

    whole, half = (
        json.loads((place / folder / "mini-all-chunk" / "gap.json").read_text())["rows"][0]["values"]["gap"]["value"]
        for folder in ("results", "half")
    )
    assert half == whole / 2


def test_compare_and_power_take_it(metaeval, place):
    metaeval("compare", "overlap", "rouge", "-p", "gap", *SETTINGS)
    (pairs,) = Path(place / "results").glob("compare/*/gap-pairs.json")
    assert json.loads(pairs.read_text())["records"][0]["measure"] == "gap"

    metaeval("power", "overlap", "rouge", "-p", "gap", "--difference", "0.1", *SETTINGS)
    (plan,) = Path(place / "results").glob("power/*/power-gap.json")
    assert [record["groups"] > 0 for record in json.loads(plan.read_text())["records"]] == [True, True]


def test_multiverse_ranks_by_its_headline_over_the_choices_that_matter_to_it(metaeval, place):
    metaeval("multiverse", "-p", "gap", "-m", "overlap,rouge", "-a", "chunk.size=60,150", "-q")

    (found,) = Path(place / "results").glob("multiverse/*/multiverse.json")
    outlooks = json.loads(found.read_text())["outlooks"]
    assert {outlook["measure"] for outlook in outlooks} == {"gap"}
    assert {tuple(outlook["choices"]) for outlook in outlooks} == {
        ("chunk.size", "evidence_threshold", "unit"),
        ("chunk.size", "unit"),
    }


def test_tables_and_figures_have_it(metaeval, place):
    pytest.importorskip("matplotlib")
    metaeval("tables", "-p", "gap,correlation", "-m", "overlap,rouge", *SETTINGS)
    metaeval("figures", "-p", "gap,correlation", "-m", "overlap,rouge", *SETTINGS)

    suite = place / "results" / "mini"
    assert {path.stem for path in suite.glob("table-*.txt")} == {"table-1-levels", "table-2-correlation", "table-gap"}
    assert len(list(suite.glob("figure-gap-*"))) == 3
    assert "Gap between supported and unsupported: mini." in (suite / "report.html").read_text()


def test_explain_says_what_it_measures_and_how_to_make_the_number_again(metaeval, place):
    metaeval(
        "run", "-p", "gap", "-m", "overlap", "-s", "protocol_options.gap.form=halved", *SETTINGS, "--results", "said"
    )

    said = metaeval("explain", "said/mini-all-chunk/gap.json", "overlap")

    for words in (
        "how far apart the mean scores of supported and unsupported rows",
        "half of it",
        "protocol_options.gap.form",
    ):
        assert words in " ".join(said.split())
    assert "-p gap --set protocol_options.gap.form=halved" in said
