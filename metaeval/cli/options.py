"""Options of commands, derived from where they are declared: a setting of a run, or a field of a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo
from typer import Argument, Option

from metaeval.config import Flag, Names, RunConfig, flag_of, load_run, option_of
from metaeval.config_files import variants
from metaeval.declared import kinds_of, named_values

Target = Annotated[str, Option(help="Lowest human level that counts as supported: full or partial.", metavar="LEVEL")]


def group(said: str, example: str) -> typer.Typer:
    """A group of commands. said: its help; example: a command of it."""
    return typer.Typer(help=said, epilog=f"For example: {example}", no_args_is_help=True)


class CommandOptions(BaseModel):
    """What commands take beside the settings of a run."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    config: Annotated[Path | None, Flag("FILE", "-c")] = None
    """YAML file, or name of a shipped experiment."""
    names: Annotated[tuple[str, ...], Flag("METRIC", multiple=True, argument=True)] = ()
    """Metrics by name, or score files (.csv, .jsonl ...)."""
    datasets: Annotated[Names, Flag("NAMES", "-d", "dataset")] = ()
    """Data sets, by name, with commas."""
    requests: Annotated[Path | None, Flag("FILE")] = None
    """Write judges' requests as a batch; nothing is sent."""
    dry_run: bool = False
    """Estimate only: nothing is scored, fetched or paid for."""
    rehash: bool = False
    """Compute the hashes of model weights anew, instead of remembering them."""
    set: Annotated[tuple[str, ...], Flag("KEY=VALUE", "-s", multiple=True)] = ()
    """Any other setting, as chunk.size=100. Repeatable."""
    full: bool = False
    """Print every table whole, with all measures, controls, notes and signatures."""
    quiet: Annotated[bool, Flag(short="-q")] = False
    """Write files only: no progress, no tables."""


class Given(CommandOptions):
    """What was typed for the options that a command takes from declarations.

    settings: of a run, under their names in `RunConfig`; only those that were given. fields: of the command's models,
    defaults too.
    """

    settings: Mapping[str, Any]
    fields: Mapping[str, Any]

    def run(self, **more: Any) -> RunConfig:
        """The run that the options describe. more: settings of the command's own making, in place of those given."""
        from metaeval.experiment.metric_scores import as_metrics

        if self.rehash:
            from metaeval.scoring.backends.checkpoint import forget_hashes

            forget_hashes()
        named = {"metrics": as_metrics(self.names)} if self.names else {}
        return load_run(self.config, {**self.settings, **named, **more}, self.set)

    @property
    def options(self) -> Mapping[str, str]:
        """How each setting of a run that was given is typed."""
        return {name: option_of(name, RunConfig.model_fields[name]) for name in self.settings}

    def typed(self, name: str, short: bool = False) -> list[str]:
        """A setting of the run as words of a command, none where it was not given. short: as -d, where it has that."""
        value = self.settings.get(name)
        if value is None or isinstance(value, bool):
            return [self.options[name]] if value else []
        written = (short and flag_of(RunConfig.model_fields[name]).short) or self.options[name]
        return [word for one in (value if isinstance(value, list) else [value]) for word in (written, str(one))]

    @property
    def words(self) -> list[str]:
        """What was typed for the settings of a run, as words of a command."""
        found = ["--config", str(self.config)] if self.config else []
        found += [word for name in self.settings for word in self.typed(name)]
        return [*found, *(word for one in self.set for word in ("--set", one))]

    @property
    def with_metrics(self) -> bool:
        """Whether the command says which metrics, itself or in a file."""
        return bool(self.names or self.config)


def takes(*wanted: str | type[BaseModel]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command further options; what is typed for them is its first argument, a `Given`.

    wanted: models, each field of which becomes an option, and names, with spaces, of fields of `RunConfig` and
    `CommandOptions`. A parameter of the function that is named here stands in this place; the others stand first. What
    takes a file takes --trust-config, and what takes a store, before other options, --executor.
    """

    # What is not typed for a run's setting is left to the YAML file, or to the default of the run.
    shared = {name: parameter(name, field) for name, field in CommandOptions.model_fields.items()}
    shared |= {name: parameter(name, field, default=None) for name, field in RunConfig.model_fields.items()}

    def derive(function: Callable[..., None]) -> Callable[..., None]:
        _, *rest = inspect.signature(function, eval_str=True).parameters.values()
        own = {one.name: one for one in rest}
        derived: dict[str, inspect.Parameter] = {}
        asked: set[str] = set()
        for group in wanted:
            if isinstance(group, str):
                names = group.replace("config ", "config trust_config ").replace("store ", "store executor ").split()
                derived |= {name: own.get(name) or shared[name] for name in names}
            else:
                asked |= group.model_fields.keys()
                derived |= {name: parameter(name, field) for name, field in group.model_fields.items()}
        every = [*(one for name, one in own.items() if name not in derived), *derived.values()]

        @wraps(function)
        def command(**typed: Any) -> None:
            mine = {name: typed.pop(name) for name in own}
            fields = {name: typed.pop(name) for name in asked}
            given = {name: value for name, value in typed.items() if value is not None}
            of_command = {name: given.pop(name) for name in CommandOptions.model_fields if name in given}
            function(Given(settings=given, fields=fields, **of_command), **mine)

        signature = inspect.Signature([one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in every])
        annotations = {one.name: one.annotation for one in every}
        vars(command).update(__signature__=signature, __annotations__=annotations)
        return command

    return derive


_REGISTERED: Mapping[str, Literal["metric", "dataset", "protocol"]] = {
    **{"dataset": "dataset", "datasets": "dataset", "protocols": "protocol"},
    **{"metrics": "metric", "names": "metric", "nli": "metric"},
}
"""The kind of what stands in a field by its registered name."""


def _completion(
    kind: Literal["metric", "dataset", "protocol"] | None, values: Sequence[str]
) -> Callable[[str], list[str]]:
    """What completes the word that is being typed, by itself or after a comma: these values, and names of the kind."""

    def complete(incomplete: str) -> list[str]:
        from metaeval import registry

        known = [*values, *((*registry.names(kind), *variants(f"{kind}s")) if kind else ())]
        before, comma, word = incomplete.rpartition(",")
        return [f"{before}{comma}{one}" for one in known if one.startswith(word)]

    return complete


def parameter(name: str, field: FieldInfo, **other: Any) -> inspect.Parameter:
    """A field as the parameter of a command. default: in place of the field's own."""
    flag, kinds = flag_of(field), list(kinds_of(field.annotation))
    kind: Any = next((one for one in (Path, bool, float, int) if one in kinds), str)
    default = other.get("default", inspect.Parameter.empty if field.is_required() else field.get_default())
    default = None if default == () else default  # what is not typed takes its default in the model
    if flag.multiple:
        kind = list[kind]
    if default is None:
        kind = kind | None
    said: dict[str, Any] = {"help": (field.description or "").partition("\n\n")[0], "metavar": flag.metavar or None}
    registered, values = _REGISTERED.get(name), named_values(field.annotation)
    if registered or values:
        said["autocompletion"] = _completion(registered, values)
    words = filter(None, [option_of(name, field), flag.short])
    info = Argument(**said) if flag.argument else Option(*words, **said)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])
