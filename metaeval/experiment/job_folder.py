"""Job folders: each job's files and their manifest, in a folder that is named by what was done and a hash of how."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig
from metaeval.corpus.pairs import PAIRS_SCHEMA
from metaeval.errors import UserError, unknown
from metaeval.experiment.columns import FILE_PREFIX, Column
from metaeval.experiment.prepared_run import Job, RatedSet
from metaeval.files import atomic_write, safe_name, sha256_file, sha256_json, write_text
from metaeval.reading import json_objects, read_object
from metaeval.report.result import Data
from metaeval.scoring.contract import Status
from metaeval.scoring.scorefile import manifest_path

NAME = "manifest.json"
_VERSIONED = (
    *("metaeval", "numpy", "scipy", "numba", "pyarrow", "bm25s", "rouge-score", "matplotlib"),
    *("torch", "transformers", "tokenizers"),
)


class Kept(StrEnum):
    """What a manifest says of a file beside it."""

    SAME = "the file is as it was written"
    CHANGED = "the file has changed since it was written"
    UNLISTED = "the manifest beside the file does not list it"
    GONE = "the file is gone"
    UNREADABLE = "the manifest beside the file cannot be read: whether it was changed since cannot be told"
    NO_MANIFEST = "no manifest stands beside the file: whether it was changed since cannot be told"


def manifest(config: RunConfig, command: str, data: Iterable[Data], written: Sequence[Path]) -> dict[str, Any]:
    """What made these files, as JSON: settings, time, machine, versions, and the SHA-256 of all that went in and out.

    command: as it is typed behind `metaeval`. files: each written file's hash, by its name in its folder. scores: that
    of every score file read, and of its own manifest, by path. data: the content hash of what was judged. Result files
    hold none of this but the last.
    """
    named = [Path(name.removeprefix(FILE_PREFIX)) for name in config.metrics if name.startswith(FILE_PREFIX)]
    read = [(file, manifest_path(file)) for file in named]
    return {
        "command": command,
        "config": config.model_dump(mode="json"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: found for name in _VERSIONED if (found := installed(name))},
        "data": {f"{one.name}/{one.split}": one.fingerprint for one in data},
        "scores": {str(path): sha256_file(path) for file in read for path in file if path.is_file()},
        "files": {path.name: sha256_file(path) for path in written},
    }


def write_manifests(
    config: RunConfig,
    command: str,
    data: Iterable[Data],
    written: Sequence[Path],
    read: Mapping[str, Any] | None = None,
) -> None:
    """Write a manifest into each folder of the written files. read: what it says besides of what was read.

    Files that an earlier run left in the folder stay listed, under `earlier`: their settings were others.
    """
    judged = list(data)
    for folder in dict.fromkeys(path.parent for path in written):
        own = [path for path in written if path.parent == folder]
        made = {**manifest(config, command, judged, own), **(read or {})}
        made["earlier"] = {
            name: found
            for name, found in listed_files(read_manifest(folder)).items()
            if name not in made["files"] and (folder / name).is_file()
        }
        write_text(folder / NAME, json.dumps(made, indent=1, sort_keys=True) + "\n")


def check(path: Path) -> Kept:
    """Hold a written file against the manifest beside it."""
    found = read_manifest(path.parent)
    if not found:
        return Kept.UNREADABLE if os.path.lexists(path.parent / NAME) else Kept.NO_MANIFEST
    known = listed_files(found).get(path.name)
    if known is None:
        return Kept.UNLISTED
    return Kept.SAME if sha256_file(path) == known else Kept.CHANGED


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """A folder's manifest, empty where there is none that can be read: a broken one must not stop the next run."""
    try:
        return read_object(folder / NAME)
    except UserError:
        return {}


def settings_of(folder: Path) -> dict[str, Any]:
    """The settings of the run that a folder's manifest describes, empty where it cannot be read."""
    found = read_manifest(folder).get("config")
    settings = dict(found) if isinstance(found, dict) else {}
    if "evidence_threshold" in settings:  # of earlier versions, which had one rule for evidence
        settings["evidence"] = {"rule": "touched"}
    return settings


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files' hashes by name, those of earlier runs too; a path to another folder is none of a job's files."""
    listed = [manifest.get(key) for key in ("earlier", "files")]
    named = [pair for found in listed if isinstance(found, dict) for pair in found.items()]
    return {name: str(value) for name, value in named if Path(name).name == name}


def installed(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


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
    made = [path.parent for path in job.folder.rglob(NAME)]
    listed = [folder / name for folder in made for name in listed_files(read_manifest(folder))]
    kept = [path for path in listed if path.name == NAME or (path.is_file() and check(path) is Kept.SAME)]
    own = {path.relative_to(job.folder).as_posix() for path in (*(folder / NAME for folder in made), *kept)}
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
