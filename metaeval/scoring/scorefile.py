"""Score files: `pair_id, score, status` as Parquet or JSON lines, with a manifest beside them.

The exchange format. A metric that was run anywhere, by any program, is evaluated from such a file with no model here.
Only `pair_id` and `score` are needed; `score` may be null where `status` says why. Spreadsheets (CSV, TSV, XLSX) are
read too, where a blank cell is null.
"""

from __future__ import annotations

import json
import logging
import reprlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from metaeval.errors import UserError
from metaeval.files import atomic_write, write_text
from metaeval.own_tables import TABLES, read_table
from metaeval.reading import json_objects, parquet_library, parquet_rows, read_object
from metaeval.scoring.contract import PairScore, Status

SUFFIXES = (".parquet", ".jsonl")
"""Endings of files that are written. Those of `metaeval.own_tables.TABLES` are read, too."""

ROLES: Mapping[str, Sequence[str]] = {
    "pair_id": ("pair_id", "pair", "rating_id", "id"),
    "score": ("score", "scores", "value", "prediction"),
    "status": ("status",),
    "tokens": ("tokens",),
    "cut": ("cut",),
}
"""What the columns of a spreadsheet of scores are for, with their usual names."""

_log = logging.getLogger("metaeval")
_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class ScoreFile:
    """Scores by pair id, and the manifest ({} when none lies beside the file)."""

    path: Path
    answers: Mapping[str, PairScore]
    manifest: Mapping[str, Any]

    @property
    def metric(self) -> str:
        """The metric's name: from the manifest, else the file's own."""
        return str(self.manifest.get("metric") or self.path.stem)


def manifest_path(path: Path) -> Path:
    """The path of a score file's manifest."""
    return path.with_name(path.name + ".manifest.json")


def write_scores(path: Path, ids: Sequence[str], answers: Sequence[PairScore], manifest: Mapping[str, Any]) -> None:
    """Write a score file and its manifest, each whole or not at all. The suffix chooses the format."""
    _check_suffix(path)
    columns = {
        "pair_id": list(ids),
        "score": [answer.score for answer in answers],
        "status": [str(answer.status) for answer in answers],
        "tokens": [answer.tokens for answer in answers],
        "cut": [answer.cut for answer in answers],
    }
    if path.suffix == ".parquet":
        pyarrow = parquet_library()
        with atomic_write(path) as file:
            pyarrow.parquet.write_table(pyarrow.table(columns), file)
    else:
        lines = [
            json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, allow_nan=False)
            for row in zip(*columns.values(), strict=True)
        ]
        write_text(path, "".join(line + "\n" for line in lines))
    write_text(manifest_path(path), json.dumps(dict(manifest), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_scores(path: Path) -> ScoreFile:
    """Read a score file; `UserError` names the line, the field, the value and what is allowed."""
    _check_suffix(path, also=TABLES)
    if not path.is_file():
        raise UserError(f"Score file {path} does not exist.")
    rows: Iterable[tuple[str, dict[str, Any]]]
    if path.suffix in TABLES:
        rows = _spreadsheet(path)
    elif path.suffix == ".parquet":
        rows = ((f"{path} row {number}", row) for number, row in enumerate(parquet_rows(path), start=1))
    else:
        rows = json_objects(path, "write one object with pair_id and score per line, null for a missing score")
    answers: dict[str, PairScore] = {}
    for where, row in rows:
        pair_id = row.get("pair_id")
        if not isinstance(pair_id, str) or not pair_id:
            raise UserError(f"{where}: pair_id is {reprlib.repr(pair_id)}; it must be a non-empty string.")
        if pair_id in answers:
            raise UserError(f"{where}: pair_id {pair_id!r} is in the file twice; keep one row per pair.")
        answers[pair_id] = _answer(row, where)
    if not answers:
        raise UserError(f"Score file {path} has no rows.")
    return ScoreFile(path, answers, _manifest(path))


def _spreadsheet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a spreadsheet by the fields of a score file; a column that was guessed is said."""
    table = read_table(path)
    columns = table.find(ROLES, {})
    for field in ("pair_id", "score"):
        if field not in columns:
            raise UserError(
                f"{path} has no column {field} (columns: {', '.join(map(repr, table.headings))}): name one so."
            )
        if columns[field] != field:
            _log.info("%s: %s is read from the column %r.", path, field, columns[field])
    for row in table.rows:
        fields: dict[str, Any] = {"pair_id": row.text(columns["pair_id"])}
        fields |= {field: row.text(columns[field]) or None for field in columns if field == "status"}
        fields |= {field: _number(row.value(columns[field])) for field in columns if field not in ("pair_id", "status")}
        yield row.where, fields


def _number(cell: Any) -> Any:
    """A cell as the number that its text is; any other cell as it is, for whoever refuses it."""
    try:
        return float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def align(file: ScoreFile, ids: Sequence[str]) -> list[PairScore]:
    """The file's answers in the order of `ids`; a pair without a row is ABSENT, and counted as unscored.

    Raises `UserError` when the file scores pairs that are not among `ids`: it was made for other pairs.
    """
    strangers = file.answers.keys() - set(ids)
    if strangers:
        raise UserError(
            f"{len(strangers)} of the {len(file.answers)} pair ids in {file.path} are not pairs of this job, for "
            f"example {min(strangers)!r} (a pair of the job: {ids[0]!r}). Were dataset, split, chunk size, unit and "
            "pool the same? Write the job's pairs with 'metaeval pairs' and score those."
        )
    return [file.answers.get(pair_id, PairScore(None, Status.ABSENT)) for pair_id in ids]


def _answer(row: Mapping[str, Any], where: str) -> PairScore:
    score, status = row.get("score"), row.get("status")
    if "score" not in row and status is None:
        raise UserError(f"{where}: no field score (fields: {', '.join(map(repr, row))}).")
    if status is None:
        status = Status.OK if score is not None else Status.ABSENT
    try:
        status = Status(status)
    except ValueError:
        allowed = ", ".join(Status)
        raise UserError(f"{where}: status is {reprlib.repr(status)}; allowed: {allowed}.") from None
    if isinstance(score, bool) or not isinstance(score, int | float | None):
        raise UserError(f"{where}: score is {reprlib.repr(score)}; it must be a number or null.")
    if score is not None and not -_LARGEST <= score <= _LARGEST:
        raise UserError(f"{where}: score is {score}; it must be finite. Write null and a status for a missing score.")
    if (status is Status.OK) != (score is not None):
        raise UserError(
            f"{where}: score {score} with status {str(status)!r}; a number goes with 'ok', null with the rest."
        )
    tokens, cut = _count(row, "tokens", where), _count(row, "cut", where)
    return PairScore(None if score is None else float(score), status, tokens, cut)


def _count(row: Mapping[str, Any], name: str, where: str) -> int:
    value = row.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf or value != int(value):
        raise UserError(f"{where}: {name} is {reprlib.repr(value)}; it must be a whole number of 0 or more, or null.")
    return int(value)


def _manifest(path: Path) -> dict[str, Any]:
    beside = manifest_path(path)
    if not beside.is_file():
        return {}
    return read_object(beside, "mend it, or delete it to read the scores without")


def _check_suffix(path: Path, also: Sequence[str] = ()) -> None:
    allowed = (*SUFFIXES, *also)
    if path.suffix not in allowed:
        named = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise UserError(f"A score file ends in {named}; {path.name!r} does not.")
