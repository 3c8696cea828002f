"""Factcheck-GPT, subtask 3: claims of ChatGPT's answers, each with people's labels of five retrieved passages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, all_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Statement, SupportLevel

STANCES: Mapping[str, SupportLevel] = {
    "completely-support": SupportLevel.FULL,
    "partially-support": SupportLevel.PARTIAL,
    "irrelevant": SupportLevel.NONE,
    "refute": SupportLevel.NONE,
}


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft("factcheck_gpt")
    claims: dict[str, str] = {}
    for row in all_rows(paths):
        claim = row.text("claim")
        claim_id = claims.setdefault(claim, f"claim-{len(claims) + 1:03d}")
        # Numbered, not named by passage: the same passage may appear twice under a claim.
        judgement = draft.next_id(claim_id)
        level = row.choice("stance", STANCES)
        stance = row.text("stance")
        if stance == "refute" and options["refute"] == "drop":
            draft.drop("passage refutes the claim (refute=drop)")
            continue
        draft.statement(Statement(claim_id, claim, group=claim_id, system="ChatGPT"))
        draft.cite(judgement, claim_id, draft.document(row.text("evidence")), level, stance=stance)
    return draft.corpus()


DATASET = published("factcheck_gpt", _load)
