"""Commands made of analyses: options are passed as text, which the analysis's model checks; its output is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand

from metaeval.analyses.analysis import Analysis, AnalysisOptions, DeclaredOptions, Done, own_fields
from metaeval.cli.options import is_joined, is_set_in_part, refuse_duplicates, text_parameter
from metaeval.cli.output import say, say_rest, say_written, scoring_progress, show, show_sentences
from metaeval.core.config import BudgetSettings, ExecutorSettings, ResultsSettings
from metaeval.core.declared import is_typed
from metaeval.core.errors import UserError
from metaeval.core.files import declare, inputs_protected

if TYPE_CHECKING:
    from metaeval.analyses.analysis_job import WrittenJob

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_SETTINGS = Option("--set", "-s", help="Any other setting, as chunk.size=100. Repeatable.", metavar="KEY=VALUE")
_WHOLE = Option("--full", help="Print every table whole, with all measures, controls, notes and signatures.")
_FILES = Option("--quiet", "-q", help="Write files only: no progress, no tables.")
_SET = inspect.Parameter("set", _KEYWORD, default=None, annotation=Annotated[list[str] | None, _SETTINGS])
_FULL = inspect.Parameter("full", _KEYWORD, default=False, annotation=Annotated[bool, _WHOLE])
_QUIET = inspect.Parameter("quiet", _KEYWORD, default=False, annotation=Annotated[bool, _FILES])


class _Command(TyperCommand):
    """A command whose --help leaves out rarely typed options, which --help-all adds; an option is given once."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments; raises `UserError` for an option that takes one value and is given twice."""
        rare = [option for option in self.params if getattr(option, "hidden", False)]
        for option in rare if "--help-all" in args else ():
            vars(option)["hidden"] = False
        if "--help-all" in args:
            args = ["--help"]
        elif rare:
            self.epilog = "More options: --help-all"
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in () if ctx.resilient_parsing else order:
            if order.count(option) > 1 and not (option.multiple or getattr(option, "is_flag", True)):
                raise UserError(f"{max(option.opts, key=len)} is given twice: give it once.")
        return super().parse_args(ctx, args)


def typer_command(analysis: Analysis, for_list: bool) -> Any:
    """Return the command of an analysis. for_list: it is only listed with its summary, and needs no options."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(analysis.name.rpartition(" ")[2], cls=_Command, help=analysis.summary if for_list else None)(
        (lambda: None) if for_list else command_of(analysis)
    )
    return typer.main.get_command(app)


def command_of(analysis: Analysis) -> Callable[..., None]:
    """Return the function from which typer makes the command of an analysis, which runs, writes and prints.

    Its parameters are the analysis's own options, then those of a run, then shared ones: --set if options cannot set
    everything, --full if less is printed than written, and --quiet if tables are written or metrics scored. Raises
    `UserError` if two parameters have the same option name.
    """
    fields = analysis.options.model_fields
    names = [name for name in dict.fromkeys([*own_fields(analysis.options), *fields]) if is_typed(fields[name])]
    typed = [text_parameter(name, fields[name]) for name in names if name not in analysis.options.untyped]
    in_part = any(name in analysis.options.untyped or is_set_in_part(field) for name, field in fields.items())
    settable = in_part or analysis.options.model_config.get("extra") == "allow"
    prints_on = issubclass(analysis.options, AnalysisOptions) and issubclass(analysis.options, ResultsSettings)
    can_be_quiet = prints_on or issubclass(analysis.options, ExecutorSettings | BudgetSettings)
    parameters = [*typed, *[_SET] * settable, *[_FULL] * analysis.headline, *[_QUIET] * can_be_quiet]
    refuse_duplicates(analysis.name, parameters)
    joined = [part.name for part in typed if is_joined(fields[part.name])]

    def command(**words: Any) -> None:
        overrides = words.pop("set", None) or ()
        full, quiet = words.pop("full", False), words.pop("quiet", False)
        for name in joined:
            words[name] = ",".join(words[name]) if words[name] else None
        options = analysis.options_of(words, overrides)
        with inputs_protected():
            declare("output", *analysis.outputs(options))
            with scoring_progress(quiet) as progress:
                done = analysis.complete(options, progress, partial(_write_part, analysis, options, quiet=quiet))
            conclude(analysis, options, done, full, quiet)

    vars(command).update(
        __signature__=inspect.Signature(parameters),
        __annotations__={parameter.name: parameter.annotation for parameter in parameters},
    )
    # The help: summary, further paragraphs, settings for --set, and examples.
    rarer = [name for name in own_fields(analysis.options) if name in analysis.options.untyped]
    settings = f"Settings of its own for --set: {', '.join(rarer)}." if rarer else ""
    examples = "\n".join(["\b", "Examples:", *map(_example, analysis.examples)]) if analysis.examples else ""
    command.__doc__ = "\n\n".join(filter(None, [analysis.summary, f"{analysis.about} {settings}".strip(), examples]))
    return command


def _example(line: str) -> str:
    """Return an example as help shows it; a long one is broken between words, so that a shell accepts it."""
    whole = f"metaeval {line}"
    # Inside quotes a break would be part of the text.
    lines = [whole] if "'" in whole or '"' in whole else _IN_LINES.wrap(whole)
    return "  " + " \\\n  ".join(lines)


_IN_LINES = TextWrapper(74, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def conclude(analysis: Analysis, options: DeclaredOptions, done: Done, full: bool, quiet: bool) -> None:
    """Write and print the output of an analysis, and end the command with its exit code, if that is not 0.

    full: print all tables whole. quiet: print no tables and no sentences about them, but verdicts, warnings and the
    names of written files.
    """
    brief = done.shown is not None and not (full and done.sheets)
    try:
        written = _write(analysis, options, done)
    finally:  # what was computed is shown even where it cannot be written
        if not quiet:
            shown = done.shown if brief else list(done.sheets) or done.value
            show(shown, whole=done.whole or (full and done.job is not None))
            if brief and (done.sentences or done.cautions):
                show_sentences(done.sentences, done.cautions)
        for line in done.verdict:
            say(line)
    for line in done.written:
        say(line)
    folder = written.folder if written else None
    for sentence in [*(written.failed if written else ()), *done.warnings]:
        say(sentence, err=True)
    if written and written.files:
        say_written(sorted(written.files))
    if written and written.contents:
        say(f"Written: {written.folder}/ ({written.contents})")
    if folder and not quiet and (folder / "report.html").is_file():
        pairs = done.job is not None and (folder / "pairs.jsonl").is_file()
        brief = analysis.headline and done.shown is not None and not full
        say_rest(folder, done.config.results, whole=not brief, pairs=pairs)
    for sentence in done.after(folder or Path()) if done.after and not quiet else ():
        say(sentence)
    if done.exit_code:
        raise typer.Exit(done.exit_code)


def _write_part(analysis: Analysis, options: DeclaredOptions, part: Done, quiet: bool) -> None:
    written = _write(analysis, options, part)
    if written and written.folder and not quiet:
        say(f"Written: {written.folder}/")


def _write(analysis: Analysis, options: DeclaredOptions, done: Done) -> WrittenJob | None:
    """Write the output of an analysis; return None if nothing is to be written (such commands then need no NumPy)."""
    if not (done.sheets or done.identity or done.outputs or done.job):
        return None
    from metaeval.analyses.analysis_job import write_job

    return write_job(analysis, options, done)
