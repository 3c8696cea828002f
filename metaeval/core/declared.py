"""Declarations of settings: strict models, the options of their fields, descriptions and types; and checks by them."""

from __future__ import annotations

import ast
import inspect
import json
import re
import reprlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from metaeval.core.errors import UserError, as_value_error, did_you_mean, unknown
from metaeval.core.registry import name_of

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """An immutable pydantic model that forbids unknown fields, NaN, infinity, and booleans in place of other values."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, defer_build=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _truth_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and bool not in kinds_of(cls.model_fields[str(info.field_name)].annotation):
            raise ValueError(f"{str(value).lower()} is not a value for this setting")
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """The command-line form of an options field; it is given beside the field's type, in Annotated.

    The help text is the first paragraph of the field's description.

    metavar: placeholder of the value in a help text. short: the one-letter option. name: the option's name, where it
    is not the field's. multiple: the option can be given several times. argument: it is an argument, not an option.
    required: the command needs it, while the Python function does not. output: it names a file to write. alias: a
    second name of the same option. hidden: few people type it, and only --help-all shows it.
    """

    metavar: str = ""
    short: str = ""
    name: str = ""
    multiple: bool = False
    argument: bool = False
    required: bool = False
    output: bool = False
    alias: str = ""
    hidden: bool = False


def flag_of(field: FieldInfo) -> Flag:
    """Return the `Flag` of a field; an empty `Flag` for a field without one."""
    return next((part for part in field.metadata if isinstance(part, Flag)), Flag())


def is_typed(field: FieldInfo) -> bool:
    """Return whether a field has a `Flag`, that is, whether it is an option or argument of the command line."""
    return any(isinstance(part, Flag) for part in field.metadata)


def option_of(name: str, field: FieldInfo) -> str:
    """Return the option of a field as it is typed, such as --dry-run. name: of the field."""
    return f"--{(flag_of(field).name or name).replace('_', '-')}"


def kinds_of(annotation: Any) -> Iterator[Any]:
    """Yield a type and every type in it: of tuple[str, ...] | None the union, the tuple, str, ... and None."""
    yield annotation
    for part in () if get_origin(annotation) is Literal else get_args(annotation):
        yield from kinds_of(part)


def named_values(annotation: Any) -> list[str]:
    """Return the values of the Literals in a type, as text."""
    return [str(value) for kind in kinds_of(annotation) if get_origin(kind) is Literal for value in get_args(kind)]


def parameter_docs(fields: Mapping[str, FieldInfo]) -> str:
    """Return the entries of fields in a numpydoc section: name, type and default, and the description.

    A name that begins with * takes positional arguments, each an element of the field's tuple. The settings of a model
    follow its description.
    """
    entries = []
    for name, field in fields.items():
        is_starred, required = name.startswith("*"), field.is_required()
        kinds = _in_words(get_args(field.annotation)[0] if is_starred else field.annotation)
        kinds = ["str", "Path", *kinds] if kinds == ["object"] and is_typed(field) else kinds  # a file, or its content
        default = None if required else field.get_default(call_default_factory=True)
        values = default if isinstance(default, tuple) else (default,)
        texts = [_quoted(str(value) if isinstance(value, Path) else value) for value in values]
        is_shown = texts and default not in (None, "") and not isinstance(default, BaseModel | Mapping)
        ending = f", default {', '.join(texts)}" if is_shown else "" if is_starred or required else ", optional"
        words = textwrap.fill(" ".join((field.description or "").split()), 100, break_on_hyphens=False)
        inner = f"\n\n{parameter_docs(type(default).model_fields)}\n" if isinstance(default, Strict) else ""
        entries.append(f"{name} : {' or '.join(kinds)}{ending}\n{textwrap.indent(words + inner, '    ')}")
    return "\n".join(entries)


def _in_words(annotation: Any) -> list[str]:
    """Return what a field of a type takes, None left out: a path as a text too, for a tuple an element or a sequence.

    A dict, and a model of settings, takes any mapping.
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _in_words(parts[0])
    if origin in (Union, UnionType):
        return list(dict.fromkeys(words for part in parts for words in _in_words(part)))
    if origin is Literal:
        return ["one of " * (len(parts) > 1) + ", ".join(map(_quoted, parts))]
    if origin is tuple:
        each = _in_words(parts[0])
        return [*each, f"sequence of {each[0] if len(each) == 1 else 'these'}"]
    if origin in (dict, Mapping):
        return ["mapping" if parts[1] is Any else f"mapping of str to {' or '.join(_in_words(parts[1]))}"]
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        return ["mapping"]
    return {Any: ["object"], Path: ["str", "Path"], NoneType: []}.get(annotation, [annotation.__name__])


def _quoted(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else str(value)


@cache
def option_docs(owner: type) -> Mapping[str, str]:
    """Return the description of each field of a class and its bases: pydantic's, else the text under the field."""
    words = {name: text for base in reversed(owner.__mro__) for name, text in _texts_of(base)}
    fields = owner.model_fields if issubclass(owner, BaseModel) else {}
    return words | {name: field.description for name, field in fields.items() if field.description}


def _texts_of(owner: type) -> Iterator[tuple[str, str]]:
    """Yield name and text of each field of the class itself that has a text under it; nothing without source code."""
    if owner.__module__.partition(".")[0] in ("builtins", "abc", "pydantic"):
        return
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):  # a class that was typed into a session
        return
    (tree,) = ast.parse(textwrap.dedent(source)).body
    for field, below in pairwise(tree.body if isinstance(tree, ast.ClassDef) else ()):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield ast.unparse(field.target), " ".join(str(below.value.value).split())


