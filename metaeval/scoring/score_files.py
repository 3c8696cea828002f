"""Score files: `pair_id, score, status` as Parquet or JSON lines, with a manifest beside them.

The exchange format: the scores of a metric that any program has computed are evaluated from such a file without the
model. Only `pair_id` and `score` are needed; `score` may be null where `status` says why::

    {"pair_id": "s1:d1#0", "score": 0.71}
    {"pair_id": "s1:d1#1", "score": null, "status": "failed"}

Spreadsheets (CSV, TSV, XLSX) are read too; a blank cell is null. Columns with other usual names (id, value ...) are
recognised with a warning, or are named (`--map score=COLUMN`). Without a column of scores, each column of numbers is a
metric's::

    pair_id,overlap,rouge
    s1:d1#0,0.71,0.4
"""

from __future__ import annotations

import json
import logging
import reprlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal

from metaeval.core.cells import is_finite, number_of
from metaeval.core.errors import UserError, shown
from metaeval.core.files import atomic_write, write_text
from metaeval.core.headings import PAIR_FIELDS, RATINGS, READING, SCORES, mapped
from metaeval.core.parsing import parquet_library, read_object
from metaeval.core.tables import TABLES, UserTable, name_column, read_table
from metaeval.scoring.contract import PairScore, Status

SUFFIXES = (".parquet", ".jsonl")
"""Suffixes of score files that are written; those of `metaeval.core.tables.TABLES` can be read, too."""

NO_SCORES = PAIR_FIELDS.union(*RATINGS.values())
"""Headings of columns that are never read as scores: those that 'metaeval pairs' writes, and those of ratings."""

_log = logging.getLogger("metaeval")
_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class ScoreFile:
    """One metric's scores in a score file. answers: results by pair id. manifest: its fields; {} if there is none.

    column: the heading of the scores, if that names the metric; "" for a usual heading such as "score".
    """

    path: Path
    answers: Mapping[str, PairScore]
    manifest: Mapping[str, Any]
    column: str = ""

    @property
    def metric(self) -> str:
        """Return the metric's name: `column`, else the manifest's "metric", else the file's name without endings."""
        return self.column or str(self.manifest.get("metric") or self.path.name.removesuffix(".gz").rpartition(".")[0])

    @property
    def direction(self) -> Literal[1, -1]:
        """Return the manifest's direction (default: 1): 1 if a higher score is more support, else -1."""
        direction = self.manifest.get("direction", 1)
        if direction not in (1, -1):
            raise UserError(f"{manifest_path(self.path)} has direction {direction!r}; allowed: 1 (higher is more), -1.")
        return 1 if direction == 1 else -1

    def signed(self, content: str) -> dict[str, object]:
        """Return the fields, by name, with which a signature describes these scores. content: the hash of the file."""
        column = {"score-column": self.column} if self.column else {}
        return {"metric": f"{self.metric}@scores", "file": content, **column}


def manifest_path(path: Path) -> Path:
    """Return the path of a score file's manifest, which is `path` with .manifest.json appended."""
    return path.with_name(path.name + ".manifest.json")


def write_scores(path: Path, ids: Sequence[str], answers: Sequence[PairScore], manifest: Mapping[str, Any]) -> None:
    """Write a score file (.parquet or .jsonl) and its manifest, each atomically. answers: one result per id."""
    _check_suffix(path)
    columns = {
        "pair_id": ids,
        "score": [answer.score for answer in answers],
        "status": [str(answer.status) for answer in answers],
        "tokens": [answer.tokens for answer in answers],
        "cut": [answer.cut for answer in answers],
    }
    if path.suffix == ".parquet":
        pyarrow = parquet_library()
        kinds = zip(columns, ("string", "double", "string", "int64", "int64"), strict=True)
        schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in kinds])
        with atomic_write(path) as file:
            pyarrow.parquet.write_table(pyarrow.table(columns, schema), file)
    else:
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in rows))
    text = json.dumps(dict(manifest), indent=1, sort_keys=True, ensure_ascii=False)
    write_text(manifest_path(path), f"{text}\n")


def read_scores(path: Path, columns: Mapping[str, str] | None = None) -> list[ScoreFile]:
    """Read a score file, and return one `ScoreFile` per metric: one, or several where each metric has a column.

    columns: headings by role of `metaeval.core.headings.SCORES`, where they are unusual (None: none is). Raises
    `UserError` for a missing or empty file, a missing column, a pair twice, and a value that is not allowed.
    """
    _check_suffix(path, also=TABLES)
    if not path.is_file():
        raise UserError(f"Score file {path} does not exist: check the path.")
    return list(scores_of(path, read_table(path), columns, read_manifest(path)))


