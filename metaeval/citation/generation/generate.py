"""Answers that a chat model writes: the options, the three strategies, what each asks, and the answers that come."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.chat import ChatOptions
from metaeval.citation.model import Answer, Passage
from metaeval.citation.scifi.model import ScifiOptions, without_marks
from metaeval.citation.sentences import find_marks, sentence_spans
from metaeval.errors import UserError, unknown
from metaeval.llm.exchange import Answer as Reply
from metaeval.llm.exchange import (
    Ask,
    ChatRequest,
    Prompt,
    Trouble,
    quoted,
    read_object,
    read_prompt,
    reply_form,
    text_of,
)

Strategy = Literal["truncated", "summary", "two-stage"]

STRATEGIES: tuple[Strategy, ...] = ("truncated", "summary", "two-stage")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """What a model is shown and asked, one question at a time."""

    strategy: Strategy = "truncated"
    """What of the documents the model is shown: their beginnings (truncated), a summary of each (summary), or in
    full those that it chose by their beginnings (two-stage)."""
    context_words: int = 3000
    """Most words of all documents in one request; short documents leave their share to the long ones."""
    document_words: int = 300
    """Words of each document that are shown, in the strategy truncated."""
    preview_words: int = 60
    """Words of each document by which the model chooses, in the strategy two-stage."""
    summary_words: int = 80
    """Length that is asked of a summary, in words."""
    answer_words: int = 200
    """Length that is asked of an answer, in words."""
    answer_file: Path | None = None
    """A prompt of your own that asks for the answer, with {question} and {documents}, and {words} and {shown} if
    wanted."""
    summary_file: Path | None = None
    """A prompt of your own that asks for a summary, with {question} and {document}, and {words} if wanted."""
    selection_file: Path | None = None
    """A prompt of your own that asks which documents are needed, with {question} and {documents}."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise unknown("strategy", self.strategy, STRATEGIES)
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name.endswith("_words") and value < 1:
                raise UserError(f"{one.name} is {value}; allowed: a whole number from 1.")

    @property
    def in_use(self) -> dict[str, int]:
        """The numbers of words that the strategy heeds."""
        shown = {"truncated": "document_words", "summary": "summary_words", "two-stage": "preview_words"}
        return {name: getattr(self, name) for name in ("context_words", shown[self.strategy], "answer_words")}


@dataclass(frozen=True, slots=True)
class Document:
    """A document as a request shows it; number: its place among the question's documents, from 1."""

    number: int
    title: str
    text: str


def whole_documents(passages: Sequence[Passage]) -> list[Document]:
    """Every document as it is."""
    return [Document(number, one.title, one.text) for number, one in enumerate(passages, start=1)]


def fitted(documents: Sequence[Document], total: int, each: int | None = None) -> list[Document]:
    """Documents cut to a total of words, no one to more than `each`: short ones stay whole, the others end alike.

    Where there are more documents than words, each keeps a word.
    """
    limit = level([len(one.text.split()) for one in documents], total)
    limit = limit if each is None else min(limit, each)
    return [Document(one.number, one.title, cut(one.text, limit)) for one in documents]


