"""The judge: one request per response (or part of it) and module, and what was understood of its replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from metaeval.citation.citeeval.asking import MODULES, Asking, load_prompts, parts, request_for
from metaeval.citation.citeeval.editing import Edit
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.replies import Module, Words, read_json, read_tags
from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.model import Answer as Response
from metaeval.llm.exchange import Answer, ChatRequest, read_answer

State = Literal["read", "not asked", "unparsed", "failed", "too long", "in part"]
"""Outcome of a question: read, perhaps not wholly; not asked; malformed reply; no reply; refused as too long.

In part: the response was judged in parts, and not all of them were read.
"""

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
class Question:
    """A request of a module about the statements of a part of a response. response: its place, from 0."""

    response: int
    module: Module
    part: Sequence[Statement]
    request: ChatRequest


def questions_of(responses: Sequence[Response], splits: Sequence[Split], asking: Asking) -> Iterator[Question]:
    """The questions about the responses; those about one response stand together.

    A response that says that it found no answer is not asked about, nor is one without statements; citations are
    edited only where there are some, in the response or in its part. Raises ValueError if the lengths differ.
    """
    prompts = load_prompts(asking)
    for index, (response, split) in enumerate(zip(responses, splits, strict=True)):
        for module in () if split.no_answer else MODULES:
            for part in parts(split.statements, asking):
                if _needed(module, part, asking):
                    request = request_for(module, response, split.statements, prompts[module], asking, part)
                    yield Question(index, module, part, request)


def judge_responses(
    splits: Sequence[Split],
    answers: Sequence[tuple[Question, Answer]],
    asking: Asking,
    options: CiteEvalOptions = PAPER,
) -> list[Judged]:
    """What the judge says of each response. answers: of each question of `questions_of`.

    A reply that was refused, cut short, or is malformed is "unparsed" as a whole.
    """
    heard: list[list[tuple[Question, State, Words]]] = [[] for _ in splits]
    for one, answer in answers:
        reading = partial(_read, question=one, split=splits[one.response], asking=asking, options=options)
        words, state = read_answer(answer, reading)
        heard[one.response].append((one, state, words or Words()))
    return [_judged(split, own) for split, own in zip(splits, heard, strict=True)]


def _needed(module: Module, part: Sequence[Statement], asking: Asking) -> bool:
    if module == "editing":
        return any(one.citations for one in part)
    if asking.contexts == "where needed":
        return not all(one.citations for one in part)
    return asking.contexts == "always"


def _read(text: str, question: Question, split: Split, asking: Asking, options: CiteEvalOptions) -> Words | None:
    """The words about the statements of the question's part; to speak of one outside it is to speak of none."""
    statements = len(split.statements)
    if asking.output == "tags":
        words = read_tags(text, question.module, statements, asking.attribution_tag, options.stops)
    else:
        words = read_json(text, question.module, statements)
    if words is None:
        return None
    own = {one.number for one in question.part}
    outside = {*words.contexts, *words.edits, *words.stars} - own
    return Words(
        contexts={number: said for number, said in words.contexts.items() if number in own},
        edits={number: said for number, said in words.edits.items() if number in own},
        stars={number: said for number, said in words.stars.items() if number in own},
        problems=+(words.problems + Counter({"no such statement": len(outside)})),
    )


def _judged(split: Split, heard: Sequence[tuple[Question, State, Words]]) -> Judged:
    problems: Counter[str] = Counter()
    for one, state, words in heard:
        problems += words.problems
        if state == "read":
            problems["not judged"] += sum(not _spoken_of(own, one.module, words) for own in one.part)
    ended: dict[Module, list[State]] = {
        module: [state for one, state, _ in heard if one.module == module] or ["not asked"] for module in MODULES
    }
    # Parts have no statement in common.
    judged = Judged(
        attribution=_together(ended["attribution"]),
        editing=_together(ended["editing"]),
        contexts={number: said for _, _, words in heard for number, said in words.contexts.items()},
        edits={number: said for _, _, words in heard for number, said in words.edits.items()},
        stars={number: said for _, _, words in heard for number, said in words.stars.items()},
        problems=+problems,
        states=Counter(state for states in ended.values() for state in states),
    )
    return replace(judged, contexts={1: _RESPONSE}) if split.no_answer else judged


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
