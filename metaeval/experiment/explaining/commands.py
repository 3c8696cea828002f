"""Which command makes a number with these fields in its signature."""

from __future__ import annotations

from collections.abc import Mapping

RUN = "run"
META = "cite meta"
GENERATE = "generate"
REFIT = "citeeval-refit"
"""What the signature calls the pipeline of `cite refit`."""


def command_of(fields: Mapping[str, str]) -> str:
    """The command, as it is typed behind `metaeval`: run, generate, cite alce, cite meta ..."""
    pipeline = fields.get("pipeline", "")
    if "questions" in fields:
        return GENERATE
    if {"none", "unrated", "responses"} <= fields.keys():
        return META
    if "rewrite" in fields:
        return "cite rewrite"
    if pipeline == REFIT:
        return "cite refit"
    if "rounds" in fields:
        return "cite improve"
    return f"cite {pipeline}" if pipeline else RUN
