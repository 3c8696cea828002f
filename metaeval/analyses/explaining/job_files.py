"""What is explained or compared: a signature, a result file, or all files of a job; and what two of them differ in."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import isdir
from pathlib import Path

from metaeval import signature as signatures
from metaeval.analyses.explaining.explain import (
    Source,
    choice_meaning,
    holds_signatures,
    is_file,
    meaning,
    read_signature,
    read_source,
)
from metaeval.analyses.suites.suite import recorded
from metaeval.errors import UserError, unknown
from metaeval.report.differences import Change, missing, record_changes, row_changes
from metaeval.report.table import Table
from metaeval.runs.job_folder import LATEST, NAME, done_jobs, find_job, is_hash

NUMBERS = "numbers"
"""The name under which the numbers of a sheet are compared."""

_SETTINGS = "settings"
APART = (NUMBERS, _SETTINGS)
"""Names of no row."""

_ELSEWHERE = frozenset({"resamples", "level", "method"})  # settings of a sheet that signatures name otherwise
_NONE = frozenset({"as the profile", "paper"})  # options of a pipeline of which none was changed


def compare(one: str, other: str, row: str | None = None) -> dict[str, list[Change]]:
    """What two signatures or files differ in, by the name of the row; an empty list says: nothing.

    Rows of the same name are compared; the only row of each side is compared whatever its name. A row that one file
    alone has is a change itself. Of two sheets, the numbers stand under `NUMBERS`.

    Raises `UserError` for what cannot be read, and for two that do not hold the same.
    """
    first, second = read_source(one, row), read_source(other, row)
    if is_file(one) != is_file(other):
        raise UserError(
            "A signature and a result file: compare two of a kind (metaeval results explain RESULT prints one's)."
        )
    if first.kind != second.kind:
        raise UserError(
            f"{one} holds {first.kind} and {other} {second.kind}: only numbers of the same table can be compared."
        )
    found = _rows(first, second)
    if first.sheet is not None and second.sheet is not None:
        found |= _sheets(first.sheet, second.sheet, row)
    return found


def _rows(first: Source, second: Source) -> dict[str, list[Change]]:
    one, other = first.signatures, second.signatures
    if len(one) == len(other) == 1 and not first.rows:
        ((name, text),), ((other_name, other_text),) = one.items(), other.items()
        return {name if name == other_name else "": _fields(text, other_text)}
    found: dict[str, list[Change]] = {}
    for name in dict.fromkeys([*one, *other]):
        found[name] = missing("row", name in one, name in other) or _fields(one[name], other[name])
        if name in first.rows and name in second.rows:
            found[name] += row_changes(first.rows[name], second.rows[name])
    return found


def _fields(one: str, other: str) -> list[Change]:
    """The fields that differ; of one that holds several choices, the choices."""
    sides = read_signature(one), read_signature(other)
    found: list[Change] = []
    for name, values in signatures.differences(*sides).items():
        choices = _choices(name, *values)
        for key, own in choices.items():
            said = [choice_meaning(name, key, value, of) for value, of in zip(own, sides, strict=True) if value]
            found.append(_field(f"{name}.{key}", own, [one.text for one in said]))
        if not choices:
            known = [meaning(name, value, of) for value, of in zip(values, sides, strict=True) if value is not None]
            found.append(_field(name, values, [one.text for one in known if one]))
    return found


def _field(name: str, values: tuple[str | None, str | None], texts: Sequence[str]) -> Change:
    return Change("field", name, *values, " / ".join(filter(None, dict.fromkeys(texts))))


def _choices(name: str, one: str | None, other: str | None) -> dict[str, tuple[str | None, str | None]]:
    """The choices of a field that differ; none where it does not hold several on both sides."""
    if name not in signatures.COMPOSITE or one is None or other is None:
        return {}
    read = [signatures.read_choices(text) for text in (one, other)]
    whole = all(choices or text in _NONE for choices, text in zip(read, (one, other), strict=True))
    return signatures.differences(*read) if whole else {}


def _sheets(one: Table, other: Table, row: str | None) -> dict[str, list[Change]]:
    """What is in a sheet beside its signatures: settings that these do not name, and numbers."""
    told = _told(one) | _told(other)
    settings = []
    for sheet in (one, other):
        settings.append({name: str(value) for name, value in sheet.settings.items() if name not in told})
        if not told:
            settings[-1]["data"] = f"{sheet.data.name}/{sheet.data.split}@{sheet.data.fingerprint[:12]}"
    differing = [Change("field", name, *values) for name, values in signatures.differences(*settings).items()]
    found = {_SETTINGS: differing} if differing else {}
    if row is None:
        found[NUMBERS] = list(record_changes(one.records, other.records))
    return found


def _told(sheet: Table) -> set[str]:
    """The settings that every signature of a sheet names; none where it has no signature."""
    named = [set(read_signature(text)) for text in sheet.signatures]
    return set.intersection(*named) | _ELSEWHERE if named else set()


def sources_of(of: str, results: Path) -> list[str]:
    """The result files and sheets of the job that is meant; what is given itself where none is.

    A folder stands for the latest job in it; a table as text, CSV, Markdown or LaTeX for the file of its numbers; and
    any other file of a job, such as its report, for the job.
    """
    of = _beside(of)
    if not _is_job(of):
        return [of]
    job = find_job(Path(of), LATEST) if isdir(of) else find_job(results, of)
    own = [path for path in map(job.folder.joinpath, job.files) if holds_signatures(path)]
    found = [str(path) for path in own or recorded(job.folder) if holds_signatures(path)]
    if not found:
        raise UserError(f"{job.folder} holds no result file and no sheet.")
    return found


def jobs_with(signature: str, results: Path) -> list[Path]:
    """The folder of the latest job that holds this signature, in a list; an empty one where no job does."""
    wanted = read_signature(signature)
    for folder in dict.fromkeys(job.folder for job in done_jobs(results)):
        for path in sorted(folder.rglob("*.json")):
            if holds_signatures(path) and any(
                read_signature(text) == wanted for text in read_source(str(path)).signatures.values()
            ):
                return [path.parent]
    return []


def row_signatures(of: str, paths: Sequence[str], metric: str | None) -> dict[tuple[str, str], str]:
    """The signatures of all rows, or of the metric's alone, by file and row; `UserError` where there is none."""
    if metric is not None and not is_file(paths[0]):
        raise UserError("A metric is named for a result file only; a signature has its own.")
    texts = {
        (path, name): text
        for path in paths
        for name, text in read_source(path, metric if len(paths) == 1 else None).signatures.items()
        if metric is None or name == metric
    }
    if not texts and metric is not None:
        raise unknown(f"row of {of}:", metric, {name for path in paths for name in read_source(path).signatures})
    if not texts:
        raise UserError(f"{of} holds no signature: what its numbers depend on stands in it under 'settings'.")
    return texts


