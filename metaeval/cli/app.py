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
from types import FrameType
from typing import Annotated, Any, ClassVar

import typer
from typer import Option

from metaeval import __version__
from metaeval.analyses.analysis import GROUPS
from metaeval.cli.analysis_command import DeclaredGroup, group_of
from metaeval.cli.output import say
from metaeval.core.errors import ColumnsError, Shown, UserError


class _StopSignal(KeyboardInterrupt):
    """Raised for a signal that asks the process to end, and handled like Ctrl-C. number: of the signal.

    last: number of the last such signal, since Ray raises a plain `KeyboardInterrupt` in place of this exception.
    """

    last: ClassVar[int] = signal.SIGINT

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = _StopSignal.last = number


class _InterruptError(Exception):
    """Raised in place of a `KeyboardInterrupt`, which typer would handle itself. number: of the signal."""

    def __init__(self, interrupt: KeyboardInterrupt) -> None:
        super().__init__()
        self.number: int = getattr(interrupt, "number", _StopSignal.last)


class _NoReaderError(Exception):
    """Raised when the reader of standard output has closed the pipe (metaeval ... | head)."""


class _LogLine(logging.Formatter):
    """A formatter that writes each log record as one line of visible characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message of a record, followed by that of its exception."""
        return Shown(super().format(record))


class _Commands(DeclaredGroup):
    """The top-level commands; interrupts and broken pipes bypass typer's own handling."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in the help, by what they are for."""
        left = {name: self.get_command(ctx, name).get_short_help_str(limit=70) for name in self.list_commands(ctx)}
        for title, names in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:10}", left.pop(name)) for name in names])
        if left:  # of other packages
            with formatter.section("Other commands"):
                formatter.write_dl(list(left.items()))

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


_SECTIONS = {
    "Measure metrics": ("run", "score", "pairs", "evaluate", "compare", "plan", "thresholds", "multiverse"),
    "Judge answers": ("cite", "label", "estimate", "gate"),
    "Results and data": ("view", "results", "data", "metrics"),
}
"""The commands of the first page of help, by what they are for."""

_FOR_MAKE = re.compile(r"unexpected extra argument.*\w=")
_AS_OPTIONS = ". NAME=VALUE is for make: here it is an option, as in --data FOLDER, or --set NAME=VALUE."

app = typer.Typer(
    name="metaeval",
    cls=_Commands,
    help="How far can a faithfulness metric be trusted? Score citation-support metrics against human labels.",
    epilog="Start with: metaeval run   (demo data, offline metrics, three protocols)",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for name in chain.from_iterable(_SECTIONS.values()):
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
