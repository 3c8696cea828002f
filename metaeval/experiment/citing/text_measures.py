"""What is measured of an answer's text beside its citations: against a reference, by a reader model, and by MAUVE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metaeval.citation.alce import mauve, questions
from metaeval.citation.alce.options import AlceOptions
from metaeval.citation.model import Answer, Entails
from metaeval.experiment.citing.pipeline import Measure
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model

Whole = Callable[[Sequence[Answer]], float | None]
Values = Mapping[str, Sequence[float | None]]
"""Of each answer, by measure."""

_DOWNLOAD = "size and licence: see its page on the hub"

_READER: Sequence[Measure] = (
    Measure("qa_em", "QA-EM", "short answers that a reader model finds word by word", 100, 1),
    Measure("qa_f1", "QA-F1", "overlap of words between short answers and what a reader model finds", 100, 1),
    Measure("qa_hit", "QA-hit", "answers of which a reader model finds every short answer", 100, 1),
)
_EVERY: Sequence[Measure] = (
    Measure("str_em", "EM recall", "short answers of the reference that stand in the text", 100, 1),
    Measure("str_hit", "hit", "answers in which every short answer stands", 100, 1),
    Measure("rougeLsum", "ROUGE-Lsum", "longest common subsequence with the reference", 100, 1),
    Measure("claims_nli", "claim recall", "claims of the reference that the text entails", 100, 1),
    Measure("num_preds", "items", "items of a list", 1, 1),
    Measure("qampari_prec", "list precision", "items of the list that are right", 100, 1),
    Measure("qampari_rec", "list recall", "right items that are in the list", 100, 1),
    Measure("qampari_rec_top5", "list recall-5", "right items in the list, five being enough", 100, 1),
    Measure("qampari_f1", "list F1", "harmonic mean of list precision and list recall", 100, 1),
    Measure("qampari_f1_top5", "list F1-5", "harmonic mean of list precision and list recall-5", 100, 1),
    Measure("length", "words", "words of the answer", 1, 1),
    *_READER,
)
TEXT_MEASURES: Mapping[str, Measure] = {measure.key: measure for measure in _EVERY}
"""The measures of an answer's text, under the released ALCE code's names; those of a reader only when asked for."""

CLAIM_RECALL = TEXT_MEASURES["claims_nli"].column

MAUVE = Measure("mauve", "MAUVE", "how alike the answers and the references are as wholes", 100, 1)
"""A measure of all answers of a system together: no answer has one, and it has no interval."""


@dataclass(frozen=True)
class ModelMeasures:
    """Of the measures asked for, those that need a model. values: of each answer. wholes: of any set of answers.

    fields: what the signature says of the models.
    """

    values: Values = field(default_factory=dict)
    wholes: Mapping[str, Whole] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


def wanted(values: Values, measures: Sequence[str]) -> dict[str, Sequence[float | None]]:
    """The values of the measures asked for (all if none), in the order of the tables."""
    return {key: values[key] for key in TEXT_MEASURES if key in values and (not measures or key in measures)}


def claim_recaller(
    answers: Sequence[Answer], measures: Sequence[str], values: Callable[[Entails], Values]
) -> Callable[[Entails], Sequence[float | None]] | None:
    """What gives each answer's recall of its reference's claims; None where it is not asked for, or none has claims."""
    asked = not measures or CLAIM_RECALL.key in measures
    if not asked or not any(answer.reference.get("claims") for answer in answers):
        return None
    return lambda entails: values(entails).get(CLAIM_RECALL.key, [None] * len(answers))


def model_measures(
    answers: Sequence[Answer], measures: Sequence[str], reader: str, mauve_model: str, options: AlceOptions
) -> ModelMeasures:
    """Read the answers with the models that the measures need; none is loaded where none is asked for.

    reader, mauve_model: a hub id or a folder. Raises `UserError` for a model that cannot be had or used.
    """
    values: dict[str, Sequence[float | None]] = {}
    wholes: dict[str, Whole] = {}
    fields: dict[str, str] = {}
    if own := [measure.key for measure in _READER if measure.key in measures]:
        found = _found(reader)
        read = questions.reader_values(answers, _reader(found), options)
        values = {key: read[key] for key in own}
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

    from metaeval.citation.alce.questions import extractive_reader
    from metaeval.scoring.backends.models import load_model, load_tokenizer

    return extractive_reader(load_model(AutoModelForQuestionAnswering, found, "float32", "cpu"), load_tokenizer(found))
