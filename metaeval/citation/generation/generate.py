"""Let a chat model write answers by a strategy: results, their counts, requests for an estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from metaeval.citation.chat_models import ChatOptions
from metaeval.citation.data_model import Answer
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.generation.stage_requests import STAGES, SentenceStep, Setup
from metaeval.citation.generation.strategies import (
    Draft,
    add_examples,
    summary_requests,
    write_at_once,
    write_by_sentences,
)
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.scifi.data_model import without_marks
from metaeval.llm.messages import Ask, ChatRequest


def counts_of(results: Sequence[Draft]) -> dict[str, dict[str, float]]:
    """Return counts and means, by name, of "answers", "marks" (as pipelines read them) and problems "on the way"."""
    answers = [result.answer for result in results if result.answer is not None]
    shown = [len(result.shown) for result in results if result.answer is not None]
    words = [len(without_marks(answer.text).split()) for answer in answers]
    causes = Counter(f"left out: {result.stage} {result.trouble}" for result in results if result.answer is None)
    marks = [sum(mark.number is not None for mark in find_marks(answer.text)) for answer in answers]
    problems = sorted(sum((result.problems for result in results), Counter[str]()).items())
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
) -> list[Draft]:
    """Return one finished draft for each question, in order; the question's own text and its `first` are ignored.

    system: name of the generator, for the answers. shots: worked examples. Where a request fails, or its reply is
    refused, truncated or unreadable, the draft's `answer` is None.
    """
    setup = Setup(options, chat, shots)
    add_examples(ask, setup)
    drafts = [Draft(question) for question in questions]
    (write_by_sentences if options.strategy == "two-stage" else write_at_once)(drafts, ask, setup)
    return [draft.finish(system) for draft in drafts]


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
