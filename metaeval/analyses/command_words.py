"""Options as words of a command line, for another command or from a recipe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from metaeval.analyses.analysis import AnalysisOptions, DeclaredOptions
from metaeval.core import registry
from metaeval.core.config import load_settings
from metaeval.core.declared import flag_of, is_typed, option_of
from metaeval.core.parsing import MalformedError, parse_yaml


def words_of(
    options: AnalysisOptions, names: Iterable[str], takes: type[DeclaredOptions], short: bool = False
) -> list[str]:
    """Return words of a command line: the settings file, and each setting that differs from the file or its default.

    names: the settings to consider. takes: options of the command that the words are for, which say what needs --set.
    short: write -c, not --config, and so on.
    """
    kind = type(options)
    trust = {"trust_config": getattr(options, "trust_config", None)}
    usual = load_settings(kind, options.config, trust) if options.config else kind.model_construct()
    words = ["-c" if short else "--config", str(options.config)] if options.config else []
    for name in names:
        value, known = (to_jsonable_python(getattr(of, name)) for of in (options, usual))
        if value != known:
            field = None if name in takes.untyped else kind.model_fields[name]
            words += _option(name, field, value, short) or _settings(name, value, known)
    return words


def command_of(recipe: Mapping[str, Any]) -> list[str]:
    """Return the command of a recipe as words after `metaeval`; raises `UserError` for an unregistered analysis."""
    name, values = str(recipe.get("analysis")), recipe.get("options")
    takes = registry.find("analysis", name.replace(" ", ".")).options
    arguments: list[str] = []
    options: list[str] = []
    settings: list[str] = []
    for key, value in values.items() if isinstance(values, Mapping) else ():
        field = takes.model_fields.get(key)
        if field is not None and flag_of(field).argument and not isinstance(value, Mapping):
            arguments += map(str, value if isinstance(value, list) else [value])
        elif words := _option(key, None if key in takes.untyped else field, value):
            options += words
        else:
            required = field is None or field.is_required()
            usual = None if required else to_jsonable_python(field.get_default(call_default_factory=True))
            settings += _settings(key, value, usual)
    return [*name.split(), *arguments, *options, *settings]


def _option(name: str, field: FieldInfo | None, value: Any, short: bool = False) -> list[str]:
    """Return an option and its value as words; empty for a value that only --set can set, such as False."""
    if field is None or not is_typed(field) or value is None or (flag_of(field).argument and not flag_of(field).short):
        return []
    flag = flag_of(field)
    option = (short and flag.short) or option_of(name, field)
    if isinstance(value, bool):
        return [option] if value else []
    if isinstance(value, Mapping):
        settings = flag.multiple and not any(isinstance(member, Mapping) for member in value.values())
        return [word for key, setting in value.items() for word in (option, f"{key}={setting}")] if settings else []
    if isinstance(value, list):
        if flag.multiple:
            return [word for member in value for word in (option, str(member))]
        return [] if any("," in str(member) for member in value) else [option, ",".join(map(str, value))]
    return [option, str(value)]


def _settings(name: str, value: Any, usual: Any) -> list[str]:
    """Return --set with the dotted key and the YAML text of each setting in `value` that differs from `usual`."""
    return [word for key, text in _leaves(name, value, usual) for word in ("--set", f"{key}={text}")]


def _leaves(name: str, value: Any, usual: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and not any("." in key or "=" in key for key in value):
        for key, setting in value.items():
            known = usual.get(key) if isinstance(usual, Mapping) else None
            if setting != known or setting is None:
                yield from _leaves(f"{name}.{key}", setting, known)
        return
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        # Text stands as it is where YAML reads it as that text.
        plain = isinstance(value, str) and value == value.strip() and parse_yaml(value) == value
    except MalformedError:
        plain = False
    yield name, value if plain else text
