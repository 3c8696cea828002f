"""Types of settings: names, metrics, texts and numbers, as the command line, a file or Python gives them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from metaeval.errors import as_value_error, unknown
from metaeval.registry import name_of


def as_list(value: Any) -> Any:
    """Return a string as the list of its non-empty parts between commas; anything else is returned unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(as_list)]
"""A list of names; a string is cut at its commas."""


def metric_names(value: Any) -> Any:
    """Return the names of metrics given as text, list, function or class; see `metaeval.registry.name_of`."""
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
