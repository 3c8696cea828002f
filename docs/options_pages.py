"""The pages of all options, made from their declarations: `python docs/options_pages.py`.

There is one page for each command, and one for each kind of setting that many commands take with --set.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from metaeval.analyses import GROUPS
from metaeval.analyses.analysis import Analysis, own_fields
from metaeval.citation.chat_models import ChatOptions
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.declared import (
    flag_of,
    is_typed,
    kinds_of,
    named_values,
    option_docs,
    option_of,
)
from metaeval.scoring.backends.model_metric import ModelOptions
from pydantic import BaseModel

FOLDER = Path(__file__).parent / "reference" / "options"

_INDEX = """# Options

`metaeval COMMAND --help` prints the options that people type most, with examples, `--help-all` all of them, and
`metaeval results show` the settings behind the numbers of a job. These pages hold the same. They are made from the
declarations by `python docs/options_pages.py`, and a test compares them with the declarations.

Where a command has settings without an option, it takes `--set NAME=VALUE` (`-s`), which can be repeated: of two values
of one setting the later counts, with a warning. Other options are given once, but lists: `-m overlap -m rouge` is `-m
overlap,rouge`. Commands that score or write tables take `--quiet` (`-q`), and `run` and `evaluate` print every table
whole with `--full`."""
_SHARED = {
    "settings": "Settings of a run",
    "chat-settings": "Options of the chat model of a citation pipeline",
    "metrics": "Options of metrics",
    "datasets": "Options of data sets",
    "protocols": "Options of protocols",
}
"""Titles of the pages of settings that many commands take, by file name."""

_COLUMNS = ("option", "values", "default", "description")
_KINDS = {
    bool: "true, false",
    int: "whole number",
    float: "number",
    Path: "path",
    str: "text",
    dict: "NAME: VALUE",
}

OptionRow = tuple[str, str, str, str]


def options_pages() -> dict[str, str]:
    """Return the pages as Markdown by file name."""
    commands = {
        name.replace(".", "-"): registry.find("analysis", name)
        for name in registry.names("analysis")
    }
    pages = {
        name: _command_page(command) for name, command in commands.items()
    }
    pages |= {
        "settings": _settings_page(),
        "chat-settings": _chat_settings_page(),
        "metrics": _metrics_page(),
    }
    pages |= {
        "datasets": _datasets_page(),
        "protocols": _protocols_page(),
        "index": _index(commands),
    }
    return {f"{name}.md": text for name, text in sorted(pages.items())}


def write() -> None:
    """Write the pages, and delete those of commands that no longer exist."""
    pages = options_pages()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _page(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _index(commands: Mapping[str, Analysis]) -> str:
    alone = [
        name for name, command in commands.items() if " " not in command.name
    ]
    parts = [_INDEX, "## Commands", *_listed(alone, commands)]
    for group, summary in GROUPS.items():
        inside = [
            name
            for name, command in commands.items()
            if command.name.startswith(f"{group} ")
        ]
        parts += (
            [f"## {group}", summary, *_listed(inside, commands)]
            if inside
            else []
        )
    parts += ["## Settings that many commands take", _toctree(_SHARED)]
    return _page(*parts)


def _listed(
    names: Sequence[str], commands: Mapping[str, Analysis]
) -> tuple[str, str]:
    lines = [
        f"| [`{commands[name].name}`]({name}.md) | {commands[name].summary} |"
        for name in names
    ]
    return "\n".join(
        ["| command | what it does |", "| --- | --- |", *lines]
    ), _toctree(names, hidden=True)


def _toctree(
    names: Iterator[str] | Sequence[str] | Mapping[str, str],
    hidden: bool = False,
) -> str:
    return "\n".join(
        [
            ":::{toctree}",
            *([":hidden:"] if hidden else [":maxdepth: 1"]),
            "",
            *names,
            ":::",
        ]
    )


def _command_page(command: Analysis) -> str:
    """Return the page of a command: its options as they are typed, then the names of settings for --set."""
    options = command.options
    fields = options.model_fields
    names = dict.fromkeys([*own_fields(options), *fields])
    typed = [
        name
        for name in names
        if is_typed(fields[name]) and name not in options.untyped
    ]
    untyped = [
        name for name in own_fields(options) if name in options.untyped
    ]
    parts = [
        f"# metaeval {command.name}",
        command.summary,
        *_paragraphs(command.about),
    ]
    parts.append(
        _table([_typed_row(options, name) for name in typed])
        if typed
        else "It takes no options."
    )
    if untyped:
        parts += [
            "## Settings for --set",
            _table([_untyped_row(options, name) for name in untyped]),
        ]
    shared = [
        name
        for name in names
        if name in RunConfig.model_fields and name not in typed
    ]
    if shared:
        listed = ", ".join(
            f"`{setting}`"
            for name in shared
            for setting in _setting_names(name)
        )
        parts.append(
            f"Settings of a run that `--set` takes here: {listed} ([descriptions](settings.md))."
        )
    if "chat" in fields:
        parts.append(
            "Options of the chat model: [`chat.NAME`](chat-settings.md)."
        )
    parts += _measures(options)
    return _page(*parts)


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, without its line breaks and its marks of kept ones."""
    return [
        " ".join(paragraph.replace("\b", "").split())
        for paragraph in text.split("\n\n")
    ]


