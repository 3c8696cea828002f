"""Answers that a chat model writes: options, the three strategies with their requests, and the results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from metaeval.citation.chat import ChatOptions, chat_request
from metaeval.citation.model import Answer, Passage
from metaeval.citation.scifi.model import ScifiOptions, without_marks
from metaeval.citation.sentences import find_marks, split, whole
from metaeval.errors import UserError, unknown
from metaeval.llm.exchange import Answer as Reply
from metaeval.llm.exchange import (
    Ask,
    ChatRequest,
    Prompt,
    State,
    quoted,
    read_answer,
    read_object,
    read_prompt,
    reply_form,
    text_of,
)

Strategy = Literal["truncated", "summary", "two-stage"]

STRATEGIES: tuple[Strategy, ...] = ("truncated", "summary", "two-stage")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """Options for choosing and cutting the documents that a chat model is shown, for one question at a time."""

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
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name.endswith("_words") and value < 1:
                raise UserError(f"{option.name} is {value}; allowed: a whole number from 1.")

    @property
    def in_use(self) -> dict[str, int]:
        """Return the numbers of words that the strategy uses."""
        shown = {"truncated": "document_words", "summary": "summary_words", "two-stage": "preview_words"}
        return {name: getattr(self, name) for name in ("context_words", shown[self.strategy], "answer_words")}


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document as shown in a request; number: its position among the question's documents, from 1."""

    number: int
    title: str
    text: str


def whole_documents(passages: Sequence[Passage]) -> list[ShownDocument]:
    """Return every document in full, as shown in a request."""
    return [ShownDocument(number, passage.title, passage.text) for number, passage in enumerate(passages, start=1)]


def fitted(documents: Sequence[ShownDocument], total: int, each: int | None = None) -> list[ShownDocument]:
    """Return the documents cut to a total of words, and to `each` words at most.

    Long documents are cut to one limit, short ones stay whole. Where there are more documents than words, each
    keeps one word.
    """
    limit = level([len(document.text.split()) for document in documents], total)
    limit = limit if each is None else min(limit, each)
    return [ShownDocument(document.number, document.title, cut(document.text, limit)) for document in documents]