def titled(paths: Sequence[str], path: str, row: str) -> str:
    """What a row is called beside those of the other files: with the file's name, and that of its job if need be."""
    if len(paths) < 2:
        return row
    several = len({Path(one).parent for one in paths}) > 1
    return f"{row} ({Path(path).parent.name}/{Path(path).stem})" if several else f"{row} ({Path(path).stem})"


def differences(
    one: str, other: str, metric: str | None, results: Path
) -> tuple[dict[str, dict[str, list[Change]]], list[list[str]]]:
    """What two signatures or files differ in, or the files of one name of two jobs; and what each job has alone.

    The differences are those of `compare` by the file's name, "" where no jobs are compared.
    """
    one, other = _beside(one), _beside(other)
    others = [given for given in (one, other) if not _is_job(given)]
    if len(others) == 2:
        return {"": compare(one, other, metric)}, [[], []]
    if others:
        raise UserError(f"{others[0]!r} is no job, and a job is compared with a job: give the hashes of both.")
    files = []
    for job in (one, other):
        paths = [Path(path) for path in sources_of(job, results)]
        # By name, in several folders with that of the folder, but for its hash.
        several = len({path.parent for path in paths}) > 1
        folders = [f"{path.parent.name.rpartition('-')[0]}/" if several else "" for path in paths]
        files.append({f"{folder}{path.name}": str(path) for folder, path in zip(folders, paths, strict=True)})
    shared = [name for name in files[0] if name in files[1]]
    if not shared:
        raise UserError(f"The jobs {one} and {other} have no result file of one name: there is nothing to compare.")
    found = {name.removesuffix(".json"): compare(files[0][name], files[1][name], metric) for name in shared}
    return found, [[name for name in own if name not in shared] for own in files]


def _is_job(of: str) -> bool:
    return (of == LATEST or is_hash(of) or isdir(of)) and not is_file(of)


def _beside(of: str) -> str:
    """The file of the numbers, where a table's other file is named, or the folder where a job's; else what is given."""
    if not is_file(of) or of.endswith(".json"):
        return of
    numbers = Path(of).with_suffix(".json")
    if numbers.is_file() and holds_signatures(numbers):
        return str(numbers)
    return str(Path(of).parent) if (Path(of).parent / NAME).is_file() else of
