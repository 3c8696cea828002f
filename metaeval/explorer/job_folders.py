"""The folders of the jobs that a page shows: of one job, of a suite's runs, or of all jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from metaeval.analyses.suites.suite_runs import RECORD
from metaeval.report.table_files import PAGE as REPORT
from metaeval.runs.job import NAME, PAIRS, find_job, read_manifest, settings_of


def folder_of(name: str, results: Path) -> Path:
    """Return the folder of a job, from its name, its folder or one of its files."""
    path = Path(name)
    if (path / NAME).is_file():
        return path
    return path.parent if path.is_file() and (path.parent / NAME).is_file() else find_job(results, name).folder


def folders_of(name: str, results: Path) -> list[Path]:
    """Return the folder of a job in a list or, for the job of a suite, the folders of its runs that have results."""
    folder = folder_of(name, results)
    suite = folder / RECORD
    if (folder / PAIRS).is_file() or not suite.is_file():
        return [folder]
    files = [Path(paths[0]) for paths in json.loads(suite.read_text(encoding="utf-8"))["results"] if paths]
    # A suite that was moved still stands beside its runs.
    return [file.parent if file.is_file() else folder.parent / file.parent.name for file in files]


def report_below(folder: Path, page: Path) -> str:
    """Return the relative address of a job's report page, where it lies beside the page or below it; "" elsewhere.

    A page that is moved away from its results would point to nothing, and a path upwards names folders of the machine.
    """
    report, top = (folder / REPORT).resolve(), page.resolve().parent
    inside = report.is_file() and report.is_relative_to(top)
    return f"./{quote(report.relative_to(top).as_posix())}" if inside else ""


# Settings that name places and machines, and change no value.
_PLACES = frozenset({"batch", "budget", "corpus", "data", "dry_run", "executor", "requests", "results", "store"})


def run_entry(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's entry in the page's index of runs: name, title, date, number of rows, settings, headline table.

    about: the page's data of the job, from `show_job` or `show_answers`.
    """
    settings = {key: value for key, value in settings_of(folder).items() if key not in _PLACES}
    data = about["fields"].get("data") if "fields" in about else None
    return {
        "name": folder.name,
        "title": about["title"],
        "finished": str(read_manifest(folder).get("finished", ""))[:16].replace("T", " "),
        "rows": about["of"],
        "settings": {**dict(_flat(settings)), **({"data": str(data)} if data else {})},
        "table": about["tables"][0] if about["kind"] == "pairs" and about["tables"] else None,
    }


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)
