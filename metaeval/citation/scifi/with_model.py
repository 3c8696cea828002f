"""Facts by a chat model, as in the paper: a sentence is decomposed, then each fact is found again in it.

One request for each sentence, of answers and of references; then, where the answer matters, one for each fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metaeval.citation.chat import ChatOptions
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.scifi.model import (
    DEFAULTS,
    DUPLICATE,
    LEFT_OUT,
    AnswerFacts,
    Fact,
    ReferenceFacts,
    ScifiOptions,
    Segment,
    Sentence,
)
from metaeval.citation.scifi.sentences import (
    find_segment,
    given_facts,
    has_letter,
    read_sentences,
    reference_sentences,
    without_marks,
)
from metaeval.citation.scifi.with_parser import PROFILE
from metaeval.citation.sentences import cited_spans
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.llm.exchange import (
    Ask,
    ChatRequest,
    Prompt,
    object_schema,
    quoted,
    read_answer,
    read_object,
    read_prompt,
    response_format,
)

_FACTS = response_format("facts", object_schema(facts={"type": "array", "items": {"type": "string"}}))
_ANY_FACTS = object_schema(facts={"type": "array", "items": {}})  # entries are judged one by one
_SEGMENT = object_schema(segment={"type": "string"})


@dataclass(frozen=True)
class Heard:
    """The facts of a reply, each on one line; problems: the entries that are none, by kind."""

    facts: tuple[str, ...]
    problems: Counter[str] = field(default_factory=Counter)


def fact_prompts(options: ScifiOptions) -> dict[str, Prompt]:
    """The prompts "decomposition" and "mapping": the project's own, or the files that were named.

    Raises `UserError` when one cannot be read or lacks a place.
    """
    own = Path(__file__).parent / "prompts"
    return {
        "decomposition": read_prompt(options.decomposition_file or own / "decomposition.txt", ("sentence",)),
        "mapping": read_prompt(options.mapping_file or own / "mapping.txt", ("sentence", "fact")),
    }


def decomposition_request(sentence: str, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Which facts does a sentence state?"""
    return chat.request(prompt.fill(sentence=quoted(sentence)), _FACTS)


