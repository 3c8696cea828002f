"""Citations of Wikipedia, judged by people and by five chat models: the pages, and the published verdicts alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metaeval.core.parsing import read_object
from metaeval.corpus.data_rows import FETCH, CorpusDraft, DataRow, read_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Statement, SupportLevel
from metaeval.corpus.ratings import Rating, Ratings

PAGES, FOUR_MODELS, FIFTH_MODEL = "dataset.json", "results.json", "results_claude_sonnet5_2026-08-17.json"
UNAVAILABLE = "Source unavailable"
LEVELS: Mapping[str, SupportLevel | None] = {
    "Supported": SupportLevel.FULL,
    "Partially supported": SupportLevel.PARTIAL,
    "Not supported": SupportLevel.NONE,
    UNAVAILABLE: None,
}
MODELS = ("apertus-70b", "qwen-sealion", "claude-sonnet-4-5", "gemini-2.5-flash", "claude-sonnet-5")


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"wiki_citations/{split}")
    pages = {row.text("id"): row for row in _rows(paths[PAGES])}
    for citation_id, row in pages.items():
        level = row.choice("ground_truth", LEVELS)
        if level is None:
            draft.drop("the source was not available to the annotators")
            continue
        draft.statement(Statement(citation_id, row.text("claim_text"), group=row.text("article_title")))
        document = draft.document(row.optional_text("source_text"), url=row.text("source_url"))
        draft.cite(citation_id, citation_id, document, level)
    judged = {citation.id for citation in draft.citations}
    scores: dict[str, dict[str, float | None]] = {model: dict.fromkeys(judged) for model in MODELS}
    for row in _verdicts(paths, pages):
        if row.text("entry_id") in judged:
            scores[row.text("provider")][row.text("entry_id")] = _score(row)
    return draft.corpus(scores)


def _load_verdicts(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Ratings:
    as_published = options["counting"] == "published"
    pages = {row.text("id"): row for row in _rows(paths[PAGES])}
    levels = {citation_id: row.choice("ground_truth", LEVELS) for citation_id, row in pages.items()}
    rows = list(_verdicts(paths, pages))
    if as_published:  # of the four models
        rows = [row for row in rows if row.text("provider") != MODELS[-1]]
        levels |= {row.text("entry_id"): row.choice("ground_truth", LEVELS) for row in rows}
    scores: dict[str, dict[str, float | None]] = {model: {} for model in MODELS[: 4 if as_published else None]}
    for row in rows:
        citation_id, verdict = row.text("entry_id"), _score(row)
        if as_published and row.fields["predicted_verdict"] == UNAVAILABLE:
            verdict = float(SupportLevel.PARTIAL if levels[citation_id] is SupportLevel.NONE else SupportLevel.NONE)
        scores[row.text("provider")][citation_id] = verdict
    ratings = tuple(
        Rating(citation_id, page.text("article_title"), float(level), text=page.text("claim_text"))
        for citation_id, page in pages.items()
        if (level := levels[citation_id]) is not None and any(citation_id in by_id for by_id in scores.values())
    )
    return Ratings(f"wiki_verdicts/{split}", ratings, scores, levels=True)


def _rows(path: Path) -> list[DataRow]:
    """Return the rows of a file that is a single object with a list of rows."""
    return DataRow(str(path), read_object(path, FETCH)).rows("rows")


def _verdicts(paths: Mapping[str, Path], pages: Mapping[str, DataRow]) -> Iterator[DataRow]:
    """Yield the rows of verdicts, each of one model on one citation; `UserError` for an unknown model or citation."""
    for row in (*read_rows(paths[FOUR_MODELS]), *_rows(paths[FIFTH_MODEL])):
        row.choice("provider", dict.fromkeys(MODELS))
        row.choice("entry_id", pages)
        yield row


def _score(row: DataRow) -> float | None:
    """Return a verdict's level (2, 1 or 0); None where the request failed, or the model had no source available."""
    level = None if row.fields.get("error") is not None else row.choice("predicted_verdict", LEVELS)
    return None if level is None else float(level)


DATASET = published("wiki_citations", _load)
VERDICTS = published("wiki_verdicts", _load_verdicts)
