"""The form of a reply: JSON schemas as they are asked for, and strict reading of one JSON object."""

from __future__ import annotations

import json
from typing import Any

from metaeval.files import unique_fields

_FENCE = "```"


def object_schema(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def response_format(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The `response_format` of a chat request whose reply the server holds to a schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def read_object(text: str, *names: str) -> dict[str, Any] | None:
    """The JSON object that a text is, bare or as one block of code, with exactly these fields; None for all else.

    An object that names a field twice, at whatever depth, is of no form: which of both words was meant nobody can tell.
    """
    try:
        body = json.loads(_unfenced(text), object_pairs_hook=unique_fields)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and body.keys() == set(names) else None


def _unfenced(text: str) -> str:
    """What stands in a block of code, fences on lines of their own; a text that is no such block as it is."""
    block = text.strip()
    if len(block) < 2 * len(_FENCE) or not block.startswith(_FENCE) or not block.endswith(_FENCE):
        return text
    opening, _, body = block[len(_FENCE) : -len(_FENCE)].partition("\n")
    own_line = body.rstrip(" \t").endswith("\n")
    return body if opening.rstrip() in ("", "json") and own_line else text


def is_number(value: Any) -> bool:
    """Whether a JSON value is a whole number; JSON's true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)
