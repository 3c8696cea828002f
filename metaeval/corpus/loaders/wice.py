"""WiCE: sentences of Wikipedia, with labels of the web pages that they cite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, DataRow, all_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Evidence, Statement, SupportLevel

LABELS: Mapping[str, SupportLevel] = {
    "supported": SupportLevel.FULL,
    "partially_supported": SupportLevel.PARTIAL,
    "not_supported": SupportLevel.NONE,
}


def read_evidence(row: DataRow) -> tuple[list[str], list[list[int]]]:
    """Return the sentences of the pages that a claim cites, and its sets of supporting sentences, by their indices.

    Raises `UserError` for an index of no sentence.
    """
    sentences, sets = row.texts("evidence"), row.lists("supporting_sentences")
    if not all(type(index) is int and 0 <= index < len(sentences) for evidence_set in sets for index in evidence_set):
        raise row.error("supporting_sentences", f"lists of numbers from 0 to {len(sentences) - 1}")
    return sentences, sets


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"wice/{split}")
    for row in all_rows(paths):
        about, (sentences, sets) = row.row("meta"), read_evidence(row)
        claim_id, context = about.text("id"), about.optional_text("claim_context")
        meta = {"section": about.optional_text("claim_section"), "context": context}
        draft.statement(Statement(claim_id, row.text("claim"), group=about.text("claim_title"), meta=meta))
        evidence = (Evidence(sentences=tuple(alternative)) for alternative in sets)
        draft.cite(claim_id, claim_id, draft.document(sentences=sentences), row.choice("label", LABELS), *evidence)
    return draft.corpus()


DATASET = published("wice", _load)
