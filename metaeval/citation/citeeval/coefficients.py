"""Coefficients of the edit distance in a file: written by `cite refit`, read by `cite citeeval`.

    {"schema": "metaeval-coefficients/1", "action": {"KEEP": 1.0, ...}, "intercept": 0.0, "made": {...}}

made: what they were fitted on, for people to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from metaeval.citation.citeeval.editdist import ACTIONS, Coefficients
from metaeval.corpus.problems import shown
from metaeval.errors import UserError
from metaeval.files import read_text, sha256_json

SCHEMA = "metaeval-coefficients/1"


def coefficients_text(coefficients: Coefficients, made: Mapping[str, Any]) -> str:
    """The file's text; the same coefficients and facts always give the same."""
    content = {
        "schema": SCHEMA,
        "action": {name: coefficients.action[name] for name in ACTIONS},
        "intercept": coefficients.intercept,
        "made": dict(made),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def read_coefficients(path: Path, index_shift: bool = False) -> Coefficients:
    """The coefficients in a file.

    Raises `UserError` where it is none, lacks an action, or holds what is no finite number, and where it was fitted
    with another reading of the edits than `index_shift` says.
    """
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}): give a file that 'metaeval cite refit' wrote.") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or not isinstance(content.get("action"), dict):
        raise UserError(f"{path} holds no coefficients ({SCHEMA}): give a file that 'metaeval cite refit' wrote.")
    made = content.get("made")
    shifted = bool(made.get("index_shift")) if isinstance(made, dict) else False
    if shifted != index_shift:
        raise UserError(
            f"{path} was fitted with index_shift={str(shifted).lower()}, and edits are read otherwise here: set "
            f"--set index_shift={str(shifted).lower()}, or fit again with 'metaeval cite refit'."
        )
    values = {**content["action"], "intercept": content.get("intercept")}
    for name in (*ACTIONS, "intercept"):
        value = values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise UserError(f"{path}: {name} is {shown(value)}; allowed: a finite number.")
    return Coefficients({name: float(values[name]) for name in ACTIONS}, float(values["intercept"]))


def fingerprint(coefficients: Coefficients) -> str:
    """12 hex digits that stand for the coefficients."""
    return sha256_json([[coefficients.action[name] for name in ACTIONS], coefficients.intercept])[:12]
