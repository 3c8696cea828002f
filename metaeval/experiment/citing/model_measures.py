"""The measures of ALCE that read the answers with a model: the reader's QA-EM and QA-F1, and MAUVE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metaeval.citation.alce import mauve, questions
from metaeval.citation.alce.options import AlceOptions
from metaeval.citation.model import Answer
from metaeval.report.result import Column
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model

READ: Mapping[str, Column] = {
    "qa_em": Column(key="qa_em", label="QA-EM", scale=100, digits=1),
    "qa_f1": Column(key="qa_f1", label="QA-F1", scale=100, digits=1),
    "qa_hit": Column(key="qa_hit", label="QA-hit", scale=100, digits=1),
}
"""Measures of each answer by an extractive reader."""

MAUVE = Column(key="mauve", label="MAUVE", scale=100, digits=1)
"""A measure of all answers of a system together: no answer has one, and it has no interval."""

_DOWNLOAD = "size and licence: see its page on the hub"

Whole = Callable[[Sequence[Answer]], float | None]


@dataclass(frozen=True)
class ModelMeasures:
    """Of the measures asked for, those that need a model. values: of each answer. wholes: of any set of answers.

    fields: what the signature says of the models.
    """

    values: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    wholes: Mapping[str, Whole] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)


def model_measures(
    answers: Sequence[Answer], measures: Sequence[str], reader: str, mauve_model: str, options: AlceOptions
) -> ModelMeasures:
    """Read the answers with the models that the measures need; none is loaded where none is asked for.

    reader, mauve_model: a hub id or a folder. Raises `UserError` for a model that cannot be had or used.
    """
    values: dict[str, Sequence[float | None]] = {}
    wholes: dict[str, Whole] = {}
    fields: dict[str, object] = {}
    if any(measure in READ for measure in measures):
        found = _found(reader)
        read = questions.reader_values(answers, _reader(found), options)
        values = {key: read[key] for key in READ if key in measures}
        fields["reader"] = f"{Path(reader).name}@{found.fingerprint}"
    if MAUVE.key in measures:
        found = _found(mauve_model)
        folder = str(found.folder)
        wholes[MAUVE.key] = lambda own: mauve.answers_mauve(own, folder, options=options)
        fields["mauve"] = f"{Path(mauve_model).name}@{found.fingerprint}"
    return ModelMeasures(values, wholes, fields)


def _found(model: str) -> ModelFolder:
    folder = Path(model)
    return find_model(Checkpoint(model, _DOWNLOAD), folder if folder.is_dir() else None)


def _reader(found: ModelFolder) -> questions.Reader:
    from transformers import AutoModelForQuestionAnswering

    from metaeval.citation.alce.reader import extractive_reader
    from metaeval.scoring.backends.models import load_model, load_tokenizer

    return extractive_reader(load_model(AutoModelForQuestionAnswering, found, "float32", "cpu"), load_tokenizer(found))
