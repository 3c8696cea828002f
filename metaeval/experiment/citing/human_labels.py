"""Human labels of citations in the layout of ALCE's `human_eval_citations_completed.json`.

    {dataset: {model: {id: {"question", "output", "docs",
        "sentences": [{"sentence_recall_score": 0 | 1, "citations": [{"citation_precision_score": 0 | 1 | 2}]}],
        "automatic_recall_scores": [0 | 1], "automatic_citation_precision_scores": [[0 | 1]]}}}}

An item named `overall_results` is a summary, and skipped. Source: princeton-nlp/ALCE, `human_eval/README.md` and
`human_eval/analyze.py` at commit f0e8719.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.citation.model import Answer, Passage
from metaeval.errors import UserError
from metaeval.files import read_text

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
    try:
        content = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}.") from error
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
        raise UserError(f"{path} should be data set, model, id and item, one in another, and holds {value!r:.40}.")
    return value


def _labelled(where: str, names: tuple[str, str, str], item: Mapping[str, Any]) -> Labelled:
    dataset, model, key = names
    try:
        passages = tuple(Passage(_body(doc), str(doc.get("title") or "")) for doc in item["docs"])
        identity = f"{dataset}/{model}/{key}"
        question, text = str(item.get("question", "")), str(item["output"])
        answer = Answer(identity, text, passages, question, f"{dataset}/{key}", model)
        recall = tuple(_score(sentence["sentence_recall_score"], 1) for sentence in item["sentences"])
        given = [
            [cited["citation_precision_score"] for cited in sentence["citations"]] for sentence in item["sentences"]
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


def _body(document: Mapping[str, Any]) -> str:
    return str(document["sent"] if "sent" in document else document["text"])


def _gated(recall: tuple[int, ...], given: object) -> tuple[tuple[int, ...], ...]:
    """Citations as 0 or 1: partial support is support, and nothing is where the sentence has none."""
    if not isinstance(given, list) or len(given) != len(recall):
        raise ValueError(f"{len(recall)} sentences need a list of citation scores each")
    return tuple(
        tuple(min(_score(value, 2), 1) if supported else 0 for value in own)
        for supported, own in zip(recall, given, strict=True)
    )


def _score(value: object, most: int) -> int:
    if not isinstance(value, int | float) or value not in range(most + 1):
        raise ValueError(f"a score is {value!r}; allowed: 0 to {most}")
    return int(value)
