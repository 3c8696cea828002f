"""The two questions to a chat model: which facts a sentence states, and where in it a fact stands."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.marks import cited_spans
from metaeval.citation.scifi.model import DUPLICATE
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.sentences import has_letter, without_marks
from metaeval.llm.exchange import ChatRequest, Prompt, object_schema, read_object, read_prompt, response_format

_OWN = Path(__file__).parent / "prompts"
_FACTS = response_format("facts", object_schema(facts={"type": "array", "items": {"type": "string"}}))
_ANY_FACTS = object_schema(facts={"type": "array", "items": {}})  # entries are judged one by one
_SEGMENT = object_schema(segment={"type": "string"})


@dataclass(frozen=True)
class Heard:
    """The facts of a reply, each on one line; problems: the entries that are none, by kind."""

    facts: tuple[str, ...]
    problems: Counter[str] = field(default_factory=Counter)


def decomposition_prompt(options: ScifiOptions) -> Prompt:
    """The project's own prompt, or the file that was named; `UserError` when it cannot be read or lacks a place."""
    return read_prompt(options.decomposition_file or _OWN / "decomposition.txt", ("sentence",))


def mapping_prompt(options: ScifiOptions) -> Prompt:
    """The project's own prompt, or the file that was named; `UserError` when it cannot be read or lacks a place."""
    return read_prompt(options.mapping_file or _OWN / "mapping.txt", ("sentence", "fact"))


def decomposition_request(sentence: str, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Which facts does a sentence state?"""
    return chat.request(prompt.fill(sentence=_quoted(sentence)), _FACTS)


def mapping_request(sentence: str, fact: str, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Which stretch of the sentence states the fact?"""
    return chat.request(
        prompt.fill(sentence=_quoted(sentence), fact=_quoted(fact)), response_format("segment", _SEGMENT)
    )


def read_facts(text: str, options: ScifiOptions | None = None) -> Heard | None:
    """The facts of a reply; None for a text that is not of the form that was asked for, whatever it says.

    An entry that is no string, states nothing (no letter), holds a citation mark, which no sentence had that was asked
    about, or says again what another one says, is counted and not read. With the option `marks=kept` sentences had
    some, and they are cut out of the facts.
    """
    options = options or ScifiOptions()
    body = read_object(text, _ANY_FACTS)
    if body is None:
        return None
    problems: Counter[str] = Counter()
    facts: dict[str, str] = {}
    for entry in body["facts"]:
        fact = " ".join(entry.split()) if isinstance(entry, str) else None
        if fact is not None and options.marks == "kept":
            fact = without_marks(fact, options)
        if fact is None:
            problems["fact out of schema"] += 1
        elif not has_letter(fact):
            problems["fact without a letter"] += 1
        elif cited_spans(fact):
            problems["fact with a citation mark"] += 1
        elif fact.casefold() in facts:
            problems[DUPLICATE] += 1
        else:
            facts[fact.casefold()] = fact
    if not body["facts"]:
        problems["empty list of facts"] += 1
    return Heard(tuple(facts.values()), problems)


def read_segment(text: str) -> str | None:
    """The segment of a reply; None for a text that is not of the form that was asked for, or names none."""
    body = read_object(text, _SEGMENT)
    return body["segment"] if body and body["segment"].strip() else None


def _quoted(text: str) -> str:
    # As a JSON string, no text can end before its end and go on as an instruction.
    return json.dumps(text, ensure_ascii=False)
