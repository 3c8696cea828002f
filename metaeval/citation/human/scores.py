"""Scores that were made elsewhere, of sentences or of whole answers: one JSON object per line.

    {"answer": "a1", "start": 0, "end": 20, "value": 0.73}
    {"answer": "a1", "value": 0.5}

answer      the id of a rated answer. start, end: offsets of a sentence in its text; left out: the whole answer's score.
value       higher is better supported; null where it is missing.
measure     optional: the name of the score, where a file holds several; default: the file's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from metaeval.citation.human.model import SpanValue, Valued
from metaeval.citation.model import Answer
from metaeval.corpus.loaders.rows import Row, read_rows
from metaeval.errors import UserError

_FIELDS = ("answer", "start", "end", "value", "measure")
_MISSING = Valued(None, "missing", "absent")


@dataclass(frozen=True)
class Given:
    """One measure's scores: of spans, and of whole answers, by the answers' ids."""

    spans: dict[str, list[SpanValue]] = field(default_factory=dict)
    wholes: dict[str, Valued] = field(default_factory=dict)


def read_given(path: Path, answers: Mapping[str, Answer]) -> dict[str, Given]:
    """The scores of a file by measure; answers: the rated ones by id.

    Raises `UserError`, with the line and the field, for what the format does not allow and for unknown answers.
    """
    found: dict[str, Given] = {}
    for row in read_rows(path, "name a file of scores, one JSON object per line"):
        row.only(_FIELDS)
        own, value = row.identifier("answer"), _value(row)
        if own not in answers:
            example = next(iter(answers), "none")
            raise UserError(f"{row.where}: no rated answer has the id {own!r} (one is {example!r}).")
        scores = found.setdefault(row.optional_text("measure") or path.name.split(".")[0], Given())
        if "start" not in row.fields and "end" not in row.fields:
            if own in scores.wholes:
                raise UserError(f"{row.where}: the answer {own!r} has a score already; allowed: one for each answer.")
            scores.wholes[own] = value
            continue
        start, end = row.number("start"), row.number("end")
        if not 0 <= start < end <= len(answers[own].text):
            raise UserError(
                f"{row.where}: the sentence goes from {start} to {end}; allowed: offsets from 0 to "
                f"{len(answers[own].text)}, the length of answer {own!r}."
            )
        scores.spans.setdefault(own, []).append(SpanValue(start, end, value))
    if not found:
        raise UserError(f"{path} holds no scores: give a file with at least one.")
    return found


def _value(row: Row) -> Valued:
    if "value" not in row.fields:
        row.number("value")  # says that it is missing
    value = row.fields["value"]
    if value is None:
        return _MISSING
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise row.error("value", "a finite number, or null where it is missing")
    return Valued(float(value))
