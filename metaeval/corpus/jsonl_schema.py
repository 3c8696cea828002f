"""The fields of "metaeval-corpus/1", declared once, and the checks that one line alone can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metaeval.corpus.model import SupportLevel
from metaeval.corpus.problems import Problem, shown, shown_with_hint

FORMAT = "metaeval-corpus/1"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field: whether a value fits, what is allowed in words, whether it must be there, and fields inside it."""

    fits: Callable[[Any], bool]
    allowed: str
    required: bool = False
    inner: Mapping[str, Field] | None = None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_count(value: Any) -> bool:
    # bool is a subclass of int: `true` is no number here.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


LEVELS: Mapping[str, SupportLevel] = {level.label: level for level in sorted(SupportLevel, reverse=True)}

_ID = Field(_is_filled, "a string that is not empty", required=True)
_OPTIONAL_ID = Field(_is_filled, "a string that is not empty")
_TEXT = Field(_is_text, "a string")
_META = Field(_is_object, "an object")
_EVIDENCE: Mapping[str, Field] = {
    "sentences": Field(lambda v: isinstance(v, list) and all(map(_is_count, v)), "a list of whole numbers from 0"),
    "texts": Field(lambda v: isinstance(v, list) and all(map(_is_filled, v)), "a list of strings that are not empty"),
}

SCHEMA: Mapping[str, Mapping[str, Field]] = {
    "corpus": {
        "format": Field(lambda v: v == FORMAT, f'"{FORMAT}"', required=True),
        "name": _ID,
        "dropped": Field(
            lambda v: isinstance(v, dict) and all(map(_is_count, v.values())), "an object of counts by reason"
        ),
        "meta": _META,
    },
    "document": {
        "id": _ID,
        "text": _TEXT,
        "sentences": Field(_is_texts, "a list of strings"),
        "title": _TEXT,
        "url": _TEXT,
        "meta": _META,
    },
    "statement": {"id": _ID, "text": _ID, "group": _OPTIONAL_ID, "system": _TEXT, "meta": _META},
    "citation": {
        "id": _OPTIONAL_ID,
        "statement": _ID,
        "document": _ID,
        "level": Field(lambda v: isinstance(v, str) and v in LEVELS, ", ".join(LEVELS), required=True),
        "evidence": Field(_is_object, 'an object with "sentences" or "texts"', inner=_EVIDENCE),
        "meta": _META,
    },
}


def check_record(line: int, record: Any) -> Iterator[Problem]:
    """Yield every problem that this line has by itself. `line` counts from 1; `record` is its parsed JSON."""
    if not isinstance(record, dict):
        yield Problem(line, "the line", shown(record), "one JSON object per line")
        return
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in SCHEMA:
        found = shown_with_hint(kind, SCHEMA) if "type" in record else "missing"
        yield Problem(line, "type", found, ", ".join(SCHEMA))
        return
    yield from _check_fields(line, {key: value for key, value in record.items() if key != "type"}, SCHEMA[kind], "")
    if kind == "document" and ("text" in record) == ("sentences" in record):
        found = "given together with sentences" if "text" in record else "missing"
        yield Problem(line, "text", found, 'exactly one of "text" and "sentences"')


def _check_fields(line: int, record: Record, fields: Mapping[str, Field], prefix: str) -> Iterator[Problem]:
    for name, value in record.items():
        field = fields.get(name)
        if field is None:
            yield Problem(line, "a field's name", prefix + shown_with_hint(name, fields), ", ".join(fields))
        elif not field.fits(value):
            known = LEVELS if name == "level" else ()
            yield Problem(line, prefix + name, shown_with_hint(value, known), field.allowed)
        elif field.inner is not None:
            yield from _check_fields(line, value, field.inner, f"{prefix}{name}.")
    for name, field in fields.items():
        if field.required and name not in record:
            yield Problem(line, prefix + name, "missing", field.allowed)
