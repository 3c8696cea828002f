"""The names of commands and options: few, those of earlier versions answered, and those of the Makefile taken."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

import metaeval
from metaeval import registry
from metaeval.cli.app import EARLIER, app
from metaeval.cli.options import ANSWERED
from tests.cli.samples import every_command

ROOT = Path(__file__).parents[2]
FIRST_PAGE = {
    *("run", "score", "pairs", "evaluate", "compare", "plan", "thresholds", "multiverse", "view", "cite"),
    *("label", "estimate", "gate", "data", "metrics", "results"),
}


def test_the_first_page_has_sixteen_names_with_a_line_each(cli):
    root = typer.main.get_command(app)
    shown = [name for name in root.list_commands(None) if not root.get_command(None, name).hidden]
    lines = cli("--help").out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()

    assert set(shown) == FIRST_PAGE
    assert [line.split()[0] for line in lines] == shown
    assert all(len(line.split()) > 3 for line in lines)
    assert {"shards", "store"} <= set(root.list_commands(None)), "typed, and not shown"


def test_the_commands_have_few_options():
    kinds = {
        path: [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        for path, command in every_command().items()
    }
    assert sum(map(len, kinds.values())) <= 380


@pytest.mark.parametrize("name", EARLIER)
def test_an_earlier_command_is_answered_with_the_present_one(refused, name):
    present = EARLIER[name]
    words = "" if re.search("[A-Z]", present) else " 'a b' --quiet"

    said = f"'metaeval {name}' is now 'metaeval {present}': type metaeval {present}"
    assert refused(name, "a b", "--quiet") == said + words
    assert refused(f"{name[:-1]}{name[-1] * 2}").startswith(said)
    command = typer.main.get_command(app)
    for word in re.split(" -| [A-Z]", present)[0].split():
        command = command.get_command(None, word)
        assert command is not None, f"{present} cannot be typed"


@pytest.mark.parametrize("name", metaeval._EARLIER)
def test_an_earlier_function_is_answered_with_the_present_one(name):
    present = metaeval._EARLIER[name]

    with pytest.raises(AttributeError, match=f"metaeval.{name} is now metaeval.{re.escape(present)}"):
        getattr(metaeval, name)
    function = metaeval
    for part in present.partition("(")[0].split("."):
        function = getattr(function, part)
    assert callable(function)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("run --metric overlap", "--metric is the earlier name of --metrics."),
        ("gate fit a.jsonl -o g.json --metric overlap", "--metric is the earlier name of --metrics."),
        ("plan --interval 0.1", "--interval is the earlier name of --half-width."),
        ("plan --alike 0.3", "--alike is the earlier name of --set icc=VALUE."),
        ("label a.jsonl -o b.csv --unit answer", "--unit is the earlier name of --sampling-unit."),
        ("compare overlap rouge --budget 5", "--budget is a setting here: --set budget=VALUE."),
        ("score --out folder", "--out is the earlier name of --output."),
        ("store verify --replies file", "--replies is the earlier name of --reply-store."),
        ("plan overlap rouge --runs 60", "--runs is a setting here: --set runs=VALUE."),
        ("plan overlap rouge --map a=b", "--map is a setting here: --set columns.NAME=VALUE."),
        ("run --rehash", "--rehash is a setting here: --set rehash=true."),
        ("results show latest --controls", "--controls is a setting here: --set controls=true."),
    ],
)
def test_an_option_that_left_the_command_line_is_answered(refused, typed, answer):
    assert refused(*typed.split()) == answer


SETTINGS = (
    "config=offline protocol=classification metric=autoais dataset=wice split=dev data=d results=r store=s set=a=1"
)
CITED = (
    "input=a.json nli='autoais overlap' format=alce threshold=autoais=0.5 calibration=c.json results=r store=s set=a=1"
)
CHAT = "model=m base_url=http://h record=r.jsonl replay=p.jsonl budget=2"
MADE = {
    "": "",
    "run": f"{SETTINGS} unit=citation pool=bm25:2 budget=1",
    "view": "result=latest results=r data=d output=o.html",
    "tables": f"{SETTINGS} unit=citation pool=own budget=1",
    "figures": f"{SETTINGS} unit=citation pool=own budget=1 cost=1",
    "multiverse": f"{SETTINGS} unit=chunk pool=own axes=chunk.size=100,150",
    "alce": f"{CITED} profile=released",
    "aliice": f"{CITED} profile=released parser=small",
    "scifi": f"{CITED} {CHAT} parser=small",
    "citeeval": f"{CITED} {CHAT} profile=paper scenario=cited baselines=lqac,attrscore",
    "meta": f"{CITED} {CHAT} pipelines=alce,scifi human=h.json scores=s.json",
}
"""Targets of the Makefile, each with every setting that it hands on."""


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed here")
@pytest.mark.parametrize("target", MADE)
def test_what_make_types_is_taken(target):
    words = ["make", "-n", *([target] if target else []), *shlex.split(MADE[target])]
    printed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line for line in printed.replace("\\\n", "").splitlines() if "/bin/metaeval " in line]
    assert all(value in " ".join(lines) for value in re.findall(r"=([\w.]+)", MADE[target]) if value != "1")
    for line in lines:
        check_typed(shlex.split(line.partition("||")[0])[1:])
    assert len(lines) == 1 + (target == "figures")


SLIPS = {"metrics=a": "metric=", "alce profil=paper": "profile=", "chunk.size=9": "set=", "test workers=2 extras=": ""}


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed here")
@pytest.mark.parametrize("words", SLIPS)
def test_make_takes_its_own_settings_alone(words):
    environment = {**os.environ, "metrics": "overlap"}  # which many have, and not for make
    ended = subprocess.run(["make", "-n", *words.split()], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert (ended.returncode, SLIPS[words] in ended.stderr) == (2 if SLIPS[words] else 0, True)


def check_typed(typed):
    """The command takes what is typed, and by the names that it has now."""
    command, path = typer.main.get_command(app), []
    context = command.make_context("metaeval", ["--help"], resilient_parsing=True)
    while hasattr(command, "list_commands"):
        name, command, typed = command.resolve_command(context, typed)
        path.append(name)
    values = command.make_context(name, typed, parent=context).params

    assert not [name for name, value in values.items() if name.startswith(ANSWERED) and value is not None]
    if ".".join(path) in registry.names("analysis"):
        fields = registry.find("analysis", ".".join(path)).options.model_fields
        assert set(values) - set(fields) <= {"set", "full", "quiet", "json"} | {
            name for name in values if name.startswith(ANSWERED)
        }
