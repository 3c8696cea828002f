"""The Python function of an analysis: its options are keywords, which editors complete and `help()` shows."""

from __future__ import annotations

import inspect
import logging
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import GenericAlias, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from metaeval.analyses import GROUPS, USUAL, names_in
from metaeval.analyses.analysis import Analysis, DeclaredOptions, own_fields
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.declared import Strict, flag_of, option_of, parameter_docs
from metaeval.core.errors import UserError, unknown
from metaeval.core.files import declare, inputs_protected

_log = logging.getLogger("metaeval")


def function_of(registered: str, name: str) -> Any:
    """Return the Python function of a registered analysis, or an object whose attributes are a group's functions.

    registered: name of the analysis or group in the registry, such as "data.show". name: its name in Python.
    """
    if registered in registry.names("analysis"):
        return make_function(registry.find("analysis", registered), name)
    return CalledGroup(registered) if registered in USUAL else FunctionGroup(registered)


class FunctionGroup:
    """The functions of a group of commands: `metaeval.data.show` is the function of `metaeval data show`."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__doc__ = GROUPS.get(name)

    def __getattr__(self, name: str) -> Any:
        if name not in dir(self):
            raise AttributeError(f"metaeval.{self.__name__} has no function {name!r}: it has {', '.join(dir(self))}.")
        vars(self)[name] = function_of(f"{self.__name__}.{name.replace('_', '-')}", f"{self.__name__}.{name}")
        return vars(self)[name]

    def __dir__(self) -> list[str]:
        return [name.replace("-", "_") for name in names_in(self.__name__)]

    def __repr__(self) -> str:
        return f"<metaeval.{self.__name__}: {', '.join(dir(self))}>"


class CalledGroup(FunctionGroup):
    """A group whose functions are also called through it: `metaeval.cite("alce", ...)` is `metaeval.cite.alce(...)`."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function that the first argument names; without a name, that of the group's usual command."""
        named = bool(args) and isinstance(args[0], str) and (len(args) > 1 or args[0] in names_in(self.__name__))
        name = args[0] if named else USUAL[self.__name__]
        if name not in names_in(self.__name__):
            raise unknown(f"command of {self.__name__}", name, names_in(self.__name__))
        function = make_function(registry.find("analysis", f"{self.__name__}.{name}"), f"{self.__name__}.{name}")
        return function(*(args[1:] if named else args), **keywords)


def make_function(analysis: Analysis, name: str) -> Callable[..., Any]:
    """Return the Python function of an analysis.

    The function takes the analysis's own options first, in their order; an option that is typed as several arguments
    (METRIC METRIC ...) takes all positional arguments. Settings of a run are keywords. The function writes only the
    stores of scores and replies, and files that an option names; the method `write` of the tables that it returns
    writes their job. It raises `UserError` for anything wrong in settings, data or scores.
    """
    signature = signature_of(analysis.options)

    def function(*args: Any, **keywords: Any) -> Any:
        from metaeval.analyses.analysis_job import write_job
        from metaeval.report.notebook import Sheets, WrittenOnce, notebook_progress

        settings = {**_positional_by_name(name, signature, args, keywords), **keywords}
        with inputs_protected(from_python=True), notebook_progress() as progress:
            options = analysis.options_of(settings)
            declare("output", *analysis.outputs(options))
            done = analysis.complete(options, progress)
            for sentence in done.warnings:
                _log.warning("%s", sentence)
            for path, write in done.outputs.items():
                write(path)
        value = Sheets(done.sheets) if done.value is None else done.value
        if isinstance(value, WrittenOnce):
            value.of_job(lambda: write_job(analysis, options, replace(done, outputs={})).folder)
        return value

    vars(function).update(__signature__=signature)
    function.__name__, function.__qualname__ = name.rpartition(".")[2], name
    function.__doc__ = docstring_of(analysis, signature)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return function


