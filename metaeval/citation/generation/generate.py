"""From questions with documents to answers with marks: each stage is asked in one go, what failed is told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.citation.chat.opening import Ask
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.generation.asking import STAGES, Stage, answer_request, load_prompts
from metaeval.citation.generation.documents import Document, fitted, whole_documents
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.generation.strategies import SHOWING, Setup, Shown, selection_requests, summary_requests
from metaeval.citation.marks import find_marks
from metaeval.citation.model import Answer
from metaeval.llm.exchange import Answer as Reply
from metaeval.llm.exchange import ChatRequest, Trouble, text_of

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
    setup = Setup(options, chat, load_prompts(options))
    shown = SHOWING[options.strategy](questions, ask, setup)
    able = [number for number, one in enumerate(shown) if one.trouble is None]
    requests = [_request(questions[number], shown[number].documents, setup) for number in able]
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
    setup = Setup(options, chat, load_prompts(options))
    if options.strategy == "summary":
        return [request for _, _, request in summary_requests(questions, setup)]
    if options.strategy == "two-stage":
        return selection_requests(questions, setup)
    return largest_requests(questions, options, chat)


def largest_requests(questions: Sequence[Answer], options: GenerationOptions, chat: ChatOptions) -> list[ChatRequest]:
    """The requests for the answers as large as they are likely to get: every document taken, or summed up at length."""
    setup = Setup(options, chat, load_prompts(options))
    each = {"truncated": options.document_words, "summary": options.summary_words, "two-stage": None}[options.strategy]
    return [
        _request(one, fitted(whole_documents(one.passages), options.context_words, each), setup) for one in questions
    ]


def _request(question: Answer, documents: Sequence[Document], setup: Setup) -> ChatRequest:
    return answer_request(question.question, documents, setup.prompts["answer"], setup.options, setup.chat)


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
    answer = Answer(
        id=question.id,
        text=written,
        passages=question.passages,
        question=question.question,
        group=question.group or question.id,
        system=system,
        reference=question.reference,
    )
    return Generated(question, answer, numbers, problems=+problems)
