"""The `metaeval` command: its sub-commands, and how an error ends it."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, ClassVar

import typer
from typer import Option
from typer.core import TyperGroup

from metaeval import __version__
from metaeval.analyses import FIRST_PAGE, GROUPS, USUAL, names_in
from metaeval.cli.output import say
from metaeval.core import registry
from metaeval.core.errors import ColumnsError, Shown, UserError


class _StopSignal(KeyboardInterrupt):
    """Raised for a signal that asks the process to end, and handled like Ctrl-C. number: of the signal.

    last: number of the last such signal, since Ray raises a plain `KeyboardInterrupt` in place of this exception.
    """

    last: ClassVar[int] = signal.SIGINT

    def __init__(self, number: int) -> None:
        self.number = _StopSignal.last = number


class _InterruptError(Exception):
    """Raised in place of a `KeyboardInterrupt`, which typer would handle itself. number: of the signal."""

    def __init__(self, interrupt: KeyboardInterrupt) -> None:
        self.number: int = getattr(interrupt, "number", _StopSignal.last)


class _NoReaderError(Exception):
    """Raised when the reader of standard output has closed the pipe (metaeval ... | head)."""


class _LogLine(logging.Formatter):
    """A formatter that writes each log record as one line of visible characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message of a record, followed by that of its exception."""
        return Shown(super().format(record))


class DeclaredGroup(TyperGroup):
    """A group of commands: those added by hand, then the analyses registered in the group, made when they are used."""

    _listing = False

    @property
    def group(self) -> str:
        """Return the group's name, as in registered names GROUP.COMMAND; "" for the top level."""
        return "" if self.name == "metaeval" else str(self.name)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments; if a file or option stands where a command should, insert the group's usual command."""
        usual = USUAL.get(self.group)
        if usual and args and args[0] not in ("--help", *self.list_commands(ctx)):
            named = args[0].startswith("-") or "." in args[0] or "/" in args[0] or Path(args[0]).exists()
            args = [usual, *args] if named else args
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was typed (name, command, other arguments); "tables scifi" names tables-scifi."""
        both = "-".join(args[:2])
        return super().resolve_command(ctx, [both, *args[2:]] if both in self.list_commands(ctx) else args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in the help, without importing any of them."""
        self._listing = True
        super().format_commands(ctx, formatter)
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the command names in the order of the help, then other registered ones.

        The help leaves out names such as tables-scifi, which the help of `tables` gives.
        """
        names = list(dict.fromkeys([*super().list_commands(ctx), *names_in(self.group)]))
        listed = [name for name in names if "-" not in name or name.partition("-")[0] not in names]
        return listed if self._listing else names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command, or group of commands, of this name; None if there is none."""
        registered = f"{self.group}.{cmd_name}".removeprefix(".")
        if registered in registry.names("analysis"):
            from metaeval.cli.analysis_command import typer_command  # a list of commands needs no settings

            return typer_command(registry.find("analysis", registered), self._listing)
        written = super().get_command(ctx, cmd_name)
        if written is None and names_in(registered):
            return typer.main.get_group(group_of(registered))
        return written


class _Commands(DeclaredGroup):
    """The top-level commands; interrupts and broken pipes bypass typer's own handling."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in the help, by what they are for."""
        for title, sentences in FIRST_PAGE.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:10}", sentence) for name, sentence in sentences.items()])
        known = dict(chain.from_iterable(sentences.items() for sentences in FIRST_PAGE.values()))
        self._listing = True
        others = [self.get_command(ctx, name) for name in self.list_commands(ctx) if name not in known]
        self._listing = False
        if others:  # of other packages
            with formatter.section("Other commands"):
                formatter.write_dl([(other.name, other.get_short_help_str(limit=70)) for other in others])

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse the command line, and print its help; see `_InterruptError` and `_NoReaderError`."""
        try:
            return super().make_context(*args, **more)
        except KeyboardInterrupt as error:
            raise _InterruptError(error) from error
        except BrokenPipeError as error:
            raise _NoReaderError from error

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed, and flush its output; see `_InterruptError` and `_NoReaderError`."""
        try:
            returned = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            raise _InterruptError(error) from error
        except (BrokenPipeError, SystemExit) as error:
            # rich ends the process where the pipe is broken.
            if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
                raise
            raise _NoReaderError from error
        except Exception as error:
            # typer's error about what was typed, of which it exports no class: it quotes the words.
            if isinstance(typed := vars(error).get("message"), str):
                vars(error)["message"] = Shown(typed + (_AS_OPTIONS if _FOR_MAKE.search(typed) else ""))
            raise
        return returned


