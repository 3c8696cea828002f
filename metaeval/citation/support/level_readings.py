"""Levels that a file holds: people's support judgements, and the verdicts that official judges left in their files.

Both readings are those of the published code, quirks included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.citation.support.measures import Level, StatementLevels
from metaeval.core.errors import UserError, shown
from metaeval.corpus.data_rows import DataRow

# Field of an answer's reference: a list of its statements, each with its offsets start and end, its text without marks,
# cited (numbers of passages), and, where they have been judged, levels (one for each citation), as the file has them.
FIELD = "support"
# Field of an answer's reference: how its levels are spelt, trec (default) or fact.
SCALE = "support_scale"

_WEIGHTS: Mapping[int, Level] = {2: 1.0, 1: 0.5, 0: 0.0, -1: None}
_VERDICTS: Mapping[object, Level] = {"supported": 1.0, "unknown": None}


def trec_level(value: Any) -> Level:
    """Return the weight of a TREC level: 1, 0.5 or 0 for 2, 1 or 0, and None for -1 (not judged).

    The level may be a text. As in the official code, numbers are cut to whole ones. Raises ValueError for others.
    """
    if not isinstance(value, str | int | float) or int(value) not in _WEIGHTS:
        raise ValueError(f"a support level is {value!r}")
    return _WEIGHTS[int(value)]


def fact_level(verdict: Any) -> Level:
    """Return 1 for FACT's verdict "supported", None for "unknown", and 0 for any other one."""
    return _VERDICTS.get(verdict, 0.0) if isinstance(verdict, str) else 0.0


def read_levels(row: DataRow, scale: str) -> StatementLevels:
    """Return the levels of a statement as its file has them; raises `UserError` for what is not of the scale.

    row: an entry of the reference's field `support`, whose cited numbers are the sources. scale: trec or fact.
    """
    cited, values = tuple(row.fields.get("cited") or ()), row.fields.get("levels")
    if not isinstance(values, list):
        raise row.error("levels", "a list, with one level for each citation")
    try:
        if len(values) != len(cited):
            raise ValueError(f"it has {len(values)} levels for {len(cited)} citations")
        weights = tuple(fact_level(value) if scale == "fact" else trec_level(value) for value in values)
        return StatementLevels(weights, cited, "" if scale == "fact" else row.optional_text("text"))
    except (ValueError, OverflowError) as error:
        held = f"{row.where}: the statement {shown(row.fields.get('text', ''))} cannot be read: {error}"
        raise UserError(f"{held}; levels are 2 (full), 1 (partial), 0 (none) and -1 (not judged).") from error
