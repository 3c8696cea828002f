"""Contract checks of an analysis: of its declaration, its command and function, and two runs of an example."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, own_fields
from metaeval.analyses.function_of_analysis import make_function
from metaeval.cli.analysis_command import command_of, typer_command
from metaeval.conformance.check_helpers import checks_of, instance_of, need, need_name, refuse, runs
from metaeval.errors import UserError

_WIDTH = 62  # characters of a summary that a list of commands shows on one line
_WRONG: tuple[Any, ...] = ("?", "-1", "nan", "", [], {"a": 1}, object())
_STORES = re.compile(r"(scores|replies)\.sqlite.*")


class _ReadError(Exception):
    """Raised to stop an example after it was parsed and before it runs."""


@dataclass
class AnalysisSubject:
    """An analysis under test. options: as typed; {}: those of its first example. name: as registered; "": none."""

    value: Any
    options: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    @property
    def analysis(self) -> Analysis:
        """Return the declaration of the analysis."""
        return instance_of(self.value, Analysis, "analysis")

    def checked(self, more: Mapping[str, Any]) -> DeclaredOptions:
        """Return the checked options of a test run, some of them replaced by `more`."""
        analysis, values = self.analysis, dict(self.options)
        for example in () if values else analysis.examples[:1]:
            read = self.read(example)
            values = {name: getattr(read, name) for name in read.model_fields_set}
        return analysis.options_of({**values, **more})

    def read(self, example: str) -> DeclaredOptions:
        """Return the options that the command parses from an example; raises `ContractError` if it cannot be typed."""

        seen: list[DeclaredOptions] = []

        def stop(options: DeclaredOptions, progress: object) -> Done:
            seen.append(options)
            raise _ReadError

        analysis = self.analysis
        words = shlex.split(re.split(r" {2,}| > ", example)[0])[len(analysis.name.split()) :]
        try:
            with contextlib.suppress(_ReadError):
                typer_command(replace(analysis, run=stop)).main(words, standalone_mode=False)
        except Exception as error:
            if (message := getattr(error, "format_message", None)) is None:  # not of the command line's words
                raise
            refuse(f"The example {example!r} cannot be typed: {message()} Correct it.", error)
        need(seen, f"The example {example!r} runs nothing: type a whole command, without --help.")
        return seen[0]

    def tables(self) -> str:
        """Run the analysis; return its tables and sentences as text. It may print nothing, and write only stores."""
        what = "The run of --option" if self.options else "The run of the first example"
        # Paths that are typed stay those of the current folder, while the run is in one of its own.
        paths = {name: str(Path(text).resolve()) for name, text in self.options.items() if text and Path(text).exists()}
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
            results = {"results": folder} if "results" in self.analysis.options.model_fields else {}
            options = runs(what, partial(self.checked, {**paths, **results}))
            with contextlib.chdir(folder):
                complete = partial(self.analysis.complete, options, None)
                done = runs(f"{what} (give others by --option KEY=VALUE)", complete)
            written = [path.name for path in Path(folder).rglob("*") if not _STORES.fullmatch(path.name)]
        if not isinstance(done, Done):
            refuse(f"run returns {type(done).__name__}: return a metaeval.analyses.analysis.Done.")
        need(not printed.getvalue(), f"run prints {printed.getvalue()[:60]!r}: return that in Done, as sentences.")
        need(not written, f"run writes {', '.join(written)}: return a function that does in Done.files or outputs.")
        # A table's own text is its first record alone.
        shown = list(map(_fields, done.shown)) if isinstance(done.shown, Iterable) else done.shown
        return repr((list(map(_fields, done.sheets)), shown, done.verdict, done.sentences))


def _fields(part: object) -> object:
    return getattr(part, "__dict__", part)


def declares_itself(subject: AnalysisSubject) -> None:
    """Check the name, summary and options from which the command, its help and the Python function are made."""
    analysis = subject.analysis
    words = re.fullmatch(r"[a-z][a-z0-9-]*( [a-z][a-z0-9-]*)?", analysis.name)
    need(words, f"The analysis's name is {analysis.name!r}: give one word in lower case, or a group and a word.")
    need_name("The analysis's", analysis.name.replace(" ", "."), subject.name)
    whole = analysis.summary.endswith(".") and ". " not in analysis.summary and len(analysis.summary) <= _WIDTH
    summary = f"The summary is {analysis.summary!r}"
    need(whole, f"{summary}: give one sentence of at most {_WIDTH} characters, ended by a stop.")
    if not (isinstance(analysis.options, type) and issubclass(analysis.options, DeclaredOptions)):
        refuse("options is not a class of options: give a subclass of AnalysisOptions, such as PanelOptions.")
    for name, option in analysis.options.model_fields.items():
        ends = (option.description or "").strip().endswith(".")
        need(ends, f"Option {name!r} has no description that ends in a full stop: write one under it, for its help.")
    for base in analysis.options.__mro__[1:]:
        for name in own_fields(analysis.options):
            group = getattr(base, "model_fields", {}).get(name)
            annotation = analysis.options.model_fields[name].annotation
            same = group is None or annotation in (group.annotation, Any)
            need(same, f"Option {name!r} is declared again with another type than in {base.__name__}: rename it.")


def its_command_and_function_are_made(subject: AnalysisSubject) -> None:
    """Check that the command and the Python function can be made of the options, and that `untyped` names options."""
    analysis = subject.analysis
    runs("Making the command", partial(command_of, analysis), then="Correct the fields of options.")
    then = "Give each field a default, or place it before those that have one."
    runs("Making the Python function", partial(make_function, analysis, "analysis"), then=then)
    unknown = sorted(analysis.options.untyped - analysis.options.model_fields.keys())
    need(not unknown, f"untyped names {', '.join(unknown)}, which the options do not have: correct the name.")


def its_examples_can_be_typed(subject: AnalysisSubject) -> None:
    """Check that the command accepts each example that begins with its name; files that it names need not exist."""
    for example in subject.analysis.examples:
        if example.startswith(f"{subject.analysis.name} "):
            with contextlib.suppress(UserError):
                runs(f"The example {example!r}", partial(subject.read, example), UserError)


def wrong_values_are_refused(subject: AnalysisSubject) -> None:
    """Check that an unknown option raises a `UserError`, and wrong values of options no other exception."""
    analysis = subject.analysis
    options = runs("Checking the options", partial(subject.checked, {}))
    base = {name: getattr(options, name) for name in options.model_fields_set}
    for name in (*own_fields(analysis.options), "no_such_option"):
        for value in _WRONG:
            then = "Raise ValueError in a validator, with one sentence."
            with contextlib.suppress(UserError):
                what = f"The value {value!r} of option {name!r}"
                runs(what, partial(analysis.options_of, {**base, name: value}), UserError, then)
                need(name in analysis.options.model_fields, "An unknown option is accepted: leave extra='forbid'.")


def a_run_repeats(subject: AnalysisSubject) -> None:
    """Check that two runs return the same tables, print nothing, and write nothing but stores."""
    same = subject.tables() == subject.tables()
    need(same, "Two runs differ: draw from a seed in the options, sort what has no order; return no time, no path.")


CHECKS = checks_of(globals())
