"""MEMERAG: sentences of answers in five languages, labelled for support by their passages; and annotators' votes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, DataRow, read_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Statement, SupportLevel
from metaeval.corpus.ratings import Rating, Ratings

LABELS = {"Supported": SupportLevel.FULL, "Not Supported": SupportLevel.NONE, "Challenging to determine": None}
CHALLENGING = "sentences that are challenging to determine"


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"memerag/{split}")
    for sentence, passages, labels in _sentences(paths):
        level = _majority(labels)
        if level is None:
            draft.drop(CHALLENGING)
            continue
        draft.cite(sentence.id, draft.statement(sentence), draft.document("\n".join(passages)), level)
    return draft.corpus()


def _load_votes(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Ratings:
    rows, dropped = [], 0
    for sentence, _, labels in _sentences(paths):
        known = [(number, label) for number, label in enumerate(labels, start=1) if label is not None]
        votes = {f"annotator {number}": float(label is SupportLevel.FULL) for number, label in known}
        level = _majority(labels)
        if level is None:
            dropped += 1
            continue
        gold = float(level is SupportLevel.FULL)
        rows.append(Rating(sentence.id, sentence.group, gold, text=sentence.text, votes=votes))
    return Ratings(f"memerag_votes/{split}", rows, dropped={CHALLENGING: dropped} if dropped else {})


def _majority(labels: list[SupportLevel | None]) -> SupportLevel | None:
    """Return the more frequent of FULL and NONE; None if they are tied, or not more frequent than labels of None."""
    supported, not_supported = (labels.count(level) for level in (SupportLevel.FULL, SupportLevel.NONE))
    if supported == not_supported or max(supported, not_supported) <= labels.count(None):
        return None
    return SupportLevel.FULL if supported > not_supported else SupportLevel.NONE


def _sentences(paths: Mapping[str, Path]) -> Iterator[tuple[Statement, list[str], list[SupportLevel | None]]]:
    """Yield the sentences of answers, each with the passages of its question, and its label or those of annotators."""
    for name, path in paths.items():
        language = name.split(".")[1]
        for literal in read_rows(path):
            row = replace(literal, fields={**literal.fields, **_parsed_literals(literal)})
            # Languages share numbers of questions.
            question = f"{language}:{row.identifier('query_id')}"
            meta = {"query": row.text("query")}
            passages = [passage.text("text") for passage in row.rows("context")]
            for sentence in row.rows("answer"):
                sentence_id = f"{question}:{sentence.number('sentence_id')}"
                voted = isinstance(sentence.fields.get("factuality"), list)
                votes = sentence.texts("factuality") if voted else [sentence.fields.get("factuality")]
                rows = (replace(sentence, fields={**sentence.fields, "factuality": vote}) for vote in votes)
                statement = Statement(sentence_id, sentence.text("sentence").strip(), question, meta=meta)
                yield statement, passages, [row.choice("factuality", LABELS) for row in rows]


def _parsed_literals(row: DataRow) -> dict[str, Any]:
    """Return those of the lists context and answer, by name, that are strings with Python literals; no code is run."""
    lists = {}
    for name in ("context", "answer"):
        if isinstance(text := row.fields.get(name), str):
            try:
                lists[name] = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
                raise row.error(name, "a list of objects, or a Python literal of one") from error
    return lists


DATASET = published("memerag", _load)
VOTES = published("memerag_votes", _load_votes)
