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
from dataclasses import dataclass, field, replace
from pathlib import Path

from metaeval.citation.aliice.claims import token_starts
from metaeval.citation.chat_models import ChatOptions, chat_request
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import LocatedText, added, cited_spans, joined, whole
from metaeval.citation.parsers.dependency_parsers import Parse, Parser
from metaeval.citation.scifi.data_model import (
    DUPLICATE,
    AnswerFacts,
    Fact,
    ReferenceFacts,
    ScifiOptions,
    Segment,
    Sentence,
    find_segment,
    given_facts,
    has_letter,
    read_sentences,
    reference_sentences,
)
from metaeval.citation.scifi.parser_claims import ParserSentence, claims_of, prepared
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.llm.messages import Ask, ChatRequest, Prompt, quoted, read_answer, read_object, read_prompt, reply_form

FactDraft = tuple[str, Segment, str, tuple[int, ...]]
"""A fact's text, segment, the rule that made it, and the places of the citation groups that it was made for."""

_Span = tuple[int, int]
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("‘", "’"))


def with_groups(sentence: Sentence) -> LocatedText:
    """Return the sentence with marks [1], [2] ... inserted, one for each of its citation groups, at its offset."""
    text, end = whole(sentence.text), 0
    pieces: list[LocatedText] = []
    for number, group in enumerate(sentence.groups, start=1):
        pieces += [text.part(end, group.at), added(f"[{number}]")]
        end = group.at
    return joined(*pieces, text.part(end, len(sentence.text)))


def claims_in(sentence: Sentence, ready: ParserSentence, parse: Parse) -> list[FactDraft]:
    """Return the claims of a sentence as facts. ready: prepared from `with_groups` of the sentence. parse: of its text.

    A claim's segment runs from the first to the last of the words that no other claim of the sentence has; if it
    shares all its words, of all. Where the claim is the whole sentence by a fallback, the segment counts as not found,
    and is the sentence.
    """
    claims, spans = claims_of(ready, parse), _spans(sentence, ready, parse)
    words = [stated.places for stated in claims if stated.made_by == "tree"]
    numbers = iter(range(len(words)))
    facts: list[FactDraft] = []
    for stated in claims:
        # A claim's marks are those of `with_groups`, which number them from 1.
        numbers_of = sorted({number for number in stated.citations if 1 <= number <= len(sentence.groups)})
        groups = tuple(sentence.groups[number - 1].at for number in numbers_of)
        if stated.made_by != "tree":
            facts.append((sentence.text, Segment(0, len(sentence.text), "sentence"), stated.made_by, groups))
            continue
        claim = next(numbers)
        is_all = _letters(stated.text) == _letters(sentence.text)
        segment = _claim_segment(sentence.text, claim, words, spans)
        facts.append((sentence.text if is_all else stated.text, segment, "tree", groups))
    return facts


def _claim_segment(text: str, claim: int, words: Sequence[Sequence[int]], spans: Sequence[_Span | None]) -> Segment:
    others = {word for other, claim_words in enumerate(words) if other != claim for word in claim_words}
    for wanted in ([word for word in words[claim] if word not in others], words[claim]):
        known_spans = [span for span in (spans[word] for word in wanted) if span is not None]
        if known_spans:
            return Segment(*_closed(text, min(known_spans)[0], max(end for _, end in known_spans)), "verbatim")
    return Segment(0, len(text), "sentence")


def _closed(text: str, start: int, end: int) -> _Span:
    """Return a stretch of text, extended by an adjacent bracket or quotation mark that matches one inside it."""
    inside = text[start:end]
    for opening, closing in _PAIRS:
        missing = inside.count(opening) - inside.count(closing)
        if missing > 0 and text[end : end + 1] == closing:
            return start, end + 1
        if missing < 0 and start and text[start - 1] == opening:
            return start - 1, end
    return start, end


