"""Each citation pipeline as one call: answers in, tables in memory out, nothing written but the stores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from metaeval.errors import UserError, unknown
from metaeval.experiment.citing import rows as alce_rows
from metaeval.experiment.citing.chat import ChatChoice
from metaeval.experiment.citing.citeeval import rows as citeeval_rows
from metaeval.experiment.citing.citeeval.run import run_citeeval
from metaeval.experiment.citing.citeeval.sheets import citeeval_sheets
from metaeval.experiment.citing.run import Asked, run_cited
from metaeval.experiment.citing.scifi import rows as scifi_rows
from metaeval.experiment.citing.scifi.run import run_scifi
from metaeval.experiment.citing.scifi.sheets import scifi_sheets
from metaeval.experiment.sheet import Record, Sheet
from metaeval.report.terminal import text_of

PIPELINES = ("alce", "aliice", "scifi", "citeeval")

_MORE = ("splitter", "premise", "units", "measures", "reader", "mauve_model", "calibrations")
"""Fields of `Asked` that are seldom given."""

Rows = Mapping[str, Sequence[Record]]
Answers = str | Path | Sequence[str | Path] | Sequence[Mapping[str, Any]]
"""A file of answers, several, or answers as objects with the fields of the JSONL format (`readers/jsonl.py`)."""


@dataclass(frozen=True)
class CitationResult:
    """What a pipeline makes of some answers.

    tables: by name; each with `records`, one a line, and `grid`, as it is printed. rows: what was judged, one record an
    answer, sentence, statement, fact or citation, under names such as "answers" (CiteEval) and "answers:overlap" (by
    backend); the records are those of the files that the command writes.
    """

    pipeline: str
    tables: Mapping[str, Sheet]
    rows: Rows

    def __str__(self) -> str:
        """The tables as the command prints them."""
        return "\n".join(text_of(sheet.grid) for sheet in self.tables.values())


def cite(
    pipeline: str,
    answers: Answers,
    asked: Mapping[str, Any],
    choice: ChatChoice,
    scenario: str,
    baselines: Sequence[str],
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
) -> CitationResult:
    """Run a pipeline. asked: fields of `Asked`; settings: of a run; options: further fields, or what --set takes.

    Raises `UserError` as the commands do.
    """
    if pipeline not in PIPELINES:
        raise unknown("pipeline", pipeline, PIPELINES)
    if (choice.given or choice.base_url or choice.record) and pipeline not in ("scifi", "citeeval"):
        raise UserError(f"{pipeline!r} asks no chat model: leave model, base_url, record and replay out.")
    more = {name: value for name, value in options.items() if name in _MORE}
    overrides = [f"{name}={json.dumps(value)}" for name, value in options.items() if name not in _MORE]
    with _as_files(answers) as files:
        whole = replace(Asked(pipeline, files, form="jsonl" if _are_objects(answers) else "auto"), **asked, **more)
        if pipeline == "scifi":
            assessed = run_scifi(whole, choice, settings, overrides)
            return _result(pipeline, scifi_sheets(assessed), scifi_rows.tables(assessed))
        if pipeline == "citeeval":
            rated = run_citeeval(whole, choice, scenario, settings, overrides, None, baselines)
            return _result(pipeline, citeeval_sheets(rated), citeeval_rows.tables(rated))
        cited, sheets = run_cited(whole, settings, overrides)
        return _result(pipeline, sheets, alce_rows.tables(cited))


def _result(pipeline: str, sheets: Sequence[Sheet], rows: Rows) -> CitationResult:
    return CitationResult(pipeline, {sheet.name: sheet for sheet in sheets}, rows)


@contextmanager
def _as_files(answers: Answers) -> Iterator[tuple[Path, ...]]:
    """The files that hold the answers; objects become lines of one, so that they are checked as lines are."""
    if isinstance(answers, str | Path):
        yield (Path(answers),)
        return
    if not _are_objects(answers):
        yield tuple(Path(str(one)) for one in answers)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        path.write_text("".join(json.dumps(one) + "\n" for one in answers), encoding="utf-8")
        try:
            yield (path,)
        except UserError as error:
            raise UserError(str(error).replace(f"{folder}/", "")) from error


def _are_objects(answers: Answers) -> bool:
    if isinstance(answers, str | Path):
        return False
    objects = [isinstance(one, Mapping) for one in answers]
    if any(objects) and not all(objects):
        raise UserError("Answers are files, or objects: this is a list of both.")
    return any(objects)
