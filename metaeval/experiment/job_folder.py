"""Job folders: each job's files stand in a folder of their own, which is named by what was done and a hash of how."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig
from metaeval.corpus.pairs import PAIRS_SCHEMA
from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import Column
from metaeval.experiment.manifest import NAME, Kept, check, listed_files, read_manifest, write_manifests
from metaeval.experiment.prepared_run import Job, RatedSet
from metaeval.files import atomic_write, safe_name, sha256_json
from metaeval.reading import json_objects
from metaeval.report.result import Data
from metaeval.scoring.contract import Status

LATEST = "latest"
PAIRS = "pairs.jsonl"
_HASH = re.compile(r"-[0-9a-f]{8}\Z")


def job_folder(parent: Path, parts: Iterable[str], made: Iterable[str]) -> Path:
    """PARENT/PART-...-HASH, with a short hash of the job's signatures: no two jobs write to one folder."""
    name = "-".join(safe_name(part) for part in parts)
    return parent / f"{name}-{sha256_json(sorted(set(made)))[:8]}"


def close_job(
    config: RunConfig,
    command: str,
    folder: Path,
    data: Iterable[Data],
    written: Sequence[Path],
    read: Mapping[str, Any] | None = None,
) -> None:
    """Write the manifest of each folder that was written to, and point RESULTS/latest at the job's.

    read: what the manifest says besides of what was read.
    """
    write_manifests(config, command, data, written, read)
    pointer = config.results / LATEST
    beside = pointer.with_name(f".{LATEST}.{os.getpid()}")
    # A pointer is a convenience: where links cannot be made, and where a folder has its name, there is none.
    with contextlib.suppress(OSError):
        beside.symlink_to(os.path.relpath(folder, config.results), target_is_directory=True)
        try:
            os.replace(beside, pointer)
        finally:
            beside.unlink(missing_ok=True)


def write_pairs(source: Job | RatedSet, columns: Sequence[Column], path: Path) -> None:
    """Write what was judged, with every score: a line about the job, then one a row in the order of ids.

    A row has its ids (of statement, document and chunk; their texts are in the data that the first line names), its
    level or rating, and of each column the score, or the status that says why there is none, and the tokens cut.
    """
    names = [column.name for column in columns]
    head: dict[str, object] = {"schema": PAIRS_SCHEMA, "columns": names, "controls": []}
    head["controls"] = [column.name for column in columns if column.kind == "control"]
    if isinstance(source, Job):
        head["job"] = {key: str(value) for key, value in source.fields.items()}
        rows = _judged_rows(source)
    else:
        head["job"] = {key: source.fields[key] for key in ("data", "unit")}
        ratings = source.ratings.rows
        rows = ({"id": row.id, "group": row.group, "system": row.system, "rating": row.gold} for row in ratings)
    values = [(column.score + 0.0).tolist() for column in columns]  # -0.0 is 0.0
    unlike = [place for place, column in enumerate(columns) if set(column.statuses) - {Status.OK}]
    shortened = [column for column in columns if column.cut]
    with atomic_write(path) as file:
        file.write(_line(head))
        for number, row in sorted(enumerate(rows), key=lambda numbered: str(numbered[1]["id"])):
            known: list[float | None] = [column[number] for column in values]
            missing = {}
            for place in unlike:
                if (status := columns[place].statuses[number]) is not Status.OK:
                    known[place], missing[names[place]] = None, str(status)
            cut = {column.name: column.cut[number] for column in shortened if number in column.cut}
            more = {**({"missing": missing} if missing else {}), **({"cut": cut} if cut else {})}
            file.write(_line({**row, "scores": known, **more}))


