"""The `metaeval` command: its sub-commands, and how an error ends it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from metaeval import __version__
from metaeval.cli import data, metrics, run
from metaeval.errors import UserError

app = typer.Typer(
    name="metaeval",
    help="How far can a faithfulness metric be trusted? Score citation-support metrics against human labels.",
    epilog="Start with: metaeval run   (the shipped mini corpus, the offline metrics, all three protocols)",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("pairs")(run.pairs)
app.command("score")(run.score)
app.command("evaluate")(run.evaluate)
app.command("table")(run.table)
app.add_typer(data.app, name="data")
app.add_typer(metrics.app, name="metrics")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"metaeval {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """How far can a faithfulness metric be trusted? Score citation-support metrics against human labels."""


def main() -> None:
    """Run the command line. Wrong input ends it with one sentence and exit code 2, an interrupt with 130."""
    try:
        app()
    except UserError as error:
        typer.echo(f"metaeval: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("metaeval: stopped. Every finished block is stored; the same command goes on from there.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of a pipe has left (metaeval ... | head): nothing to say, and nothing to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
