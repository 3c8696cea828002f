"""A score in structured output: the JSON schema that is asked for, and its strict reading."""

from __future__ import annotations

import json
from typing import Any

from metaeval.llm.score_parsing import Scale


def score_schema(scale: Scale) -> dict[str, Any]:
    """The `response_format` of a chat request that asks for {"reasoning": string, "score": number}, reasoning first."""
    score: dict[str, Any] = {"type": "number"}
    if scale.only:
        score = {"type": "integer", "enum": [int(value) for value in scale.only]}
    schema = {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "score": score},
        "required": ["reasoning", "score"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": schema}}


def read_judgement(text: str, scale: Scale) -> float | None:
    """The score of a JSON text that keeps to the schema to the letter; None for every other text."""
    try:
        judgement = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(judgement, dict) or judgement.keys() != {"reasoning", "score"}:
        return None
    score = judgement["score"]
    if not isinstance(judgement["reasoning"], str) or isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return float(score) if scale.accepts(score) else None
