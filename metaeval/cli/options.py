"""Parameters of commands, made of the fields of models: settings of a run, and options of an analysis."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer import Argument, Option
from typer.models import OptionInfo

from metaeval.core.config_files import variants
from metaeval.core.declared import (
    as_list,
    as_numbers,
    flag_of,
    is_typed,
    kinds_of,
    metric_names,
    named_values,
    option_of,
)
from metaeval.core.errors import UserError

_REGISTERED: Mapping[str, Literal["metric", "dataset", "protocol"]] = {
    **{"dataset": "dataset", "datasets": "dataset", "protocols": "protocol"},
    **{"metrics": "metric", "names": "metric", "nli": "metric"},
}
"""The kind of registered names that a field holds, by the name of the field."""


def _completion(
    kind: Literal["metric", "dataset", "protocol"] | None, values: Sequence[str]
) -> Callable[[str], list[str]]:
    """Return a function that completes the last name in a typed list with commas, to `values` or names of `kind`."""

    def complete(incomplete: str) -> list[str]:
        from metaeval.core import registry

        known = [*values, *((*registry.names(kind), *variants(f"{kind}s")) if kind else ())]
        before, comma, word = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known if name.startswith(word)]

    return complete


def is_set_in_part(field: FieldInfo) -> bool:
    """Return whether --set is needed for a field: it has no option of its own, or has nested settings."""
    models = (isinstance(kind, type) and issubclass(kind, BaseModel) for kind in kinds_of(field.annotation))
    return any(models) or not is_typed(field)


def is_joined(field: FieldInfo) -> bool:
    """Return whether a field is an option for a list with commas: values of repeated options are joined with them."""
    cut = any(getattr(part, "func", None) in (as_list, metric_names, as_numbers) for part in field.metadata)
    return cut and not (flag_of(field).multiple or flag_of(field).argument)


def text_parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    """Return the field `name` as a parameter whose value is the typed text; the model checks and converts it.

    The default is only shown in the help: an option that is not typed is None, and the model's own default applies.
    """
    flag, usual = flag_of(field), field.get_default()
    needed = flag.required or field.is_required()
    several = flag.multiple or is_joined(field)
    kind: Any = bool if bool in kinds_of(field.annotation) else list[str] if several else str
    words = (field.description or "").partition("\n\n")[0]
    if isinstance(usual, str | int | float) and not isinstance(usual, bool) and usual != "":
        words = f"{words.removesuffix('.')} (default: {usual})."
    arguments: dict[str, Any] = {"help": words, "metavar": flag.metavar or None}
    registered, values = _REGISTERED.get(name), named_values(field.annotation)
    if registered or values:
        arguments["autocompletion"] = _completion(registered, values)
    names = filter(None, [option_of(name, field), flag.alias and f"--{flag.alias}", flag.short])
    info = Argument(**arguments) if flag.argument else Option(*names, hidden=flag.hidden, **arguments)
    text: Any = Annotated[kind if needed else kind | None, info]
    default = inspect.Parameter.empty if needed else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=text)


def refuse_duplicates(command: str, parameters: Sequence[inspect.Parameter]) -> None:
    """Raise `UserError` where two parameters of a command have the same option name or letter: click would drop one."""
    seen = {"--help": "--help"}
    for parameter in parameters:
        info = next((part for part in parameter.annotation.__metadata__ if isinstance(part, OptionInfo)), None)
        # Of Option("--name", "-n") in Annotated, typer keeps the first word as the default.
        words = [] if info is None else [info.default, *(info.param_decls or ())]
        usual = [f"--{parameter.name.replace('_', '-')}"] if info is not None else []
        for word in [word for word in words if isinstance(word, str)] or usual:
            if (first := seen.setdefault(word, parameter.name)) != parameter.name:
                raise UserError(f"{command!r} has {word} twice ({first}, {parameter.name}): rename a field.")
