"""The explanation of a number: each field of its signature in words, and the command in its job's manifest."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName, Progress
from metaeval.config import ResultsSettings
from metaeval.declared import Flag


class ExplainOptions(ResultsSettings, DeclaredOptions):
    """Options of `results explain`."""

    of: Annotated[FileOrName, Flag("SIGNATURE|RESULT|HASH", argument=True)]
    """Signature (in quotes), result file, or name or hash of a job."""
    metric: Annotated[str | None, Flag("[METRIC]", argument=True)] = None
    """Metric whose row of the file is explained."""


def _run(options: ExplainOptions, progress: Progress) -> Done:
    from metaeval.analyses.explaining.signature_fields import explain, read_signature
    from metaeval.analyses.explaining.signature_sources import row_signatures, sources_of, unique_row_name
    from metaeval.report.table import Table

    paths = sources_of(options.of, options.results)
    signatures = row_signatures(options.of, paths, options.metric)
    rows = {unique_row_name(paths, path, name): read_signature(text) for (path, name), text in signatures.items()}
    explained = [
        {"row": row, "field": field.name, "value": field.value, "what it says": field.text, "set by": field.setting}
        for row, fields in rows.items()
        for field in explain(fields)
    ]
    names = list(dict.fromkeys(name for _, name in signatures))
    return Done(
        shown=[*_file_states(options.of, paths), *_described(options, paths, names, rows)],
        value=Table(records=explained),
    )


def _file_states(of: str, paths: Sequence[str]) -> list[str]:
    """Return lines that say whether each file is unchanged since it was written, and which others of its job are not.

    of: what the user asked to explain.
    """
    from metaeval.analyses.explaining.signature_fields import is_file
    from metaeval.runs.job_folder import altered_files, check

    kept = {path: str(check(Path(path))) for path in dict.fromkeys([*paths, of]) if is_file(path)}
    lines = []
    for line in dict.fromkeys(kept.values()):
        same = [path for path in kept if kept[path] == line]
        lines.append(f"{', '.join(same)}: {line if len(same) == 1 else line.replace('the file', 'each file', 1)}")
    beside = [line for folder in {Path(path).parent for path in kept} for line in altered_files(folder)]
    return lines + [line for line in beside if not line.startswith(tuple(f"{path}:" for path in kept))]


def _described(
    options: ExplainOptions, paths: Sequence[str], names: Sequence[str], rows: Mapping[str, Mapping[str, str]]
) -> list[object]:
    """Return the signature fields that all rows share, those that differ by row, and the commands that repeat the rows.

    paths: the files. names: of the rows. rows: signature fields by the row's name.
    """
    leaves = {row: _leaves(fields) for row, fields in rows.items()}
    first = next(iter(leaves.values()))
    shared = {name: leaf for name, leaf in first.items() if all(row.get(name) == leaf for row in leaves.values())}
    several = len(rows) > 1
    shown: list[object] = [*(["All rows:"] if several else []), _fields(list(shared.values()))]
    if len(paths) > 1 and options.metric is None:
        row = f"metaeval results explain {options.of} ROW ({', '.join(names)})"
        shown.append(f"For the fields in which a row differs from others, name the row: {row}.")
    elif several:
        shown += _rows({row: [leaf for key, leaf in of.items() if key not in shared] for row, of in leaves.items()})
    return [*shown, *_commands(options, paths)]


Leaf = tuple[str, str, str, str]


def _fields(leaves: Sequence[Leaf]) -> object:
    from metaeval.report.notebook import Fields

    names = ("field", "value", "what it says", "set by")
    return Fields(records=[dict(zip(names, leaf, strict=True)) for leaf in leaves])


def _leaves(fields: Mapping[str, str]) -> dict[str, Leaf]:
    """Return (name, value, meaning, setting) of each field, by its name, and of each choice in it, by FIELD.CHOICE."""
    from metaeval.analyses.explaining.signature_fields import explain as explain_fields

    leaves: dict[str, Leaf] = {}
    for field in explain_fields(fields):
        leaves[field.name] = (field.name, "" if field.parts else field.value, field.text, field.setting)
        for part in field.parts:
            leaves[f"{field.name}.{part.name}"] = (f"  {part.name}", part.value, part.text, part.setting)
    return leaves


def _rows(leaves: Mapping[str, Sequence[Leaf]]) -> list[object]:
    """Return the fields that differ between rows: the meaning of each, then a line with its value in each row."""
    every = [leaf for row in leaves.values() for leaf in row]
    fields = {name.strip(): (name.strip(), "", text, setting) for name, _, text, setting in every}
    values = {row: "  ".join(f"{name.strip()}:{value}" for name, value, *_ in of) for row, of in leaves.items()}
    for field in fields:
        named = [row for row in values if values[row] == f"{field}:{row}"]
        if len(named) > 1:
            values[", ".join(named)] = f"{field} of this name"
            values = {row: value for row, value in values.items() if row not in named}
    lines = [f"{row}: {value}" for row, value in values.items()]
    return ["", "Each row's own:", _fields(list(fields.values())), "", *lines]


def _commands(options: ExplainOptions, paths: Sequence[str]) -> list[str]:
    """Return lines: the commands in the manifests of the rows' jobs, jobs without one, and input files that changed."""
    from metaeval.analyses.analysis_job import RECIPE, changed_files, with_present_values
    from metaeval.analyses.command_words import command_of
    from metaeval.analyses.explaining.signature_fields import is_file
    from metaeval.analyses.explaining.signature_sources import jobs_with
    from metaeval.runs.job_folder import NAME, lost_objects, read_manifest

    files = [Path(path) for path in paths if is_file(path)]
    folders = list(dict.fromkeys(path.parent for path in files)) or jobs_with(options.of, options.results)
    if not folders:
        return ["", f"No job in {options.results} holds this signature: name its folder of results with --results."]
    commands: list[str] = []
    cautions: list[str] = []
    for folder in folders:
        noted = read_manifest(folder)
        recipe = noted.get(RECIPE)
        if lost := lost_objects(noted):
            cautions.append(f"No command repeats {folder}, because {lost}.")
            continue
        if not isinstance(recipe, dict):
            why = "it is of an earlier version, or of a command that records none"
            cautions.append(f"{folder} records no command ({why}): see {folder / NAME}.")
            continue
        commands.append(shlex.join(["metaeval", *command_of(with_present_values(recipe))]))
        cautions += [f"{name} is missing or has changed." for name in changed_files(recipe)]
    lines = [f"  {line}" for line in dict.fromkeys(commands)]
    head = "The number again:" if len(lines) == 1 else "The numbers again:"
    return ["", *([head] if lines else []), *lines, *(f"  - {line}" for line in dict.fromkeys(cautions))]


EXPLAIN = Analysis(
    name="results explain",
    summary="Explain a signature or a job, and print its command.",
    about="""Each field is shown with its meaning and the setting that changes it. A result file or sheet shows what all
rows share, then what differs by row, and whether the file was changed since it was written. The hash of a job, with
which its folder's name ends, stands for all its files; so does latest. The command is that of the job's manifest:
'metaeval results rerun JOB' runs it.""",
    examples=[
        "results explain 'data:mini/all@ac743a5d0949|unit:chunk|...'",
        "results explain results/latest/retrieval.json",
        "results explain results/latest/retrieval.json overlap",
        "results explain 5b1641e1 overlap",
        "results explain latest",
    ],
    options=ExplainOptions,
    run=_run,
)
