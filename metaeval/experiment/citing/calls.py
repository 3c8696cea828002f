"""Each citation pipeline as one call: answers in, a result in memory out, nothing written but the stores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from metaeval.config import validated
from metaeval.errors import UserError
from metaeval.experiment.citing.pipeline import AsksChat, ReadsAnswers, find_pipeline
from metaeval.experiment.citing.result import PipelineResult
from metaeval.experiment.citing.run import run_pipeline

Answers = str | Path | Sequence[str | Path] | Sequence[Mapping[str, Any]]
"""A file of answers, several, or answers as objects with the fields of the JSONL format (`readers/jsonl.py`)."""


def cite(name: str, answers: Answers, options: Mapping[str, Any], settings: Mapping[str, Any]) -> PipelineResult:
    """Run a pipeline. options: fields of its own options that are not None, and what --set takes; settings: of a run.

    Raises `UserError` as the commands do.
    """
    pipeline = find_pipeline(name)
    fields, given = pipeline.options.model_fields, {key: value for key, value in options.items() if value is not None}
    own = {key: value for key, value in given.items() if key in fields}
    others = {key: value for key, value in given.items() if key not in fields}
    if asked := [key for key in AsksChat.model_fields if key in others]:
        raise UserError(f"{name!r} asks no chat model: leave {', '.join(asked)} out.")
    overrides = [f"{key}={json.dumps(value)}" for key, value in others.items()]
    with _as_files(answers) as files:
        if _are_objects(answers) and issubclass(pipeline.options, ReadsAnswers):
            own["format"] = "jsonl"
        paths = {"file": files[0]} if "file" in fields and files else {"files": files}
        made = validated(pipeline.options, {**own, **paths}, f"the options of {name}")
        return run_pipeline(pipeline, made, settings, overrides)


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
