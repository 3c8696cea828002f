"""What a run prints: one screen with what was found, where the rest is and what to do next; all tables on request."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from metaeval.analyses.run import _comparison

QUICK = ("-s", "interval.resamples=50", "-s", "comparison.permutations=50")


def job_hash(ended):
    """The hash of the job that a command says it wrote."""
    return re.search(r"Written: \S+-([0-9a-f]{8})/ \(", ended.out)[1]


@pytest.fixture
def ran(cli, scored, monkeypatch):
    """A run of three metrics on the shipped corpus, on a screen of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return cli("run", "-m", "overlap,rouge,bm25", *QUICK)


def cells(recorded, ended):
    """What is printed, but for the hashes, paths and versions of this machine."""
    hashed = re.sub(r"\b[0-9a-f]{8,}\b", "", ended.out)
    lines = [line for line in hashed.splitlines() if not line.startswith(("Versions:", "Command:", "Settings:"))]
    return [
        [cell.replace("-", "") if {*cell} <= {"-"} else cell for cell in row] for row in recorded.said("\n".join(lines))
    ]


def test_it_fits_a_screen_and_says_where_the_rest_is_and_what_is_next(ran, held):
    held("analyses-run", ran)
    lines = ran.out.splitlines()

    assert ran.code == 0
    assert sum(-(-len(line) // 80) for line in lines) <= 30
    assert "|metric:" not in ran.out, "signatures stand in files"
    assert f"More: metaeval results show, results export, view {job_hash(ran)}" in lines
    assert lines[-1].startswith("Next: metaeval ")


@pytest.mark.usefixtures("quick_plan")
def test_the_next_command_can_be_typed(cli, ran):
    command = re.search(r"^Next: metaeval (.+?)   \(", ran.out, re.MULTILINE)[1]
    assert cli(*command.split(), "-q", *QUICK).code == 0


def test_the_next_command_follows_from_the_metrics_that_lead():
    for *facts, command in json.loads(Path(__file__).with_name("next_commands.json").read_text(encoding="utf-8")):
        words, purpose = _comparison(*facts)
        assert (words, bool(purpose)) == (command.split(), bool(command)), facts


def test_full_prints_every_table_with_controls_and_signatures(cli, ran, recorded, tmp_path):
    full = cli("run", "-m", "overlap,rouge,bm25", *QUICK, "--full")
    recorded.held("cli-full", {"printed": cells(recorded, full)})

    assert full.code == 0
    assert full.out.count("|metric:rouge@v1") == 3
    assert full.out.count("inverted oracle") >= 3
    assert f"More: metaeval results export, view {job_hash(full)}" in full.out
    assert job_hash(full) == job_hash(ran), "what is printed does not change what is written"


def test_the_hash_shows_the_tables_of_its_job(cli, ran):
    shown = cli("results", "show", job_hash(ran))
    assert shown.code == 0
    assert shown.out.count("|metric:overlap@v1") == 3
    assert "\nCommand: metaeval run --metrics overlap,rouge,bm25 " in shown.out
    assert re.search(r"^Settings: .*resamples", shown.out, re.MULTILINE)
    assert re.search(r"^Data: mini/all [0-9a-f]{64}$", shown.out, re.MULTILINE)
    assert re.search(r"^Versions: metaeval 0\.\d+\.\d+, numpy ", shown.out, re.MULTILINE)


def test_a_table_without_scores_says_so(cli, small, tmp_path):
    (tmp_path / "none.jsonl").write_text('{"pair_id": "s0:river#0", "score": null, "status": "too long"}\n')
    ended = cli("evaluate", "none.jsonl", *small)
    assert ended.code == 0
    assert "No metric has a value: no scored pairs." in " ".join(ended.out.split())


@pytest.mark.slow  # MiniLM reads 3,857 pairs
def test_the_table_of_the_readme_is_what_its_command_prints(cli, monkeypatch):
    root = Path(__file__).parents[2]
    data = root.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("the published files are not beside the repository (../shared/data)")
    monkeypatch.setenv("COLUMNS", "80")
    text = (root / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^metaeval (run .*-d wice .*)$", text, re.MULTILINE)[1]
    table = re.search(r"```text\n(.*?)\n```", text, re.DOTALL)[1]

    ended = cli(*command.split(), "--data", str(data))

    assert ended.code == 0, ended.err
    assert table in "\n".join(line.rstrip() for line in ended.out.splitlines())
