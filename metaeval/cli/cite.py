"""The commands of `cite`: one for each citation pipeline that is registered, made of what it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from metaeval import registry
from metaeval.cli import options as opt
from metaeval.cli.output import say, say_text, say_written, scoring_progress, show_grids
from metaeval.config import validated
from metaeval.errors import RequestsWritten

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.experiment.citing.pipeline import Pipeline


class _Pipelines(TyperGroup):
    """The registered pipelines as commands; each is imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every command, by name."""
        return sorted({*super().list_commands(ctx), *registry.names("pipeline")})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None where there is none."""
        if cmd_name in registry.names("pipeline"):
            from metaeval.experiment.citing.pipeline import find_pipeline

            return typed(find_pipeline(cmd_name))
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=_Pipelines,
    help="Judge the citations in answers, with any metric.",
    epilog="For example: metaeval cite aliice answers.json --nli minilm-bertscore",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def typed(pipeline: Pipeline) -> Any:
    """The command of a pipeline as the command line takes it."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command(pipeline.name)(command_of(pipeline))
    return typer.main.get_command(made)


def command_of(pipeline: Pipeline) -> Callable[..., None]:
    """The command of a pipeline: its options, then those of a run that it needs."""
    store = " store trust_config" if pipeline.backends != "none" else ""
    chat = " dry_run" if pipeline.chat != "none" else " requests batch" if store else ""

    def command(given: opt.Given) -> None:
        from metaeval.experiment.citing.run import estimate_pipeline, prepare, run_pipeline

        values = {name: value for name, value in given.fields.items() if value is not None}
        options = validated(pipeline.options, values, f"the options of {pipeline.name}")
        with scoring_progress(given.quiet) as progress:
            run = prepare(pipeline, options, given.settings, given.set, progress, given.requests)
            if given.dry_run:
                say_text(estimate_pipeline(run))
                return
            try:
                result = run_pipeline(run)
            except RequestsWritten as told:
                say(str(told))
                return
        written = result.write()
        if not given.quiet:
            show_grids(result.grids)
        say_written(sorted(written))

    command.__doc__ = pipeline.help
    return opt.takes(pipeline.options, f"results{store} budget{chat} set quiet")(command)
