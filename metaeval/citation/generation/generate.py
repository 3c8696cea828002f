"""The three strategies: what each shows the model that writes, what it asks before, and the answers that come."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from metaeval.citation.chat import Ask, ChatOptions
from metaeval.citation.generation.requests import (
    STAGES,
    Document,
    GenerationOptions,
    Setup,
    Stage,
    Strategy,
    fitted,
    read_selection,
    read_summary,
    whole_documents,
)
from metaeval.citation.model import Answer
from metaeval.citation.sentences import find_marks
from metaeval.llm.exchange import Answer as Reply
from metaeval.llm.exchange import ChatRequest, Trouble, text_of


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
    options = setup.options
    return [
        Shown(tuple(fitted(whole_documents(one.passages), options.context_words, options.document_words)))
        for one in questions
    ]


def summarised(questions: Sequence[Answer], ask: Ask, setup: Setup) -> list[Shown]:
    """A summary of every document that says anything about the question; the others stay out, their numbers too.

    A question of which one summary is missing is lost: its answer would be that of a model that saw less.
    """
    asked = list(summary_requests(questions, setup))
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
    replies = ask(list(selection_requests(questions, setup)))
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
    asked = []
    for place, question in enumerate(questions):
        for whole in whole_documents(question.passages):
            if whole.text.strip():
                (document,) = fitted([whole], setup.options.context_words)
                asked.append((place, document, setup.request("summary", question.question, [document])))
    return asked


def selection_requests(questions: Sequence[Answer], setup: Setup) -> list[ChatRequest]:
    """One request for each question, with the beginnings of its documents."""
    options = setup.options
    return [
        setup.request(
            "selection",
            one.question,
            fitted(whole_documents(one.passages), options.context_words, options.preview_words),
        )
        for one in questions
    ]


_THINKING = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)


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
    match = _THINKING.match(text or "")
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
    answer = replace(question, text=written, group=question.group or question.id, system=system, first=1)
    return Generated(question, answer, numbers, problems=+problems)
