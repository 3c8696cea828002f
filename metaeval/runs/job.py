"""Jobs: the files of a run and their manifest, in a folder named by data, analysis and a hash of the job."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import platform
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from json.encoder import encode_basestring
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from pydantic import BaseModel

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.declared import validated
from metaeval.core.errors import UserError, unknown
from metaeval.core.files import atomic_write, safe_name, sha256_file, sha256_json, write_text
from metaeval.core.parsing import json_objects, read_object
from metaeval.corpus.pair_table import PAIRS_SCHEMA
from metaeval.corpus.ratings import interleaved, json_texts, numerals, row_blocks
from metaeval.report.html_report import Picture, page
from metaeval.report.rank_agreement import rank_agreement
from metaeval.report.result import SCHEMA, Data, Result, of_other_version, save_result
from metaeval.report.table_files import PAGE, write_table
from metaeval.runs.data import Job, RatedSet
from metaeval.runs.evaluate import EvaluatedRun, declarations_of
from metaeval.runs.metrics import FILE_PREFIX
from metaeval.runs.score import AlignedColumn
from metaeval.scoring.contract import Status, version_of
from metaeval.scoring.score_files import manifest_path
from protocols.contract import Protocol

_log = logging.getLogger("metaeval")


EXPLORER = "view.html"


def write_report(
    results: Sequence[Result],
    protocols: Mapping[str, Protocol],
    folder: Path,
    title: str = "",
    pairs: bool = False,
    pictures: Mapping[str, Sequence[Picture]] = MappingProxyType({}),
) -> Path:
    """Write the HTML page of results into a job's folder, and return the page's path.

    protocols: by name. title: of the page; "": made from the data sets. pairs: whether the folder holds pairs that the
    explorer can show. pictures: below the tables, by `rows_description` of the result.
    """
    code = folder.name.rpartition("-")[2]
    link = EXPLORER if (folder / EXPLORER).is_file() else ""
    shown = (f"metaeval view {code}", link) if pairs else ("", "")
    path = folder / PAGE
    write_text(path, page(results, pictures, title, declarations_of(protocols.values()), shown))
    return path


def write_run(
    config: RunConfig, run: EvaluatedRun, command: str = "run", more: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write each result as JSON, their page, the rows with all scores, and a manifest; return the paths but the last.

    The folder is RESULTS/DATASET-SPLIT-UNIT-HASH, with the pool before the hash where it is not `own`. Only the
    manifest names time and machine, so that the same run writes the same files. more: further fields of the manifest.
    """
    folder = run_folder(config, run.results)
    written = []
    if run.source is not None:
        written.append(folder / PAIRS)
        write_pairs(run.source, run.columns, folder / PAIRS)
    for result in run.results:
        save_result(result, folder / f"{result.protocol}.json")
        written.append(folder / f"{result.protocol}.json")
    for table in rank_agreement(run.results, declarations_of(run.protocols.values())):
        written += write_table(table, folder)
    pairs = isinstance(run.source, Job)
    written.append(write_report(run.results, run.protocols, folder, pairs=pairs))
    close_job(config, Command(command), folder, [result.data for result in run.results], written, more)
    return written


def run_folder(config: RunConfig, results: Sequence[Result]) -> Path:
    """Return the path of the folder of a run's results, which need not exist yet."""
    first = results[0]
    parts = [first.data.name, first.data.split, first.unit, *([config.pool] if config.pool != "own" else [])]
    signatures = [row.signature for result in results for row in result.rows]
    return job_folder(config.results, parts, signatures, Command("run"), config)


NAME = "manifest.json"


_VERSIONED = (
    *("metaeval", "numpy", "scipy", "pyarrow", "bm25s", "rouge-score", "matplotlib"),
    *("torch", "transformers", "tokenizers"),
)


class Kept(StrEnum):
    """Whether a file is unchanged, changed or missing according to the manifest in its folder."""

    SAME = "the file is as it was written"
    CHANGED = "the file has changed since it was written"
    UNLISTED = "the manifest beside the file does not list it"
    GONE = "the file is gone"
    UNREADABLE = "the manifest beside the file cannot be read: whether it was changed since cannot be told"
    NO_MANIFEST = "no manifest stands beside the file: whether it was changed since cannot be told"


