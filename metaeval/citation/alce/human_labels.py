"""Human labels of the sentences and citations of answers, as ALCE publishes them, compared with backends' verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.citation.alce.citations import RELEASED, alce_lines
from metaeval.citation.citation_table import CitationLine
from metaeval.citation.data_model import Answer, Entails
from metaeval.citation.measures import ValueInterval, group_codes, interval_by
from metaeval.citation.readers.answer_files import alce_passages
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.errors import UserError
from metaeval.parsing import read_object
from metaeval.stats.agreement import cohen_kappa, fleiss_kappa
from metaeval.stats.arrays import Ints
from metaeval.stats.classification import decision_counts, resampled, share_equal
from metaeval.stats.influence import SHARES, SIGNED
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import replicate

MISSING = -1
"""The label of a unit that a rater did not label."""

PUBLISHED = "automatic, as published"
"""Name of the rater whose labels are those of the automatic evaluation in ALCE's file."""

_WHOLE: Mapping[Any, int] = {0: 0, 1: 1}
_PARTIAL: Mapping[Any, int] = {0: 0, 1: 1, 2: 1}
"""Partial support (1) is support."""

_SCORE = "citation_precision_score"
_RECALL, _PRECISION = "automatic_recall_scores", "automatic_citation_precision_scores"


@dataclass(frozen=True)
class LabelledAnswer:
    """An answer with the labels of its sentences and of the citations in each: 1 for support, 0 for none.

    recall: one label a sentence. precision: one label a citation, by sentence; 0 where the sentence is not supported.
    automatic_recall, automatic_precision: the same by the automatic evaluation in the file; None if the file has none.
    """

    answer: Answer
    recall: tuple[int, ...]
    precision: tuple[tuple[int, ...], ...]
    automatic_recall: tuple[int, ...] | None
    automatic_precision: tuple[tuple[int, ...], ...] | None


def read_labels(path: Path) -> list[LabelledAnswer]:
    """Return every labelled answer, in the file's order; its system is the model, its group the data set's question.

    Raises `UserError`, with the item and its field, where the file has another layout, and without labelled answers.
    """
    layout = (
        "give a file such as ALCE's human_eval_citations_completed.json, of objects nested as data set, model, "
        "question's id, labelled answer"
    )
    content = DataRow(f"{path}", read_object(path, layout))
    for models in content.fields.values():
        if not isinstance(models, dict) or not all(isinstance(items, dict) for items in models.values()):
            raise UserError(f"{path} does not have the layout of ALCE's human labels: {layout}.")
    labelled = [
        _labelled(dataset, model, key, content.row(dataset).row(model).row(key))
        for dataset in content.fields
        for model in content.row(dataset).fields
        for key in content.row(dataset).row(model).fields
        if key != "overall_results"
    ]
    if not labelled:
        raise UserError(f"{path} holds no labelled answer: {layout}.")
    return labelled


def _labelled(dataset: str, model: str, key: str, item: DataRow) -> LabelledAnswer:
    passages, question = alce_passages(item), item.optional_text("question")
    fields = f"{dataset}/{model}/{key}", item.text("output"), passages, question, f"{dataset}/{key}", model
    sentences = item.rows("sentences")
    recall = tuple(sentence.choice("sentence_recall_score", _WHOLE) for sentence in sentences)
    scores = [[each.fields.get(_SCORE) for each in sentence.rows("citations")] for sentence in sentences]
    automatic = automatic_precision = None
    if item.fields.get(_RECALL) is not None:
        automatic = tuple(_level(item, _RECALL, value, _WHOLE) for value in _one_each(item, _RECALL, recall))
        if item.fields.get(_PRECISION) is not None:
            item.lists(_PRECISION)
            automatic_precision = _gated(item, _PRECISION, automatic, _one_each(item, _PRECISION, recall))
    return LabelledAnswer(Answer(*fields), recall, _gated(item, _SCORE, recall, scores), automatic, automatic_precision)


def _one_each(item: DataRow, name: str, sentences: Sequence[int]) -> list[Any]:
    value = item.fields[name]
    if not isinstance(value, list) or len(value) != len(sentences):
        raise item.error(name, f"a list of {len(sentences)}, one for each sentence")
    return value


def _gated(
    item: DataRow, name: str, recall: tuple[int, ...], scores: Sequence[Sequence[Any]]
) -> tuple[tuple[int, ...], ...]:
    """Return citation labels as 0 or 1, with 0 for all citations of a sentence that is not supported.

    name: the field of `item` that holds the labels, for errors. recall: labels of the sentences. scores: labels of the
    citations of each sentence, as in the file; those of supported sentences have to be 0, 1 (partial) or 2 (full).
    """
    return tuple(
        tuple(_level(item, name, value, _PARTIAL) if supported else 0 for value in sentence_scores)
        for supported, sentence_scores in zip(recall, scores, strict=True)
    )


def _level(item: DataRow, name: str, value: Any, allowed: Mapping[Any, int]) -> int:
    return DataRow(item.where, {name: value}).choice(name, allowed)


