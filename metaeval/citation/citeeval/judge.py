"""The judge: one request per response (or part of it) and module, and what was understood of its replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from metaeval.citation.chat.opening import Ask
from metaeval.citation.citeeval.asking import Asking, load_prompts, parts, request_for
from metaeval.citation.citeeval.editing import Edit
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.replies import Words, read_words
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.citeeval.structured import Module
from metaeval.citation.model import Answer as Response
from metaeval.llm.exchange import Answer, ChatRequest, text_of

State = Literal["read", "not asked", "unparsed", "failed", "too long", "in part"]
"""What became of a question: read, perhaps not wholly; not asked; no use in the reply; no reply; refused as too long.

In part: the response was judged in parts, and not all of them were read.
"""

T = TypeVar("T")

_RESPONSE = 3  # the context of a statement that says that there is no answer


@dataclass(frozen=True)
class Judged:
    """What the judge said of a response. contexts, edits, stars: by a statement's number; what is absent is missing.

    attribution, editing: what became of the two questions. problems: what was wrong inside replies that were read,
    "not judged" for the statements that they leave without a judgement, whatever the reason. states: how many requests
    ended how, and "not asked" for a question that none was needed for.
    """

    attribution: State
    editing: State
    contexts: Mapping[int, int]
    edits: Mapping[int, tuple[Edit, ...]]
    stars: Mapping[int, int]
    problems: Counter[str]
    states: Counter[State] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Question:
    """A request about the statements of a part of a response."""

    response: int
    module: Module
    part: Sequence[Statement]
    request: ChatRequest


def requests_of(
    responses: Sequence[Response], splits: Sequence[Split], asking: Asking
) -> Iterator[tuple[int, Module, ChatRequest]]:
    """What is asked: the response's index, the module, the request; a response's requests come together.

    A response that says that it found no answer is not asked about, nor is one without statements; citations are
    edited only where there are some, in the response or in its part. Raises ValueError if the lengths differ.
    """
    return ((one.response, one.module, one.request) for one in _questions(responses, splits, asking))


def judge_responses(
    responses: Sequence[Response], splits: Sequence[Split], ask: Ask, asking: Asking, options: CiteEvalOptions = PAPER
) -> list[Judged]:
    """What the judge says of each response; everything is asked in one call of `ask`.

    A reply that was refused, cut short, or is not of the form that was asked for is "unparsed" as a whole. With a
    `ChatSession` every reply is kept as it comes: a run that was cut off goes on where it was, a request that failed
    is asked again, and nothing that was answered is.
    """
    asked = list(_questions(responses, splits, asking))
    answers = ask([one.request for one in asked])
    by_response: list[list[tuple[_Question, Answer]]] = [[] for _ in splits]
    for one, answer in zip(asked, answers, strict=True):
        by_response[one.response].append((one, answer))
    return [_judged(split, own, asking, options) for split, own in zip(splits, by_response, strict=True)]


def _questions(responses: Sequence[Response], splits: Sequence[Split], asking: Asking) -> Iterator[_Question]:
    prompts = load_prompts(asking)
    for index, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for module in () if split.no_answer else prompts:
            for part in parts(split.statements, asking):
                if _needed(module, part, asking):
                    request = request_for(module, response, split.statements, prompts[module], asking, part)
                    yield _Question(index, module, part, request)


def _needed(module: Module, part: Sequence[Statement], asking: Asking) -> bool:
    if module == "editing":
        return any(one.citations for one in part)
    if asking.contexts == "where needed":
        return not all(one.citations for one in part)
    return asking.contexts == "always"


def _judged(
    split: Split, answers: Sequence[tuple[_Question, Answer]], asking: Asking, options: CiteEvalOptions
) -> Judged:
    heard = [(one, *_heard(one, answer, split, asking, options)) for one, answer in answers]
    problems: Counter[str] = Counter()
    for one, state, words in heard:
        problems += words.problems
        if state == "read":
            problems["not judged"] += sum(not _spoken_of(own, one.module, words) for own in one.part)
    ended: dict[Module, list[State]] = {
        module: [state for one, state, _ in heard if one.module == module] or ["not asked"]
        for module in ("attribution", "editing")
    }
    return Judged(
        attribution=_together(ended["attribution"]),
        editing=_together(ended["editing"]),
        contexts={1: _RESPONSE} if split.no_answer else _merged([words.contexts for _, _, words in heard]),
        edits=_merged([words.edits for _, _, words in heard]),
        stars=_merged([words.stars for _, _, words in heard]),
        problems=+problems,
        states=Counter(state for states in ended.values() for state in states),
    )


def _spoken_of(statement: Statement, module: Module, words: Words) -> bool:
    """Whether all that was asked of a statement was said."""
    if module == "attribution":
        return statement.number in words.contexts
    return not statement.citations or (statement.number in words.edits and statement.number in words.stars)


def _together(states: Sequence[State]) -> State:
    """What became of a question whose parts ended so."""
    if len(set(states)) == 1:
        return states[0]
    # Parts none of which was read, for different reasons: the first of them stands for all.
    return "in part" if "read" in states else states[0]


def _heard(
    question: _Question, answer: Answer, split: Split, asking: Asking, options: CiteEvalOptions
) -> tuple[State, Words]:
    text, trouble = text_of(answer)
    if text is None:
        return trouble or "unparsed", Words()
    words = read_words(text, question.module, len(split.statements), asking, options)
    return ("unparsed", Words()) if words is None else ("read", _of_part(words, question.part))


def _of_part(words: Words, part: Sequence[Statement]) -> Words:
    """The words about the statements of a part; to speak of one outside it is to speak of none."""
    own = {one.number for one in part}
    outside = {number for said in (words.contexts, words.edits, words.stars) for number in said} - own
    return Words(
        contexts={number: said for number, said in words.contexts.items() if number in own},
        edits={number: said for number, said in words.edits.items() if number in own},
        stars={number: said for number, said in words.stars.items() if number in own},
        problems=+(words.problems + Counter({"no such statement": len(outside)})),
    )


def _merged(said: Sequence[Mapping[int, T]]) -> dict[int, T]:
    """What was said of the statements of all parts, which have none in common."""
    return {number: value for one in said for number, value in one.items()}