@dataclass(frozen=True)
class Command:
    """The command that wrote a job. name: as typed after `metaeval`. options: its own that were given, by name."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


def manifest(config: RunConfig, command: Command, data: Iterable[Data], written: Sequence[Path]) -> dict[str, Any]:
    """Return the fields of a manifest: settings, time, machine, versions, and the SHA-256 of input and output files.

    Of these fields, `result_schema` is that of result files; `analysis` has the command, its own options that were set,
    and the run's settings that differ from their defaults; `files` has the hash of each written file by name, `scores`
    those of the score files that were read and of their manifests by path, and `data` the content hash of the judged
    data by DATASET/SPLIT.
    """
    named = [Path(name.removeprefix(FILE_PREFIX)) for name in config.metrics if name.startswith(FILE_PREFIX)]
    read = [(file, manifest_path(file)) for file in named]
    settings = {
        key: value for key, value in changed(config).items() if key != "trust_config"
    }  # a manifest must not pass it on
    return {
        "result_schema": SCHEMA,
        "command": command.name,
        "analysis": {"name": command.name, "options": _plain(command.options), "settings": _plain(settings)},
        "config": config.model_dump(mode="json"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: number for name in _VERSIONED if (number := version_of(name)) != "none"},
        "data": {f"{summary.name}/{summary.split}": summary.fingerprint for summary in data},
        "scores": {str(path): sha256_file(path) for file in read for path in file if path.is_file()},
        "files": {path.name: sha256_file(path) for path in written},
    }


_OBJECTS = "objects"
"""The manifest's field for metrics that Python gave by no name under which another process finds them."""


def lost_objects(manifest: Mapping[str, Any]) -> str:
    """Return why a job cannot be rerun, and what to type, if a metric was an object of a Python session; else ""."""
    names = manifest.get(_OBJECTS)
    if not isinstance(names, list) or not names:
        return ""
    listed, typed = " and ".join(map(repr, names)), ",".join(f"FILE:{name.rpartition(':')[2]}" for name in names)
    kind = f"the metric {listed} is an object" if len(names) == 1 else f"the metrics {listed} are objects"
    option = "--nli" if str(manifest.get("command")).startswith("cite") else "-m"
    return f"{kind} of the Python session that ran it: save its code in FILE.py, and run again with {option} {typed}"


