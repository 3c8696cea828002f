"""WiCE's oracle chunks, which hold a claim's evidence, with the published scores of T5-3B, GPT-3.5 and GPT-4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError
from metaeval.core.parsing import read_object
from metaeval.corpus.data_rows import FETCH, CorpusDraft, DataRow, finite, read_rows
from metaeval.corpus.dataset import Dataset, SourceFile
from metaeval.corpus.loaders.wice import DATASET as WICE
from metaeval.corpus.loaders.wice import LABELS
from metaeval.corpus.loaders.wice import REPOSITORY as WICE_REPOSITORY
from metaeval.corpus.model import Corpus, Statement

REPOSITORY = replace(WICE_REPOSITORY, folder="code_and_resources")
OUTPUTS = "model_outputs/entailment_classification/oracle_chunks/claim"
INPUTS = "entailment_inputs/oracle_chunks/claim"
FIRST = 100
"""The number of claims that the chat models read: the first of the test split."""
T5 = {"T5-3B-ANLI": "t5-3b-anli", "T5-3B-ANLI-WiCE": "t5-3b-anli-wice"}
CHAT = {"GPT-3.5": "gpt-3.5-turbo-0613", "GPT-4": "gpt-4-0613"}

PINNED: Mapping[str, tuple[str, int]] = {
    "oracle_chunks.test.jsonl": ("234bb8c2ca4511ca078e49e07c895a2db61a581d03237e7e1ecb7c48c8510a3e", 2_098_277),
    "oracle_chunks.dev.jsonl": ("ae33170930d690cb96cd46f097ec5658daaf7fd6700d6d2bf97644e3a8dfb2f9", 2_058_627),
    "t5-3b-anli.test": ("15e1051eff725b70bb014b661f62ffc686379074ac9b6adb4ce6aac0c7ab23f1", 20_746),
    "t5-3b-anli.dev": ("66eae7dd66436561a3be6a97f8be593e4cb2f7db90c62ab5223dc95d9cee0424", 20_223),
    "t5-3b-anli-wice.test": ("4f9c871f6b3f21f2d185180dc56955d8b26bf52ee5d7ede6899b8b837fb2de58", 20_675),
    "t5-3b-anli-wice.dev": ("728d3357f5046b9db096e6b40b7cbb6c0463f2696bf12cf84f8095600b31f044", 20_143),
    "gpt-3.5-turbo-0613.test": ("da3a01a139e29227f3be684d650882510b038377aff51eb640239b6b4444569e", 2_202),
    "gpt-4-0613.test": ("a55d83840c9f9f301ae6b114da798336cc94d2283259ab80a97befe85911c7d8", 2_202),
}
"""The SHA-256 and the size in bytes of each file; of scores, by MODEL.SPLIT."""


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
                    by_claim = _best_chunk(path, ids) if metric in T5 else _verdicts(path)
                    scores.setdefault(metric, {}).update({claim: by_claim.get(claim) for claim in kept})
            of_claims: dict[str, list[DataRow]] = {claim: [] for claim in kept}
            for claim, row in zip(ids, rows, strict=True):
                if claim in of_claims:
                    of_claims[claim].append(row)
            for claim, of_claim in of_claims.items():
                first, sentences = of_claim[0], dict(pair for row in of_claim for pair in _numbered(row))
                draft.statement(Statement(claim, first.text("claim"), group=first.row("meta").text("claim_title")))
                document = draft.document(sentences=[sentences[number] for number in sorted(sentences)])
                draft.cite(claim, claim, document, first.choice("label", LABELS))
    return draft.corpus(scores)


def _numbered(row: DataRow) -> Iterable[tuple[int, str]]:
    """Return (number in the page, sentence) for each sentence of a chunk."""
    numbers, sentences = row.row("meta").numbers("chunk_idx"), row.texts("evidence")
    if len(numbers) != len(sentences):
        raise row.error("evidence", f"{len(numbers)} sentences, as chunk_idx has")
    return zip(numbers, sentences, strict=True)


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


def _verdicts(path: Path) -> dict[str, float]:
    """Return a chat model's verdict on each claim (0, 0.5 or 1), by claim id."""
    row = DataRow(str(path), read_object(path, FETCH))
    return {claim: finite(row, claim) for claim in row.fields}


def _files(split: str, metrics: Mapping[str, str]) -> tuple[SourceFile, ...]:
    """Return a split's files, under unique names: its chunks, and its metrics' scores. metrics: models by metric."""
    chunks = f"oracle_chunks.{split}.jsonl"
    files = [REPOSITORY.file(f"{INPUTS}/{split}.jsonl", *PINNED[chunks], name=chunks)]
    for metric, model in metrics.items():
        name = f"{split}.entailment_score.{'json' if metric in CHAT else 'txt'}"
        path, pinned = f"{OUTPUTS}/retrieval=oracle,entailment={model}/{name}", PINNED[f"{model}.{split}"]
        files.append(REPOSITORY.file(path, *pinned, name=f"{model}.{name}"))
    return tuple(files)


_TEST, _DEV = _files("test", T5), _files("dev", T5)
DATASET = Dataset(
    name="wice_oracle",
    title="WiCE's oracle chunks, with the published scores of T5-3B, GPT-3.5 and GPT-4",
    **REPOSITORY.card,
    licence=f"outputs MIT; {WICE.licence}",
    citation=WICE.citation,
    schema="wice-oracle-chunks/1",
    folder="wice/model_outputs",
    files={"first-100": _files("test", T5 | CHAT), "test": _TEST, "dev": _DEV, "all": (*_TEST, *_DEV)},
    default_split="first-100",
    load=_load,
    scores=(*T5, *CHAT),
    note="A claim's document is the sentences of its two or three oracle chunks, in the order of the page: what the "
    "published models read. T5's score of a claim is the highest of its chunks. first-100: the first 100 test claims, "
    "which GPT-3.5 and GPT-4 judged with 0, 0.5 or 1; 5 of them are not supported. Labels are of claims (--unit "
    "citation) and those of the chunks: one in each split was changed in wice. The group is the Wikipedia article.",
)