def mapping_request(sentence: str, fact: str, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Which stretch of the sentence states the fact?"""
    return chat.request(prompt.fill(sentence=quoted(sentence), fact=quoted(fact)), response_format("segment", _SEGMENT))


def read_facts(text: str, options: ScifiOptions = DEFAULTS) -> Heard | None:
    """The facts of a reply; None for a text that is not of the form that was asked for, whatever it says.

    An entry that is no string, states nothing (no letter), holds a citation mark, which no sentence had that was asked
    about, or says again what another one says, is counted and not read. With the option `marks=kept` sentences had
    some, and they are cut out of the facts.
    """
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


_Pair = tuple[str, str]
"""A sentence and one of its facts."""


@dataclass(frozen=True)
class _Material:
    """An answer's sentences. seen: each as the model sees it; None for one that states nothing, and is not asked about.

    given: the facts that its reference has; reference: else the sentences to make them of.
    """

    answer: Answer
    sentences: tuple[Sentence, ...]
    seen: tuple[str | None, ...]
    given: tuple[str, ...] | None
    reference: tuple[str, ...] | None


def requests_for(
    answers: Sequence[Answer], options: ScifiOptions, chat: ChatOptions, splitter: SentenceSplitter = RULES
) -> list[ChatRequest]:
    """What `read_with_model` asks first: each sentence of the answers and references, equal ones once.

    What it asks then depends on the replies: one request for each fact of a sentence with several citation groups.
    """
    prompt = fact_prompts(options)["decomposition"]
    texts = _texts([_material(answer, options, splitter) for answer in answers])
    return [decomposition_request(text, prompt, chat) for text in texts]


def read_with_model(
    answers: Sequence[Answer],
    options: ScifiOptions,
    ask: Ask,
    chat: ChatOptions,
    splitter: SentenceSplitter = RULES,
) -> list[AnswerFacts]:
    """The sentences and facts of every answer, and the facts of its reference; `ask` is called at most twice.

    A sentence whose reply gives no fact is in `AnswerFacts.lost`. A fact whose segment no usable reply names has a
    `trouble`; one whose segment was named and is not found counts as the option `unmapped` says.
    """
    read = [_material(answer, options, splitter) for answer in answers]
    first, second = fact_prompts(options).values()
    texts = _texts(read)
    replies = ask([decomposition_request(text, first, chat) for text in texts]) if texts else ()
    heard: dict[str, tuple[Heard, str]] = {}
    for text, reply in zip(texts, replies, strict=True):
        found, state = read_answer(reply, lambda own: read_facts(own, options))
        heard[text] = (found, "" if found.facts else "unparsed") if found else (Heard(()), state)
    material = [
        (sentence, seen) for one in read for sentence, seen in zip(one.sentences, one.seen, strict=True) if seen
    ]
    asked = ((seen, fact) for one, seen in material if _is_asked(one, options) for fact in heard[seen][0].facts)
    pairs = list(dict.fromkeys(asked))
    replies = ask([mapping_request(*pair, second, chat) for pair in pairs]) if pairs else ()
    segments = {pair: read_answer(reply, read_segment) for pair, reply in zip(pairs, replies, strict=True)}
    return [_answer_facts(one, heard, segments, options) for one in read]


def _material(answer: Answer, options: ScifiOptions, splitter: SentenceSplitter) -> _Material:
    given = given_facts(answer)
    reference = None if given is not None else reference_sentences(answer, options, splitter)
    sentences = read_sentences(answer, options, splitter)
    as_seen = [one.text if options.marks == "removed" else answer.text[one.start : one.end] for one in sentences]
    seen = tuple(text if has_letter(one.text) else None for one, text in zip(sentences, as_seen, strict=True))
    return _Material(answer, sentences, seen, given, reference)


def _texts(read: Sequence[_Material]) -> list[str]:
    """The texts to decompose, each once."""
    return list(dict.fromkeys(text for one in read for text in (*one.seen, *(one.reference or ())) if text is not None))


def _is_asked(sentence: Sentence, options: ScifiOptions) -> bool:
    return options.map_all or len(sentence.groups) > 1


def _answer_facts(
    one: _Material,
    heard: Mapping[str, tuple[Heard, str]],
    said: Mapping[_Pair, tuple[str | None, str]],
    options: ScifiOptions,
) -> AnswerFacts:
    facts: list[Fact] = []
    lost: dict[int, str] = {}
    problems: Counter[str] = Counter()
    for sentence, seen in zip(one.sentences, one.seen, strict=True):
        if seen is None:
            continue
        found, reason = heard[seen]
        problems += found.problems
        if reason:
            lost[sentence.number] = reason
        for text in found.facts:
            segment, trouble = _segment(sentence, said.get((seen, text)), options)
            if trouble:
                problems[f"segment: {trouble}"] += 1
            if segment is None:
                problems[LEFT_OUT] += 1
            else:
                facts.append(Fact(len(facts) + 1, text, sentence.number, segment, "model", trouble))
    reference = _reference(one, heard, problems)
    return AnswerFacts(one.answer, one.sentences, tuple(facts), lost, reference, problems)


def _segment(
    sentence: Sentence, said: tuple[str | None, str] | None, options: ScifiOptions
) -> tuple[Segment | None, str]:
    if said is None or not _is_asked(sentence, options):
        return Segment(0, len(sentence.text), "not asked"), ""
    text, trouble = said
    if text is None:
        return Segment(0, len(sentence.text), "no reply"), trouble
    return find_segment(
        sentence.text, text if options.marks == "removed" else without_marks(text, options), options
    ), ""


def _reference(one: _Material, heard: Mapping[str, tuple[Heard, str]], problems: Counter[str]) -> ReferenceFacts | None:
    """The reference's facts; what was wrong in the replies about it goes into `problems`."""
    if one.given is not None:
        return ReferenceFacts(one.given)
    if one.reference is None:
        return None
    replies = [heard[text] for text in one.reference]
    for found, _ in replies:
        problems.update({f"reference: {kind}": times for kind, times in found.problems.items()})
    return ReferenceFacts(
        tuple(fact for found, _ in replies for fact in found.facts), sum(bool(reason) for _, reason in replies)
    )


def facts_signature(options: ScifiOptions, parser: Parser | None = None, chat: ChatOptions | None = None) -> str:
    """What the facts depend on beside the options' own signature and the splitter.

    Raises ValueError unless exactly one of parser and chat is given, and `UserError` for a prompt that cannot be read.
    """
    if parser is not None and chat is None:
        return f"aliice claims, profile {PROFILE.signature}, parser {parser.name}"
    if parser is not None or chat is None:
        raise ValueError("facts are made by a parser or by a chat model: give one of the two")
    settings = ", ".join(f"{name}={value}" for name, value in chat.identity().items())
    wordings = ", ".join(
        f"{name}={'file' if getattr(options, f'{name}_file') else 'own'}@{prompt.fingerprint}"
        for name, prompt in fact_prompts(options).items()
    )
    return f"{settings}, {wordings}"
