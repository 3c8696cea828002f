"""A metric of one's own: a class in a file of the working folder."""

import json
import re
import shlex
import sys
from itertools import count

import pytest

GOOD = """
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore

class Options(MetricOptions):
    power: int = 1

class Shared(Metric):
    card = MetricCard(name="shared", family="mine", summary="shared words", paper="none", licence="mine")
    Options = Options

    def score(self, sources, statements):
        return [
            PairScore(float(len(set(a.split()) & set(b.split()))) ** self.options.power)
            for a, b in zip(sources, statements, strict=True)
        ]
"""
CARD = '    card = MetricCard(name="mine", family="mine", summary="s", paper="p", licence="l")\n'
SCORE = "    def score(self, sources, statements): "
NEEDS = CARD.replace("licence", 'modules=("nothing_here",), licence')
MINE = "from metaeval import Metric, MetricCard, PairScore\nclass Mine(Metric):\n"
BROKEN = f"{MINE}{CARD}{SCORE}1 / 0\n"
# What a class of one's own says, and what is told of it; lists and scores of a broken contract are tested in the room
# of scoring.
UNUSABLE = {
    BROKEN: "ZeroDivisionError: division by zero (own_metric_",
    f"{MINE}{CARD}{SCORE}pass\n": "returned None: return a list",
    f"def (\n{MINE}": "cannot be imported: SyntaxError: ",
    f"1 / 0\n{MINE}{CARD}": "cannot be imported: ZeroDivisionError: division by zero",
    f"{MINE}{CARD}": "does not define score()",
    f"{MINE}{SCORE}return []\n": "has no card: set card = MetricCard(",
    f"{MINE}{NEEDS}{SCORE}return []\n": 'type "pip install nothing_here"',
    f"{MINE}{CARD}{SCORE}return []\n    def __init__(self, options): 1 / 0\n": "stopped with ZeroDivisionError: ",
}
NUMBERS = count()


@pytest.fixture
def module(tmp_path):
    """Write a module into the working folder and return its name, a new one each time (Python keeps modules)."""

    def write(text):
        name = f"own_metric_{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write


def test_it_is_run_scored_shown_and_stored_like_any_other(cli, small, module, tmp_path):
    name = f"{module(GOOD)}:Shared"

    ran = cli("run", "-m", f"overlap,{name}", *small, "--full")
    again = cli("run", "-m", name, *small)
    scored = cli("score", "-m", name, *small, "-q")
    shown = cli("metrics", "show", name)
    assert sys.path[-1] == str(tmp_path), "what the module imports may stand beside it, behind what is installed"

    assert (ran.code, again.code, scored.code, shown.code) == (0, 0, 0, 0)
    assert f"|metric:{name}=shared@v1(power=1)|" in ran.out
    assert f"{name}: 27 of 27 pairs from the store" in again.err
    assert (tmp_path / "results" / f"{name.replace(':', '.')}.jsonl").is_file()
    assert '"name":"shared"' in shown.out
    rows = json.loads((tmp_path / "results/latest/correlation.json").read_text())["rows"]
    assert rows[0]["values"]["pearson"]["value"] > 0


@pytest.mark.parametrize(("code", "sentence"), UNUSABLE.items(), ids=UNUSABLE.values())
def test_a_class_that_cannot_be_used_is_told_in_a_sentence(refused, small, module, code, sentence):
    said = refused("run", "-m", f"{module(code)}:Mine", *small)
    assert ":Mine" in said or "'mine'" in said
    assert sentence in said


def test_what_was_scored_before_another_metric_broke_is_kept(cli, refused, small, module, caplog):
    refused("run", "-m", f"overlap,{module(BROKEN)}:Mine", *small)
    assert "is stored" not in caplog.text, "mine had scored nothing"
    assert cli("run", "-m", "overlap", *small).err == "overlap: 27 of 27 pairs from the store\n"


def test_a_variant_of_ones_own_code_runs_where_it_is_trusted(cli, refused, small, module, tmp_path):
    name = f"{module(GOOD)}:Shared"
    (tmp_path / "configs" / "metrics").mkdir(parents=True)
    (tmp_path / "configs" / "metrics" / "squared.yaml").write_text(f"metric: {name}\noptions: {{power: 2}}\n")

    said = refused("run", "-m", "squared", *small)
    trusted = cli("run", "-m", "squared", "-s", "trust_config=true", *small, "-q")
    everywhere = cli("multiverse", "-m", "squared,overlap", "-s", "trust_config=true", *small, "-q", "-a", "unit=chunk")

    assert f'sets metric: "{name}". A file may name code' in said
    assert (trusted.code, everywhere.code) == (0, 0), trusted.err + everywhere.err


def test_every_step_that_is_printed_works_as_printed(cli, tmp_path):
    """To show results takes no code of the metric's: its scores stand in the job."""
    longest = GOOD.replace("Shared", "Longest").replace('"shared"', '"longest"')
    (tmp_path / "own_longest.py").write_text(longest)
    quick = ("-s", "interval.resamples=20", "-s", "comparison.permutations=10")
    typed, steps = ["run", "-m", "own_longest:Longest", *quick], []

    for _ in range(3):  # a step prints steps of its own
        ended = cli(*typed)
        assert ended.code == 0, ended.err
        more = re.search(r"^More: metaeval (.*) (\w+)$", ended.out, re.MULTILINE)
        steps += [[*command.split(), more[2]] for command in more[1].split(", ")] if more else []
        steps += [["results", command, more[2]] for command in ("figures", "show")] if more else []
        after = re.search(r"^Next: metaeval (.*?)(   \(|$)", ended.out, re.MULTILINE)
        if not after:
            break
        typed = shlex.split(after[1])

    assert {"view", "results"} <= {step[0] for step in steps}
    for step in steps:
        ended = cli(*step)
        assert ended.code == 0, (step, ended.err)
