"""ExpertQA: claims of six systems' answers to experts' questions, judged by the experts against their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, DataRow, all_rows, content_id, strip_marks
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Statement, SupportLevel

SUPPORT: Mapping[str | None, SupportLevel | None] = {
    "Complete": SupportLevel.FULL,
    "Partial": SupportLevel.PARTIAL,
    "Incomplete": SupportLevel.NONE,
    "Missing": None,
    "N/A": None,
    None: None,
}


def parse_evidence(entry: str) -> tuple[str, str]:
    """Return the url of an entry "[1] url" and its passage, which follows the first blank line and may be empty."""
    head, _, text = entry.partition("\n\n")
    return strip_marks(head), text.strip()


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"expertqa/{split}")
    seen: set[tuple[str, str, str]] = set()
    for row in all_rows(paths):
        answers = row.row("answers")
        about = {"question": row.text("question"), "field": row.row("metadata").optional_text("field")}
        for system in answers.fields:
            answer = answers.row(system)
            key = (about["question"], system, answer.text("answer_string"))
            if key in seen:
                draft.drop("answers that another file of the split has too")
                continue
            seen.add(key)
            _add_answer(draft, about, system, answer, options)
    return draft.corpus()


def _add_answer(
    draft: CorpusDraft, about: Mapping[str, str], system: str, answer: DataRow, options: Mapping[str, Any]
) -> None:
    group = f"a-{content_id(about['question'], system)}"
    for number, claim in enumerate(answer.rows("claims"), start=1):
        level = claim.choice("support", SUPPORT)
        entries = claim.texts("evidence")
        passages = [*map(parse_evidence, dict.fromkeys(entries))]
        text = strip_marks(claim.text("claim_string"))
        reason = ""
        if not passages:
            reason = "claims without evidence"
        elif level is None:
            reason = f"claims with evidence and no support judgement ({claim.fields['support'] or 'empty'})"
        elif not text:
            reason = "claims of nothing but citation marks"
        elif options["without_text"] == "drop" and not any(passage for _, passage in passages):
            reason = "claims whose evidence is a bare URL (without_text=drop)"
        if level is None or reason:
            draft.drop(reason)
            continue
        together = level if options["unit"] == "passage" else None  # else the only citation has it
        statement_id = draft.statement(Statement(f"{group}-{number}", text, group, system, about, together))
        if options["unit"] == "claim":
            texts = dict.fromkeys(passage for _, passage in passages if passage)
            passages = [(passages[0][0], "\n\n".join(texts))]
        elif len(passages) < len(entries):
            draft.drop("evidence listed twice for one claim", len(entries) - len(passages))
        for url, passage in passages:
            draft.cite(draft.next_id(statement_id), statement_id, draft.document(passage, url=url), level)


DATASET = published("expertqa", _load)