def level(lengths: Sequence[int], total: int) -> int:
    """The greatest limit, from 1, under which the lengths, each cut to it, add up to no more than the total."""
    left, open_ = total, len(lengths)
    for length in sorted(lengths):
        if length * open_ > left:
            return max(1, left // open_)
        left, open_ = left - length, open_ - 1
    return max(1, *lengths, total) if lengths else max(1, total)


def cut(text: str, words: int) -> str:
    """The beginning of a text: as many whole sentences as have no more than so many words, verbatim.

    A first sentence that is longer ends behind its last word that fits.
    """
    if len(text.split()) <= words:
        return text
    end, so_far = 0, 0
    for span in sentence_spans(text):
        so_far += len(span.text.split())
        if so_far > words:
            break
        end = span.end
    return text[: end or list(re.finditer(r"\S+", text))[words - 1].end()]


Stage = Literal["summary", "selection", "answer"]

STAGES: Mapping[Strategy, tuple[Stage, ...]] = {
    "truncated": ("answer",),
    "summary": ("summary", "answer"),
    "two-stage": ("selection", "answer"),
}
"""What a strategy asks, in order."""

_SHOWN: Mapping[Strategy, str] = {
    "truncated": "of a long one you see the beginning",
    "summary": "of each you see a summary of what it says about the question",
    "two-stage": "those that were taken as needed, among more",
}
_SUMMARY = reply_form("summary", summary={"type": "string"})
_SELECTION = reply_form("selection", documents={"type": "array", "items": {"type": "integer"}})


PROMPTS = Path(__file__).parent / "prompts"
"""The project's own prompts, by stage."""


def load_prompts(options: GenerationOptions) -> dict[Stage, Prompt]:
    """The prompts of the strategy's stages: the project's own, or the files that were named.

    Raises `UserError` when a file cannot be read or lacks a place.
    """
    prompts = {}
    for stage in STAGES[options.strategy]:
        places = ("question", "document" if stage == "summary" else "documents")
        prompts[stage] = read_prompt(getattr(options, f"{stage}_file") or PROMPTS / f"{stage}.txt", places)
    return prompts


class Setup:
    """What a strategy works with. Raises `UserError` as `load_prompts`."""

    def __init__(self, options: GenerationOptions, chat: ChatOptions) -> None:
        self.options, self._chat, self._prompts = options, chat, load_prompts(options)

    def request(self, stage: Stage, question: str, documents: Sequence[Document]) -> ChatRequest:
        """Ask for the summary of one document, for the documents that are needed, or for the answer with its marks."""
        lines = "\n".join(
            quoted({"document": one.number, **({"title": one.title} if one.title else {}), "text": one.text})
            for one in documents
        )
        form: dict[str, Any] | None = None
        if stage == "summary":
            form, texts = _SUMMARY, {"document": lines, "words": str(self.options.summary_words)}
        elif stage == "selection":
            form, texts = _SELECTION, {"documents": lines}
        else:
            texts = {"documents": lines or "(none)", "words": str(self.options.answer_words)}
            texts["shown"] = _SHOWN[self.options.strategy]
        content = self._prompts[stage].fill(question=quoted(question), **texts)
        return self._chat.request(content, form)


def read_summary(text: str) -> str | None:
    """The summary in a reply, empty where the document says nothing; None for a reply of another form."""
    body = read_object(text, _SUMMARY)
    return body["summary"].strip() if body else None


def read_selection(text: str) -> list[int] | None:
    """The numbers in a reply, each once, in order; None for a reply of another form."""
    body = read_object(text, _SELECTION)
    return sorted(set(body["documents"])) if body else None


@dataclass(frozen=True)
class Shown:
    """What is shown of a question's documents; trouble: why nothing can be, as what became of an earlier stage.

    problems: what was wrong inside replies that were read, and summaries that are longer than was asked for. unread:
    the answer of the model that brought the trouble.
    """

    documents: tuple[Document, ...] = ()
    trouble: Trouble | None = None
    problems: Counter[str] = field(default_factory=Counter)
    unread: Reply | None = None


def truncated(questions: Sequence[Answer], _: Ask, setup: Setup) -> list[Shown]:
    """The beginning of every document, an equal share of the words that may be shown."""
    words = setup.options.context_words, setup.options.document_words
    return [Shown(tuple(fitted(whole_documents(one.passages), *words))) for one in questions]


def summarised(questions: Sequence[Answer], ask: Ask, setup: Setup) -> list[Shown]:
    """A summary of every document that says anything about the question; the others stay out, their numbers too.

    A question of which one summary is missing is lost: its answer would be that of a model that saw less.
    """
    asked = summary_requests(questions, setup)
    replies = ask([request for _, _, request in asked])
    found: list[list[Document]] = [[] for _ in questions]
    troubles: list[list[tuple[Trouble, Reply]]] = [[] for _ in questions]
    problems = [Counter[str]() for _ in questions]
    for (place, document, _), reply in zip(asked, replies, strict=True):
        text, trouble = text_of(reply)
        summary = None if text is None else read_summary(text)
        if summary is None:
            troubles[place].append((trouble or "unparsed", reply))
        elif summary:
            found[place].append(Document(document.number, document.title, summary))
            problems[place]["summaries longer than asked"] += len(summary.split()) > setup.options.summary_words
        else:
            problems[place]["documents without a summary"] += 1
    return [
        Shown(trouble=troubled[0][0], unread=troubled[0][1])
        if troubled
        else Shown(tuple(fitted(documents, setup.options.context_words)), problems=+counted)
        for documents, troubled, counted in zip(found, troubles, problems, strict=True)
    ]


def selected(questions: Sequence[Answer], ask: Ask, setup: Setup) -> list[Shown]:
    """The documents that the model takes as needed, in full as far as the words go. Invented numbers are counted."""
    replies = ask(selection_requests(questions, setup))
    shown: list[Shown] = []
    for question, reply in zip(questions, replies, strict=True):
        text, trouble = text_of(reply)
        numbers = None if text is None else read_selection(text)
        if numbers is None:
            shown.append(Shown(trouble=trouble or "unparsed", unread=reply))
            continue
        chosen = [one for one in whole_documents(question.passages) if one.number in numbers]
        problems = Counter({"documents chosen that do not exist": len(numbers) - len(chosen)})
        shown.append(Shown(tuple(fitted(chosen, setup.options.context_words)), problems=+problems))
    return shown


SHOWING: Mapping[Strategy, Callable[[Sequence[Answer], Ask, Setup], list[Shown]]] = {
    "truncated": truncated,
    "summary": summarised,
    "two-stage": selected,
}


def summary_requests(questions: Sequence[Answer], setup: Setup) -> list[tuple[int, Document, ChatRequest]]:
    """The question's place, the document, and the request, of every document that has a text."""
    return [
        (place, one, setup.request("summary", question.question, fitted([one], setup.options.context_words)))
        for place, question in enumerate(questions)
        for one in whole_documents(question.passages)
        if one.text.strip()
    ]


def selection_requests(questions: Sequence[Answer], setup: Setup) -> list[ChatRequest]:
    """One request for each question, with the beginnings of its documents."""
    words = setup.options.context_words, setup.options.preview_words
    return [
        setup.request("selection", one.question, fitted(whole_documents(one.passages), *words)) for one in questions
    ]


@dataclass(frozen=True)
class Generated:
    """What came of a question. answer: with its text; None where none came, for the `trouble` of the `stage`.

    shown: numbers of the documents that the answer was written from. problems: what was wrong on the way, counted;
    among them the answer's marks that cite nothing that was shown. unread: what the model answered at that stage.
    """

    question: Answer
    answer: Answer | None
    shown: tuple[int, ...] = ()
    stage: Stage = "answer"
    trouble: Trouble | None = None
    problems: Counter[str] | None = None
    unread: Reply | None = None


def counts_of(results: Sequence[Generated]) -> dict[str, dict[str, float | None]]:
    """What is counted, by block: answers, marks as the pipelines read them, and problems."""
    answers = [one.answer for one in results if one.answer is not None]
    shown = [len(one.shown) for one in results if one.answer is not None]
    words = [len(without_marks(one.text, ScifiOptions()).split()) for one in answers]
    causes = Counter(f"left out: {one.stage} {one.trouble}" for one in results if one.answer is None)
    marks = [sum(mark.number is not None for mark in find_marks(one.text)) for one in answers]
    problems = sorted(sum((one.problems or Counter() for one in results), Counter[str]()).items())
    return {
        "answers": {
            "questions": len(results),
            "answers": len(answers),
            **dict(sorted(causes.items())),
            "words per answer": sum(words) / len(words),
            "documents shown per answer": sum(shown) / len(answers),
            "answers from no document": shown.count(0),
        },
        "marks": {
            "marks": sum(marks),
            "marks per answer": sum(marks) / len(marks),
            "answers without a mark": marks.count(0),
            **{name: times for name, times in problems if name.startswith("marks ")},
        },
        "on the way": {name: times for name, times in problems if not name.startswith("marks ")},
    }


def generate(
    questions: Sequence[Answer], ask: Ask, options: GenerationOptions, chat: ChatOptions, system: str = ""
) -> list[Generated]:
    """One result for each question, in order; the text, reference marks and `first` that a question has are not read.

    system: the name of the answers' generator. An answer that was refused, cut short or is empty is none.
    """
    setup = Setup(options, chat)
    shown = SHOWING[options.strategy](questions, ask, setup)
    able = [number for number, one in enumerate(shown) if one.trouble is None]
    requests = [setup.request("answer", questions[number].question, shown[number].documents) for number in able]
    replies = dict(zip(able, ask(requests) if requests else [], strict=True))
    results = []
    for number, (question, own) in enumerate(zip(questions, shown, strict=True)):
        if own.trouble is not None:
            stage = STAGES[options.strategy][0]
            results.append(Generated(question, None, stage=stage, trouble=own.trouble, unread=own.unread))
            continue
        results.append(_generated(question, own, replies[number], system))
    return results


def first_requests(questions: Sequence[Answer], options: GenerationOptions, chat: ChatOptions) -> list[ChatRequest]:
    """What is asked first, for an estimate."""
    setup = Setup(options, chat)
    if options.strategy == "summary":
        return [request for _, _, request in summary_requests(questions, setup)]
    if options.strategy == "two-stage":
        return selection_requests(questions, setup)
    return largest_requests(questions, options, chat)


def largest_requests(questions: Sequence[Answer], options: GenerationOptions, chat: ChatOptions) -> list[ChatRequest]:
    """The requests for the answers as large as they are likely to get: every document taken, or summed up at length."""
    setup = Setup(options, chat)
    each = {"truncated": options.document_words, "summary": options.summary_words, "two-stage": None}[options.strategy]
    return [
        setup.request("answer", one.question, fitted(whole_documents(one.passages), options.context_words, each))
        for one in questions
    ]


def _generated(question: Answer, shown: Shown, reply: Reply, system: str) -> Generated:
    text, trouble = text_of(reply)
    numbers = tuple(one.number for one in shown.documents)
    problems = Counter(shown.problems)
    match = re.match(r"\s*<(think|thinking)>.*?</\1>", text or "", re.DOTALL)
    written = (text or "")[match.end() if match else 0 :].strip()
    if not written:
        return Generated(question, None, numbers, "answer", trouble or "unparsed", problems, reply)
    problems["answers behind a block of thinking"] += match is not None
    for mark in find_marks(written):
        if mark.number is None:
            problems["marks that cannot be read"] += 1
        elif not 1 <= mark.number <= len(question.passages):
            problems["marks that cite no document"] += 1
        elif mark.number not in numbers:
            problems["marks of documents that were not shown"] += 1
    answer = replace(question, text=written, system=system, first=1)
    return Generated(question, answer, numbers, problems=+problems)
