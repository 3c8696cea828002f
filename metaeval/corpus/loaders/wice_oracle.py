"""WiCE's oracle chunks, which hold a claim's evidence, with the published scores of T5-3B, GPT-3.5 and GPT-4."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError
from metaeval.core.parsing import read_object
from metaeval.corpus.data_rows import FETCH, CorpusDraft, DataRow, finite, read_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.loaders.wice import LABELS
from metaeval.corpus.model import Corpus, Statement

FIRST = 100  # the number of claims that the chat models read: the first of the test split
T5 = {"T5-3B-ANLI": "t5-3b-anli", "T5-3B-ANLI-WiCE": "t5-3b-anli-wice"}
CHAT = {"GPT-3.5": "gpt-3.5-turbo-0613", "GPT-4": "gpt-4-0613"}


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"wice_oracle/{split}")
    scores: dict[str, dict[str, float | None]] = {}
    for part in ("test", "dev"):
        if chunks := paths.get(f"oracle_chunks.{part}.jsonl"):
            rows = list(read_rows(chunks))
            ids = [row.row("meta").text("id") for row in rows]
            kept = list(dict.fromkeys(ids))[: FIRST if split == "first-100" else None]
            for metric, file in (T5 | CHAT).items():
                ending = "json" if metric in CHAT else "txt"
                if path := paths.get(f"{file}.{part}.entailment_score.{ending}"):
                    if metric in T5:
                        by_claim = _best_chunk(path, ids)
                    else:  # a verdict on each claim: 0, 0.5 or 1
                        verdicts = DataRow(str(path), read_object(path, FETCH))
                        by_claim = {claim: finite(verdicts, claim) for claim in verdicts.fields}
                    scores.setdefault(metric, {}).update({claim: by_claim.get(claim) for claim in kept})
            of_claims: dict[str, list[DataRow]] = {claim: [] for claim in kept}
            for claim, row in zip(ids, rows, strict=True):
                if claim in of_claims:
                    of_claims[claim].append(row)
            for claim, of_claim in of_claims.items():
                first, sentences = of_claim[0], dict[int, str]()
                for row in of_claim:
                    numbers, texts = row.row("meta").numbers("chunk_idx"), row.texts("evidence")
                    if len(numbers) != len(texts):
                        raise row.error("evidence", f"{len(numbers)} sentences, as chunk_idx has")
                    sentences |= zip(numbers, texts, strict=True)
                draft.statement(Statement(claim, first.text("claim"), group=first.row("meta").text("claim_title")))
                document = draft.document(sentences=[sentences[number] for number in sorted(sentences)])
                draft.cite(claim, claim, document, first.choice("label", LABELS))
    return draft.corpus(scores)


def _best_chunk(path: Path, ids: list[str]) -> dict[str, float]:
    """Return the highest score among each claim's chunks, by claim id.

    ids: the claim's id of each chunk. The file has one score a line, in the order of the chunks.
    """
    lines = path.read_text(encoding="utf-8").split()
    if len(lines) != len(ids):
        raise UserError(f"{path} has {len(lines)} scores for {len(ids)} chunks: {FETCH}.")
    best: dict[str, float] = {}
    for number, (claim, line) in enumerate(zip(ids, lines, strict=True), start=1):
        score = finite(DataRow(f"{path} line {number}", {"score": line}), "score")
        best[claim] = max(score, best.get(claim, score))
    return best


DATASET = published("wice_oracle", _load)
