"""Options as words of a command line, for another command or from a recipe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

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
        if (value := getattr(options, name)) != getattr(usual, name):
            words += (name not in takes.untyped and _option(options, name, value, short)) or [
                word
                for key, setting in _leaves(name, value, getattr(usual, name))
                for word in ("--set", f"{key}={setting}")
            ]
    return words


def _option(options: AnalysisOptions, name: str, value: Any, short: bool) -> list[str]:
    """Return the option and the value of a setting as words; empty where only --set can set it."""
    field = type(options).model_fields[name]
    flag = flag_of(field)
    option = (short and flag.short) or option_of(name, field)
    if not flag.metavar or value is None or isinstance(value, BaseModel) or (flag.argument and not flag.short):
        return []
    if isinstance(value, Mapping):
        return [word for key, setting in value.items() for word in (option, f"{key}={setting}")]
    if isinstance(value, tuple):
        return [] if any("," in member for member in value) else [option, ",".join(value)]
    return [option, str(value)]


def _leaves(name: str, value: Any, usual: Any) -> Iterator[tuple[str, str]]:
    """Yield the dotted key and the YAML text of a value, or of each setting inside it that differs from `usual`."""
    if isinstance(value, BaseModel):
        for key, setting in value:
            if setting != getattr(usual, key):
                yield from _leaves(f"{name}.{key}", setting, getattr(usual, key))
    elif isinstance(value, Mapping) and not any("." in key or "=" in key for key in value):
        for key, setting in value.items():
            known = usual.get(key) if isinstance(usual, Mapping) else None
            if setting != known or setting is None:
                yield from _leaves(f"{name}.{key}", setting, known)
    else:
        yield name, yaml_text(str(value) if isinstance(value, Path) else value)


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
        elif words := [] if key in takes.untyped else _typed(key, field, value):
            options += words
        else:
            required = field is None or field.is_required()
            usual = None if required else field.get_default(call_default_factory=True)
            known = usual.model_dump(mode="json") if isinstance(usual, BaseModel) else usual
            leaves = _leaves(key, value, known)
            settings += [word for name, setting in leaves for word in ("--set", f"{name}={setting}")]
    return [*name.split(), *arguments, *options, *settings]


def _typed(name: str, field: FieldInfo | None, value: Any) -> list[str]:
    """Return an option and its value as words; empty for a value that only --set can set, such as False."""
    if field is None or not is_typed(field) or value is None:
        return []
    option, flag = option_of(name, field), flag_of(field)
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


def yaml_text(value: Any) -> str:
    """Return a value as YAML: text as it is where YAML reads it as that text, all else as JSON."""
    try:
        if isinstance(value, str) and value == value.strip() and parse_yaml(value) == value:
            return value
    except MalformedError:
        pass
    return json.dumps(value, ensure_ascii=False, default=str)
