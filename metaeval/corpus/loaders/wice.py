"""WiCE: sentences of Wikipedia, with labels of the web pages that they cite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, all_rows
from metaeval.corpus.dataset import Dataset, Repository
from metaeval.corpus.model import Corpus, Evidence, Statement, SupportLevel

REPOSITORY = Repository("ryokamoi/wice", "ddeb6c183665e2a20c5f03c5aa07f03888b9870f", "data/entailment_retrieval/claim")
LABELS: Mapping[str, SupportLevel] = {
    "supported": SupportLevel.FULL,
    "partially_supported": SupportLevel.PARTIAL,
    "not_supported": SupportLevel.NONE,
}


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"wice/{split}")
    for row in all_rows(paths):
        about, sentences, sets = row.row("meta"), row.texts("evidence"), row.lists("supporting_sentences")
        if not all(
            type(index) is int and 0 <= index < len(sentences) for evidence_set in sets for index in evidence_set
        ):
            raise row.error("supporting_sentences", f"lists of numbers from 0 to {len(sentences) - 1}")
        claim_id, context = about.text("id"), about.optional_text("claim_context")
        meta = {"section": about.optional_text("claim_section"), "context": context}
        draft.statement(Statement(claim_id, row.text("claim"), group=about.text("claim_title"), meta=meta))
        evidence = (Evidence(sentences=tuple(alternative)) for alternative in sets)
        draft.cite(claim_id, claim_id, draft.document(sentences=sentences), row.choice("label", LABELS), *evidence)
    return draft.corpus()


_DEV = REPOSITORY.file("dev.jsonl", "67531ca79bde4c81d3752fb69d9cb0d3d6763de5c3028f548b83ef053a6f8042", 3_490_479)
_TEST = REPOSITORY.file("test.jsonl", "4c91b9e9590cfcd8f8a0f7288b5ff315af8ade946d7bf26f50fbd671bb86dbe8", 3_624_529)

DATASET = Dataset(
    name="wice",
    title="WiCE: Wikipedia claims and the pages they cite",
    **REPOSITORY.card,
    licence="annotations ODC-BY; text CC-BY-SA (Wikipedia) and Common Crawl terms of use (cited pages)",
    citation="Kamoi, Goyal, Rodriguez, Durrett: WiCE: Real-World Entailment for Claims in Wikipedia. EMNLP 2023, "
    "arXiv 2303.01432",
    schema="wice-claim/1",
    folder="wice",
    files={"dev": (_DEV,), "test": (_TEST,), "all": (_DEV, _TEST)},
    default_split="test",
    load=_load,
    note="Claim level. Documents come split into sentences, evidence as alternative sets of sentence indices. 13 dev "
    "and 2 test not_supported claims carry supporting sentences all the same; they stay NONE. The group is the "
    "Wikipedia article.",
)
