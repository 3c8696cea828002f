"""The judge: one request per response and module, and what was understood of its replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.citeeval.asking import Ask, Asking, load_prompts, request_for
from metaeval.citation.citeeval.editing import Edit
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.replies import Words, read_words
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.structured import Module
from metaeval.citation.model import Answer as Response
from metaeval.llm.answer import Answer, Failure
from metaeval.llm.faults import Cause
from metaeval.llm.request import ChatRequest

State = Literal["read", "not asked", "unparsed", "failed", "too long"]
"""What became of a question: read, perhaps in part; not asked; no use in the reply; no reply; refused as too long."""

_RESPONSE = 3  # the context of a statement that says that there is no answer


@dataclass(frozen=True)
class Judged:
    """What the judge said of a response. contexts, edits, stars: by a statement's number; what is absent is missing.

    attribution, editing: what became of the two questions. problems: what was wrong inside replies that were read,
    "not judged" for the statements that they leave without a judgement, whatever the reason.
    """

    attribution: State
    editing: State
    contexts: Mapping[int, int]
    edits: Mapping[int, tuple[Edit, ...]]
    stars: Mapping[int, int]
    problems: Counter[str]


def requests_of(
    responses: Sequence[Response], splits: Sequence[Split], asking: Asking
) -> Iterator[tuple[int, Module, ChatRequest]]:
    """What is asked: the response's index, the module, the request; a response's two requests come together.

    A response that says that it found no answer is not asked about, nor is one without statements; citations are
    edited only where there are some. Raises ValueError if the lengths differ.
    """
    prompts = load_prompts(asking)
    for index, (response, split) in enumerate(zip(responses, splits, strict=True)):
        cited = [bool(statement.citations) for statement in split.statements]
        needed: dict[Module, bool] = {
            "attribution": asking.contexts == "always" or not all(cited),
            "editing": any(cited),
        }
        for module, is_needed in needed.items():
            if is_needed and split.statements and not split.no_answer:
                yield index, module, request_for(module, response, split.statements, prompts[module], asking)


def judge_responses(
    responses: Sequence[Response], splits: Sequence[Split], ask: Ask, asking: Asking, options: CiteEvalOptions = PAPER
) -> list[Judged]:
    """What the judge says of each response; everything is asked in one call of `ask`.

    A reply that was refused, cut short, or is not of the form that was asked for is "unparsed" as a whole. With a
    `ChatSession` every reply is kept as it comes: a run that was cut off goes on where it was, a request that failed
    is asked again, and nothing that was answered is.
    """
    asked = list(requests_of(responses, splits, asking))
    answers = ask([request for _, _, request in asked])
    by_response: list[dict[Module, Answer]] = [{} for _ in splits]
    for (index, module, _), answer in zip(asked, answers, strict=True):
        by_response[index][module] = answer
    return [_judged(split, own, asking, options) for split, own in zip(splits, by_response, strict=True)]


def _judged(split: Split, answers: Mapping[Module, Answer], asking: Asking, options: CiteEvalOptions) -> Judged:
    attribution, contexts = _heard(answers.get("attribution"), "attribution", split, asking, options)
    editing, reviews = _heard(answers.get("editing"), "editing", split, asking, options)
    problems = contexts.problems + reviews.problems
    if attribution == "read":
        problems["not judged"] += sum(one.number not in contexts.contexts for one in split.statements)
    if editing == "read":
        whole = reviews.edits.keys() & reviews.stars.keys()
        problems["not judged"] += sum(bool(one.citations) and one.number not in whole for one in split.statements)
    return Judged(
        attribution=attribution,
        editing=editing,
        contexts={1: _RESPONSE} if split.no_answer else contexts.contexts,
        edits=reviews.edits,
        stars=reviews.stars,
        problems=+problems,
    )


def _heard(
    answer: Answer | None, module: Module, split: Split, asking: Asking, options: CiteEvalOptions
) -> tuple[State, Words]:
    if answer is None:
        return "not asked", Words()
    if isinstance(answer, Failure):
        return ("too long" if answer.cause is Cause.TOO_LONG else "failed"), Words()
    words = read_words(answer.content, module, len(split.statements), asking, options) if answer.whole else None
    return ("unparsed", Words()) if words is None else ("read", words)