def docstring_of(analysis: Analysis, signature: inspect.Signature) -> str:
    """Return the numpydoc docstring of an analysis's function; what `RunConfig` describes is named alone.

    An option of the command that a sentence names is named as the parameter.
    """
    fields, own_names, run = analysis.options.model_fields, own_fields(analysis.options), RunConfig.model_fields
    first, further, of_run = {}, {}, []
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            first[f"*{name}"] = fields[name]
        elif name in own_names:
            first[name] = fields[name]
        elif name in fields and name in run and fields[name].description == run[name].description:
            of_run.append(name)
        elif name in fields:
            further[name] = fields[name]
    named = textwrap.fill(", ".join(of_run), 100, initial_indent="    ", subsequent_indent="    ")
    settings = f"settings of a run, as help(metaeval.RunConfig) describes them\n{named}" if of_run else ""
    free = "**settings\n    Options of the metric." if "settings" in signature.parameters else ""
    kind, _, words = analysis.returns.partition(": ")
    sections = {
        "Parameters": [parameter_docs(first), free],
        "Returns": [f"{kind}\n{textwrap.fill(words, 104, initial_indent='    ', subsequent_indent='    ')}"],
        "Other Parameters": [parameter_docs(further), settings],
        "Raises": ["UserError\n    For anything wrong in settings, data or scores, in one sentence."],
    }
    texts = {title: "\n".join(filter(None, parts)) for title, parts in sections.items()}
    written = (f"{title}\n{'-' * len(title)}\n{text}" for title, text in texts.items() if text)
    options = {option_of(name, field): name for name, field in fields.items()}
    text = "\n\n".join(filter(None, [analysis.summary, analysis.about, *written]))
    return re.sub(r"--[a-z][a-z-]*", lambda typed: options.get(typed[0], typed[0]), text)


def _positional_by_name(
    name: str, signature: inspect.Signature, args: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the positional arguments of a call, without its keywords, by the names of their parameters.

    name: of the function, for messages. Raises `UserError` for too many arguments, and one that is a keyword too.
    """
    try:
        named = signature.bind_partial(*args).arguments
    except TypeError:  # there are too many
        most = sum(parameter.kind is _ORDERED for parameter in signature.parameters.values())
        raise UserError(f"{name} takes at most {most} positional arguments; given: {len(args)}.") from None
    if twice := sorted(named.keys() & keywords.keys()):
        raise UserError(f"{name}: {twice[0]} is given twice, by position and by keyword.")
    return named


def signature_of(options: type[DeclaredOptions]) -> inspect.Signature:
    """Return the signature of an analysis's function: own fields in their order, then settings of a run by keyword.

    Where a field takes all positional arguments, every other field is a keyword.
    """
    fields, own_names = options.model_fields, own_fields(options)
    flags = {name: flag_of(field) for name, field in fields.items()}
    variadic = next((name for name, flag in flags.items() if flag.argument and flag.multiple), None)
    kind = annotation_of(get_args(fields[variadic].annotation)[0]) if variadic else None
    parameters = [inspect.Parameter(variadic, inspect.Parameter.VAR_POSITIONAL, annotation=kind)] if variadic else []
    for name in dict.fromkeys([*own_names, *fields]):
        if name == variadic:
            continue
        field = fields[name]
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY if variadic or name not in own_names else _ORDERED,
                default=_ABSENT if field.is_required() else field.get_default(call_default_factory=True),
                annotation=annotation_of(field.annotation),
            )
        )
    if options.model_config.get("extra") == "allow":
        parameters.append(inspect.Parameter("settings", inspect.Parameter.VAR_KEYWORD, annotation=Any))
    return inspect.Signature(parameters)


_ORDERED = inspect.Parameter.POSITIONAL_OR_KEYWORD
_ABSENT = inspect.Parameter.empty


def annotation_of(kind: Any) -> Any:
    """Return the annotation of a parameter of type `kind`, with what else is converted to it.

    That is str for a path, one element or a sequence for a tuple, any mapping for a dict or a model.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return annotation_of(parts[0])
    if origin in (Union, UnionType):
        return Union[tuple(annotation_of(part) for part in parts)]  # noqa: UP007 - made of a tuple
    if origin is tuple:
        return annotation_of(parts[0]) | GenericAlias(Sequence, annotation_of(parts[0]))
    if origin is dict:
        return GenericAlias(Mapping, (annotation_of(parts[0]), annotation_of(parts[1])))
    if kind is Path:
        return str | Path
    if isinstance(kind, type) and issubclass(kind, Strict):
        return kind | Mapping[str, Any]
    return kind
