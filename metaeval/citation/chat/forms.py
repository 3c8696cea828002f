"""The form of a reply: JSON schemas as they are asked for, and strict reading of one JSON object."""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(?P<body>.*)\n\s*```\s*", re.DOTALL)


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
    """The JSON object that a text is, bare or as one block of code, with exactly these fields; None for all else."""
    fenced = _FENCE.fullmatch(text)
    try:
        body = json.loads(fenced["body"] if fenced else text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and body.keys() == set(names) else None


def is_number(value: Any) -> bool:
    """Whether a JSON value is a whole number; JSON's true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)