def _spans(sentence: Sentence, ready: ParserSentence, parse: Parse) -> list[_Span | None]:
    """Return the offsets of each token in the sentence; None for a token without a letter or digit.

    Where the parser's tokens differ from the text, as those of stored parses can, all are None.
    """
    at = with_groups(sentence).at
    text = ready.located
    starts = [start for start, _ in token_starts(parse, text.text)]
    if min(starts, default=0) < 0:
        return [None] * len(starts)
    return [
        (at[text.at[start]], at[text.at[start + len(token) - 1]] + 1)
        if any(map(str.isalnum, token)) and at[text.at[start]] >= 0
        else None
        for start, token in zip(starts, parse.tokens, strict=True)
    ]


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum()).casefold()


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
        if len(sentence.groups) > 1 and has_letter(sentence.text)
    }
    texts = list(dict.fromkeys(each.located.text for each in drafts.values()))
    parses = dict(zip(texts, parser.parse(texts) if texts else [], strict=True))
    answer_facts = []
    for place, (answer, answer_sentences) in enumerate(zip(answers, sentences, strict=True)):
        facts: list[Fact] = []
        problems: Counter[str] = Counter()
        for sentence in answer_sentences:
            ready = drafts.get((place, sentence.number))
            if ready is None:
                groups = tuple(group.at for group in sentence.groups) if len(sentence.groups) == 1 else ()
                claims = [(sentence.text, Segment(0, len(sentence.text), "verbatim"), "sentence", groups)]
            else:
                claims = claims_in(sentence, ready, parses[ready.located.text])
            _add_facts(sentence, claims, facts, problems)
        reference_texts = given_facts(answer) or reference_sentences(answer, splitter)
        reference = None if reference_texts is None else ReferenceFacts(reference_texts)
        answer_facts.append(AnswerFacts(answer, answer_sentences, tuple(facts), reference=reference, problems=problems))
    return answer_facts


def _add_facts(sentence: Sentence, drafts: Sequence[FactDraft], facts: list[Fact], problems: Counter[str]) -> None:
    seen: dict[str, int] = {}
    for text, segment, rule, groups in drafts:
        if text.casefold() in seen:
            # A fact is judged once, and keeps the groups of all its claims.
            problems[DUPLICATE] += 1
            place = seen[text.casefold()]
            facts[place] = replace(facts[place], group_places=tuple(sorted({*facts[place].group_places, *groups})))
        elif has_letter(text):
            seen[text.casefold()] = len(facts)
            facts.append(Fact(len(facts) + 1, text, sentence.number, segment, rule, group_places=groups))


_FACTS = reply_form("facts", facts={"type": "array", "items": {"type": "string"}})
_SEGMENT = reply_form("segment", segment={"type": "string"})


@dataclass(frozen=True)
class ReplyFacts:
    """The facts of a reply, each on one line.

    problems: the number of unusable entries, by kind. trouble: why there are no facts; empty where there are some.
    """

    facts: tuple[str, ...]
    problems: Counter[str] = field(default_factory=Counter)
    trouble: str = ""


PROMPTS = Path(__file__).parent / "prompts"
"""The project's own prompts, by name."""


_PLACES: Mapping[str, tuple[str, ...]] = {"decomposition": ("sentence",), "mapping": ("sentence", "fact")}


def fact_prompts(options: ScifiOptions, chat: ChatOptions | None = None) -> dict[str, Prompt]:
    """Return the prompts "decomposition" and "mapping": the project's, or those of the options' files.

    Raises `UserError` when one cannot be read or lacks a place.
    """
    ending = "-text.txt" if is_plain(chat) else ".txt"
    return {
        name: read_prompt(getattr(options, f"{name}_file") or PROMPTS / f"{name}{ending}", places)
        for name, places in _PLACES.items()
    }


def is_plain(chat: ChatOptions | None) -> bool:
    """Return whether replies of the chat model are plain text (output=text); False without a model."""
    return chat is not None and chat.output == "text"


def fact_request(prompt: Prompt, chat: ChatOptions, **texts: str) -> ChatRequest:
    """Return the request for the facts of a sentence or, if `texts` has a fact, for the fact's segment.

    texts: by name (sentence, fact), the texts for the prompt's places; they are filled in as JSON strings or, where
    replies are plain text, as they are.
    """
    if is_plain(chat):
        return chat_request(chat, prompt.fill(**{name: " ".join(text.split()) for name, text in texts.items()}))
    form = _SEGMENT if "fact" in texts else _FACTS
    return chat_request(chat, prompt.fill(**{name: quoted(text) for name, text in texts.items()}), form)