def scores_of(
    path: Path, table: UserTable, columns: Mapping[str, str] | None = None, manifest: Mapping[str, Any] | None = None
) -> Iterator[ScoreFile]:
    """Yield a `ScoreFile` for each metric in the table of a score file; arguments and errors as in `read_scores`.

    Without a column of scores, each column of numbers is a metric's, except `NO_SCORES`.
    """
    headings = {**(columns or {}), **mapped(SCORES, columns or {})}
    if headings.get("pair_id") == headings.get("id"):
        headings.pop("id", None)
    columns_read = table.find(SCORES, headings)
    if {"gold", "annotator"} <= table.find(RATINGS, {}).keys():
        raise UserError(f"{path} holds ratings by annotator: type metaeval evaluate -d ratings --data {path}.")
    if "pair_id" not in columns_read:
        raise _no_column(path, "pair_id", table)
    if columns_read["pair_id"] != headings.get("pair_id", "pair_id"):
        _log.warning("%s: pair_id is read from the column %r.", path, columns_read["pair_id"])
    if "score" in columns_read or "status" in columns_read:
        heading = columns_read.get("score", "score")
        if heading != headings.get("score", "score"):
            _log.warning("%s: score is read from the column %r.", path, heading)
        if READING.get()[1]:
            table = table.checked([heading], is_finite)
        name = "" if heading.casefold() in SCORES["score"] else heading
        yield ScoreFile(path, _answers(table, columns_read), manifest or {}, name)
        return
    taken = {*columns_read.values(), *(heading for heading in table.headings if heading.casefold() in NO_SCORES)}
    rest = [heading for heading in table.headings if heading not in taken]
    table = table.checked(rest, is_finite, "; one column of scores is named with --map score=COLUMN")
    metrics = [heading for heading in rest if table.is_numbers(heading)]
    if not metrics:
        raise _no_column(path, "score", table)
    _log.warning("%s: each column of numbers is read as a metric's scores: %s.", path, ", ".join(map(repr, metrics)))
    for metric in metrics:
        answers = _answers(table, {"pair_id": columns_read["pair_id"], "score": metric})
        yield ScoreFile(path, answers, manifest or {}, metric)


def _no_column(path: Path, role: str, table: UserTable) -> UserError:
    names = ", ".join(map(repr, table.headings))
    return UserError(f"{path} has no column {role} (columns: {names}): rename one, or {name_column(role)}.")


def _answers(table: UserTable, columns: Mapping[str, str]) -> dict[str, PairScore]:
    """Return the result in each row of a table by pair id. columns: headings by role of `SCORES`."""
    answers: dict[str, PairScore] = {}
    for row in table.rows:
        cell = row.value(columns["pair_id"])  # as it is in the formats that are written, which have types
        pair_id = cell if table.name.endswith(SUFFIXES) and isinstance(cell, str) else row.text(columns["pair_id"])
        if not pair_id or isinstance(cell, list | Mapping):
            what = f"is {shown(str(cell), 40)}" if pair_id else "is blank"
            raise row.wrong(columns["pair_id"], f"{what}: write the id of the pair")
        if pair_id in answers:
            raise UserError(f"{row.where}: pair_id {pair_id!r} appears twice; keep one row per pair.")
        numbers = {name: number_of(row.value(columns[name])) for name in ("score", "tokens", "cut") if name in columns}
        score = numbers.pop("score", None)
        if isinstance(score, bool) or not isinstance(score, int | float | None):
            raise UserError(f"{row.where}: score is {reprlib.repr(score)}; it must be a number or null.")
        if score is not None and not -_LARGEST <= score <= _LARGEST:
            raise UserError(f"{row.where}: score is {score}; it must be finite. Leave a missing score blank (null).")
        status = (row.text(columns["status"]) if "status" in columns else "") or (
            Status.ABSENT if score is None else Status.OK
        )
        if status not in [*Status]:
            raise UserError(f"{row.where}: status is {reprlib.repr(str(status))}; allowed: {', '.join(Status)}.")
        if (status == Status.OK) != (score is not None):
            raise UserError(f"{row.where}: score is {score} and status {str(status)!r}; a number goes with 'ok'.")
        for name, value in numbers.items():
            whole = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < inf
            if value is not None and not (whole and value == int(value)):
                what = "it must be a whole number of 0 or more, or null"
                raise UserError(f"{row.where}: {name} is {reprlib.repr(value)}; {what}.")
        counts = (int(numbers.get(name) or 0) for name in ("tokens", "cut"))
        answers[pair_id] = PairScore(None if score is None else float(score), Status(status), *counts)
    return answers


def align(file: ScoreFile, ids: Sequence[str], ratings: str = "") -> list[PairScore]:
    """Return the file's results in the order of `ids`; an id without a row gets the status ABSENT.

    ratings: what the ids identify, in words, if not pairs. Raises `UserError` for a row whose id is not in `ids`.
    """
    if strangers := file.answers.keys() - set(ids):
        cure = "score those of the same data set, split and options"
        if not ratings:
            cure = "write the job's pairs with 'metaeval pairs' and the same settings, and score those"
            if len(strangers) == len(file.answers) and file.path.suffix != ".jsonl":
                cure += f"; of ratings of its own, type 'metaeval evaluate -d ratings --data {file.path}'"
        raise UserError(
            f"{len(strangers)} of the {len(file.answers)} ids in the score file {file.path} are not "
            f"{ratings or 'pairs of this job'}, for example {min(strangers)!r} (one is {ids[0]!r}): {cure}."
        )
    return [file.answers.get(pair_id, PairScore(None, Status.ABSENT)) for pair_id in ids]


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the fields of the manifest of the score file at `path`; {} if there is no manifest."""
    beside = manifest_path(path)
    if not beside.is_file():
        return {}
    return read_object(beside, "correct this manifest, or delete it to read the scores without a manifest")


def _check_suffix(path: Path, also: Sequence[str] = ()) -> None:
    """Raise `UserError` unless a score file's ending is in `SUFFIXES`, or in `also` (may be gzipped)."""
    allowed = (*SUFFIXES, *also)
    zipped = path.suffix == ".gz"
    ending = Path(path.stem).suffix if zipped else path.suffix
    if ending not in (also if zipped else allowed):
        named = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        gzipped = f" ({', '.join(also)} also with .gz)" if also else ""
        raise UserError(f"The name of a score file ends in {named}{gzipped}; {path.name!r} does not.")
