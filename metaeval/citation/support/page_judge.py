"""FACT's judge: a chat model reads each cited page once, for all statements of an answer that cite it.

As in DeepResearch Bench (Ayanami0730/deep_research_bench 214741e) the model may first leave out statements of a page
that repeat others. The prompts are worded here; the rules by which replies are read are those of the released code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.chat_models import ChatOptions, chat_request
from metaeval.citation.citation_table import premise
from metaeval.citation.data_model import Answer, Verdict
from metaeval.citation.support.citation_judging import JudgedStatement, SupportStatement, unjudged_levels
from metaeval.citation.support.level_readings import Reading, fact_level
from metaeval.citation.support.measures import Level
from metaeval.llm.messages import (
    Ask,
    ChatRequest,
    Prompt,
    State,
    T,
    object_schema,
    quoted,
    read_answer,
    read_list,
    read_prompt,
    reply_form,
)

PROMPTS = Path(__file__).with_name("prompts")
_KEPT = reply_form("kept", kept={"type": "array", "items": {"type": "integer"}})
_VERDICTS = reply_form(
    "verdicts",
    verdicts={
        "type": "array",
        "items": object_schema(
            idx={"type": "integer"}, result={"type": "string", "enum": ["supported", "unsupported", "unknown"]}
        ),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """Options of a chat model that judges whole pages."""

    repeats: Literal["kept", "left out"] = "kept"
    """Statements of a page that repeat others: kept, or left out, as the model says (one more request a page)."""
    repeats_file: Path | None = None
    """A prompt of your own that asks which statements to keep, with {statements}."""
    verdicts_file: Path | None = None
    """A prompt of your own that asks for the verdicts on a page's statements, with {page} and {statements}."""

    def prompts(self) -> dict[str, Prompt]:
        """Return the prompts in use; raises `UserError` for a file that cannot be read or lacks a place."""
        repeats = read_prompt(self.repeats_file or PROMPTS / "repeats.txt", ("statements",))
        verdicts = read_prompt(self.verdicts_file or PROMPTS / "verdicts.txt", ("page", "statements"))
        return {**({} if self.repeats == "kept" else {"repeats": repeats}), "verdicts": verdicts}


@dataclass(frozen=True, slots=True)
class CitedPage:
    """A passage with the statements that cite it: their texts by their indices in the answer.

    answer: index of the answer. place: index of the passage in it. text: the passage as a premise.
    """

    answer: int
    place: int
    text: str
    statements: Mapping[int, str]


def cited_pages(answers: Sequence[Answer], stated: Sequence[Sequence[SupportStatement]]) -> list[CitedPage]:
    """Return the cited passages that have a text, each once for an answer, in the order of the answers' statements."""
    pages: list[CitedPage] = []
    for number, (answer, of_answer) in enumerate(zip(answers, stated, strict=True)):
        citing: dict[int, dict[int, str]] = {}
        for index, row in enumerate(of_answer):
            for mark in row.cited:
                if mark.place is not None and answer.passages[mark.place].text.strip():
                    citing.setdefault(mark.place, {})[index] = row.claim.text
        pages += [CitedPage(number, place, premise([answer.passages[place]]), rows) for place, rows in citing.items()]
    return pages


def read_kept(text: str, number: int) -> list[int] | None:
    """Return the indices, from 0, of the statements that a reply keeps; None for a reply out of form.

    number: of the statements. The reply lists numbers from 1; an empty list, one with a 0, and a longer list keep all.
    """
    kept = read_list(text, _KEPT)
    if kept is None or not all(type(entry) is int and 0 <= entry <= number for entry in kept if len(kept) <= number):
        return None
    return list(range(number)) if not kept or 0 in kept or len(kept) > number else [entry - 1 for entry in kept]


def read_verdicts(text: str, number: int) -> list[tuple[int, Any]] | None:
    """Return the (index from 0, verdict) pairs of a reply; None for a reply out of form.

    number: of the statements; a reply with another number of verdicts is out of form. As released, an index may occur
    twice or belong to no statement.
    """
    listed = read_list(text, _VERDICTS)
    if listed is None or len(listed) != number:
        return None
    if not all(isinstance(entry, dict) and type(entry.get("idx")) is int for entry in listed):
        return None
    return [(entry["idx"] - 1, entry.get("result")) for entry in listed]


