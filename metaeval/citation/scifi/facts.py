"""Facts of sentences, by a chat model or by a parser.

As in the paper a model decomposes a sentence, then finds each fact again in it: one request for each sentence, of
answers and of references; then, where the answer matters, one for each fact.

Without a model facts are ALiiCE's claims, one for each citation group of a sentence, by the expanded profile: its
claims stand alone ("Cups can be made of plastic"), where the paper's rules leave phrases. A sentence with one citation
group or none is one fact, and is not parsed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from metaeval.citation.aliice.claims import MARK, Draft, draft, read
from metaeval.citation.aliice.profile import aliice_profile
from metaeval.citation.chat import ChatOptions
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import Parse, Parser
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
    find_segment,
    given_facts,
    has_letter,
    read_sentences,
    reference_sentences,
    without_marks,
)
from metaeval.citation.sentences import LocatedText, added, cited_spans, joined, whole
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.llm.exchange import Ask, ChatRequest, Prompt, quoted, read_answer, read_object, read_prompt, reply_form

PROFILE = aliice_profile("expanded", longest=None)
"""No sentence is too long: one that is not parsed would be one fact, held against the last of its citations alone."""

Made = tuple[str, Segment, str, tuple[int, ...]]
"""A fact's text, segment, the rule that made it, and the places of the citation groups that it was made for."""

_Span = tuple[int, int]
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("‘", "’"))


def with_groups(sentence: Sentence) -> LocatedText:
    """The sentence with one plain mark for each of its groups, at its place."""
    text, end = whole(sentence.text), 0
    pieces: list[LocatedText] = []
    for number, group in enumerate(sentence.groups, start=1):
        pieces += [text.part(end, group.at), added(f"[{number}]")]
        end = group.at
    return joined(*pieces, text.part(end, len(sentence.text)))


def claims_in(sentence: Sentence, ready: Draft, parse: Parse) -> list[Made]:
    """The claims of a sentence; ready: made of `with_groups`, parse: of its text.

    A claim's segment runs from the first to the last of the words that no other claim of the sentence has; if it
    shares all of them, of all its words. A claim that ALiiCE falls back to the whole sentence for has no segment found.
    """
    claims, spans = read(ready, parse, PROFILE).claims, _spans(sentence, ready, parse)
    words = [stated.places for stated in claims if stated.made_by == "tree"]
    numbers = iter(range(len(words)))
    made: list[Made] = []
    for stated in claims:
        # A claim's marks are those of `with_groups`, which number them from 1.
        numbers_of = sorted({number for number in stated.citations if 1 <= number <= len(sentence.groups)})
        groups = tuple(sentence.groups[number - 1].at for number in numbers_of)
        if stated.made_by != "tree":
            made.append((sentence.text, Segment(0, len(sentence.text), "sentence"), stated.made_by, groups))
            continue
        own = next(numbers)
        text = _written(sentence.text, words[own], spans) or stated.text
        is_all = _letters(text) == _letters(sentence.text)
        segment = _claim_segment(sentence.text, own, words, spans)
        made.append((sentence.text if is_all else text, segment, "tree", groups))
    return made


def _claim_segment(text: str, claim: int, words: Sequence[Sequence[int]], spans: Sequence[_Span | None]) -> Segment:
    others = {word for other, own in enumerate(words) if other != claim for word in own}
    for wanted in ([word for word in words[claim] if word not in others], words[claim]):
        found = [one for one in (spans[word] for word in wanted) if one is not None]
        if found:
            return Segment(*_closed(text, min(found)[0], max(end for _, end in found)), "verbatim")
    return Segment(0, len(text), "sentence")


def _written(text: str, words: Sequence[int], spans: Sequence[_Span | None]) -> str:
    """The claim's words as the sentence writes them: each run of neighbours is one stretch of it."""
    runs: list[list[int]] = []
    for word in words:
        if runs and runs[-1][-1] == word - 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    found = [[span for word in run if (span := spans[word]) is not None] for run in runs]
    stretches = (_closed(text, own[0][0], own[-1][1]) for own in found if own)
    return " ".join(" ".join(text[start:end] for start, end in stretches).split())


def _closed(text: str, start: int, end: int) -> _Span:
    """The stretch with the bracket or quotation mark right beside it that another one inside it calls for."""
    inside = text[start:end]
    for opening, closing in _PAIRS:
        missing = inside.count(opening) - inside.count(closing)
        if missing > 0 and text[end : end + 1] == closing:
            return start, end + 1
        if missing < 0 and start and text[start - 1] == opening:
            return start - 1, end
    return start, end