def read_pairs(path: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    """What `write_pairs` wrote: the line about the job, and the rows. `UserError` where it is not such a file."""
    lines = (value for _, value in json_objects(path, ""))
    head = next(lines, {})
    if head.get("schema") != PAIRS_SCHEMA:
        raise UserError(f"{path}: schema is {head.get('schema')!r}; this version reads {PAIRS_SCHEMA!r}.")
    return head, lines


def _judged_rows(job: Job) -> Iterator[dict[str, object]]:
    for row in job.rows:
        pair = job.pairs[row.members[0]]
        chunks = [job.pairs[number].chunk for number in row.members]
        system = job.corpus.statements[row.statement_id].system
        yield {
            **{"id": row.id, "statement": row.statement_id, "document": pair.document_id, "chunks": chunks},
            **{"group": row.group, "system": system, "level": None if row.level is None else int(row.level)},
            "cited": row.cited,
        }


def _line(value: Mapping[str, object]) -> bytes:
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace") + b"\n"


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class DoneJob:
    """A job folder, read back. name: below the results folder. kept: what its manifest says of its files."""

    name: str
    folder: Path
    command: str
    data: Sequence[str]
    metrics: Sequence[str]
    finished: str
    files: Mapping[str, Kept]

    @property
    def hash(self) -> str:
        """The short hash of how it was done, with which its folder's name ends."""
        return self.folder.name.rpartition("-")[2]


def is_hash(text: str) -> bool:
    """Whether this is meant as the hash of a job, or its beginning."""
    return re.fullmatch(r"[0-9a-f]{4,8}", text) is not None


def done_jobs(results: Path) -> list[DoneJob]:
    """Every job below a results folder, the newest first. Folders without a manifest are none."""
    found = [
        _done(results, path.parent)
        for path in sorted(results.rglob(NAME))
        if _HASH.search(path.parent.name) and not path.is_symlink() and not path.parent.is_symlink()
    ]
    return sorted(found, key=lambda job: job.finished, reverse=True)


def _done(results: Path, folder: Path) -> DoneJob:
    made = read_manifest(folder)
    config, data = made.get("config"), made.get("data")
    metrics = config.get("metrics") if isinstance(config, dict) else None
    return DoneJob(
        name=folder.relative_to(results).as_posix(),
        folder=folder,
        command=str(made.get("command", "run")),
        data=[str(name) for name in data] if isinstance(data, dict) else [],
        metrics=[str(name) for name in metrics] if isinstance(metrics, list) else [],
        finished=str(made.get("finished", "")),
        files={name: check(folder / name) if (folder / name).is_file() else Kept.GONE for name in listed_files(made)},
    )


def find_job(results: Path, name: str) -> DoneJob:
    """The job of that name, of the one name that begins so or whose hash does, or the latest.

    Raises `UserError` that names those that are known.
    """
    jobs = done_jobs(results)
    if name == LATEST and jobs:
        pointed = (results / LATEST).resolve()
        return next((job for job in jobs if job.folder.resolve() == pointed), jobs[0])
    fitting = [job for job in jobs if job.name == name] or [job for job in jobs if job.name.startswith(name)]
    fitting = fitting or [job for job in jobs if is_hash(name) and job.hash.startswith(name)]
    if len(fitting) > 1:
        listed = ", ".join(job.name for job in fitting)
        raise UserError(f"{len(fitting)} jobs in {results} begin with {name!r}: {listed}. Write more of the name.")
    if not jobs:
        raise UserError(
            f"There is no job in {results} yet: type 'metaeval run', or name its folder with --results (in Python: "
            "results=)."
        )
    if not fitting:
        raise unknown("job", name, [job.name for job in jobs], f"Type 'metaeval results list --results {results}'.")
    return fitting[0]


def remove_job(results: Path, job: DoneJob) -> int:
    """Delete the files that a job wrote, and its folder; the number of files.

    Raises `UserError`, and deletes nothing, where the folder holds a file that the job did not write as it is.
    """
    here = {path.relative_to(job.folder).as_posix() for path in job.folder.rglob("*") if not path.is_dir()}
    own = {name for path in job.folder.rglob(NAME) for name in _own(job.folder, path.parent)}
    if strange := sorted(here - own):
        raise UserError(
            f"{job.folder} holds {strange[0]}, which the job did not write as it is now: move it away, or delete the "
            "folder yourself. Nothing was deleted."
        )
    for name in here:
        (job.folder / name).unlink()
    for folder in sorted((path for path in job.folder.rglob("*") if path.is_dir()), reverse=True):
        folder.rmdir()
    job.folder.rmdir()
    pointer = results / LATEST
    if pointer.is_symlink() and not pointer.exists():
        pointer.unlink()
    return len(here)


def _own(top: Path, folder: Path) -> Iterator[str]:
    for name in (NAME, *listed_files(read_manifest(folder))):
        path = folder / name
        if name == NAME or (path.is_file() and check(path) is Kept.SAME):
            yield path.relative_to(top).as_posix()
