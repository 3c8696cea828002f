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
from metaeval.citation.measures import Interval, group_codes, interval_by
from metaeval.citation.model import Answer, Entails, Passage
from metaeval.citation.table import Line
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.errors import UserError, shown
from metaeval.reading import read_json
from metaeval.stats.agreement import cohen_kappa, fleiss_kappa
from metaeval.stats.arrays import Ints
from metaeval.stats.classification import decision_counts, resampled, share_alike
from metaeval.stats.influence import SHARES, SIGNED
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import replicate

MISSING = -1
"""Of a rater who said nothing of a unit."""

PUBLISHED = "automatic, as published"

_SUMMARY = "overall_results"


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
    content = read_json(path)
    found = [
        _labelled(f"{path}: {dataset}, {model}, {key}", (dataset, model, key), _object(path, item))
        for dataset, models in _object(path, content).items()
        for model, items in _object(path, models).items()
        for key, item in _object(path, items).items()
        if key != _SUMMARY
    ]
    if not found:
        raise UserError(f"{path} holds no labelled answer: it should be data set, model, id and item, one in another.")
    return found


def _object(path: Path, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path} should be data set, model, id and item, one in another, and holds {shown(value, 40)}.")
    return value


def _labelled(where: str, names: tuple[str, str, str], item: Mapping[str, Any]) -> Labelled:
    dataset, model, key = names
    try:
        passages = tuple(
            Passage(_text(doc["sent"] if "sent" in doc else doc["text"]), _text(doc.get("title") or ""))
            for doc in _list(item["docs"])
        )
        identity = f"{dataset}/{model}/{key}"
        question, text = _text(item.get("question") or ""), _text(item["output"])
        answer = Answer(identity, text, passages, question, f"{dataset}/{key}", model)
        recall = tuple(_score(sentence["sentence_recall_score"], 1) for sentence in _list(item["sentences"]))
        given = [
            [cited["citation_precision_score"] for cited in _list(sentence["citations"])]
            for sentence in item["sentences"]
        ]
        automatic, precision = item.get("automatic_recall_scores"), item.get("automatic_citation_precision_scores")
        own = None if automatic is None else tuple(_score(value, 1) for value in automatic)
        if own is not None and len(own) != len(recall):
            raise ValueError(f"{len(recall)} sentences and {len(own)} automatic_recall_scores")
        made = None if own is None or precision is None else _gated(own, precision)
        return Labelled(answer, recall, _gated(recall, given), own, made)
    except KeyError as error:
        raise UserError(f"{where}: field {error} is missing.") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{where}: {error}.") from error


def _gated(recall: tuple[int, ...], given: object) -> tuple[tuple[int, ...], ...]:
    """Citations as 0 or 1: partial support is support, and nothing is where the sentence has none."""
    if not isinstance(given, list) or len(given) != len(recall):
        raise ValueError(f"{len(recall)} sentences need a list of citation scores each")
    return tuple(
        tuple(min(_score(value, 2), 1) if supported else 0 for value in own)
        for supported, own in zip(recall, map(_list, given), strict=True)
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{shown(value)} stands where text should")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{shown(value)} stands where a list should")
    return value


def _score(value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(most + 1):
        raise ValueError(f"a score is {shown(value)}; allowed: 0 to {most}")
    return int(value)


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
    accuracy: Interval
    kappa: Interval
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


def _aligned(labelled: Sequence[Labelled], lines: Sequence[Line]) -> _Said:
    by_answer: dict[str, dict[int, list[Line]]] = {}
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
