"""`metaeval metrics ...`: what a person sees, how a command ends, and that nothing is downloaded or imported for it."""

import re
from pathlib import Path

import pytest


def test_the_list_says_what_each_metric_needs(cli, no_network, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    ended = cli("metrics", "list")
    states = {line.split()[0]: line for line in ended.out.splitlines()}
    assert states["overlap"].split()[1] == "ready"
    assert states["rouge-1"].split()[1:3] == ["ready", "rouge:"]
    assert (ended.code, ended.err) == (0, "")
    Path("configs/metrics").mkdir(parents=True)
    Path("configs/metrics/mine.yaml").write_text("metric: llm-discrete\noptions: {base_url: http://127.0.0.1/v1}\n")
    assert "needs trust: --set trust_config=true" in cli("metrics", "list").out


def test_options_of_a_judge_are_shown_and_those_that_do_not_fit_are_refused(ran, refused):
    said = ran("metrics", "show", "llm-discrete", "--set", "extra.top_p=0.5", "--set", "extra.top_k=3").out
    assert re.search(r"\nwhole pages +no\n[^~]*extra = top_p=0.5, top_k=3", said)
    said = refused("metrics", "show", "llm-discrete", "--set", "output=json_schema", "--set", "reply=last_line")
    assert said.startswith("In the options of metric 'llm-discrete': ")


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize("command", [("metrics", "list"), ("data", "list"), ("results", "list")])
def test_lists_fit_in_80_columns_and_lose_nothing(cli, monkeypatch, command):
    cli("run", "-m", "overlap,rouge,bm25", "-p", "correlation", "--set", "controls=false", "-q")
    printed = {}
    for width in ("80", "400"):
        monkeypatch.setenv("COLUMNS", width)
        printed[width] = cli(*command).out
    assert max(map(len, printed["80"].splitlines())) <= 80
    assert sorted("".join(printed["80"].split())) == sorted("".join(printed["400"].split()))
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    assert re.sub(r"\x1b\[[\d;]*m", "", cli(*command).out).split() == printed["400"].split()


def test_verify_prints_scores_and_a_verdict(cli):
    ended = cli("metrics", "verify", "overlap")
    assert (ended.code, ended.err) == (0, "")
    heading, *lines = ended.out.split("\n\n")[0].splitlines()
    assert heading.split() == ["pair", "score", "tokens", "cut", "alone", "differs", "by"]
    assert len(lines) == 13
    assert max(map(len, ended.out.splitlines())) <= 100
    assert "largest difference 0 (allowed 1e-05)" in ended.out
    assert ended.out.endswith("As it should be.\n")


def test_verify_ends_with_1_where_a_score_moves(cli, tmp_path):
    (tmp_path / "mover.py").write_text(
        "from metaeval import Metric, MetricCard, PairScore\n"
        "class Mover(Metric):\n"
        "    card = MetricCard(name='mover', family='-', summary='-', paper='-', licence='-')\n"
        "    def score(self, sources, statements):\n"
        "        return [PairScore(float(len(sources))) for _ in sources]\n"
    )
    ended = cli("metrics", "verify", "mover:Mover")
    assert ended.code == 1
    # Thirteen pairs with two companions each, of which "No."/"Yes." has the same ones; then one alone: 37 - 1.
    assert "largest difference 3.6e+01" in ended.out
    assert ended.out.endswith("NOT as it should be: do not trust its scores here.\n")