def _measures(options: type[BaseModel]) -> list[str]:
    """Return the section on the measures of a citation analysis, whose module defines its tables; else nothing."""
    modules = (sys.modules[kind.__module__] for kind in options.__mro__)
    defined = next(
        (
            found
            for module in modules
            if (found := getattr(module, "DEFINITIONS", None))
        ),
        (),
    )
    tables = defined.values() if isinstance(defined, Mapping) else defined
    lines = [
        f"- {measure.label}: {measure.meaning}."
        for table in tables
        for measure in table.measures
        if measure.meaning
    ]
    return ["## Measures", "\n".join(lines)] if lines else []


def _typed_row(options: type[BaseModel], name: str) -> OptionRow:
    field = options.model_fields[name]
    flag = flag_of(field)
    words = filter(
        None,
        [
            option_of(name, field),
            flag.alias and f"--{flag.alias}",
            flag.short,
        ],
    )
    option = (
        (flag.metavar or name.upper())
        if flag.argument
        else ", ".join(f"`{word}`" for word in words)
    )
    values = (
        _KINDS[Path] if flag.metavar == "FILE" else _values(field.annotation)
    )
    default = _default(options, name)
    default = (
        getattr(default, "name", default)
        if isinstance(default, BaseModel)
        else default or ""
    )
    return option, values, default, str(field.description)


def _untyped_row(options: type[BaseModel], name: str) -> OptionRow:
    field = options.model_fields[name]
    return (
        f"`{name}`",
        _values(field.annotation),
        _default(options, name),
        str(field.description),
    )


def _setting_names(name: str) -> list[str]:
    """Return a setting of a run as --set takes it, or each setting that is nested in it."""
    annotation = RunConfig.model_fields[name].annotation
    nested = isinstance(annotation, type) and issubclass(
        annotation, BaseModel
    )
    return (
        [f"{name}.{inner}" for inner in annotation.model_fields]
        if nested
        else [name]
    )  # type: ignore[union-attr]


def _settings_page() -> str:
    where = "On the command line, in a YAML file, or with `--set NAME=VALUE`."
    return _page(
        f"# {_SHARED['settings']}", where, _table(_settings(RunConfig))
    )


def _chat_settings_page() -> str:
    return _page(
        f"# {_SHARED['chat-settings']}",
        "`--set chat.NAME=VALUE`, and `chat={...}` in Python.",
        str(ChatOptions.__doc__).partition("\n")[0],
        _table(_settings(ChatOptions)),
    )


