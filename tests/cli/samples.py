"""What tests of commands share: every command that can be typed, and a sample of SCiFi's without a model's output."""

from collections.abc import Iterator
from typing import Any

import click
import typer.main

from metaeval.analyses.metrics import SHOW


def every_command() -> dict[str, Any]:
    """Every command of the tree by the words that it is typed with."""
    from metaeval.cli.app import app

    def inside(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if not hasattr(command, "list_commands"):
            yield " ".join(words), command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from inside(command.get_command(context, name), (*words, name))

    return dict(inside(typer.main.get_command(app), ()))


RIVERS = {
    "id": "rivers",
    "group": "q1",
    "system": "m",
    "query": "What do rivers carry?",
    "paragraph": "Dams store water. Barges carry coal.",
    "citations": [{"position": 16, "document": 1}, {"position": 35, "document": 2}],
    "documents": [{"text": "Dams store water."}, {"text": "Barges carry coal."}],
}


def with_options(name, settings):
    """The configuration that gives a metric options, each as key=value, as `metrics show` takes them."""
    return SHOW.options_of({"name": name}, settings).configured()
