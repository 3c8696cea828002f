"""Facts without a model: ALiiCE's claims, one for each citation group of a sentence.

Of ALiiCE's profiles the expanded one makes them: its claims stand alone ("Cups can be made of plastic"), where the
paper's rules leave phrases. A sentence with one citation group or none is one fact, and is not parsed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from metaeval.citation.aliice.claims import MARK, Draft, draft, read
from metaeval.citation.aliice.profile import aliice_profile
from metaeval.citation.aliice.tree import expanded, tree_of
from metaeval.citation.model import Answer
from metaeval.citation.parsers.parse import Parse, Parser
from metaeval.citation.scifi.model import DUPLICATE, AnswerFacts, Fact, ReferenceFacts, ScifiOptions, Segment, Sentence
from metaeval.citation.scifi.sentences import given_facts, has_letter, read_sentences, reference_sentences
from metaeval.citation.sentences import Reading, added, joined, part, whole
from metaeval.corpus.sentences import RULES, SentenceSplitter

PROFILE = aliice_profile("expanded", longest=None)
"""No sentence is too long: one that is not parsed would be one fact, held against the last of its citations alone."""

Made = tuple[str, Segment, str, tuple[int, ...]]
"""A fact's text, segment, the rule that made it, and the places of the citation groups that it was made for."""

_Span = tuple[int, int]
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("‘", "’"))


def with_groups(sentence: Sentence) -> Reading:
    """The sentence with one plain mark for each of its groups, at its place."""
    text, end = whole(sentence.text), 0
    pieces: list[Reading] = []
    for number, group in enumerate(sentence.groups, start=1):
        pieces += [part(text, end, group.at), added(f"[{number}]")]
        end = group.at
    return joined(*pieces, part(text, end, len(sentence.text)))


def claims_in(sentence: Sentence, ready: Draft, parse: Parse) -> list[Made]:
    """The claims of a sentence; ready: made of `with_groups`, parse: of its text.

    A claim's segment runs from the first to the last of the words that no other claim of the sentence has; if it
    shares all of them, of all its words. A claim that ALiiCE falls back to the whole sentence for has no segment found.
    """
    claims = read(ready, parse, PROFILE)
    tree, nodes = tree_of(parse), [node for node, _ in claims.nodes]
    rooted = [node for node in nodes if tree is not None and node in tree]
    words = [expanded(tree, node, [other for other in nodes if other != node]) for node in rooted] if tree else []
    spans = _spans(sentence, ready, parse)
    numbers = iter(range(len(words)))
    made: list[Made] = []
    for stated in claims.claims:
        # A claim's marks are those of `with_groups`, which number them from 1.
        numbers_of = sorted({number for number in stated.citations if 1 <= number <= len(sentence.groups)})
        groups = tuple(sentence.groups[number - 1].at for number in numbers_of)
        if stated.made_by != "tree":
            made.append((sentence.text, Segment(0, len(sentence.text), "sentence"), stated.made_by, groups))
            continue
        own = next(numbers)
        text = _written(sentence.text, words[own], spans) or stated.text
        is_all = _letters(text) == _letters(sentence.text)
        segment = _segment(sentence.text, own, words, spans)
        made.append((sentence.text if is_all else text, segment, "tree", groups))
    return made


def _segment(text: str, claim: int, words: Sequence[Sequence[int]], spans: Sequence[_Span | None]) -> Segment:
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
    places = _places(with_groups(sentence), ready.clean)
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


def _places(marked: Reading, clean: Reading) -> list[int]:
    """Offset in the sentence of each character that the parser is given, white space left out."""
    gone = {place for match in MARK.finditer(clean.text) for place in range(*match.span())}
    return [
        marked.at[clean.at[place]]
        for place, character in enumerate(clean.text)
        if place not in gone and not character.isspace()
    ]


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
