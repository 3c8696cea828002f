"""Job folders: each job's files and their manifest, in a folder that is named by what was done and a hash of how."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from metaeval.cells import Coded, interleaved, numerals, row_blocks
from metaeval.config import RunConfig
from metaeval.corpus.pairs import PAIRS_SCHEMA
from metaeval.corpus.ratings import RatingColumns
from metaeval.declared import validated
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


@dataclass(frozen=True)
class Command:
    """A command that writes a job. name: as it is typed behind `metaeval`. options: its own that are set, by name."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


def manifest(config: RunConfig, command: Command, data: Iterable[Data], written: Sequence[Path]) -> dict[str, Any]:
    """What made these files, as JSON: settings, time, machine, versions, and the SHA-256 of all that went in and out.

    analysis: the command, its own options that were set, and the run's settings that are no defaults. files: each
    written file's hash, by its name in its folder. scores: that of every score file read, and of its own manifest, by
    path. data: the content hash of what was judged. Result files hold none of this but the last.
    """
    named = [Path(name.removeprefix(FILE_PREFIX)) for name in config.metrics if name.startswith(FILE_PREFIX)]
    read = [(file, manifest_path(file)) for file in named]
    settings = {key: value for key, value in changed(config).items() if key != "trust_config"}  # nobody may hand it on
    return {
        "command": command.name,
        "analysis": {"name": command.name, "options": _plain(command.options), "settings": _plain(settings)},
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
    command: Command,
    data: Iterable[Data],
    written: Sequence[Path],
    read: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> None:
    """Write a manifest into each folder of the written files, and into the job's. read: what it says besides.

    Files that an earlier run left in the folder stay listed, under `earlier`: their settings were others.
    """
    judged = list(data)
    for place in dict.fromkeys([*([folder] if folder else []), *(path.parent for path in written)]):
        own = [path for path in written if path.parent == place]
        made = {**manifest(config, command, judged, own), **(read or {})}
        made["earlier"] = {
            name: found
            for name, found in listed_files(read_manifest(place)).items()
            if name not in made["files"] and (place / name).is_file()
        }
        # Inside a field the order stays: that of a setting's own settings can stand in a signature.
        write_text(place / NAME, json.dumps(dict(sorted(made.items())), indent=1) + "\n", update=True)


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


def completed_run(settings: Mapping[str, Any], where: str, trust: bool) -> RunConfig:
    """The configuration of a completed run, from its manifest. Its intervals are not computed again.

    So a method of intervals that earlier versions had is not refused.
    """
    return validated(RunConfig, {**settings, "interval": {}, "trust_config": trust}, where)


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files' hashes by name, those of earlier runs and exported ones too; paths to other folders are left out."""
    listed = [manifest.get(key) for key in ("earlier", "exported", "files")]
    named = [pair for found in listed if isinstance(found, dict) for pair in found.items()]
    return {name: str(value) for name, value in named if Path(name).name == name}


def written_files(folder: Path) -> list[Path]:
    """The files of a job that are there, those in folders below too, as its manifests list them; sorted."""
    made = [path.parent for path in folder.rglob(NAME)]
    listed = [place / name for place in made for name in listed_files(read_manifest(place))]
    return sorted(path for path in listed if path.is_file())


def list_exported(written: Iterable[Path]) -> None:
    """List files that were made of a job's own in the manifests of their folders."""
    for path in written:
        if made := {**read_manifest(path.parent)}:
            made["exported"] = {**made.get("exported", {}), path.name: sha256_file(path)}
            write_text(path.parent / NAME, json.dumps(made, indent=1, sort_keys=True) + "\n", update=True)


def installed(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


LATEST = "latest"
PAIRS = "pairs.jsonl"
_HASH = re.compile(r"-[0-9a-f]{8}\Z")


_ELSEWHERE = frozenset({"data", "results", "store", "budget", "executor"})
"""Settings of a run on which no file of its job depends: the data's content stands in the signatures."""

_BESIDE = frozenset(
    {"output", "full", "json", "junit", "markdown", "format", "trust_config"}
    | {"model", "record", "replay", "requests", "batch", "base_url", "ask_again"}
)
"""Options on which no file of a job depends: what is printed or also written, and where a chat model's replies are."""


def job_folder(
    parent: Path, parts: Iterable[str], signatures: Iterable[str], command: Command, *configs: RunConfig
) -> Path:
    """PARENT/PART-...-HASH. No two jobs write to one folder: the hash is of all that their files depend on.

    That is the signatures, and of the command's options and of the runs' settings those that are no defaults, with the
    content of the files that they name. Where all are defaults, it is of the signatures alone.
    """
    name = "-".join(safe_name(part) for part in parts)
    options = {key: value for key, value in command.options.items() if key not in _BESIDE}
    settings = [
        {key: value for key, value in changed(config).items() if key not in _ELSEWHERE | _BESIDE} for config in configs
    ]
    identity: object = sorted(set(signatures))
    if options or any(settings):
        identity = {"signatures": identity, "options": _plain(options, True), "settings": _plain(settings, True)}
    return parent / f"{name}-{sha256_json(identity)[:8]}"


def changed(settings: BaseModel) -> dict[str, Any]:
    """The settings that are not at their defaults, those too that a dump leaves out."""
    return {
        name: changed(value) if isinstance(value, BaseModel) else value
        for name, value in settings
        if value != type(settings).model_fields[name].get_default(call_default_factory=True)
    }


def _plain(value: Any, content: bool = False) -> Any:
    """A value as JSON has it. content: files are named by their SHA-256, not by their path."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one, content) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, content) for one in value]
    if content and isinstance(value, str) and value.startswith(FILE_PREFIX):
        return _plain(Path(value.removeprefix(FILE_PREFIX)), content)
    if isinstance(value, Path):
        return sha256_file(value) if content and value.is_file() else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value), content)
    return value if isinstance(value, str | int | float | None) else str(value)


def close_job(
    config: RunConfig,
    command: Command,
    folder: Path,
    data: Iterable[Data],
    written: Sequence[Path],
    read: Mapping[str, Any] | None = None,
) -> None:
    """Write the manifest of the job's folder and of each other that was written to; point RESULTS/latest at the job's.

    read: what the manifest says besides of what was read.
    """
    write_manifests(config, command, data, written, read, folder)
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
    head: dict[str, object] = {"schema": PAIRS_SCHEMA, "columns": [column.name for column in columns]}
    head["controls"] = [column.name for column in columns if column.kind == "control"]
    if isinstance(source, Job):
        head["job"] = {key: str(value) for key, value in source.fields.items()}
        order = np.array(sorted(range(len(source.rows)), key=lambda row: source.rows[row].id), dtype=np.intp)
        front: Callable[[NDArray[np.intp]], list[Iterable[str]]] = partial(_judged_rows, source)
    else:
        head["job"] = {key: source.fields[key] for key in ("data", "unit")}
        ratings, order = source.ratings.columns, source.ratings.columns.order
        group, system = ratings.group.mapped(encode_basestring), ratings.system.mapped(encode_basestring)
        front = partial(_rated_rows, ratings, group, system)
    incomplete = np.any([np.isnan(column.score) for column in columns], axis=0)
    incomplete[[row for column in columns for row in column.cut]] = True
    with atomic_write(path) as file:
        file.write(_encoded(f"{_ENCODER.encode(head)}\n"))
        for numbers in row_blocks(order):
            scores = [text for column in columns for text in (", ", numerals(column.score[numbers] + 0.0))]
            remarks = [""] * numbers.size
            for place in np.flatnonzero(incomplete[numbers]).tolist():
                remarks[place] = _remarks(columns, int(numbers[place]))
            parts = [*front(numbers), ', "scores": [', *scores[1:], "]", remarks, "}\n"]
            file.write(_encoded(interleaved(*parts)))


def _remarks(columns: Sequence[Column], number: int) -> str:
    """Why a row lacks scores, and what of it was cut, as further fields of its line."""
    statuses = {column.name: column.statuses[number] for column in columns}
    missing = {name: str(status) for name, status in statuses.items() if status is not Status.OK}
    cut = {column.name: column.cut[number] for column in columns if number in column.cut}
    fields = {**({"missing": missing} if missing else {}), **({"cut": cut} if cut else {})}
    return f", {_ENCODER.encode(fields)[1:-1]}" if fields else ""


def read_pairs(path: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    """What `write_pairs` wrote: the line about the job, and the rows. `UserError` where it is not such a file."""
    lines = (value for _, value in json_objects(path, ""))
    head = next(lines, {})
    if head.get("schema") != PAIRS_SCHEMA:
        raise UserError(f"{path}: schema is {head.get('schema')!r}; this version reads {PAIRS_SCHEMA!r}.")
    return head, lines


def _rated_rows(
    ratings: RatingColumns, group: Coded[str], system: Coded[str], numbers: NDArray[np.intp]
) -> list[Iterable[str]]:
    """The lines of ratings without their ends: fields of one kind are encoded together, which is faster."""
    ids, gold = map(encode_basestring, ratings.id[numbers].tolist()), numerals(ratings.gold[numbers])
    known = group[numbers].tolist(), system[numbers].tolist()
    return ['{"id": ', ids, ', "group": ', known[0], ', "system": ', known[1], ', "rating": ', gold]


def _judged_rows(job: Job, numbers: NDArray[np.intp]) -> list[Iterable[str]]:
    return [[_ENCODER.encode(_judged_row(job, number))[:-1] for number in numbers.tolist()]]


def _judged_row(job: Job, number: int) -> dict[str, object]:
    row = job.rows[number]
    pair = job.pairs[row.members[0]]
    chunks = [job.pairs[member].chunk for member in row.members]
    system = job.corpus.statements[row.statement_id].system
    return {
        **{"id": row.id, "statement": row.statement_id, "document": pair.document_id, "chunks": chunks},
        **{"group": row.group, "system": system, "level": None if row.level is None else int(row.level)},
        "cited": row.cited,
    }


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


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
