"""The page of all options, made from their declarations: `python -m metaeval.analyses.explaining.options_page`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from pydantic import BaseModel

from metaeval import registry
from metaeval.analyses.explaining.explain import owners
from metaeval.config import RunConfig
from metaeval.declared import flag_of, kinds_of, named_values, option_docs, option_of
from metaeval.scoring.backends.model_metric import ModelOptions

_HEAD = """# Options

Made from the declarations by `python -m metaeval.analyses.explaining.options_page > docs/options.md`; a test holds it
up to date. `metaeval COMMAND --help` lists the options of a command, `metaeval results explain` those behind a number.
"""
_COLUMNS = ("option", "values", "default", "what it decides")
_KINDS = {bool: "true, false", int: "whole number", float: "number", Path: "path", str: "text", dict: "NAME: VALUE"}

OptionRow = tuple[str, str, str, str]


def options_page() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD, "## Settings of a run", "On the command line, in a YAML file, or `--set NAME=VALUE`."]
    parts.append(_table(_settings(RunConfig)))
    parts += ["## Citation pipelines", "What the commands `metaeval cite NAME` take; each takes `--set` as well."]
    for name in sorted(registry.names("pipeline")):
        pipeline = registry.find("pipeline", name)
        measures = "; ".join(f"{measure.label} ({measure.meaning})" for measure in pipeline.measures if measure.meaning)
        parts += [f"### cite {name}", _table(_flags(pipeline.options))]
        parts += [f"Measures: {measures}."] if measures else []
    parts += [
        "## Options of citation pipelines behind --set",
        "`--set NAME=VALUE`; those of ALCE and ALiiCE in Python.",
    ]
    for owner in owners():
        parts += [f"### {owner.__name__}", str(owner.__doc__).partition("\n")[0], _table(_settings(owner))]
    parts += ["## Metrics", "`--set metric_options.METRIC.NAME=VALUE`.", "### every metric that reads a model"]
    shared = tuple(_settings(ModelOptions))
    parts.append(_table(shared))
    having: dict[type[BaseModel], list[str]] = {}
    for name in sorted(registry.names("metric")):
        having.setdefault(registry.find("metric", name).Options, []).append(name)
    for options, names in having.items():
        rows = [row for row in _settings(options) if row not in shared or not issubclass(options, ModelOptions)]
        parts += [f"### {', '.join(names)}", _table(rows)] if rows else []
    parts += ["## Data sets", "`--set dataset_options.NAME=VALUE`."]
    for name in sorted(registry.names("dataset")):
        options = registry.find("dataset", name).options.items()
        rows = [
            (key, ", ".join(map(str, option.allowed)) or "text", option.default, option.help) for key, option in options
        ]
        parts += [f"### {name}", _table(rows)] if rows else []
    parts += ["## Protocols", "`--set protocol_options.PROTOCOL.NAME=VALUE`."]
    for name in sorted(registry.names("protocol")):
        options = registry.find("protocol", name).options.items()
        rows = [
            (key, ", ".join(option.values), option.default, _meanings(option.about, option.values))
            for key, option in options
        ]
        parts += [f"### {name}", _table(rows)] if rows else []
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _meanings(about: str, values: Mapping[str, str]) -> str:
    """Return the description of a protocol's option, with the meanings of its values where these say more."""
    is_explained = len({meaning.replace(value, "") for value, meaning in values.items()}) > 1
    return "; ".join([about, *(f"{value}: {meaning}" for value, meaning in values.items() if is_explained)])


def _settings(owner: type, prefix: str = "") -> Iterator[OptionRow]:
    """Yield the options of a class, with nested options under the name of their part."""
    words, hints = option_docs(owner), get_type_hints(owner)
    for name in words:
        if isinstance(hints[name], type) and issubclass(hints[name], BaseModel):
            yield from _settings(hints[name], f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _values(hints[name]), _default(owner, name), words[name]


def _flags(options: type[BaseModel]) -> Iterator[OptionRow]:
    for name, field in options.model_fields.items():
        flag = flag_of(field)
        option = flag.metavar if flag.argument else option_of(name, field)
        yield option, _values(field.annotation), _default(options, name), str(field.description)


def _values(kind: Any) -> str:
    """Return the values that an option takes, in words."""
    kinds = (get_origin(part) or part for part in kinds_of(kind))
    return ", ".join(named_values(kind)) or next((_KINDS[part] for part in kinds if part in _KINDS), "NAME: VALUE")


def _default(owner: type, name: str) -> Any:
    if issubclass(owner, BaseModel):
        field = owner.model_fields[name]
        value = "required" if field.is_required() else field.get_default(call_default_factory=True)
    else:
        declared = next(field for field in dataclasses.fields(owner) if field.name == name)  # type: ignore[arg-type]
        value = "required" if declared.default is dataclasses.MISSING is declared.default_factory else declared.default
        value = "" if value is dataclasses.MISSING or dataclasses.is_dataclass(value) else value
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return {None: "", True: "true", False: "false"}.get(value, value) if isinstance(value, bool | None) else value


def _table(rows: Iterator[OptionRow] | Sequence[Any]) -> str:
    lines = [_COLUMNS, ("---",) * len(_COLUMNS)]
    # Markdown would end a cell at a bar, and make a footnote of a caret in brackets.
    escaped = ([str(cell).replace("|", "\\|").replace("[^", "\\[^") for cell in row] for row in rows)
    lines += [tuple(" ".join(cell.split()) for cell in row) for row in escaped]
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |") for cells in lines)


if __name__ == "__main__":
    print(options_page(), end="")  # noqa: T201
