"""The names of commands and options: few, others refused, and those of the Makefile taken."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

from metaeval.cli.app import app
from metaeval.core import registry
from tests.cli.samples import every_command

ROOT = Path(__file__).parents[2]


def test_all_options_stand_in_the_whole_help(cli):
    for name, command in every_command().items():
        rare = {max(option.opts, key=len) for option in command.params if getattr(option, "hidden", False)}
        usual, whole = (cli(*name.split(), help_option) for help_option in ("--help", "--help-all"))
        options = [ended.out.rpartition("Options:")[2] for ended in (usual, whole)]
        listed = [{*re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)} for text in options]
        assert listed[0].isdisjoint(rare), name
        assert rare <= listed[1], name
        assert (whole.code, "--help-all" in usual.out) == (0, bool(rare)), name


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("cite calibrate", "No such command 'calibrate'"),
        ("comapre overlap", "Did you mean 'compare'"),
        ("run --metric overlap", "Possible options: --metrics"),
        ("compare overlap rouge --budget 5", "No such option: --budget"),
    ],
)
def test_a_name_that_the_parser_lacks_is_refused(cli, typed, named):
    ended = cli(*typed.split())

    assert (ended.code, ended.out, "Traceback" in ended.err) == (2, "", False)
    assert named in ended.err
    assert "--help" in ended.err


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
    "figures": f"{SETTINGS} unit=citation pool=own budget=1",
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

    if ".".join(path) in registry.names("analysis"):
        fields = registry.find("analysis", ".".join(path)).options.model_fields
        assert set(values) - set(fields) <= {"set", "full", "quiet", "json"}
