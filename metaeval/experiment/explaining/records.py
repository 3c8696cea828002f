"""The numbers of a sheet by name, so that two sheets can be held against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaeval.experiment.sheet import Scalar

Ends = tuple[float | None, float | None]

_FIRST = ("system", "level", "scenario")  # words that a record's name begins with


@dataclass(frozen=True)
class Numbers:
    """A record's numbers by name, "" for its value, and its intervals by the name of the number that they are of."""

    values: Mapping[str, float | None]
    intervals: Mapping[str, Ends]


def numbers_of(records: Sequence[Mapping[str, Scalar]]) -> dict[str, Numbers]:
    """The numbers of every record by their names, under the record's words (system m, overlap, recall).

    Where words do not tell records apart, the first whole number that does is taken for a word (round 2); else records
    of the same words are counted through.
    """
    keys = _keys(records)
    seen: Counter[str] = Counter()
    found: dict[str, Numbers] = {}
    for record in records:
        name = ", ".join(_word(key, record[key]) for key in keys if record[key] is not None)
        seen[name] += 1
        own = f"{name} #{seen[name]}" if seen[name] > 1 else name
        found[own] = _numbers({key: _number(value) for key, value in record.items() if key not in keys})
    return found


def _keys(records: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """The fields that say what a record is about."""
    fields = sorted(records[0], key=lambda key: _FIRST.index(key) if key in _FIRST else len(_FIRST)) if records else []
    words = [field for field in fields if any(isinstance(one[field], str | bool) for one in records)]
    whole = [field for field in fields if all(type(one[field]) is int for one in records)]
    for keys in (words, *([*words, field] for field in whole)):
        if len({tuple(one[key] for key in keys) for one in records}) == len(records):
            return keys
    return words


def _numbers(values: Mapping[str, float | None]) -> Numbers:
    low, high = "low", "high"
    stems = [
        key.removesuffix(low) for key in values if key.endswith(low) and f"{key.removesuffix(low)}{high}" in values
    ]
    ends = {f"{stem}{end}" for stem in stems for end in (low, high)}
    return Numbers(
        {"" if key == "value" else key: value for key, value in values.items() if key not in ends},
        {stem.rstrip("_"): (values[f"{stem}{low}"], values[f"{stem}{high}"]) for stem in stems},
    )


def _word(key: str, value: Scalar) -> str:
    return f"{key} {value}" if isinstance(value, int) else str(value)


def _number(value: Scalar) -> float | None:
    return None if value is None else float(value)
