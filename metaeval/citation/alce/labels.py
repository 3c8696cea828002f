"""Human labels of the sentences and citations of answers, in the layout of ALCE's file, held against verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.citation.alce.citations import RELEASED, alce_lines
from metaeval.citation.measures import ValueInterval, group_codes, interval_by
from metaeval.citation.model import Answer, Entails
from metaeval.citation.readers.answers import alce_passages
from metaeval.citation.table import CitationLine
from metaeval.corpus.loaders.rows import DataRow
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.errors import UserError
from metaeval.reading import read_object
from metaeval.stats.agreement import cohen_kappa, fleiss_kappa
from metaeval.stats.arrays import Ints
from metaeval.stats.classification import decision_counts, resampled, share_alike
from metaeval.stats.influence import SHARES, SIGNED
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import replicate

MISSING = -1
"""Of a rater who said nothing of a unit."""

PUBLISHED = "automatic, as published"

_WHOLE: Mapping[Any, int] = {0: 0, 1: 1}
_PARTIAL: Mapping[Any, int] = {0: 0, 1: 1, 2: 1}
"""Partial support (1) is support."""

_SCORE = "citation_precision_score"
_RECALL, _PRECISION = "automatic_recall_scores", "automatic_citation_precision_scores"


@dataclass(frozen=True)
class Labelled:
    """An answer with what was said of its sentences and of the citations in each, 1 for support and 0 for none.

    recall: of each sentence. precision: of each citation of each sentence; 0 where the sentence is not supported. Each
    by the people, and by the automatic evaluation that is published beside them (None: the file has none).
    """

    answer: Answer
    recall: tuple[int, ...]
    precision: tuple[tuple[int, ...], ...]
    automatic_recall: tuple[int, ...] | None
    automatic_precision: tuple[tuple[int, ...], ...] | None


def read_labels(path: Path) -> list[Labelled]:
    """Every labelled answer, in the file's order; its system is the model, its group the data set's question.

    Raises `UserError` with item and field where the file is of another layout.
    """
    layout = "it should be data set, model, id and item, one in another"
    content = DataRow(f"{path}", read_object(path, layout))
    for models in content.fields.values():
        if not isinstance(models, dict) or not all(isinstance(items, dict) for items in models.values()):
            raise UserError(f"{path} is of another layout: {layout}.")
    found = [
        _labelled(dataset, model, key, content.row(dataset).row(model).row(key))
        for dataset in content.fields
        for model in content.row(dataset).fields
        for key in content.row(dataset).row(model).fields
        if key != "overall_results"
    ]
    if not found:
        raise UserError(f"{path} holds no labelled answer: {layout}.")
    return found


def _labelled(dataset: str, model: str, key: str, item: DataRow) -> Labelled:
    passages, question = alce_passages(item), item.optional_text("question")
    own = f"{dataset}/{model}/{key}", item.text("output"), passages, question, f"{dataset}/{key}", model
    sentences = item.rows("sentences")
    recall = tuple(one.choice("sentence_recall_score", _WHOLE) for one in sentences)
    given = [[each.fields.get(_SCORE) for each in one.rows("citations")] for one in sentences]
    automatic = made = None
    if item.fields.get(_RECALL) is not None:
        automatic = tuple(_level(item, _RECALL, value, _WHOLE) for value in _one_each(item, _RECALL, recall))
        if item.fields.get(_PRECISION) is not None:
            item.lists(_PRECISION)
            made = _gated(item, _PRECISION, automatic, _one_each(item, _PRECISION, recall))
    return Labelled(Answer(*own), recall, _gated(item, _SCORE, recall, given), automatic, made)


def _one_each(item: DataRow, name: str, sentences: Sequence[int]) -> list[Any]:
    value = item.fields[name]
    if not isinstance(value, list) or len(value) != len(sentences):
        raise item.error(name, f"a list of {len(sentences)}, one for each sentence")
    return value


def _gated(
    item: DataRow, name: str, recall: tuple[int, ...], given: Sequence[Sequence[Any]]
) -> tuple[tuple[int, ...], ...]:
    """Citations as 0 or 1: nothing is support where the sentence has none."""
    return tuple(
        tuple(_level(item, name, value, _PARTIAL) if supported else 0 for value in own)
        for supported, own in zip(recall, given, strict=True)
    )


def _level(item: DataRow, name: str, value: Any, allowed: Mapping[Any, int]) -> int:
    return DataRow(item.where, {name: value}).choice(name, allowed)


@dataclass(frozen=True, eq=False)
class Labels:
    """What the people and every other rater said of the same units, (n,) each: 1 support, 0 none, or MISSING.

    group: (n,) codes of the questions.
    """

    human: Ints
    group: Ints
    raters: Mapping[str, Ints]


@dataclass(frozen=True)
class Agreed:
    """One rater against the people, on the units that both judged.

    supported: the share of them that the people support, and that the rater does.
    """

    rater: str
    units: int
    missing: int
    accuracy: ValueInterval
    kappa: ValueInterval
    supported: tuple[float | None, float | None]


def gather_labels(
    labelled: Sequence[Labelled], backends: Mapping[str, Entails], splitter: SentenceSplitter
) -> dict[str, Labels]:
    """Labels by unit. Backends judge as the released ALCE code does, for its sentences are the ones that were labelled.

    Where the sentences of an answer, or the citations of a sentence, are not as many as the labels, no rater but the
    published one is taken to have judged them.
    """
    raters = {PUBLISHED: _published(labelled)} if any(one.automatic_recall for one in labelled) else {}
    answers = [one.answer for one in labelled]
    for name, entails in backends.items():
        raters[name] = _aligned(labelled, alce_lines(answers, entails, RELEASED, splitter))
    codes, _ = group_codes(answers)
    human = {
        "sentence": [list(one.recall) for one in labelled],
        "citation": [list(chain(*one.precision)) for one in labelled],
    }
    return {
        unit: Labels(
            human=np.array([*chain(*said)], dtype=np.int64),
            group=np.repeat(codes, [len(own) for own in said]),
            raters={name: np.array(own[unit], dtype=np.int64) for name, own in raters.items()},
        )
        for unit, said in human.items()
    }


_Said = dict[str, list[int]]
"""A rater's verdicts on all units of a kind, MISSING where there is none."""


