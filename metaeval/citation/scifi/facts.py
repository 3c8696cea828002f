"""Facts of sentences, by a chat model or by a parser.

As in the paper a model decomposes a sentence, then finds each fact again in it: one request for each sentence of
answers and references, then one for each fact of a sentence with several citation groups.

Without a model facts are claims that stand alone ("Cups can be made of plastic"), one for each citation group of a
sentence, cut out of its dependency tree. A sentence with one citation group or none is one fact, and is not parsed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.citation.chat_models import ChatOptions, chat_request
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import cited_spans, states
from metaeval.citation.parsers.dependency_parsers import Parser
from metaeval.citation.scifi.data_model import (
    AnswerFacts,
    Fact,
    ScifiOptions,
    Segment,
    find_segment,
    read_sentences,
    reference_texts,
)
from metaeval.citation.scifi.parser_claims import claims_in, prepared, with_groups
from metaeval.core.errors import UserError
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.llm.messages import Ask, ChatRequest, Prompt, quoted, read_answer, read_object, read_prompt, reply_form

# In `AnswerFacts.problems`: the number of facts that repeat another of their sentence; they count once.
DUPLICATE = "duplicate fact"


def read_with_parser(
    answers: Sequence[Answer], parser: Parser, splitter: SentenceSplitter = RULES
) -> list[AnswerFacts]:
    """Return the sentences and facts of every answer, and the facts of its reference, with one call of the parser.

    Facts of a reference are those that the file gives, or else its sentences.

    parser: made to parse what it sees as one sentence, as in `find_parser("small")`.
    """
    sentences = [read_sentences(answer, splitter) for answer in answers]
    drafts = {
        (place, sentence.number): prepared(with_groups(sentence).text)
        for place, answer_sentences in enumerate(sentences)
        for sentence in answer_sentences
        if len(sentence.groups) > 1 and states(sentence.text)
    }
    texts = list(dict.fromkeys(read.text for read, *_ in drafts.values()))
    parses = dict(zip(texts, parser.parse(texts) if texts else [], strict=True))
    answer_facts = []
    for place, (answer, answer_sentences) in enumerate(zip(answers, sentences, strict=True)):
        facts: list[Fact] = []
        problems: Counter[str] = Counter()
        for sentence in answer_sentences:
            ready = drafts.get((place, sentence.number))
            claims: list[tuple[str, Segment, str]] = [(sentence.text, (0, len(sentence.text), "verbatim"), "sentence")]
            if ready is not None:
                claims = claims_in(sentence, ready, parses[ready[0].text])
            seen: set[str] = set()
            for text, segment, rule in claims:
                if text.casefold() in seen:
                    problems[DUPLICATE] += 1
                elif states(text):
                    seen.add(text.casefold())
                    facts.append(Fact(len(facts) + 1, text, sentence.number, segment, rule))
        reference, _ = reference_texts(answer, splitter)
        answer_facts.append(AnswerFacts(answer, answer_sentences, tuple(facts), reference=reference, problems=problems))
    return answer_facts


_FACTS = reply_form("facts", facts={"type": "array", "items": {"type": "string"}})
_SEGMENT = reply_form("segment", segment={"type": "string"})

PROMPTS = Path(__file__).parent / "prompts"

_PLACES: Mapping[str, tuple[str, ...]] = {"decomposition": ("sentence",), "mapping": ("sentence", "fact")}


def fact_prompts(options: ScifiOptions, chat: ChatOptions) -> dict[str, Prompt]:
    """Return the prompts "decomposition" and "mapping": the project's, or those in the options' folder.

    Raises `UserError` when one cannot be read or lacks a place, and for a folder without any.
    """
    user = {name: options.prompts / f"{name}.txt" for name in _PLACES} if options.prompts else {}
    if user and not any(path.is_file() for path in user.values()):
        raise UserError(f"prompts={options.prompts} holds no decomposition.txt or mapping.txt: name another folder.")
    ending = "-text.txt" if chat.output == "text" else ".txt"
    return {
        name: read_prompt(user[name] if name in user and user[name].is_file() else PROMPTS / f"{name}{ending}", places)
        for name, places in _PLACES.items()
    }


def fact_request(prompt: Prompt, chat: ChatOptions, **texts: str) -> ChatRequest:
    """Return the request for the facts of a sentence or, if `texts` has a fact, for the fact's segment.

    texts: by name (sentence, fact), the texts for the prompt's places; they are filled in as JSON strings or, where
    replies are plain text (output=text), as they are.
    """
    if chat.output == "text":
        return chat_request(chat, prompt.fill(**{name: " ".join(text.split()) for name, text in texts.items()}))
    form = _SEGMENT if "fact" in texts else _FACTS
    return chat_request(chat, prompt.fill(**{name: quoted(text) for name, text in texts.items()}), form)


_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)])\s+(.*)")
_CUE = re.compile(r"\s*(?:facts?|segment|question)\s*:", re.IGNORECASE)
_MARKS = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}


# The facts of a reply, each on one line, and the number of its unusable entries, by kind.
ReplyFacts = tuple[tuple[str, ...], Counter[str]]


def read_listed(text: str) -> ReplyFacts | None:
    """Return the facts of a plain reply by the rule "items": each line with a bullet or a number is a fact.

    A reply of one line is one fact, with or without a bullet or the cue "Facts:". Other lines of a list are counted and
    left out; a reply of several lines without a bullet cannot be read (None). Facts are then checked as in
    `read_facts`.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    items = [match[1] for line in lines if (match := _ITEM.fullmatch(line))]
    if not items and len(lines) == 1:
        items = [_CUE.sub("", lines[0], count=1)]
    problems = Counter({"line that is not a list item": len(lines) - len(items)})
    return _checked(items, +problems) if items else None


