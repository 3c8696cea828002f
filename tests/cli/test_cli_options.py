"""Words stand where an option is declared: every option has some, and the page of all options is up to date."""

import re
import runpy
from pathlib import Path

import pytest

from metaeval.cli.app import retyped_command
from metaeval.core.errors import UserError
from tests.cli.samples import every_command

COMMANDS = every_command()
PAGES = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "options_pages.py"))


def test_the_pages_of_options_are_what_the_declarations_say():
    kept = {path.name: path.read_text(encoding="utf-8") for path in PAGES["FOLDER"].glob("*.md")}
    pages = PAGES["options_pages"]()
    assert kept.keys() == pages.keys(), "run: python docs/options_pages.py"
    changed = [name for name, text in pages.items() if kept[name] != text]
    assert changed == [], "run: python docs/options_pages.py"


def test_parameters_and_examples_of_commands_are_the_recorded_ones(recorded):
    told = {}
    for name in ("run", "view", "multiverse", "cite alce", "results cases", "metrics show"):
        command = COMMANDS[name]
        parameters = [
            [*one.opts, one.metavar, one.multiple, one.required, getattr(one, "is_flag", False), one.hidden, one.help]
            for one in command.params
        ]
        examples = [line.split() for line in command.help.splitlines() if line.startswith("  ")]
        told[name] = {"parameters": parameters, "examples": examples}
    recorded.held("cli-commands", told)


def test_a_command_is_typed_again_with_the_columns_that_were_found(recorded):
    typed = "export --map a=b --map=c=d -q -- 'x y' --map", "evaluate s.csv", "run --mapped a --map source=s -m m"
    roles = {"source": "my source", "gold": "g"}
    recorded.held("cli-retyped", {words[:9]: retyped_command(words.split(), roles).split() for words in typed})


def test_an_option_given_twice_is_refused():
    for name, command in COMMANDS.items():
        options = (option for option in command.params if option.param_type_name == "option")
        for flag in [max(one.opts, key=len) for one in options if not (one.multiple or one.is_flag)]:
            with pytest.raises(UserError, match=f"^{flag} is given twice"):
                command.make_context(name, [flag, "1", flag, "1"])


def test_a_setting_given_twice_is_refused_or_replaced_and_lists_are_repeated(cli, caplog):
    for typed, said in {
        ("-u", "chunk", "--unit=page"): "--unit is given twice: give it once.",
        ("-s", "unit=page", "-u", "page"): "'unit' is given twice, as --unit and as --set unit: give it once.",
    }.items():
        ended = cli("run", *typed)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert said in ended.err
    caplog.clear()
    assert cli("run", "-s", "interval.seed=1", "-s", "interval.seed=2", "-q", "--dry-run").code == 0
    assert "--set interval.seed is given twice" in caplog.text
    listed = cli("run", "-m", "overlap", "-m", "rouge,bm25", "-q", "-q", "--dry-run")
    assert listed.code == 0
    assert re.findall("^([a-z0-9]+): [0-9,]+ pairs", listed.out, re.MULTILINE) == ["overlap", "rouge", "bm25"]