def _published(labelled: Sequence[Labelled]) -> _Said:
    said: _Said = {"sentence": [], "citation": []}
    for one in labelled:
        said["sentence"] += one.automatic_recall or [MISSING] * len(one.recall)
        given = one.automatic_precision or [()] * len(one.recall)
        for own, of in zip(given, one.precision, strict=True):
            said["citation"] += own if len(own) == len(of) else [MISSING] * len(of)
    return said


def _aligned(labelled: Sequence[Labelled], lines: Sequence[CitationLine]) -> _Said:
    by_answer: dict[str, dict[int, list[CitationLine]]] = {}
    for line in lines:
        if line.claim_number is not None:
            by_answer.setdefault(line.answer, {}).setdefault(line.claim_number, []).append(line)
    said: _Said = {"sentence": [], "citation": []}
    for one in labelled:
        sentences = list(by_answer.get(one.answer.id, {}).values())
        if len(sentences) != len(one.recall):
            sentences = [[] for _ in one.recall]
        for few, of in zip(sentences, one.precision, strict=True):
            own = [line.precision for line in few if line.state in ("judged", "unjudged")]
            known = [few[0].recall if few else None, *(own if len(own) == len(of) else [None] * len(of))]
            recall, *precision = (MISSING if value is None else value for value in known)
            said["sentence"].append(recall)
            said["citation"] += precision
    return said


def agreement(labels: Labels, n_groups: int, resampling: Resampling) -> list[Agreed]:
    """Accuracy and Cohen's kappa of every rater with the people; n_groups: of questions."""
    found = []
    for name, said in labels.raters.items():
        both = said != MISSING
        human, own = labels.human[both], said[both]
        counts = decision_counts(own, human, labels.group[both], n_groups, 2)
        rows = np.bincount(labels.group[both], minlength=n_groups)
        accuracy, kappa = (
            interval_by(partial(replicate, resampled(counts, measure)), rows, resampling, ends)[0]
            for measure, ends in ((share_alike, SHARES), (cohen_kappa, SIGNED))
        )
        shares = (float(human.mean()), float(own.mean())) if human.size else (None, None)
        found.append(Agreed(name, int(both.sum()), int((~both).sum()), accuracy, kappa, shares))
    return found


def fleiss(labels: Labels) -> float | None:
    """Fleiss' kappa of the people's label and all raters on the units that all judged; None with fewer than three."""
    columns = np.stack([labels.human, *labels.raters.values()])
    if columns.shape[0] < 3:
        return None
    whole = columns[:, (columns != MISSING).all(axis=0)]
    support = whole.sum(axis=0).astype(np.float64)
    kappa = fleiss_kappa(np.stack([columns.shape[0] - support, support], axis=1))
    return None if np.isnan(kappa) else kappa