def read_line(text: str) -> str | None:
    """Return the segment of a plain reply by the rule "line": the only line, without a cue and quotation marks.

    None for a reply of no line or several. The cue is "Segment:" or "Question:", with which the prompt may end.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 1:
        return None
    wording = _CUE.sub("", lines[0], count=1).strip()
    if len(wording) > 1 and _MARKS.get(wording[0]) == wording[-1]:
        wording = wording[1:-1].strip()
    return wording or None


def read_facts(text: str) -> ReplyFacts | None:
    """Return the facts of a reply; None for a text that does not have the requested form.

    An entry is counted as a problem and not read if it is not a string, has no letter, has a citation mark (the
    sentences in requests have none), or repeats another entry.
    """
    body = read_object(text, _FACTS, any_entries=True)
    return None if body is None else _checked(body["facts"], Counter())


def _checked(entries: Sequence[object], problems: Counter[str]) -> ReplyFacts:
    facts: dict[str, str] = {}
    for entry in entries:
        fact = " ".join(entry.split()) if isinstance(entry, str) else None
        if fact is None:
            problems["fact out of schema"] += 1
        elif not states(fact):
            problems["fact without a letter"] += 1
        elif cited_spans(fact):
            problems["fact with a citation mark"] += 1
        elif fact.casefold() in facts:
            problems[DUPLICATE] += 1
        else:
            facts[fact.casefold()] = fact
    if not entries:
        problems["empty list of facts"] += 1
    return tuple(facts.values()), problems


def read_segment(text: str) -> str | None:
    """Return the segment of a reply; None for a text that does not have the requested form, or an empty segment."""
    body = read_object(text, _SEGMENT)
    return body["segment"] if body and body["segment"].strip() else None


def requests_for(
    answers: Sequence[Answer], options: ScifiOptions, chat: ChatOptions, splitter: SentenceSplitter = RULES
) -> list[ChatRequest]:
    """Return the first requests of `read_with_model`: one for each distinct sentence of the answers and references.

    References whose facts the file gives need none. The requests after that depend on the replies: one for each fact of
    a sentence with several citation groups.
    """
    prompt = fact_prompts(options, chat)["decomposition"]
    return [fact_request(prompt, chat, sentence=text) for text in _texts(answers, splitter)]


def _texts(answers: Sequence[Answer], splitter: SentenceSplitter) -> list[str]:
    texts: dict[str, None] = {}
    for answer in answers:
        reference, has_facts = reference_texts(answer, splitter)
        texts |= dict.fromkeys(each.text for each in read_sentences(answer, splitter) if states(each.text))
        texts |= dict.fromkeys((not has_facts and reference) or ())
    return list(texts)


def read_with_model(
    answers: Sequence[Answer], options: ScifiOptions, ask: Ask, chat: ChatOptions, splitter: SentenceSplitter = RULES
) -> list[AnswerFacts]:
    """Return the sentences and facts of every answer, and the facts of its reference, made by a chat model.

    ask: sends requests and returns replies; it is called at most twice. A sentence whose reply has no facts is in
    `AnswerFacts.lost`. A fact whose segment no usable reply names has a `trouble`.
    """
    first, second = fact_prompts(options, chat).values()
    listed, located = (read_listed, read_line) if chat.output == "text" else (read_facts, read_segment)
    texts = _texts(answers, splitter)
    replies = ask([fact_request(first, chat, sentence=text) for text in texts]) if texts else ()
    # The facts of each text, the problems of its reply, and why there are no facts.
    facts_of: dict[str, tuple[tuple[str, ...], Counter[str], str]] = {}
    for text, reply in zip(texts, replies, strict=True):
        read, state = read_answer(reply, listed)
        fact_texts, counted = read or ((), Counter[str]())
        facts_of[text] = fact_texts, counted, "" if fact_texts else "unparsed" if read else state
    sentences = [read_sentences(answer, splitter) for answer in answers]
    # Where a sentence has one citation group or none, its facts' segments cannot matter.
    pairs = dict.fromkeys(
        (sentence.text, fact)
        for answer_sentences in sentences
        for sentence in answer_sentences
        if states(sentence.text) and len(sentence.groups) > 1
        for fact in facts_of[sentence.text][0]
    )
    replies = ask([fact_request(second, chat, sentence=text, fact=fact) for text, fact in pairs]) if pairs else ()
    wordings = {pair: read_answer(reply, located) for pair, reply in zip(pairs, replies, strict=True)}
    answers_facts = []
    for answer, answer_sentences in zip(answers, sentences, strict=True):
        facts: list[Fact] = []
        lost: dict[int, str] = {}
        problems: Counter[str] = Counter()
        for sentence in answer_sentences:
            if not states(sentence.text):
                continue
            fact_texts, counted, trouble = facts_of[sentence.text]
            problems += counted
            if trouble:
                lost[sentence.number] = trouble
            for text in fact_texts:
                segment: Segment = (0, len(sentence.text), "not asked")
                trouble = ""
                if len(sentence.groups) > 1:
                    wording, state = wordings[sentence.text, text]
                    if wording is not None:
                        segment = find_segment(sentence.text, wording)
                    else:
                        segment, trouble = (0, len(sentence.text), "no reply"), state
                        problems[f"segment: {state}"] += 1
                facts.append(Fact(len(facts) + 1, text, sentence.number, segment, "model", trouble))
        reference, has_facts = reference_texts(answer, splitter)
        lost_reference = 0
        if reference is not None and not has_facts:
            decomposed = [facts_of[text] for text in reference]
            reference = tuple(fact for fact_texts, *_ in decomposed for fact in fact_texts)
            lost_reference = sum(bool(trouble) for *_, trouble in decomposed)
            for _, counted, _ in decomposed:
                problems.update({f"reference: {kind}": times for kind, times in counted.items()})
        answers_facts.append(
            AnswerFacts(answer, answer_sentences, tuple(facts), lost, reference, lost_reference, problems)
        )
    return answers_facts


def facts_signature(options: ScifiOptions, maker: Parser | ChatOptions) -> str:
    """Return, for signatures, a text of what facts depend on apart from the options and the splitter.

    maker: the parser or the chat model that makes the facts. Raises `UserError` for a prompt that cannot be read.
    """
    if isinstance(maker, Parser):
        return f"claims that stand alone, parser {maker.name}"
    settings = ", ".join(f"{name}={value}" for name, value in maker.identity().items())
    wordings = ", ".join(f"{name}@{prompt.fingerprint}" for name, prompt in fact_prompts(options, maker).items())
    rules = ", read by the rules items and line" if maker.output == "text" else ""
    return f"{settings}, {wordings}{rules}"