@dataclass(frozen=True, eq=False)
class UnitLabels:
    """Labels of the same n units (sentences or citations) by people and by every other rater: 1 support, 0 none.

    human: (n,). raters: (n,) of each other rater, by name, with MISSING where there is no label. group: (n,) codes of
    the questions.
    """

    human: Ints
    group: Ints
    raters: Mapping[str, Ints]


@dataclass(frozen=True)
class RaterAgreement:
    """Agreement of one rater with the people, on the units that both judged.

    units: number of these units. missing: number of units without a label by the rater. supported: the shares of these
    units that (people, the rater) judged as supported.
    """

    rater: str
    units: int
    missing: int
    accuracy: ValueInterval
    kappa: ValueInterval
    supported: tuple[float | None, float | None]


def gather_labels(
    labelled: Sequence[LabelledAnswer], backends: Mapping[str, Entails], splitter: SentenceSplitter
) -> dict[str, UnitLabels]:
    """Return the labels of all sentences ("sentence") and of all citations ("citation"), by people and other raters.

    The raters are the backends, by name, and `PUBLISHED` if the file has its labels. Backends judge the sentences of
    the released ALCE code, which are those that people labelled. Where the number of sentences in an answer, or of
    citations in a sentence, differs from the number of human labels, the rater's labels there are MISSING.
    """
    raters = {PUBLISHED: _published(labelled)} if any(answer.automatic_recall for answer in labelled) else {}
    answers = [answer.answer for answer in labelled]
    for name, entails in backends.items():
        raters[name] = _aligned(labelled, alce_lines(answers, entails, RELEASED, splitter))
    codes, _ = group_codes(answers)
    human = {
        "sentence": [list(answer.recall) for answer in labelled],
        "citation": [list(chain(*answer.precision)) for answer in labelled],
    }
    return {
        unit: UnitLabels(
            human=np.array([*chain(*answer_labels)], dtype=np.int64),
            group=np.repeat(codes, [len(labels) for labels in answer_labels]),
            raters={name: np.array(ratings[unit], dtype=np.int64) for name, ratings in raters.items()},
        )
        for unit, answer_labels in human.items()
    }


_RaterLabels = dict[str, list[int]]
"""A rater's labels of all units, by kind of unit ("sentence", "citation"); MISSING where there is none."""


def _published(labelled: Sequence[LabelledAnswer]) -> _RaterLabels:
    labels: _RaterLabels = {"sentence": [], "citation": []}
    for answer in labelled:
        labels["sentence"] += answer.automatic_recall or [MISSING] * len(answer.recall)
        precision = answer.automatic_precision or [()] * len(answer.recall)
        for citations, of in zip(precision, answer.precision, strict=True):
            labels["citation"] += citations if len(citations) == len(of) else [MISSING] * len(of)
    return labels


def _aligned(labelled: Sequence[LabelledAnswer], lines: Sequence[CitationLine]) -> _RaterLabels:
    by_answer: dict[str, dict[int, list[CitationLine]]] = {}
    for line in lines:
        if line.claim_number is not None:
            by_answer.setdefault(line.answer, {}).setdefault(line.claim_number, []).append(line)
    labels: _RaterLabels = {"sentence": [], "citation": []}
    for answer in labelled:
        sentences = list(by_answer.get(answer.answer.id, {}).values())
        if len(sentences) != len(answer.recall):
            sentences = [[] for _ in answer.recall]
        for few, of in zip(sentences, answer.precision, strict=True):
            citations = [line.precision for line in few if line.state in ("judged", "unjudged")]
            known = [few[0].recall if few else None, *(citations if len(citations) == len(of) else [None] * len(of))]
            recall, *precision = (MISSING if value is None else value for value in known)
            labels["sentence"].append(recall)
            labels["citation"] += precision
    return labels


def agreement(labels: UnitLabels, n_groups: int, resampling: Resampling) -> list[RaterAgreement]:
    """Return the agreement of every rater with the people. n_groups: the number of questions."""
    agreements = []
    for name, ratings in labels.raters.items():
        both = ratings != MISSING
        human, rated = labels.human[both], ratings[both]
        counts = decision_counts(rated, human, labels.group[both], n_groups, 2)
        rows = np.bincount(labels.group[both], minlength=n_groups)
        accuracy, kappa = (
            interval_by(partial(replicate, resampled(counts, measure)), rows, resampling, ends)[0]
            for measure, ends in ((share_equal, SHARES), (cohen_kappa, SIGNED))
        )
        shares = (float(human.mean()), float(rated.mean())) if human.size else (None, None)
        agreements.append(RaterAgreement(name, int(both.sum()), int((~both).sum()), accuracy, kappa, shares))
    return agreements


def fleiss(labels: UnitLabels) -> float | None:
    """Return Fleiss' kappa of people and raters on the units that all judged; None if undefined, or with one rater."""
    columns = np.stack([labels.human, *labels.raters.values()])
    if columns.shape[0] < 3:
        return None
    whole = columns[:, (columns != MISSING).all(axis=0)]
    support = whole.sum(axis=0).astype(np.float64)
    kappa = fleiss_kappa(np.stack([columns.shape[0] - support, support], axis=1))
    return None if np.isnan(kappa) else kappa