def _spans(sentence: Sentence, ready: Draft, parse: Parse) -> list[_Span | None]:
    """Offsets of each token in the sentence; None for one without a letter or digit.

    Where the parser's tokens are not the text's own, as stored parses can be, no token has any.
    """
    at = with_groups(sentence).at
    clean = ready.clean.without([match.span() for match in MARK.finditer(ready.clean.text)])
    places = [at[own] for own, character in zip(clean.at, clean.text, strict=True) if not character.isspace()]
    text = "".join((ready.text or "").split())
    spans: list[_Span | None] = []
    end = 0
    for token in parse.tokens:
        letters = "".join(token.split())
        start = text.find(letters, end)
        if start < 0 or len(places) != len(text):
            return [None] * len(parse.tokens)
        end = start + len(letters)
        is_word = any(character.isalnum() for character in letters)
        spans.append((places[start], places[end - 1] + 1) if is_word else None)
    return spans


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum()).casefold()


def read_with_parser(
    answers: Sequence[Answer], options: ScifiOptions, parser: Parser, splitter: SentenceSplitter = RULES
) -> list[AnswerFacts]:
    """The sentences and facts of every answer, and the facts of its reference; the parser is called once.

    parser: made with `PROFILE.one_root`, as in `find_parser("small", PROFILE.one_root)`.
    """
    sentences = [read_sentences(answer, options, splitter) for answer in answers]
    drafts = {
        (place, one.number): draft(with_groups(one).text, PROFILE)
        for place, own in enumerate(sentences)
        for one in own
        if len(one.groups) > 1 and has_letter(one.text)
    }
    texts = list(dict.fromkeys(each.text for each in drafts.values() if each.text is not None))
    parses = dict(zip(texts, parser.parse(texts) if texts else [], strict=True))
    found = []
    for place, (answer, own) in enumerate(zip(answers, sentences, strict=True)):
        facts: list[Fact] = []
        problems: Counter[str] = Counter()
        for sentence in own:
            ready = drafts.get((place, sentence.number))
            if ready is None or ready.text is None:
                groups = tuple(group.at for group in sentence.groups) if len(sentence.groups) == 1 else ()
                made = [(sentence.text, Segment(0, len(sentence.text), "verbatim"), "sentence", groups)]
            else:
                made = claims_in(sentence, ready, parses[ready.text])
            _add_facts(sentence, made, facts, problems)
        said = given_facts(answer) or reference_sentences(answer, options, splitter)
        reference = None if said is None else ReferenceFacts(said)
        found.append(AnswerFacts(answer, own, tuple(facts), reference=reference, problems=problems))
    return found


def _add_facts(sentence: Sentence, made: Sequence[Made], facts: list[Fact], problems: Counter[str]) -> None:
    seen: dict[str, int] = {}
    for text, segment, rule, groups in made:
        if text.casefold() in seen:
            # A fact is judged once; which groups it was cut out for is not forgotten.
            problems[DUPLICATE] += 1
            place = seen[text.casefold()]
            facts[place] = replace(facts[place], own=tuple(sorted({*facts[place].own, *groups})))
        elif has_letter(text):
            seen[text.casefold()] = len(facts)
            facts.append(Fact(len(facts) + 1, text, sentence.number, segment, rule, own=groups))


_FACTS = reply_form("facts", facts={"type": "array", "items": {"type": "string"}})
_SEGMENT = reply_form("segment", segment={"type": "string"})


@dataclass(frozen=True)
class Heard:
    """The facts of a reply, each on one line; problems: the entries that are none, by kind."""

    facts: tuple[str, ...]
    problems: Counter[str] = field(default_factory=Counter)


PROMPTS = Path(__file__).parent / "prompts"
"""The project's own prompts, by name."""


def fact_prompts(options: ScifiOptions) -> dict[str, Prompt]:
    """The prompts "decomposition" and "mapping": the project's own, or the files that were named.

    Raises `UserError` when one cannot be read or lacks a place.
    """
    return {
        "decomposition": read_prompt(options.decomposition_file or PROMPTS / "decomposition.txt", ("sentence",)),
        "mapping": read_prompt(options.mapping_file or PROMPTS / "mapping.txt", ("sentence", "fact")),
    }


def decomposition_request(sentence: str, prompt: Prompt, chat: ChatOptions) -> ChatRequest:
    """Which facts does a sentence state?"""
    return chat.request(prompt.fill(sentence=quoted(sentence)), _FACTS)


def read_facts(text: str, options: ScifiOptions = DEFAULTS) -> Heard | None:
    """The facts of a reply; None for a text that is not of the form that was asked for, whatever it says.

    An entry that is no string, states nothing (no letter), holds a citation mark, which no sentence had that was asked
    about, or says again what another one says, is counted and not read. With the option `marks=kept` sentences had
    some, and they are cut out of the facts.
    """
    body = read_object(text, _FACTS, any_entries=True)
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
    answers: Sequence[Answer], options: ScifiOptions, ask: Ask, chat: ChatOptions, splitter: SentenceSplitter = RULES
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
    # Which stretch of the sentence states the fact?
    contents = [second.fill(sentence=quoted(sentence), fact=quoted(fact)) for sentence, fact in pairs]
    replies = ask([chat.request(content, _SEGMENT) for content in contents]) if pairs else ()
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
