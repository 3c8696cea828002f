"""Options of an analysis as words of another command, which has them too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from metaeval import registry
from metaeval.analyses.analysis import AnalysisOptions, DeclaredOptions
from metaeval.config import load_settings
from metaeval.declared import flag_of, is_typed, option_of
from metaeval.reading import MalformedError, parse_yaml


def words_of(
    options: AnalysisOptions, names: Iterable[str], takes: type[DeclaredOptions], short: bool = False
) -> list[str]:
    """The file of settings, and each of these settings that differs from the file's, or from its default.

    takes: options of the other command. short: one-letter options where there are some.
    """
    kind = type(options)
    trust = {"trust_config": getattr(options, "trust_config", None)}
    usual = load_settings(kind, options.config, trust) if options.config else kind.model_construct()
    words = ["-c" if short else "--config", str(options.config)] if options.config else []
    for name in names:
        if (value := getattr(options, name)) != getattr(usual, name):
            words += (name not in takes.untyped and _option(options, name, value, short)) or [
                word for key, one in _leaves(name, value, getattr(usual, name)) for word in ("--set", f"{key}={one}")
            ]
    return words


def _option(options: AnalysisOptions, name: str, value: Any, short: bool) -> list[str]:
    """The words of a setting that an option sets whole, none where only --set does."""
    field = type(options).model_fields[name]
    flag = flag_of(field)
    option = (short and flag.short) or option_of(name, field)
    if not flag.metavar or value is None or isinstance(value, BaseModel) or (flag.argument and not flag.short):
        return []
    if isinstance(value, Mapping):
        return [word for key, one in value.items() for word in (option, f"{key}={one}")]
    if isinstance(value, tuple):
        return [] if any("," in one for one in value) else [option, ",".join(value)]
    return [option, str(value)]


def _leaves(name: str, value: Any, usual: Any) -> Iterator[tuple[str, str]]:
    """What differs in a setting, by its key with dots, as --set reads it."""
    if isinstance(value, BaseModel):
        for key, one in value:
            if one != getattr(usual, key):
                yield from _leaves(f"{name}.{key}", one, getattr(usual, key))
    elif isinstance(value, Mapping) and not any("." in key or "=" in key for key in value):
        for key, one in value.items():
            known = usual.get(key) if isinstance(usual, Mapping) else None
            if one != known or one is None:
                yield from _leaves(f"{name}.{key}", one, known)
    else:
        yield name, yaml_text(str(value) if isinstance(value, Path) else value)


def command_of(recipe: Mapping[str, Any]) -> list[str]:
    """The command of a recipe, as words behind `metaeval`; `UserError` for an analysis that is not registered."""
    name, given = str(recipe.get("analysis")), recipe.get("options")
    takes = registry.find("analysis", name.replace(" ", ".")).options
    arguments: list[str] = []
    options: list[str] = []
    settings: list[str] = []
    for key, value in given.items() if isinstance(given, Mapping) else ():
        field = takes.model_fields.get(key)
        if field is not None and flag_of(field).argument and not isinstance(value, Mapping):
            arguments += map(str, value if isinstance(value, list) else [value])
        elif words := [] if key in takes.untyped else _typed(key, field, value):
            options += words
        else:
            settings += _set(key, field, value)
    return [*name.split(), *arguments, *options, *settings]


def _typed(name: str, field: FieldInfo | None, value: Any) -> list[str]:
    """An option and its value as words; none for a value that only --set sets."""
    if field is None or not is_typed(field) or value is None:
        return []
    option, flag = option_of(name, field), flag_of(field)
    if isinstance(value, bool):
        return [option] if value else []
    if isinstance(value, Mapping):
        settings = flag.multiple and not any(isinstance(one, Mapping) for one in value.values())
        return [word for key, one in value.items() for word in (option, f"{key}={one}")] if settings else []
    if isinstance(value, list):
        if flag.multiple:
            return [word for one in value for word in (option, str(one))]
        return [] if any("," in str(one) for one in value) else [option, ",".join(map(str, value))]
    return [option, str(value)]


def _set(name: str, field: FieldInfo | None, value: Any) -> list[str]:
    usual = field.get_default(call_default_factory=True) if field is not None and not field.is_required() else None
    known = usual.model_dump(mode="json") if isinstance(usual, BaseModel) else usual
    return [word for key, one in _leaves(name, value, known) for word in ("--set", f"{key}={one}")]


def yaml_text(value: Any) -> str:
    """A value as YAML: text as it is where it stays text, all else as JSON."""
    try:
        if isinstance(value, str) and value == value.strip() and parse_yaml(value) == value:
            return value
    except MalformedError:
        pass
    return json.dumps(value, ensure_ascii=False, default=str)