def level(lengths: Sequence[int], total: int) -> int:
    """Return the greatest number of words, from 1, to which documents can be cut so that they fit `total`.

    lengths: the documents' numbers of words.
    """
    left, open_ = total, len(lengths)
    for length in sorted(lengths):
        if length * open_ > left:
            return max(1, left // open_)
        left, open_ = left - length, open_ - 1
    return max(1, *lengths, total) if lengths else max(1, total)


def cut(text: str, words: int) -> str:
    """Return the first whole sentences of a text that have so many words at most, verbatim.

    A first sentence that is longer is cut after that many words.
    """
    if len(text.split()) <= words:
        return text
    end, so_far = 0, 0
    for sentence in split(whole(text)):
        so_far += len(sentence.text.split())
        if so_far > words:
            break
        _, end = sentence.span()
    return text[: end or list(re.finditer(r"\S+", text))[words - 1].end()]


Stage = Literal["summary", "selection", "answer"]

STAGES: Mapping[Strategy, tuple[Stage, ...]] = {
    "truncated": ("answer",),
    "summary": ("summary", "answer"),
    "two-stage": ("selection", "answer"),
}
"""The requests of each strategy, in order."""

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
    """Return the prompts of the strategy's stages: the project's, or those of the options' files.

    Raises `UserError` when a file cannot be read or lacks a place.
    """
    prompts = {}
    for stage in STAGES[options.strategy]:
        places = ("question", "document" if stage == "summary" else "documents")
        prompts[stage] = read_prompt(getattr(options, f"{stage}_file") or PROMPTS / f"{stage}.txt", places)
    return prompts


class Setup:
    """The options and prompts of a strategy, from which requests are made.

    Raises `UserError` as `load_prompts` does.
    """

    def __init__(self, options: GenerationOptions, chat: ChatOptions) -> None:
        self.options, self._chat, self._prompts = options, chat, load_prompts(options)

    def request(self, stage: Stage, question: str, documents: Sequence[ShownDocument]) -> ChatRequest:
        """Return the request for a summary of one document, for a selection of documents, or for the answer."""
        lines = "\n".join(
            quoted(
                {
                    "document": document.number,
                    **({"title": document.title} if document.title else {}),
                    "text": document.text,
                }
            )
            for document in documents
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
        return chat_request(self._chat, content, form)

    def requests(self, stage: Stage, questions: Sequence[Answer], words: int | None) -> list[ChatRequest]:
        """Return one request for each question, with its documents cut to `words` words each (None: to the total)."""
        return [self.request(stage, question.question, self.documents(question, words)) for question in questions]

    def documents(self, question: Answer, words: int | None = None) -> tuple[ShownDocument, ...]:
        """Return the question's documents, cut to so many words each, and in total to `context_words`."""
        return tuple(fitted(whole_documents(question.passages), self.options.context_words, words))


def read_summary(text: str) -> str | None:
    """Return the summary in a reply, empty where the document says nothing; None for a reply of another form."""
    body = read_object(text, _SUMMARY)
    return body["summary"].strip() if body else None


def read_selection(text: str) -> list[int] | None:
    """Return the distinct numbers in a reply, sorted; None for a reply of another form."""
    body = read_object(text, _SELECTION)
    return sorted(set(body["documents"])) if body else None


@dataclass(frozen=True)
class ShownDocuments:
    """The documents that the model is shown for a question.

    trouble: why an earlier stage failed, so that there are none.

    problems: the number of problems in the replies, by kind. unread: the reply that caused the trouble.
    """

    documents: tuple[ShownDocument, ...] = ()
    trouble: State | None = None
    problems: Counter[str] = field(default_factory=Counter)
    unread: Reply | None = None


def truncated(questions: Sequence[Answer], _: Ask, setup: Setup) -> list[ShownDocuments]:
    """Return the beginning of every document, for the model's prompt; documents get an equal share of the words."""
    return [ShownDocuments(setup.documents(question, setup.options.document_words)) for question in questions]


def summarised(questions: Sequence[Answer], ask: Ask, setup: Setup) -> list[ShownDocuments]:
    """Return the model's summary of every document that says something about the question, for its next prompt.

    ask: sends requests and returns replies. Other documents are left out. A question with a missing summary fails:
    its answer would be that of a model that saw less.
    """
    requests = summary_requests(questions, setup)
    replies = ask([request for _, _, request in requests])
    summaries: list[list[ShownDocument]] = [[] for _ in questions]
    troubles: list[list[tuple[State, Reply]]] = [[] for _ in questions]
    problems = [Counter[str]() for _ in questions]
    for (place, document, _), reply in zip(requests, replies, strict=True):
        summary, state = read_answer(reply, read_summary)
        if summary is None:
            troubles[place].append((state, reply))
        elif summary:
            summaries[place].append(ShownDocument(document.number, document.title, summary))
            problems[place]["summaries longer than asked"] += len(summary.split()) > setup.options.summary_words
        else:
            problems[place]["documents without a summary"] += 1
    return [
        ShownDocuments(trouble=troubled[0][0], unread=troubled[0][1])
        if troubled
        else ShownDocuments(tuple(fitted(documents, setup.options.context_words)), problems=+counted)
        for documents, troubled, counted in zip(summaries, troubles, problems, strict=True)
    ]


def selected(questions: Sequence[Answer], ask: Ask, setup: Setup) -> list[ShownDocuments]:
    """Return the documents that the model selects from previews, whole up to a limit of words, for its next prompt.

    ask: sends requests and returns replies. Selected numbers that no document has are counted as problems.
    """
    replies = ask(setup.requests("selection", questions, setup.options.preview_words))
    shown: list[ShownDocuments] = []
    for question, reply in zip(questions, replies, strict=True):
        numbers, state = read_answer(reply, read_selection)
        if numbers is None:
            shown.append(ShownDocuments(trouble=state, unread=reply))
            continue
        chosen = [document for document in whole_documents(question.passages) if document.number in numbers]
        problems = Counter({"documents chosen that do not exist": len(numbers) - len(chosen)})
        shown.append(ShownDocuments(tuple(fitted(chosen, setup.options.context_words)), problems=+problems))
    return shown


SHOWING: Mapping[Strategy, Callable[[Sequence[Answer], Ask, Setup], list[ShownDocuments]]] = {
    "truncated": truncated,
    "summary": summarised,
    "two-stage": selected,
}


def summary_requests(questions: Sequence[Answer], setup: Setup) -> list[tuple[int, ShownDocument, ChatRequest]]:
    """Return (index of the question, document, request) for every document that has a text."""
    return [
        (place, document, setup.request("summary", question.question, fitted([document], setup.options.context_words)))
        for place, question in enumerate(questions)
        for document in whole_documents(question.passages)
        if document.text.strip()
    ]


@dataclass(frozen=True)
class Generated:
    """The answer generated for a question. answer: None where the `stage` failed with the `trouble`.

    shown: the numbers of the documents that the model saw. problems: the number of problems by kind, among them marks
    that cite no shown document. unread: the reply of the stage that failed.
    """

    question: Answer
    answer: Answer | None
    shown: tuple[int, ...] = ()
    stage: Stage = "answer"
    trouble: State | None = None
    problems: Counter[str] | None = None
    unread: Reply | None = None


def counts_of(results: Sequence[Generated]) -> dict[str, dict[str, float | None]]:
    """Return counts of answers, of marks as the pipelines read them, and of problems, by these three blocks."""
    answers = [result.answer for result in results if result.answer is not None]
    shown = [len(result.shown) for result in results if result.answer is not None]
    words = [len(without_marks(answer.text, ScifiOptions()).split()) for answer in answers]
    causes = Counter(f"left out: {result.stage} {result.trouble}" for result in results if result.answer is None)
    marks = [sum(mark.number is not None for mark in find_marks(answer.text)) for answer in answers]
    problems = sorted(sum((result.problems or Counter() for result in results), Counter[str]()).items())
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
    """Return one result for each question, in order; the question's own text, reference marks and `first` are ignored.

    system: the name of the answers' generator. A refused, truncated or empty answer gives None.
    """
    setup = Setup(options, chat)
    shown = SHOWING[options.strategy](questions, ask, setup)
    requests = [
        setup.request("answer", question.question, documents.documents)
        for question, documents in zip(questions, shown, strict=True)
        if documents.trouble is None
    ]
    replies = iter(ask(requests) if requests else [])
    stage = STAGES[options.strategy][0]
    return [
        _generated(question, documents, next(replies), system)
        if documents.trouble is None
        else Generated(question, None, stage=stage, trouble=documents.trouble, unread=documents.unread)
        for question, documents in zip(questions, shown, strict=True)
    ]


def first_requests(questions: Sequence[Answer], options: GenerationOptions, chat: ChatOptions) -> list[ChatRequest]:
    """Return the requests of the first stage, for an estimate."""
    setup = Setup(options, chat)
    if options.strategy == "summary":
        return [request for _, _, request in summary_requests(questions, setup)]
    if options.strategy == "two-stage":
        return setup.requests("selection", questions, options.preview_words)
    return largest_requests(questions, options, chat)


def largest_requests(questions: Sequence[Answer], options: GenerationOptions, chat: ChatOptions) -> list[ChatRequest]:
    """Return the requests for answers at their likely largest: all documents selected, or summarised at full length."""
    words = {"truncated": options.document_words, "summary": options.summary_words, "two-stage": None}
    return Setup(options, chat).requests("answer", questions, words[options.strategy])


def _generated(question: Answer, shown: ShownDocuments, reply: Reply, system: str) -> Generated:
    text, trouble = text_of(reply)
    numbers = tuple(document.number for document in shown.documents)
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
