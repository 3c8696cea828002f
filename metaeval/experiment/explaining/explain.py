"""Explain: a signature field by field, the command that makes its number again, and what two numbers differ in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from metaeval import signature as signatures
from metaeval.errors import UserError, unknown
from metaeval.experiment.explaining.meanings import meaning
from metaeval.report.result import Result, Row, Value, load_result

_PACKAGES = ("metaeval", "numpy", "scipy")


@dataclass(frozen=True)
class Explained:
    """One field of a signature; `text` and `setting` are empty for a field that is not known here."""

    name: str
    value: str
    text: str
    setting: str


@dataclass(frozen=True)
class Change:
    """What two rows of one name differ in: a field, or a number; None where only one of the two has it.

    kind: "field" (`text` says what the field means), "value" or "count" (`by` is other less one), "interval",
    "cluster" (of metrics that are not told apart), or "row" where only one side has the row.
    """

    kind: str
    name: str
    one: str | None
    other: str | None
    text: str = ""
    by: float | None = None


def read_signature(text: str) -> dict[str, str]:
    """The fields of a signature; `UserError` for text that is none."""
    try:
        return signatures.parse(text)
    except ValueError as error:
        raise UserError(
            f"Not a signature: {error}. A table prints one under its metric; a result file (.json) is taken too."
        ) from error


def explain(fields: Mapping[str, str]) -> list[Explained]:
    """Every field in its order, with what it means and the setting that changes it."""
    return [_explained(name, value) for name, value in fields.items()]


def is_file(text: str) -> bool:
    """Whether this is meant as a result file's path: no signature ends in .json, or is a file that exists."""
    return text.endswith(".json") or ("|" not in text and Path(text).is_file())


def read_rows(text: str, metric: str | None = None) -> tuple[Result | None, dict[str, Row | None], dict[str, str]]:
    """A result file's rows by metric, or a signature as the only row: (result, rows, signatures by row name).

    Raises `UserError` for a file that is no result, and for a metric that it has no row of.
    """
    if not is_file(text):
        return None, {"": None}, {"": text}
    result = load_result(Path(text))
    rows: dict[str, Row | None] = {row.metric: row for row in result.rows}
    if metric is not None:
        if metric not in rows:
            raise unknown(f"metric of {text}:", metric, rows)
        rows = {metric: rows[metric]}
    return result, rows, {name: row.signature for name, row in rows.items() if row is not None}


def compare(one: str, other: str, metric: str | None = None) -> dict[str, list[Change]]:
    """What two signatures or result files differ in, by the name of the row; an empty list says: nothing.

    Rows of the same name are compared; the only row of each side is compared whatever its name. A row that one file
    alone has is a change itself.
    """
    (first, rows, texts), (second, other_rows, other_texts) = read_rows(one, metric), read_rows(other, metric)
    if (first is None) != (second is None):
        raise UserError("A signature and a result file: compare two of a kind (metaeval explain RESULT prints one's).")
    if first is None or second is None:
        return {"": _fields(texts[""], other_texts[""])}
    if first.protocol != second.protocol:
        raise UserError(
            f"{one} holds {first.protocol} and {other} {second.protocol}: numbers of two protocols do not compare."
        )
    found: dict[str, list[Change]] = {}
    for name in dict.fromkeys([*rows, *other_rows]):
        a, b = rows.get(name), other_rows.get(name)
        if a is None or b is None:
            found[name] = [Change("row", "row", _there(a), _there(b))]
        else:
            found[name] = [*_fields(a.signature, b.signature), *_numbers(a, b)]
    return found


def _there(row: Row | None) -> str | None:
    return None if row is None else "there"


def _fields(one: str, other: str) -> list[Change]:
    differing = signatures.differences(read_signature(one), read_signature(other))
    return [
        Change("field", name, value, other_value, _about(name, value, other_value))
        for name, (value, other_value) in differing.items()
    ]


def _about(name: str, value: str | None, other: str | None) -> str:
    known = [found.text for given in (value, other) if given is not None and (found := meaning(name, given))]
    return " / ".join(known)


def _numbers(one: Row, other: Row) -> Iterator[Change]:
    counts = [(count, getattr(one, count), getattr(other, count)) for count in ("scored", "unscored", "total")]
    for count, before, after in counts:
        if before != after:
            yield Change("count", count, f"{before:,}", f"{after:,}", by=float(after - before))
    for key in dict.fromkeys([*one.values, *other.values]):
        a, b = one.values.get(key), other.values.get(key)
        before, after = (None if value is None else value.value for value in (a, b))
        if before != after:
            by = None if before is None or after is None else after - before
            yield Change("value", key, _shown(before), _shown(after), by=by)
        places = [row.clusters.get(key) for row in (one, other)]
        if places[0] != places[1]:
            one_place, other_place = (None if place is None else str(place) for place in places)
            yield Change("cluster", key, one_place, other_place)
        if _interval(a) != _interval(b):
            yield Change("interval", key, _interval(a), _interval(b))


def _shown(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def _interval(value: Value | None) -> str | None:
    if value is None or value.low is None or value.high is None:
        return None
    return f"{value.low:.6g} to {value.high:.6g}"


def _explained(name: str, value: str) -> Explained:
    found = meaning(name, value)
    if found is None:
        return Explained(name, value, "", "")
    text = found.text
    if name in _PACKAGES and (here := _version(name)) != value:
        text += f"; here it is {here}, and the last digits of a number may move" if here else "; not installed here"
    return Explained(name, value, text, found.setting)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
