"""The three strategies: what each shows the model that writes the answer, and what it asks before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from metaeval.citation.chat.opening import Ask
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.generation.asking import (
    Stage,
    read_selection,
    read_summary,
    selection_request,
    summary_request,
)
from metaeval.citation.generation.documents import Document, fitted, whole_documents
from metaeval.citation.generation.options import GenerationOptions, Strategy
from metaeval.citation.model import Answer as Question
from metaeval.llm.exchange import Answer, ChatRequest, Prompt, Trouble, text_of


@dataclass(frozen=True)
class Setup:
    """What a strategy works with."""

    options: GenerationOptions
    chat: ChatOptions
    prompts: Mapping[Stage, Prompt]


@dataclass(frozen=True)
class Shown:
    """What is shown of a question's documents; trouble: why nothing can be, as what became of an earlier stage.

    problems: what was wrong inside replies that were read, and summaries that are longer than was asked for. unread:
    the answer of the model that brought the trouble.
    """

    documents: tuple[Document, ...] = ()
    trouble: Trouble | None = None
    problems: Counter[str] = field(default_factory=Counter)
    unread: Answer | None = None


def truncated(questions: Sequence[Question], _: Ask, setup: Setup) -> list[Shown]:
    """The beginning of every document, an equal share of the words that may be shown."""
    options = setup.options
    return [
        Shown(tuple(fitted(whole_documents(one.passages), options.context_words, options.document_words)))
        for one in questions
    ]


def summarised(questions: Sequence[Question], ask: Ask, setup: Setup) -> list[Shown]:
    """A summary of every document that says anything about the question; the others stay out, their numbers too.

    A question of which one summary is missing is lost: its answer would be that of a model that saw less.
    """
    asked = list(summary_requests(questions, setup))
    replies = ask([request for _, _, request in asked])
    found: list[list[Document]] = [[] for _ in questions]
    troubles: list[list[tuple[Trouble, Answer]]] = [[] for _ in questions]
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


def selected(questions: Sequence[Question], ask: Ask, setup: Setup) -> list[Shown]:
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


SHOWING: Mapping[Strategy, Callable[[Sequence[Question], Ask, Setup], list[Shown]]] = {
    "truncated": truncated,
    "summary": summarised,
    "two-stage": selected,
}


def summary_requests(questions: Sequence[Question], setup: Setup) -> list[tuple[int, Document, ChatRequest]]:
    """The question's place, the document, and the request, of every document that has a text."""
    asked = []
    for place, question in enumerate(questions):
        for whole in whole_documents(question.passages):
            if whole.text.strip():
                (document,) = fitted([whole], setup.options.context_words)
                request = summary_request(
                    question.question, document, setup.prompts["summary"], setup.options, setup.chat
                )
                asked.append((place, document, request))
    return asked


def selection_requests(questions: Sequence[Question], setup: Setup) -> list[ChatRequest]:
    """One request for each question, with the beginnings of its documents."""
    options = setup.options
    return [
        selection_request(
            one.question,
            fitted(whole_documents(one.passages), options.context_words, options.preview_words),
            setup.prompts["selection"],
            setup.chat,
        )
        for one in questions
    ]
