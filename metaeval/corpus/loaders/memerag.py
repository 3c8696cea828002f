"""MEMERAG: sentences of answers in five languages, labelled for support by their passages; and annotators' votes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, DataRow, read_rows
from metaeval.corpus.dataset import Dataset, Repository, SourceFile, with_all
from metaeval.corpus.model import Corpus, Statement, SupportLevel
from metaeval.corpus.ratings import Rating, Ratings

REPOSITORY = Repository("amazon-science/MEMERAG", "bf8c052a209e971020975dc3634169cfa5f908f2", "data")
LANGUAGES = ("en", "de", "es", "fr", "hi")
VOTED = "votes"
"""The ending of the names of the splits whose sentences were judged by five annotators."""
LABELS: Mapping[str, SupportLevel | None] = {
    "Supported": SupportLevel.FULL,
    "Not Supported": SupportLevel.NONE,
    "Challenging to determine": None,
}
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
        votes = {
            f"annotator {number}": float(label is SupportLevel.FULL)
            for number, label in enumerate(labels, start=1)
            if label is not None
        }
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
        for published in read_rows(path):
            row = replace(published, fields={**published.fields, **_parsed_literals(published)})
            # Languages share numbers of questions.
            question = f"{language}:{row.identifier('query_id')}"
            meta = {"query": row.text("query")}
            passages = [passage.text("text") for passage in row.rows("context")]
            for sentence in row.rows("answer"):
                sentence_id = f"{question}:{sentence.number('sentence_id')}"
                text = sentence.text("sentence").strip()
                yield Statement(sentence_id, text, question, meta=meta), passages, _labels(sentence)


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


def _labels(sentence: DataRow) -> list[SupportLevel | None]:
    if not isinstance(sentence.fields.get("factuality"), list):
        return [sentence.choice("factuality", LABELS)]
    votes = sentence.texts("factuality")
    return [replace(sentence, fields={"factuality": vote}).choice("factuality", LABELS) for vote in votes]


_PINNED: Mapping[str, tuple[str, int]] = {
    "memerag.en.jsonl": ("0d0f98d31a83c7cab339b8ebaa04fa87bfb2c46d480f80aabb3ba06d95d36b70", 1_147_279),
    "memerag.de.jsonl": ("09211617ab22668576862c4cc6c0a7466a92e4910174a34bad38d00274f8e60b", 1_025_910),
    "memerag.es.jsonl": ("f4eebf25c86b8f29f0f5d8cbd8f9c7209bb2b7f41271d7ad4b856e071714fadb", 1_101_623),
    "memerag.fr.jsonl": ("17410dc1035ac64ba197dae889c0902b820b5c0d72210d5d1db919257419b34c", 1_043_643),
    "memerag.hi.jsonl": ("cd833264ae10e287bbc3c4d2ff8e9d955565588cf9d968957825f18a694eef06", 2_195_358),
    "memerag_ext.en.jsonl": ("955020631266924c31a81691ca29f0f93e7e678e902b6135a9bc134f898f8f18", 757_809),
    "memerag_ext.de.jsonl": ("ebf085cf2c9a3cdc4a495aba3e4c21a890209fafcda49852166a3045d3cf7118", 725_530),
    "memerag_ext.es.jsonl": ("8be1e76d5b8e04a988cef92454a62fd6ddac327f26d07dada1cb1d16b7a01a5d", 723_437),
    "memerag_ext.fr.jsonl": ("0a92c5364978c6d86ef9e0e721391213dd41256a2bbe92e03dbb22e342b92281", 823_348),
    "memerag_ext.hi.jsonl": ("c11d31f4c2e249d9818d9e194cadfd85897558a1597a86cc9e6674a76f0895ac", 1_478_335),
}
"""The SHA-256 and the size in bytes of each file."""


def _splits(part: str) -> dict[str, tuple[SourceFile, ...]]:
    """Return the files of each language, and of all."""
    names = {language: f"{part}.{language}.jsonl" for language in LANGUAGES}
    return with_all(
        {name: REPOSITORY.file(f"{part}/{name}.jsonl", *_PINNED[file], name=file) for name, file in names.items()}
    )


_CARD: Mapping[str, Any] = {
    **REPOSITORY.card,
    "licence": "CC BY-NC 4.0 (not for commercial use)",
    "citation": "Cruz Blandon, Talur, Charron, Liu, Mansour, Federico: MEMERAG: A Multilingual End-to-End "
    "Meta-Evaluation Benchmark for Retrieval Augmented Generation. ACL 2025, arXiv 2502.17163",
    "schema": "memerag/1",
    "folder": "memerag",
    "default_split": "en",
}
DATASET = Dataset(
    name="memerag",
    title="MEMERAG: answers in English, German, Spanish, French and Hindi, with their passages",
    files={**_splits("memerag"), **{f"{split}-{VOTED}": files for split, files in _splits("memerag_ext").items()}},
    load=_load,
    note="A split is a language: 250 questions with an answer each, and two levels, supported or not. Sentences that "
    "are challenging to determine are left out and counted. A document is the question's five passages together; "
    "none is marked as evidence: --unit citation, or --unit page for the passages in one piece. The splits that end "
    "with -votes hold the 150 questions that five annotators judged, at their majority's level; memerag_votes has "
    "the single votes under the same ids. The group is the question.",
    **_CARD,
)
VOTES = Dataset(
    name="memerag_votes",
    title="MEMERAG's sentences with the votes of five annotators, without the passages",
    files=_splits("memerag_ext"),
    load=_load_votes,
    kind="ratings",
    note="150 questions in each language; gold is 1 where most of the five annotators called a sentence supported, "
    "else 0. Ids are those of memerag's splits LANGUAGE-votes, whose score files of whole "
    "documents (metaeval score --unit page) are evaluated here. The group is the question.",
    **_CARD,
)
