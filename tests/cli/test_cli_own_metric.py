"""A metric of one's own: a class in a file of the working folder."""

import json
import re
import shlex
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
CLASS = """
from metaeval.scoring.contract import Metric, MetricCard, PairScore, Status
from metrics_zoo.overlap import Overlap
{before}
class Mine({base}):
    {card}
    {body}
"""
CARD = 'card = MetricCard(name="mine", family="mine", summary="s", paper="p", licence="l")'
BREACHES = {
    "too few answers": ("return [PairScore(1.0)]", ["'mine' returned 1 results for 27 pairs"]),
    "a score that failed": (
        "return [PairScore(0.0, Status.FAILED) for _ in sources]",
        ["score 0.0 with status 'failed'"],
    ),
    "nothing ok": ("return [PairScore(None) for _ in sources]", ["score None with status 'ok'"]),
    "an exception": (
        "return [PairScore(1 / 0) for _ in sources]",
        ["ZeroDivisionError: division by zero", ".py, line "],
    ),
    "numbers instead of answers": ("return [0.5 for _ in sources]", ["returned 0.5, not a PairScore"]),
    "no answer at all": ("pass", ["returned None: correct its code, which has to return a list"]),
}
UNUSABLE = {
    "syntax error": ("def (", "", "", "cannot be imported: SyntaxError: "),
    "error at import": ("1 / 0", "", "", "cannot be imported: ZeroDivisionError: division by zero"),
    "missing import": ("import nothing_of_that_name", "", "", "No module named 'nothing_of_that_name'"),
    "no score method": ("", CARD, "pass", "does not define score()"),
    "no card": ("", "", "def score(self, sources, statements): return []", "has no card: set card = MetricCard("),
    "needs a package": (
        "",
        CARD.replace("licence", 'modules=("nothing_here",), licence'),
        "def score(self, sources, statements): return []",
        'needs the packages nothing_here, which are not installed here: type "pip install nothing_here"',
    ),
    "breaks when made": (
        "",
        CARD,
        "def score(self, sources, statements): return []\n    def __init__(self, options): self.x = options.nothing",
        "stopped with AttributeError: ",
    ),
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

    assert (ran.code, again.code, scored.code, shown.code) == (0, 0, 0, 0)
    assert f"|metric:{name}=shared@v1(power=1)|" in ran.out
    assert f"{name}: 27 of 27 pairs from the store" in again.err
    assert (tmp_path / "results" / f"{name.replace(':', '.')}.jsonl").is_file()
    assert '"name":"shared"' in shown.out
    rows = json.loads((tmp_path / "results/latest/correlation.json").read_text())["rows"]
    assert rows[0]["values"]["pearson"]["value"] > 0


@pytest.mark.parametrize(("body", "parts"), BREACHES.values(), ids=BREACHES)
def test_a_breach_of_the_contract_is_told_in_a_sentence(refused, small, module, body, parts):
    code = CLASS.format(before="", base="Metric", card=CARD, body=f"def score(self, sources, statements): {body}")

    said = refused("run", "-m", f"{module(code)}:Mine", *small)

    assert [part for part in parts if part not in said] == []


@pytest.mark.parametrize(("before", "card", "body", "part"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_class_that_cannot_be_used_is_told_in_a_sentence(refused, small, module, before, card, body, part):
    name = module(CLASS.format(before=before, base="Metric", card=card, body=body or "pass"))

    said = refused("run", "-m", f"{name}:Mine", *small)

    assert f"{name}:Mine" in said
    assert part in said


def test_a_subclass_is_never_served_the_stored_scores_of_its_base(cli, small, module):
    score = "def score(self, sources, statements): return [PairScore(0.25 * len(s)) for s in statements]"
    name = f"{module(CLASS.format(before='', base='Overlap', card='', body=score))}:Mine"

    cli("run", "-m", "overlap", *small)
    ran = cli("run", "-m", name, *small)

    assert ran.code == 0
    assert ran.err.splitlines()[0] == f"{name}: 0 of 27 pairs"


def test_what_was_scored_before_another_metric_broke_is_kept(cli, refused, small, module, caplog):
    code = CLASS.format(before="", base="Metric", card=CARD, body="def score(self, sources, statements): 1 / 0")

    refused("run", "-m", f"overlap,{module(code)}:Mine", *small)
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


def test_scores_that_are_not_finite_are_counted_and_shown_and_the_run_goes_on(ran, small, module, tmp_path):
    body = "def score(self, sources, statements): return [PairScore(float('-inf')) for _ in sources]"
    name = module(CLASS.format(before="", base="Metric", card=CARD, body=body)) + ":Mine"
    for _ in ("scored", "from the store"):
        assert "not finite" in ran("run", "-m", name, "-p", "correlation", *small).out
        rows = json.loads((tmp_path / "results/latest/correlation.json").read_text())["rows"]
        assert [row["statuses"] for row in rows if row["kind"] == "metric"] == [{"not finite": 27}]


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
