"""The `metaeval` command: its sub-commands, and how an error ends it."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from metaeval import __version__
from metaeval.cli import analyses, cite, data, explain, jobs, labelling, metrics, run, suite
from metaeval.cli.output import say
from metaeval.errors import UserError
from metaeval.shown import Shown


class _StopSignal(KeyboardInterrupt):
    """A signal that asks the process to end. It is handled as Ctrl-C is, wherever that is handled."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _InterruptError(Exception):
    """Ctrl-C, or another signal that asks the process to end."""

    def __init__(self, interrupt: KeyboardInterrupt) -> None:
        super().__init__()
        self.number: int = getattr(interrupt, "number", signal.SIGINT)


class _NoReaderError(Exception):
    """The reader of our output has left (metaeval ... | head)."""


class _LogLine(logging.Formatter):
    """What is logged, as one visible line."""

    def format(self, record: logging.LogRecord) -> str:
        """The message, with what it says of an exception."""
        return Shown(super().format(record))


class _Commands(TyperGroup):
    """The commands, with an interrupt and a broken pipe carried past typer, which would end on them in its own way."""

    _listing = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands; the line of `generate` needs nothing of what it is made of."""
        self._listing = True
        super().format_commands(ctx, formatter)
        self._listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; `generate` is made of its declaration when it is asked for."""
        if cmd_name == "generate" and not self._listing:
            from metaeval.experiment.citing.generating import GENERATE

            return cite.typed(GENERATE)
        return super().get_command(ctx, cmd_name)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read what was typed."""
        try:
            return super().make_context(*args, **more)
        except KeyboardInterrupt as error:
            raise _InterruptError(error) from error

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed, and find out here whether its output could be written."""
        try:
            returned = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            raise _InterruptError(error) from error
        except BrokenPipeError as error:
            raise _NoReaderError from error
        except Exception as error:
            # typer's error about what was typed, of which it exports no class: it quotes the words.
            if isinstance(typed := vars(error).get("message"), str):
                vars(error)["message"] = Shown(typed + (_AS_OPTIONS if _FOR_MAKE.search(typed) else ""))
            raise
        return returned


_FOR_MAKE = re.compile(r"unexpected extra argument.*\w=")
_AS_OPTIONS = ". NAME=VALUE is for make: here it is an option, as in --data FOLDER, or --set NAME=VALUE."

app = typer.Typer(
    name="metaeval",
    cls=_Commands,
    help="How far can a faithfulness metric be trusted? Score citation-support metrics against human labels.",
    epilog="Start with: metaeval run   (the shipped mini corpus, the offline metrics, all three protocols)",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    *(run.run, run.pairs, run.score, run.evaluate, run.table, explain.explain, explain.diff),
    *(analyses.compare, analyses.power, analyses.certify, analyses.decide, analyses.calibrate),
    *(labelling.label, labelling.estimate),
):
    app.command(command.__name__)(command)
app.command("generate", help="Answers with citations, written by a chat model.")(lambda: None)
for command in (jobs.view, suite.tables, suite.figures, suite.multiverse):
    app.command(command.__name__)(command)
app.command("check-claim")(analyses.check_claim)
app.command("slurm")(jobs.slurm)
for name, group in (
    *(("cite", cite.app), ("data", data.app), ("metrics", metrics.app), ("results", jobs.results)),
    *(("shards", jobs.shards), ("store", jobs.stores), ("gate", labelling.gate)),
):
    app.add_typer(group, name=name)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"metaeval {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """How far can a faithfulness metric be trusted? Score citation-support metrics against human labels."""
    # What is logged before scoring, or by a command without, has no other handler.
    handler = logging.StreamHandler()
    handler.setFormatter(_LogLine())
    logging.basicConfig(handlers=[handler])


def main() -> None:
    """Run the command line. Wrong input ends it with one sentence and exit code 2, a signal with 128 and its number."""
    try:
        with _signals():
            app(prog_name="metaeval")
    except UserError as error:
        _say(f"metaeval: {error}")
        sys.exit(2)
    except _InterruptError as error:
        _stopped(error.number)
    except KeyboardInterrupt as error:
        _stopped(_InterruptError(error).number)
    except _NoReaderError:
        # Nothing to say, and nothing to flush to.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(141)


def _stopped(number: int) -> None:
    _say("metaeval: stopped. Every finished block is stored; the same command goes on from there.")
    sys.exit(128 + number)


def _say(sentence: str) -> None:
    """Print to stderr, if anybody still reads it: a hang-up takes the terminal away."""
    with contextlib.suppress(OSError):
        say(sentence, err=True)


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does. What ignores them (nohup) goes on ignoring them."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise _StopSignal(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
