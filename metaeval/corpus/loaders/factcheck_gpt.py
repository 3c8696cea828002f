"""Factcheck-GPT, subtask 3: claims of ChatGPT's answers, each with people's labels of five retrieved passages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, all_rows
from metaeval.corpus.dataset import Dataset, Option, Repository
from metaeval.corpus.model import Corpus, Statement, SupportLevel

REPOSITORY = Repository("yuxiaw/Factcheck-GPT", "a9e6a04a953ad880806529c504a679dd1ad06528", "subtasks")
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


DATASET = Dataset(
    name="factcheck_gpt",
    title="Factcheck-GPT: claims of ChatGPT against five web passages each",
    **REPOSITORY.card,
    licence="Apache-2.0",
    citation="Wang et al.: Factcheck-Bench: Fine-Grained Evaluation Benchmark for Automatic Fact-checkers. Findings of "
    "EMNLP 2024, arXiv 2311.09000",
    schema="factcheck-gpt-subtask3/1",
    folder="factcheck_gpt",
    files={
        "all": (
            REPOSITORY.file(
                "subtask3_claim_evidence_stance.jsonl",
                "3bfa17d7b37bca82bcc0aacf69a8bbd85cffe117d337c95cf7c3b00e34b98d1a",
                2_214_712,
            ),
        )
    },
    load=_load,
    options={"refute": Option("none", "passages that refute the claim: level none, or left out", ("none", "drop"))},
    note="661 claims x 5 passages. Passages were retrieved, not cited by the answer. The same passage may appear twice "
    "under a claim (seven times with two stances): both judgements are kept. No evidence is marked inside a passage. "
    "The group is the claim: the file does not say which answer it comes from.",
)