def repeats_request(page: CitedPage, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Return the request for the statements of a page that repeat none of its others."""
    return chat_request(chat, prompt.fill(statements=_numbered(page)), _KEPT)


def verdicts_request(page: CitedPage, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Return the request for the verdicts on all statements of a page."""
    return chat_request(chat, prompt.fill(page=quoted(page.text), statements=_numbered(page)), _VERDICTS)


def _numbered(page: CitedPage) -> str:
    return quoted([{"idx": idx, "statement": text} for idx, text in enumerate(page.statements.values(), start=1)])


def without_repeats(
    answers: Sequence[Answer],
    stated: Sequence[Sequence[SupportStatement]],
    ask: Ask,
    chat: ChatOptions,
    prompt: Prompt,
) -> tuple[list[list[SupportStatement]], Counter[str]]:
    """Return the statements without their citations of pages on which they repeat another statement.

    ask: sends requests. Also return the numbers of citations left out, and of unreadable replies (which keep all).
    """
    pages = [page for page in cited_pages(answers, stated) if len(page.statements) > 1]
    replies = _read_replies(pages, [repeats_request(page, prompt, chat) for page in pages], ask, read_kept)
    repeated = {
        (page.answer, statement, page.place)
        for page, (kept, _) in zip(pages, replies, strict=True)
        for index, statement in enumerate(page.statements)
        if kept is not None and index not in kept
    }
    unread = sum(kept is None for kept, _ in replies)
    left = [
        [
            _cut(row, [(number, index, mark.place) not in repeated for mark in row.cited])
            for index, row in enumerate(of_answer)
        ]
        for number, of_answer in enumerate(stated)
    ]
    return left, Counter({"citations repeat others and are left out": len(repeated), "replies are unread": unread})


def _cut(row: SupportStatement, kept: Sequence[bool]) -> SupportStatement:
    """Return the statement with only the citations that are `kept` (a value for each), and their labels if any."""
    labels = row.labels
    if labels is not None:
        relevant = labels.relevant and tuple(compress(labels.relevant, kept))
        levels, sources = tuple(compress(labels.levels, kept)), tuple(compress(labels.sources, kept))
        labels = replace(labels, levels=levels, sources=sources, relevant=relevant)
    return replace(row, cited=tuple(compress(row.cited, kept)), labels=labels)


PageVerdicts = Mapping[tuple[int, int, int], Verdict]
"""Verdicts by the indices of the answer, the statement and the passage."""


def page_verdicts(
    answers: Sequence[Answer],
    stated: Sequence[Sequence[SupportStatement]],
    ask: Ask,
    chat: ChatOptions,
    prompt: Prompt,
    reading: Reading = "official",
) -> PageVerdicts:
    """Return the model's verdict on each statement and cited passage with a text; score 1: supported, 0: unsupported.

    Where a page's reply cannot be read, or a statement's verdict is unknown or missing, or two of its verdicts differ,
    the verdict has no score.
    """
    pages = cited_pages(answers, stated)
    replies = _read_replies(pages, [verdicts_request(page, prompt, chat) for page in pages], ask, read_verdicts)
    verdicts: dict[tuple[int, int, int], Verdict] = {}
    for page, (pairs, state) in zip(pages, replies, strict=True):
        levels: dict[int, set[Level]] = {}
        for index, result in pairs or ():
            levels.setdefault(index, set()).add(fact_level(result, reading))
        for index, statement in enumerate(page.statements):
            named = levels.get(index, set())
            level = next(iter(named)) if len(named) == 1 else None
            status = "ok" if level is not None else "unknown" if pairs is not None else state
            decided = None if level is None else level == 1
            verdicts[page.answer, statement, page.place] = Verdict(decided, level, status)
    return verdicts


def by_pages(
    stated: Sequence[Sequence[SupportStatement]], verdicts: PageVerdicts, stray: Level = None
) -> list[list[JudgedStatement]]:
    """Return the statements of each answer with levels by these verdicts. stray: level of a mark without a passage."""

    def judged(answer: int, index: int, row: SupportStatement) -> JudgedStatement:
        of_row = tuple(None if mark.place is None else verdicts.get((answer, index, mark.place)) for mark in row.cited)
        weights = tuple(
            stray if mark.place is None else None if verdict is None else verdict.score
            for mark, verdict in zip(row.cited, of_row, strict=True)
        )
        return JudgedStatement(row, replace(unjudged_levels(row), levels=weights), of_row)

    return [
        [judged(number, index, row) for index, row in enumerate(of_answer)] for number, of_answer in enumerate(stated)
    ]


def _read_replies(
    pages: Sequence[CitedPage], requests: Sequence[ChatRequest], ask: Ask, read: Callable[[str, int], T | None]
) -> list[tuple[T | None, State]]:
    """Return what `read` gets from each page's reply (None: nothing), and the request's outcome."""
    replies = ask(requests) if requests else ()
    return [
        read_answer(reply, lambda text, page=page: read(text, len(page.statements)))  # type: ignore[misc]
        for page, reply in zip(pages, replies, strict=True)
    ]