_FOR_MAKE = re.compile(r"unexpected extra argument.*\w=")
_AS_OPTIONS = ". NAME=VALUE is for make: here it is an option, as in --data FOLDER, or --set NAME=VALUE."


def group_of(name: str) -> typer.Typer:
    """Return the typer group of the commands that are registered as NAME.COMMAND."""
    sentence = GROUPS.get(name) or f"Commands: {', '.join(names_in(name))}."
    return typer.Typer(name=name, cls=DeclaredGroup, help=sentence, no_args_is_help=True, rich_markup_mode=None)


app = typer.Typer(
    name="metaeval",
    cls=_Commands,
    help="How far can a faithfulness metric be trusted? Score citation-support metrics against human labels.",
    epilog="Start with: metaeval run   (demo data, offline metrics, three protocols)",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for name in chain.from_iterable(FIRST_PAGE.values()):
    if name in GROUPS:
        app.add_typer(group_of(name), name=name)
    else:
        app.command(name)(lambda: None)  # its place in the list; it is made of its declaration


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
    """Run the command line: wrong input ends with one sentence and exit code 2, a signal with 128 plus its number."""
    if not re.fullmatch("0*[1-9][0-9]{0,4}", os.environ.get("COLUMNS", "")):
        os.environ.pop("COLUMNS", None)  # no width
    try:
        with _signals():
            app(prog_name="metaeval")
    except UserError as error:
        for line in (f"metaeval: {error}", *getattr(error, "__notes__", ())):
            _say(line)
        if isinstance(error, ColumnsError):
            _say(f"Type: {retyped_command(sys.argv[1:], error.columns)}")
        sys.exit(2)
    except OSError as error:
        # Where a file is read or written its errors are `UserError`s. os.getcwd, and what is open, give no name.
        unnamed = "the current folder" if error.errno == errno.ENOENT else "standard output or an open file"
        _say(
            f"metaeval: Cannot use {error.filename or unnamed}: {error.strerror or error}. Nothing already computed is "
            "lost: type the same command again where it can be used."
        )
        sys.exit(2)
    except _InterruptError as error:
        _stopped(error.number)
    except KeyboardInterrupt as error:
        _stopped(_InterruptError(error).number)
    except _NoReaderError:
        sys.exit(141)  # nothing to say
    finally:
        # What cannot be written is given up: Python would try again when it ends, and print that it failed.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def retyped_command(words: Sequence[str], columns: Mapping[str, str]) -> str:
    """Return the typed words (without metaeval) as one command, with --map options for `columns` (heading by role)."""
    mapping = [at for at, word in enumerate(words) if word == "--map"]
    left_out = {*mapping, *(at + 1 for at in mapping)}
    kept = [word for at, word in enumerate(words) if at not in left_out and not word.startswith("--map=")]
    maps = [word for role, heading in columns.items() for word in ("--map", f"{role}={heading}")]
    return shlex.join(["metaeval", *kept, *maps])


def _stopped(number: int) -> None:
    _say("metaeval: stopped. Every finished block is stored; the same command goes on from there.")
    sys.exit(128 + number)


def _say(sentence: str) -> None:
    """Print a sentence on stderr if it is still open; a hang-up closes the terminal."""
    with contextlib.suppress(OSError):
        say(sentence, err=True)


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end the with-block as Ctrl-C does; a signal that is ignored (nohup) stays ignored."""

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