def validated(
    model: type[Model], values: Mapping[str, Any], where: str, spelled: Mapping[str, str] = MappingProxyType({})
) -> Model:
    """Return a model of the values; raises `UserError` with the first problem in one sentence.

    where: the origin of the values (a file, or "the arguments"), which the message names. spelled: how settings of
    another origin were given, by their dotted names, as {"unit": "--unit", "interval.seed": "--set interval.seed"}.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UserError(_sentence(model, error, where, spelled)) from error


def _subject(field: str, where: str, spelled: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the subject and the verb of a message about a setting, and the origin to name where it is unknown."""
    key, rest = field, ""
    while key not in spelled:
        if not key:
            return f"Setting {field!r} in {where}", "is", where
        key, _, last = key.rpartition(".")
        rest = (f"[{last}]" if last.isdigit() else f".{last}") + rest
    subject = spelled[key]
    in_set = subject.startswith("--set ")
    if in_set or subject == key:  # an option is named whole: what is inside it was typed as one text
        return f"{subject}{rest}", "is", "--set" if in_set else "the arguments"
    return subject, "has" if rest.endswith("]") else "is", "the arguments"


_LISTED = 20
"""A message with a suggestion lists the known names too, if they are at most this many."""


def _sentence(model: type[BaseModel], error: ValidationError, where: str, spelled: Mapping[str, str]) -> str:
    """Return the message about the first problem that pydantic found. where, spelled: as in `validated`."""
    first = error.errors()[0]
    if not first["loc"]:  # several settings do not go together
        return f"In {where}: {first['msg'].removeprefix('Value error, ')}."
    *parents, last = map(str, first["loc"])
    field = ".".join([*parents, last])
    subject, verb, place = _subject(field, where, spelled)
    if first["type"] in ("extra_forbidden", "invalid_key"):
        for name in parents:  # to the model that a nested setting belongs to
            inner: Any = model.model_fields[name].annotation
            if not hasattr(inner, "model_fields"):
                break
            model = inner
        known = sorted(model.model_fields)
        listed = textwrap.shorten(", ".join(known), 240, placeholder=" …")
        allowed = f"Known: {listed}" if known else "No setting is known there"
        inside = [
            f"{name}.{last}"
            for name in known
            if last in getattr(model.model_fields[name].annotation, "model_fields", {})
            or last in dict(cast(Any, model.model_fields[name].json_schema_extra or {})).get("names", ())
        ]
        hint = f" Did you mean {' or '.join(map(repr, inside))}?" if inside else did_you_mean(last, known)
        remedy = hint if hint and len(known) > _LISTED else f"{hint} {allowed}."
        return f"Unknown setting {field!r} in {place}.{remedy}"
    if first["type"] == "missing":
        return f"Setting {field!r} is missing in {where}."
    message = re.sub(r"^(Value error, |Input should be )|, unable to (parse|interpret) .*", "", first["msg"])
    message = message.rstrip(".")
    if first["type"] == "value_error":
        return f"{subject}: {message}."
    if first["type"] in ("model_type", "dict_type"):
        message = "settings of its own, as NAME: VALUE lines, or --set NAME.NAME=VALUE"
    if first["type"] == "path_type":
        message = "a path"
    hint = ""
    if first["type"] == "literal_error" and isinstance(first["input"], str):
        hint = did_you_mean(first["input"], re.findall(r"'([^']*)'", str(first["ctx"]["expected"])))
    value = reprlib.repr(str(first["input"]) if isinstance(first["input"], Path) else first["input"])
    return f"{subject} {verb} {value}: it should be {message}.{hint}"


def as_list(value: Any) -> Any:
    """Return a string as the list of its non-empty parts between commas; anything else is returned unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(as_list)]
"""A list of names; a string is cut at its commas."""


def metric_names(value: Any) -> Any:
    """Return the names of metrics given as text, list, function or class; see `metaeval.core.registry.name_of`."""
    listed = as_list(value)
    listed = [listed] if callable(listed) else listed
    with as_value_error():
        return [name_of("metric", each) for each in listed] if isinstance(listed, list | tuple) else listed


MetricNames = Annotated[tuple[str, ...], BeforeValidator(metric_names)]
"""Names of metrics, as `Names`; in Python also functions and classes."""


def _existing(path: Path) -> Path:
    if not path.exists():
        raise ValueError(f"{path} does not exist")
    return path


ExistingPath = Annotated[Path, AfterValidator(_existing)]
"""A file or folder that is there, so that a slip in its name is the first error."""


def as_numbers(value: Any) -> Any:
    """Return a text cut at its commas as a list of floats, and a number as a list of one; anything else unchanged."""
    if not isinstance(value, str):
        return [value] if isinstance(value, int | float) else value
    try:
        numbers = [float(part) for part in value.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers:
        raise ValueError(f"it takes numbers with commas, for example 1,2; got {value!r}")
    return numbers


TextList = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
"""A list of texts; a single text is a list of one, and is not cut at its commas."""

NumberList = Annotated[tuple[float, ...], BeforeValidator(as_numbers)]
"""A list of numbers; a string is cut at its commas, and a single number is a list of one."""

OptionText = Annotated[str, Field(coerce_numbers_to_str=True)]
"""An option's value as text; `--set dataset_options.k=5` is read as YAML, and gives a number."""


def one_of(what: str, allowed: Sequence[str], **short: str) -> AfterValidator:
    """Return a validator that accepts the words `allowed`, and short forms, which it replaces by the words.

    what: name of the option. short: word by short form. Another word raises `UserError`, with the nearest one.
    """

    def check(value: str) -> str:
        if short.get(value, value) not in allowed:
            raise unknown(what, value, allowed)
        return short.get(value, value)

    return AfterValidator(check)