_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)])\s+(.*)")
_CUE = re.compile(r"\s*(?:segment|question)\s*:", re.IGNORECASE)
_MARKS = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}


def read_listed(text: str) -> ReplyFacts | None:
    """Return the facts of a plain reply by the rule "items": each line with a bullet or a number is a fact.

    A reply of one line is one fact, with or without a bullet. Other lines of a list are counted and left out; a reply
    of several lines without a bullet cannot be read (None). Facts are then checked as in `read_facts`.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    items = [match[1] for line in lines if (match := _ITEM.fullmatch(line))]
    if not items and len(lines) == 1:
        items = lines
    if not items:
        return None
    problems = Counter({"line that is not a list item": len(lines) - len(items)})
    return _checked(items, +problems)


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
        elif not has_letter(fact):
            problems["fact without a letter"] += 1
        elif cited_spans(fact):
            problems["fact with a citation mark"] += 1
        elif fact.casefold() in facts:
            problems[DUPLICATE] += 1
        else:
            facts[fact.casefold()] = fact
    if not entries:
        problems["empty list of facts"] += 1
    return ReplyFacts(tuple(facts.values()), problems, "" if facts else "unparsed")


def read_segment(text: str) -> str | None:
    """Return the segment of a reply; None for a text that does not have the requested form, or an empty segment."""
    body = read_object(text, _SEGMENT)
    return body["segment"] if body and body["segment"].strip() else None


_Pair = tuple[str, str]
"""A sentence and one of its facts."""


@dataclass(frozen=True)
class _Material:
    """The texts of an answer of which facts are needed.

    sentences: those with a letter are sent to the model. reference_facts: facts of the reference that are known;
    reference_sentences: otherwise the reference's sentences to decompose. None for both: there is no reference.
    """

    answer: Answer
    sentences: tuple[Sentence, ...]
    reference_facts: tuple[str, ...] | None
    reference_sentences: tuple[str, ...] | None


def requests_for(
    answers: Sequence[Answer], options: ScifiOptions, chat: ChatOptions, splitter: SentenceSplitter = RULES
) -> list[ChatRequest]:
    """Return the first requests of `read_with_model`: one for each distinct sentence of the answers and references.

    The requests after that depend on the replies: one for each fact of a sentence with several citation groups.
    """
    prompt = fact_prompts(options, chat)["decomposition"]
    texts = _texts([_material(answer, options, splitter) for answer in answers])
    return [fact_request(prompt, chat, sentence=text) for text in texts]


def read_with_model(
    answers: Sequence[Answer], options: ScifiOptions, ask: Ask, chat: ChatOptions, splitter: SentenceSplitter = RULES
) -> list[AnswerFacts]:
    """Return the sentences and facts of every answer, and the facts of its reference, made by a chat model.

    ask: sends requests and returns replies; it is called at most twice. A sentence whose reply has no facts is in
    `AnswerFacts.lost`. A fact whose segment no usable reply names has a `trouble`.
    """
    read = [_material(answer, options, splitter) for answer in answers]
    first, second = fact_prompts(options, chat).values()
    listed, located = (read_listed, read_line) if is_plain(chat) else (read_facts, read_segment)
    texts = _texts(read)
    replies = ask([fact_request(first, chat, sentence=text) for text in texts]) if texts else ()
    facts_of: dict[str, ReplyFacts] = {}
    for text, reply in zip(texts, replies, strict=True):
        facts, state = read_answer(reply, listed)
        facts_of[text] = facts or ReplyFacts((), trouble=state)
    pairs: dict[_Pair, None] = {}
    for material in read:
        for sentence in material.sentences:
            if has_letter(sentence.text) and _is_asked(sentence, options):
                pairs |= dict.fromkeys((sentence.text, fact) for fact in facts_of[sentence.text].facts)
    replies = ask([fact_request(second, chat, sentence=text, fact=fact) for text, fact in pairs]) if pairs else ()
    segments = {pair: read_answer(reply, located) for pair, reply in zip(pairs, replies, strict=True)}
    return [_answer_facts(material, facts_of, segments, options) for material in read]


def _material(answer: Answer, options: ScifiOptions, splitter: SentenceSplitter) -> _Material:
    reference_facts = given_facts(answer)
    reference = None if reference_facts is not None else reference_sentences(answer, splitter)
    if options.coverage_over == "sentences":
        reference_facts, reference = reference_facts or reference, None
    return _Material(answer, read_sentences(answer, splitter), reference_facts, reference)


def _texts(read: Sequence[_Material]) -> list[str]:
    """Return the distinct texts to decompose: sentences of answers and references."""
    texts: dict[str, None] = {}
    for material in read:
        texts |= dict.fromkeys(sentence.text for sentence in material.sentences if has_letter(sentence.text))
        texts |= dict.fromkeys(material.reference_sentences or ())
    return list(texts)


def _is_asked(sentence: Sentence, options: ScifiOptions) -> bool:
    return options.reach == "answer" or len(sentence.groups) > 1


def _answer_facts(
    material: _Material,
    facts_of: Mapping[str, ReplyFacts],
    segments: Mapping[_Pair, tuple[str | None, str]],
    options: ScifiOptions,
) -> AnswerFacts:
    facts: list[Fact] = []
    lost: dict[int, str] = {}
    problems: Counter[str] = Counter()
    for sentence in material.sentences:
        if not has_letter(sentence.text):
            continue
        reply = facts_of[sentence.text]
        problems += reply.problems
        if reply.trouble:
            lost[sentence.number] = reply.trouble
        for text in reply.facts:
            segment, trouble = _segment(sentence, segments.get((sentence.text, text)), options)
            if trouble:
                problems[f"segment: {trouble}"] += 1
            facts.append(Fact(len(facts) + 1, text, sentence.number, segment, "model", trouble))
    reference = _reference(material, facts_of, problems)
    return AnswerFacts(material.answer, material.sentences, tuple(facts), lost, reference, problems)


def _segment(sentence: Sentence, reply: tuple[str | None, str] | None, options: ScifiOptions) -> tuple[Segment, str]:
    if reply is None or not _is_asked(sentence, options):
        return Segment(0, len(sentence.text), "not asked"), ""
    text, trouble = reply
    if text is None:
        return Segment(0, len(sentence.text), "no reply"), trouble
    return find_segment(sentence.text, text), ""


def _reference(
    material: _Material, facts_of: Mapping[str, ReplyFacts], problems: Counter[str]
) -> ReferenceFacts | None:
    """Return the facts of an answer's reference, or None; problems of the replies about it are added to `problems`."""
    if material.reference_facts is not None:
        return ReferenceFacts(material.reference_facts)
    if material.reference_sentences is None:
        return None
    replies = [facts_of[text] for text in material.reference_sentences]
    for reply in replies:
        problems.update({f"reference: {kind}": times for kind, times in reply.problems.items()})
    facts = tuple(fact for reply in replies for fact in reply.facts)
    return ReferenceFacts(facts, sum(bool(reply.trouble) for reply in replies))


def facts_signature(options: ScifiOptions, maker: Parser | ChatOptions) -> str:
    """Return, for signatures, a text of what facts depend on apart from the options and the splitter.

    maker: the parser or the chat model that makes the facts. Raises `UserError` for a prompt that cannot be read.
    """
    if isinstance(maker, Parser):
        return f"claims that stand alone, parser {maker.name}"
    settings = ", ".join(f"{name}={value}" for name, value in maker.identity().items())
    wordings = ", ".join(
        f"{name}={'file' if getattr(options, f'{name}_file') else 'own'}@{prompt.fingerprint}"
        for name, prompt in fact_prompts(options, maker).items()
    )
    rules = ", read by the rules items and line" if is_plain(maker) else ""
    return f"{settings}, {wordings}{rules}"
