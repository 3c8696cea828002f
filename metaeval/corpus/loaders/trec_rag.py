"""TREC's RAG tracks of 2024 and 2025: NIST's judgements of the segments that systems cite, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import CorpusDraft, read_rows
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Statement, SupportLevel
from metaeval.corpus.ratings import Rating, Ratings

JUDGE = "opus48-nist"
VERDICTS_FILE = "rag24_verdicts_opus48.jsonl"
LEVELS = {"2": SupportLevel.FULL, "1": SupportLevel.PARTIAL, "0": SupportLevel.NONE, "-1": None}
VERDICTS = {"FS": SupportLevel.FULL, "PS": SupportLevel.PARTIAL, "NS": SupportLevel.NONE}
NOT_JUDGED = "citations that the assessors did not judge"
NO_SEGMENT = "citations of segments that the file of sources lacks"


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus | Ratings:
    draft = CorpusDraft(f"trec_{'rag24' if VERDICTS_FILE in paths else 'rag25'}/{split}")
    labels = {name: path for name, path in paths.items() if name != VERDICTS_FILE}
    cited = [citation for name, path in labels.items() for citation in _judged(path, Path(name).stem, draft)]
    published = _verdicts(paths[VERDICTS_FILE]) if VERDICTS_FILE in paths else {}
    if options["sources"]:
        return _corpus(draft, cited, published, Path(options["sources"]))
    known = {citation.id for citation in cited}
    scores = {JUDGE: {name: score for name, score in published.items() if name in known}} if published else {}
    return Ratings(draft.name, cited, scores, dict(draft.dropped), levels=True)


def _corpus(draft: CorpusDraft, cited: list[Rating], published: Mapping[str, float], sources: Path) -> Corpus:
    """Return the corpus of citations whose segments are in the file `sources`. published: verdicts by citation id."""
    wanted = {citation.fields["segment"] for citation in cited}
    rows = read_rows(sources, "give JSON lines with docid and segment")
    segments = {row.text("docid"): row for row in rows if row.text("docid") in wanted}
    if not segments:
        what = f"none of the {len(wanted):,} cited segments"
        raise UserError(f"{sources} holds {what}: give a JSONL of MS MARCO v2.1 segments.")
    for citation in cited:
        segment, statement_id = citation.fields["segment"], citation.id.rpartition("|")[0]
        if (row := segments.get(segment)) is None:
            draft.drop(NO_SEGMENT)
            continue
        draft.statement(Statement(statement_id, citation.text, citation.group, citation.system))
        url = row.optional_text("url") or segment
        document = draft.document(row.text("segment"), title=row.optional_text("title"), url=url)
        draft.cite(citation.id, statement_id, document, SupportLevel(int(citation.gold)), segment=segment)
    kept = {citation.id for citation in draft.citations}
    return draft.corpus({JUDGE: {name: published.get(name) for name in kept}} if published else {})


def _judged(path: Path, part: str, draft: CorpusDraft) -> Iterator[Rating]:
    """Yield the judged citations of a file; the others are counted in the draft. part: name of the file.

    A citation's id is RUN|TOPIC|sSENTENCE|cCITATION, by places from 0, and its only field the id of the cited segment.
    """
    for row in read_rows(path):
        topic = row.identifier("narrative_id" if "narrative_id" in row.fields else "topic_id")
        run = row.identifier("run_id")
        for place, sentence in enumerate(row.rows("sentences")):
            text = sentence.fields.get("text")
            text = "" if text != text else sentence.text("text")  # NaN where there is none
            for number, citation in enumerate(sentence.rows("citations")):
                level = citation.choice("support", LEVELS)
                if level is None:
                    draft.drop(NOT_JUDGED)
                    continue
                citation_id, segment = f"{run}|{topic}|s{place}|c{number}", citation.identifier("reference")
                yield Rating(citation_id, topic, level, run, part, text, fields={"segment": segment})


def _verdicts(path: Path) -> dict[str, float]:
    """Return the chat model's verdicts (2, 1 or 0) by citation id; `UserError` where two on one citation differ."""
    verdicts: dict[str, float] = {}
    for row in read_rows(path):
        verdict = float(row.choice("opus_nist_label", VERDICTS))
        if verdicts.setdefault(row.text("key"), verdict) != verdict:
            raise row.error("opus_nist_label", "the verdict that an earlier line has for the same citation")
    return verdicts


RAG24 = published("trec_rag24", _load)
RAG25 = published("trec_rag25", _load)
