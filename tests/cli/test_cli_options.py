"""Words stand where an option is declared: every option has some, and the page of all options is up to date."""

import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated

import click
import pytest
import typer
from pydantic import BaseModel, Field

from metaeval import registry
from metaeval.citation.alce.citations import AlceOptions
from metaeval.citation.aliice.profile import Profile
from metaeval.cli import options as opt
from metaeval.cli.app import app
from metaeval.config import Flag, RunConfig
from metaeval.declared import option_docs
from metaeval.experiment.citing.pipeline import fields_of
from metaeval.experiment.explaining.explain import OWNERS
from metaeval.experiment.explaining.options_page import options_page

ROOT = Path(__file__).parents[2]
SENTENCE = re.compile(r"[\w'\[].{3,}[.)]", re.DOTALL)


def commands(command, path=()):
    """Every command of the tree with the words that it is typed with."""
    if not hasattr(command, "list_commands"):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from commands(command.get_command(context, name), (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
OWNED = (
    *OWNERS,
    AlceOptions,
    Profile,
    *(registry.find("pipeline", name).options for name in registry.names("pipeline")),
    *dict.fromkeys(registry.find("metric", name).Options for name in registry.names("metric")),
)


def test_the_tree_has_the_commands_of_every_group():
    assert {"run", "data list", "metrics show", "cite alce", "cite tables", "generate"} <= COMMANDS.keys()
    assert {f"cite {name}" for name in registry.names("pipeline")} <= COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_has_a_description(name):
    command = COMMANDS[name]

    assert SENTENCE.fullmatch(command.help.partition("\n")[0].replace("?", "."))
    for option in command.params:
        if option.name != "help":
            assert SENTENCE.fullmatch(option.help or ""), f"{name}: {option.name} says {option.help!r}"


@pytest.mark.parametrize("owner", OWNED, ids=lambda owner: owner.__name__)
def test_every_option_behind_set_has_a_description(owner):
    assert is_dataclass(owner) or issubclass(owner, BaseModel)
    assert {*option_docs(owner)} == {*fields_of(owner)}
    assert [name for name, text in option_docs(owner).items() if not SENTENCE.fullmatch(text)] == []


def test_every_setting_of_a_run_has_a_description():
    models = [RunConfig, *(field.annotation for field in RunConfig.model_fields.values())]
    for model in models:
        if isinstance(model, type) and issubclass(model, BaseModel):
            for name, field in model.model_fields.items():
                assert SENTENCE.fullmatch(field.description or ""), name


@pytest.mark.parametrize("kind", ["dataset", "protocol"])
def test_every_option_of_what_is_registered_has_a_description(kind):
    for name in registry.names(kind):
        for key, option in registry.find(kind, name).options.items():
            assert len(option.help if kind == "dataset" else option.about) > 5, f"{name}: {key}"


def test_the_page_of_options_is_what_the_declarations_say():
    assert (ROOT / "docs" / "options.md").read_text(encoding="utf-8") == options_page(), (
        "make it again: python -m metaeval.experiment.explaining.options_page > docs/options.md"
    )


class Wanted(BaseModel):
    files: Annotated[tuple[Path, ...], Flag("FILE", multiple=True, argument=True)] = Field(description="Files.")
    weight: Annotated[float, Flag("X", "-w")] = Field(default=0.5, description="Weight.\n\nMore about it.")
    whole: bool = Field(default=False, description="All of it.")
    names: Annotated[tuple[str, ...], Flag("NAME", name="name", multiple=True)] = Field(
        default=(), description="Names."
    )


def made(*wanted):
    """A command with options of these declarations, and the list that it puts what it was given into."""
    seen = []

    @opt.takes(*wanted)
    def command(given: opt.Given, own: Annotated[int, typer.Option(help="Its own.")] = 3) -> None:
        seen.append((given, own))

    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command()(command)
    return typer.main.get_command(alone), seen


def test_a_model_becomes_the_options_of_a_command():
    command, seen = made(Wanted, "results set")

    command(["one", "two", "-w", "0.25", "--name", "a", "--name", "b", "--own", "7"], standalone_mode=False)

    ((given, own),) = seen
    assert own == 7
    assert given.fields == {"files": [Path("one"), Path("two")], "weight": 0.25, "whole": False, "names": ["a", "b"]}
    assert (given.settings, given.set, given.quiet) == ({}, (), False)
    assert {option.name: option.help for option in command.params} == {
        **{"own": "Its own.", "files": "Files.", "weight": "Weight.", "whole": "All of it.", "names": "Names."},
        **{"results": RunConfig.model_fields["results"].description},
        **{"set": opt.CommandOptions.model_fields["set"].description},
    }


def test_settings_of_a_run_are_those_that_were_typed():
    command, seen = made("dataset unit results set quiet")

    command(["-d", "wice", "-u", "citation", "-s", "chunk.size=60", "-q"], standalone_mode=False)

    given = seen[0][0]
    assert given.settings == {"dataset": "wice", "unit": "citation"}
    assert given.quiet
    run = given.run(pool="bm25:3")
    assert (run.dataset, run.unit, run.chunk.size, run.pool) == ("wice", "citation", 60, "bm25:3")