def _metrics_page() -> str:
    shared = tuple(_settings(ModelOptions))
    parts = [
        f"# {_SHARED['metrics']}",
        "`--set metric_options.METRIC.NAME=VALUE`.",
    ]
    parts += ["## every metric that reads a model", _table(shared)]
    having: dict[type[BaseModel], list[str]] = {}
    for name in sorted(registry.names("metric")):
        having.setdefault(registry.find("metric", name).Options, []).append(
            name
        )
    for options, names in having.items():
        rows = [
            row
            for row in _settings(options)
            if row not in shared or not issubclass(options, ModelOptions)
        ]
        parts += [f"## {', '.join(names)}", _table(rows)] if rows else []
    return _page(*parts)


def _datasets_page() -> str:
    def row(name: str, option: Any) -> OptionRow:
        allowed = ", ".join(map(str, option.allowed)) or "text"
        return name, allowed, option.default, option.help

    setting = "`--set dataset_options.NAME=VALUE`."
    return _page(
        f"# {_SHARED['datasets']}", setting, *_sections("dataset", row)
    )


def _protocols_page() -> str:
    def row(name: str, option: Any) -> OptionRow:
        about = _meanings(option.about, option.values)
        return name, ", ".join(option.values), option.default, about

    setting = "`--set protocol_options.PROTOCOL.NAME=VALUE`."
    return _page(
        f"# {_SHARED['protocols']}", setting, *_sections("protocol", row)
    )


def _sections(
    kind: str, row: Callable[[str, Any], OptionRow]
) -> Iterator[str]:
    """Yield a heading and a table for each registered thing with options."""
    for name in sorted(registry.names(kind)):
        if options := registry.find(kind, name).options:
            yield f"## {name}"
            yield _table(
                [row(key, option) for key, option in options.items()]
            )


def _meanings(about: str, values: Mapping[str, str]) -> str:
    """Return the description of a protocol's option, with the meanings of its values where these say more."""
    is_explained = (
        len({meaning.replace(value, "") for value, meaning in values.items()})
        > 1
    )
    return "; ".join(
        [
            about,
            *(
                f"{value}: {meaning}"
                for value, meaning in values.items()
                if is_explained
            ),
        ]
    )


def _settings(owner: type, prefix: str = "") -> Iterator[OptionRow]:
    """Yield the options of a class, with nested options under the name of their part."""
    words, hints = option_docs(owner), get_type_hints(owner)
    for name in words:
        if isinstance(hints[name], type) and issubclass(
            hints[name], BaseModel
        ):
            yield from _settings(hints[name], f"{prefix}{name}.")
        else:
            yield (
                f"{prefix}{name}",
                _values(hints[name]),
                _default(owner, name),
                words[name],
            )


def _values(kind: Any) -> str:
    """Return the values that an option takes, in words."""
    kinds = (get_origin(part) or part for part in kinds_of(kind))
    return ", ".join(named_values(kind)) or next(
        (_KINDS[part] for part in kinds if part in _KINDS), "NAME: VALUE"
    )


def _default(owner: type, name: str) -> Any:
    if issubclass(owner, BaseModel):
        field = owner.model_fields[name]
        value = (
            "required"
            if field.is_required()
            else field.get_default(call_default_factory=True)
        )
    else:
        declared = next(
            field for field in dataclasses.fields(owner) if field.name == name
        )  # type: ignore[arg-type]
        value = (
            "required"
            if declared.default
            is dataclasses.MISSING
            is declared.default_factory
            else declared.default
        )
        value = (
            ""
            if value is dataclasses.MISSING or dataclasses.is_dataclass(value)
            else value
        )
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return (
        {None: "", True: "true", False: "false"}.get(value, value)
        if isinstance(value, bool | None)
        else value
    )


def _table(rows: Iterator[OptionRow] | Sequence[Any]) -> str:
    lines = [_COLUMNS, ("---",) * len(_COLUMNS)]
    # Markdown would end a cell at a bar, and make a footnote of a caret in brackets.
    escaped = (
        [str(cell).replace("|", "\\|").replace("[^", "\\[^") for cell in row]
        for row in rows
    )
    lines += [
        tuple(" ".join(cell.split()) for cell in row) for row in escaped
    ]
    return "\n".join(
        f"| {' | '.join(cells)} |".replace("|  |", "| |").replace(
            "|  |", "| |"
        )
        for cells in lines
    )


if __name__ == "__main__":
    write()