def write_manifests(
    config: RunConfig,
    command: Command,
    data: Iterable[Data],
    written: Sequence[Path],
    more: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> None:
    """Write a manifest into each folder of the written files, and into the job's (`folder`) if it is given.

    more: further fields of the manifest, such as what was read. Existing files that the folder's manifest listed
    before, and that are not among the written ones, stay listed under `earlier`.
    """
    judged = list(data)
    for place in dict.fromkeys([*([folder] if folder else []), *(path.parent for path in written)]):
        files = [path for path in written if path.parent == place]
        content = {**manifest(config, command, judged, files), **(more or {})}
        content["earlier"] = {
            name: sha256
            for name, sha256 in listed_files(read_manifest(place)).items()
            if name not in content["files"] and (place / name).is_file()
        }
        if objects := [name for name in config.metrics if registry.is_given("metric", name)]:
            content[_OBJECTS] = objects
        # Fields are sorted, their contents are not: the order of nested settings can be part of a signature.
        write_text(place / NAME, json.dumps(dict(sorted(content.items())), indent=1) + "\n", update=True)


def check(path: Path) -> Kept:
    """Return whether an existing file still matches the manifest in its folder; `Kept.GONE` is never returned."""
    content = read_manifest(path.parent)
    if not content:
        return Kept.UNREADABLE if os.path.lexists(path.parent / NAME) else Kept.NO_MANIFEST
    known = listed_files(content).get(path.name)
    if known is None:
        return Kept.UNLISTED
    return Kept.SAME if sha256_file(path) == known else Kept.CHANGED


def altered_files(folder: Path, suffixes: Collection[str] = ()) -> list[str]:
    """Return a sentence for each file in the folder's manifest that has changed since it was written, or is gone.

    suffixes: of the files whose content is compared; empty for all. The others can only be gone.
    """
    paths = [folder / name for name in listed_files(read_manifest(folder))]
    compared = [path for path in paths if not suffixes or path.suffix in suffixes]
    states = {path: Kept.GONE for path in paths if not path.is_file()}
    states |= {path: check(path) for path in compared if path not in states}
    return [f"{path}: {kept}." for path, kept in states.items() if kept is not Kept.SAME]


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """Return the fields of a folder's manifest; empty if it is missing or broken, which must not stop the next run."""
    try:
        return read_object(folder / NAME)
    except UserError:
        return {}


def settings_of(folder: Path) -> dict[str, Any]:
    """Return the run's settings from a folder's manifest, if any; raises `UserError` for one of another schema."""
    content = read_manifest(folder)
    config, version = content.get("config"), content.get("result_schema")
    if content and version != SCHEMA:
        raise of_other_version(folder / NAME, version)
    return dict(config) if isinstance(config, dict) else {}


def completed_run(settings: Mapping[str, Any], where: str, trust: bool) -> RunConfig:
    """Return the configuration of a completed run from its manifest's settings. where: what is read, for errors."""
    return validated(RunConfig, {**settings, "trust_config": trust}, where)


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256, by name, of files that a manifest lists: written, exported, left by earlier runs.

    Names that lead into another folder are left out.
    """
    listed = [manifest.get(key) for key in ("earlier", "exported", "files")]
    named = [pair for hashes in listed if isinstance(hashes, dict) for pair in hashes.items()]
    return {name: str(value) for name, value in named if Path(name).name == name}


def written_files(folder: Path) -> list[Path]:
    """Return the sorted paths of the existing files that the manifests of a folder and of its subfolders list."""
    folders = [path.parent for path in folder.rglob(NAME)]
    listed = [place / name for place in folders for name in listed_files(read_manifest(place))]
    return sorted(path for path in listed if path.is_file())


LATEST = "latest"


PAIRS = "pairs.jsonl"


_HASH = re.compile(r"-[0-9a-f]{8}\Z")


_ELSEWHERE = frozenset({"data", "results", "store", "budget", "executor"})
"""Settings on which the name of a job's folder does not depend; the content of the data is in the signatures."""


_OUTPUT_OPTIONS = frozenset(
    {"output", "full", "json", "junit", "markdown", "format", "trust_config"}
    | {"model", "record", "replay", "requests", "batch", "base_url", "ask_again"}
)
"""Options on which the name does not depend either: on what is printed or exported, and where replies come from."""


def job_folder(
    parent: Path, parts: Iterable[str], signatures: Iterable[str], command: Command, *configs: RunConfig
) -> Path:
    """Return the path PARENT/PART-...-HASH, whose hash covers everything on which the job's files depend.

    These are the signatures, and the options of `command` and settings of `configs` that differ from their defaults,
    with the content of the files that they name; with defaults only, the signatures alone.
    """
    name = "-".join(safe_name(part) for part in parts)
    options = {key: value for key, value in command.options.items() if key not in _OUTPUT_OPTIONS}
    settings = [
        {key: value for key, value in changed(config).items() if key not in _ELSEWHERE | _OUTPUT_OPTIONS}
        for config in configs
    ]
    identity: object = sorted(set(signatures))
    if options or any(settings):
        identity = {"signatures": identity, "options": _plain(options, True), "settings": _plain(settings, True)}
    return parent / f"{name}-{sha256_json(identity)[:8]}"


def changed(settings: BaseModel) -> dict[str, Any]:
    """Return the fields whose values differ from their defaults, including those that pydantic's dump leaves out."""
    return {
        name: changed(value) if isinstance(value, BaseModel) else value
        for name, value in settings
        if value != type(settings).model_fields[name].get_default(call_default_factory=True)
    }


def _plain(value: Any, content: bool = False) -> Any:
    """Return a value as JSON types. content: existing files, also as "scores:PATH", become their SHA-256."""
    if isinstance(value, Mapping):
        return {str(key): _plain(element, content) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(element, content) for element in value]
    if content and isinstance(value, str) and value.startswith(FILE_PREFIX):
        return _plain(Path(value.removeprefix(FILE_PREFIX)), content)
    if isinstance(value, Path):
        return sha256_file(value) if content and value.is_file() else str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def close_job(
    config: RunConfig,
    command: Command,
    folder: Path,
    data: Iterable[Data],
    written: Sequence[Path],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write the manifests of the job's folder and of other written folders, and let RESULTS/latest point to the job.

    more: further fields of the manifests. The link is left out where the file system has none.
    """
    write_manifests(config, command, data, written, more, folder)
    pointer = config.results / LATEST
    link = pointer.with_name(f".{LATEST}.{os.getpid()}")
    # The pointer is a convenience: it is omitted where links are impossible, and where a folder has its name.
    with contextlib.suppress(OSError):
        link.symlink_to(os.path.relpath(folder, config.results), target_is_directory=True)
        try:
            os.replace(link, pointer)
        finally:
            link.unlink(missing_ok=True)


def write_pairs(source: Job | RatedSet, columns: Sequence[AlignedColumn], path: Path) -> None:
    """Write all rows of the data with every score as JSON lines: one line about the job, then rows in the order of ids.

    A row of a corpus has ids (of statement, document, chunks), group, system, level and cited; a rated text id, group,
    system and rating. `scores` has a number or null by column; `missing` says why, `cut` has the tokens cut, if any.
    """
    head: dict[str, object] = {"schema": PAIRS_SCHEMA, "columns": [column.name for column in columns]}
    head["controls"] = [column.name for column in columns if column.kind == "control"]
    if isinstance(source, Job):
        head["job"] = {key: str(value) for key, value in source.fields.items()}
        order = np.array(sorted(range(len(source.rows)), key=lambda row: source.rows[row].id), dtype=np.intp)
    else:
        head["job"] = {key: source.fields[key] for key in ("data", "unit")}
        ratings, order = source.ratings.columns, source.ratings.columns.order
        group, system = json_texts(ratings.group), json_texts(ratings.system)
    incomplete = np.any([np.isnan(column.score) for column in columns], axis=0)
    incomplete[[row for column in columns for row in column.cut]] = True
    with atomic_write(path) as file:
        file.write(f"{_ENCODER.encode(head)}\n".encode("utf-8", "backslashreplace"))
        for numbers in row_blocks(order):
            scores = [text for column in columns for text in (", ", numerals(column.score[numbers] + 0.0))]
            remarks = [""] * numbers.size
            for place in np.flatnonzero(incomplete[numbers]).tolist():
                # Why scores are missing, and tokens cut.
                number = int(numbers[place])
                statuses = {column.name: column.statuses[number] for column in columns}
                missing = {name: str(status) for name, status in statuses.items() if status is not Status.OK}
                cut = {column.name: column.cut[number] for column in columns if number in column.cut}
                fields = {**({"missing": missing} if missing else {}), **({"cut": cut} if cut else {})}
                remarks[place] = f", {_ENCODER.encode(fields)[1:-1]}" if fields else ""
            # What stands before the scores: one text for all lines, or one each (encoded together).
            if isinstance(source, Job):
                judged = (_judged_row(source, number) for number in numbers.tolist())
                front: list[Iterable[str]] = [[_ENCODER.encode(row)[:-1] for row in judged]]
            else:
                ids, gold = map(encode_basestring, ratings.id[numbers].tolist()), numerals(ratings.gold[numbers])
                known = group[numbers].tolist(), system[numbers].tolist()
                front = ['{"id": ', ids, ', "group": ', known[0], ', "system": ', known[1], ', "rating": ', gold]
            lines = interleaved(*front, ', "scores": [', *scores[1:], "]", remarks, "}\n")
            file.write(lines.encode("utf-8", "backslashreplace"))


def read_pairs(path: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    """Return the first line of a file of `write_pairs`, about the job, and its rows; raises `UserError` for others."""
    lines = (value for _, value in json_objects(path, ""))
    head = next(lines, {})
    if head.get("schema") != PAIRS_SCHEMA:
        raise UserError(f"{path}: schema is {head.get('schema')!r}, not {PAIRS_SCHEMA!r}: run the job again.")
    return head, lines


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


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class DoneJob:
    """A completed job. name: path below the results folder. data: DATASET/SPLIT. files: names in its manifest."""

    name: str
    folder: Path
    command: str
    data: Sequence[str]
    metrics: Sequence[str]
    finished: str
    files: Sequence[str]

    @property
    def hash(self) -> str:
        """Return the short hash at the end of the folder's name."""
        return self.folder.name.rpartition("-")[2]


def done_jobs(results: Path) -> list[DoneJob]:
    """Return every job below a results folder (a folder NAME-HASH with a manifest), the newest first."""
    jobs = []
    for path in sorted(results.rglob(NAME)):
        folder = path.parent
        if not _HASH.search(folder.name) or path.is_symlink() or folder.is_symlink():
            continue
        content = read_manifest(folder)
        config, data = content.get("config"), content.get("data")
        metrics = config.get("metrics") if isinstance(config, dict) else None
        jobs.append(
            DoneJob(
                name=folder.relative_to(results).as_posix(),
                folder=folder,
                command=str(content.get("command", "run")),
                data=[str(name) for name in data] if isinstance(data, dict) else [],
                metrics=[str(name) for name in metrics] if isinstance(metrics, list) else [],
                finished=str(content.get("finished", "")),
                files=list(listed_files(content)),
            )
        )
    return sorted(jobs, key=lambda job: job.finished, reverse=True)


def find_job(results: Path, name: str) -> DoneJob:
    """Find a job by its name, the beginning of its name or of its hash (from four characters), its folder, or `latest`.

    Raises `UserError` where no job or several jobs fit, and lists them.
    """
    jobs = done_jobs(results)
    if name == LATEST and jobs:
        pointed = (results / LATEST).resolve()
        return next((job for job in jobs if job.folder.resolve() == pointed), jobs[0])
    named = Path(name).resolve() if Path(name).is_dir() else None  # as a shell completes it
    fitting = [job for job in jobs if job.name == name or job.folder.resolve() == named]
    fitting = fitting or [job for job in jobs if job.name.startswith(name)]
    is_hash = re.fullmatch(r"[0-9a-f]{4,8}", name)  # or the beginning of one
    fitting = fitting or [job for job in jobs if is_hash and job.hash.startswith(name)]
    if len(fitting) > 1:
        listed = ", ".join(job.name for job in fitting)
        raise UserError(f"{len(fitting)} jobs in {results} begin with {name!r}: {listed}. Give more of one.")
    if not jobs:
        raise UserError(f"{results} has no job yet: type 'metaeval run', or name another folder with --results.")
    if not fitting:
        raise unknown("job", name, [job.name for job in jobs], f"Type 'metaeval results list --results {results}'.")
    return fitting[0]
