"""Let a chat model write answers by a strategy: results, their counts, requests for an estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metaeval.citation.chat_models import ChatOptions
from metaeval.citation.data_model import Answer
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.generation.shown_documents import ShownDocument
from metaeval.citation.generation.stage_requests import STAGES, SentenceStep, Setup, Stage
from metaeval.citation.generation.strategies import (
    WRITING,
    Draft,
    Trouble,
    add_examples,
    summary_requests,
)
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.scifi.data_model import without_marks
from metaeval.llm.messages import Answer as Reply
from metaeval.llm.messages import Ask, ChatRequest


@dataclass(frozen=True)
class Generated:
    """The answer generated for a question (sample). answer: None where the `stage` failed with the `trouble`.

    shown: the numbers of the documents that the model saw when it wrote. problems: the number of problems by kind,
    among them marks that cite no shown document. unread: the reply or failure that ended the stage. steps, summaries:
    of an answer that was written sentence by sentence, the choices of documents, and the summaries they were made by.
    """

    question: Answer
    answer: Answer | None
    shown: tuple[int, ...] = ()
    stage: Stage = "answer"
    trouble: Trouble | None = None
    problems: Counter[str] | None = None
    unread: Reply | None = None
    steps: Sequence[SentenceStep] = ()
    summaries: Sequence[ShownDocument] = ()


def counts_of(results: Sequence[Generated]) -> dict[str, dict[str, float | None]]:
    """Return counts and means, by name, of "answers", "marks" (as pipelines read them) and problems "on the way"."""
    answers = [result.answer for result in results if result.answer is not None]
    shown = [len(result.shown) for result in results if result.answer is not None]
    words = [len(without_marks(answer.text).split()) for answer in answers]
    causes = Counter(f"left out: {result.stage} {result.trouble}" for result in results if result.answer is None)
    marks = [sum(mark.number is not None for mark in find_marks(answer.text)) for answer in answers]
    problems = sorted(sum((result.problems or Counter() for result in results), Counter[str]()).items())
    return {
        "answers": {
            "questions": len({result.question.sampled_id for result in results}),
            **({"samples": len(results)} if results[0].question.sample is not None else {}),
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
    questions: Sequence[Answer],
    ask: Ask,
    options: GenerationOptions,
    chat: ChatOptions,
    system: str = "",
    shots: Sequence[Answer] = (),
) -> list[Generated]:
    """Return one result for each question, in order; the question's own text and its `first` are ignored.

    system: name of the generator, for the answers. shots: worked examples. Where a request fails, or its reply is
    refused, truncated or unreadable, the result's `answer` is None.
    """
    setup = Setup(options, chat, shots)
    add_examples(ask, setup)
    drafts = [Draft(question) for question in questions]
    WRITING[options.strategy](drafts, ask, setup)
    return [_generated(draft, system) for draft in drafts]


def _generated(draft: Draft, system: str) -> Generated:
    question, problems = draft.question, Counter(draft.problems)
    if draft.trouble is not None:
        return Generated(question, None, draft.shown, draft.stage, draft.trouble, +problems, draft.unread)
    for mark in find_marks(draft.text):
        if mark.number is None:
            problems["marks that cannot be read"] += 1
        elif not 1 <= mark.number <= len(question.passages):
            problems["marks that cite no document"] += 1
        elif mark.number not in draft.shown:
            problems["marks of documents that were not shown"] += 1
    answer = replace(question, text=draft.text, system=system, first=1)
    summaries = draft.documents if draft.steps else ()
    return Generated(
        question, answer, draft.shown, problems=+problems, steps=tuple(draft.steps), summaries=tuple(summaries)
    )


def first_requests(
    questions: Sequence[Answer], options: GenerationOptions, chat: ChatOptions, shots: Sequence[Answer] = ()
) -> list[ChatRequest]:
    """Return the requests of the strategy's first stage, for an estimate."""
    first = STAGES[options.strategy][0]
    if first == "answer":
        return largest_requests(questions, options, chat, shots)
    return [request for *_, request in summary_requests([*shots, *questions], _estimated(options, chat, shots))]


def largest_requests(
    questions: Sequence[Answer], options: GenerationOptions, chat: ChatOptions, shots: Sequence[Answer] = ()
) -> list[ChatRequest]:
    """Return the requests that write the answers at their likely largest, for an estimate.

    Summaries have full length. In the strategy two-stage there are also the requests for
    choices, and an answer of full length is written in as many sentences as are allowed.
    """
    setup = _estimated(options, chat, shots)
    if options.strategy != "two-stage":
        return [setup.request("answer", each, setup.documents(each, options.beginning)) for each in questions]
    rounds, answer, requests = options.most_sentences, ["sentence"] * options.answer_words, []
    for question in questions:
        summaries, documents = setup.documents(question, options.beginning), setup.documents(question)
        numbers = tuple(document.number for document in documents)
        steps = [SentenceStep(" ".join(answer[: len(answer) * place // rounds]), numbers) for place in range(rounds)]
        for place, step in enumerate(steps):
            requests.append(setup.request("choice", question, summaries, steps[:place], step.written))
            requests.append(setup.request("sentence", question, documents, (), step.written))
    return requests


def _estimated(options: GenerationOptions, chat: ChatOptions, shots: Sequence[Answer]) -> Setup:
    setup = Setup(options, chat, shots)
    add_examples(None, setup)
    return setup
