"""Extract the claims of answers: find the marks of sentences, parse these, and cut the claim of each citation group."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Literal

from metaeval.citation.aliice.anaphora import NOTHING, REACH, Prior, SentenceContext, noun_marks, points, resolved
from metaeval.citation.aliice.claim_options import Profile
from metaeval.citation.aliice.dependency_tree import GONE, UNREACHABLE, Tree, as_printed, separated, tree_of
from metaeval.citation.aliice.standalone_claims import ClaimCut, expanded, whole_claim
from metaeval.citation.data_model import Answer, Claim, Mark
from metaeval.citation.marks_and_sentences import LocatedText, find_marks, joined, move_leading, split, whole
from metaeval.citation.parsers.dependency_parsers import Parse, Parser
from metaeval.corpus.sentences import RULES, SentenceSplitter

MARK = re.compile(r"\[(\d{1,18})\]")
"""The only form of mark that the rules read; `in_one_form` rewrites all other marks.

No list of passages needs more digits, and Python refuses to read some longer numbers.
"""
_DELETED = {
    "released": re.compile(r"[^\w\s\[\],]"),
    "light": re.compile(r"(?!(?<=\w)['’.‐‑–-](?=\w))[^\w\s\[\],%$€£]"),
    "markup": re.compile(
        r"\A\s*(?:[-*•–#>]+\s+|\(?\d{1,3}[.)]\s+)+|\*\*|__|(?<!\w)[*_`](?=\S)|(?<=\S)[*_`](?!\w)|[\ud800-\udfff]"
    ),
}
# What the expanded rules leave out of a sentence: marks, with phrases that lead to nothing but a mark ("In [4], ...",
# "as shown in [2]", "the method proposed by [3]"), and white space behind white space.
_UNREAD = re.compile(
    rf"""\A(?:\w+\s)?(?:\w+ed\s)?(?:in|by)\s*(?:{MARK.pattern}\s*)+,\s*
        |(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bwere)(?<!\bbe)(?<!\bbeen)(?<!\balso)
        (?:,?\s+as)?\s+(?:\w+ed|shown|given|seen)\s+(?:in|by)(?=\s*{MARK.pattern})
        |\s*{MARK.pattern}|(?<=\s)\s+""",
    re.VERBOSE | re.IGNORECASE,
)
_PART = re.compile(rf"(?P<mark>{MARK.pattern})|(?P<word>(?:(?!{MARK.pattern})\S)+)")

STANDING = "Paper"
"""The word that the parser reads in place of marks that stand for a noun."""

MarkSpan = tuple[int, int, int]
"""A mark of a sentence: (start, end, cited number), with its offsets in the sentence."""


@dataclass(frozen=True, slots=True)
class CitationGroup:
    """Adjacent citation marks. word: index of the word that they follow; later of the token that they hang on."""

    word: int
    marks: tuple[MarkSpan, ...]

    @property
    def citations(self) -> tuple[int, ...]:
        """Return the numbers of the marks, in order."""
        return tuple(number for _, _, number in self.marks)


def has_mark(text: str) -> bool:
    """Return whether the text holds a citation mark [n]."""
    return MARK.search(text) is not None


def marks_of(reading: LocatedText) -> tuple[MarkSpan, ...]:
    """Return all marks [n] of a cleaned sentence, with their offsets in the sentence before cleaning."""
    return tuple(_mark_span(reading, match) for match in MARK.finditer(reading.text))


def without_marks(sentence: str) -> str:
    """Return the sentence as released ALCE gives it to the NLI model: without marks, " |", and closing brackets."""
    return re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", sentence)).replace(" |", "").replace("]", "")


def words_and_groups(clean: LocatedText, profile: Profile) -> tuple[tuple[str, ...], tuple[CitationGroup, ...]]:
    """Return (words, citation groups) of a cleaned sentence, in order.

    A group belongs to the word before it; at the start of the sentence to the first word (index 0, even if there is no
    word). `merge_groups` decides what happens to two groups of one word.
    """
    words: list[str] = []
    groups: list[CitationGroup] = []
    new_group = True
    for unit in _PART.finditer(clean.text):
        if unit["mark"] is None:
            words.append(unit["word"].strip(string.punctuation) if profile.strip_words else unit["word"])
            new_group = True
            continue
        mark = _mark_span(clean, unit)
        if new_group:
            groups.append(CitationGroup(max(len(words) - 1, 0), (mark,)))
        else:
            groups[-1] = CitationGroup(groups[-1].word, (*groups[-1].marks, mark))
        new_group = False
    return tuple(words), by_word(groups, profile)


def by_word(groups: list[CitationGroup], profile: Profile) -> tuple[CitationGroup, ...]:
    """Return one group per word, in order of first appearance: a word's groups merged, or its last (`merge_groups`)."""
    at: dict[int, CitationGroup] = {}
    for group in groups:
        before = at[group.word].marks if profile.merge_groups and group.word in at else ()
        at[group.word] = CitationGroup(group.word, (*before, *group.marks))
    return tuple(at.values())


def _mark_span(reading: LocatedText, match: re.Match[str]) -> MarkSpan:
    return reading.at[match.start()], reading.at[match.end() - 1] + 1, int(match[0][1:-1])


AppliedRule = tuple[int, int | None, str]
"""(token of the claim's group, token of another group, or None if the first is not in the tree, name of the rule)."""

UNMATCHED = "fallback: citation matches no word of the parse"
UNREACHED = "fallback: citation outside the parse tree"
ROOT_CITED = "fallback: citation on the root"
TOO_LONG = "fallback: sentence too long to parse"


@dataclass(frozen=True, slots=True)
class Stated:
    """A claim of a sentence: its text, its citation marks, and the rule by which it was made (`Claim.made_by`).

    places: indices of its tokens in the parse; empty if the claim is the whole sentence by a fallback or unparsed.
    """

    text: str
    marks: tuple[MarkSpan, ...]
    made_by: str
    places: tuple[int, ...] = field(default=(), compare=False)

    @property
    def citations(self) -> tuple[int, ...]:
        """Return the numbers of the marks, in order."""
        return tuple(number for _, _, number in self.marks)


@dataclass(frozen=True, slots=True)
class PreparedSentence:
    """A sentence prepared for the parser. clean: without what disturbs the parser. words, groups: of `clean`.

    text: what the parser reads; None if the claims (`stated`) need no parse. located: the same text with its offsets in
    the sentence, under the expanded rules alone. names: of marks in place of a noun, by their offset in the sentence.
    """

    sentence: str
    clean: LocatedText
    words: tuple[str, ...] = ()
    groups: tuple[CitationGroup, ...] = ()
    text: str | None = None
    stated: tuple[Stated, ...] = ()
    located: LocatedText | None = None
    names: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SentenceClaims:
    """The claims of one sentence.

    kind: "fallback" where the whole sentence is the only claim, because it was not parsed or its tree not used. nodes:
    (token index, cited numbers) of each group. lost: cited numbers of each group without a claim. trace: the positional
    rules that were applied, in order.
    """

    sentence: str
    claims: tuple[Stated, ...]
    kind: Literal["claims", "fallback"]
    nodes: tuple[tuple[int, tuple[int, ...]], ...] = ()
    lost: tuple[tuple[int, ...], ...] = ()
    trace: tuple[AppliedRule, ...] = ()


def read_sentences(
    sentences: Sequence[str], parser: Parser, profile: Profile, contexts: Sequence[SentenceContext] = ()
) -> list[SentenceClaims]:
    """Return the claims of every sentence, in order; equal texts are parsed once, all in one batch.

    contexts: of each sentence, for the expanded rules (empty: none). A sentence of a context that the parser does not
    know, and those before it, give no names.
    """
    around = contexts or [NOTHING] * len(sentences)
    drafts = [draft(sentence, profile, each.titles) for sentence, each in zip(sentences, around, strict=True)]
    before = [_before(each, context, profile) for each, context in zip(drafts, around, strict=True)]
    texts = dict.fromkeys(each.text for each in drafts if each.text is not None)
    texts |= dict.fromkeys(each.text for prior in before for each in prior if each.text and parser.knows(each.text))
    parses = dict(zip(texts, parser.parse(list(texts)), strict=True))
    return [
        SentenceClaims(each.sentence, each.stated, "fallback")
        if each.text is None
        else read(each, parses[each.text], profile, _priors(prior, parses))
        for each, prior in zip(drafts, before, strict=True)
    ]


def _before(ready: PreparedSentence, context: SentenceContext, profile: Profile) -> list[PreparedSentence]:
    """Return the (at most 3) sentences before one, the nearest first; empty unless its words can point to them."""
    if ready.located is None or not points(ready.located.text):
        return []
    return [_located(sentence, profile, context.titles) for sentence in context.before[: -REACH - 1 : -1]]


def _priors(before: Sequence[PreparedSentence], parses: Mapping[str, Parse]) -> list[Prior]:
    priors: list[Prior] = []
    for each in before:
        parse = parses.get(each.text or "")
        tree = None if parse is None else tree_of(parse)
        if parse is None or tree is None or each.located is None:
            break
        priors.append((tree, partial(_written, each.located.text, parse, _names(each, parse))))
    return priors


def draft(sentence: str, profile: Profile, titles: Sequence[str] = ()) -> PreparedSentence:
    """Return a sentence prepared for the parser, or with its claim if it has no mark or is too long to parse.

    titles: of the answer's passages, which name marks in place of a noun.
    """
    as_is = whole(sentence)
    if not has_mark(sentence):
        return PreparedSentence(sentence, as_is, stated=(Stated(sentence, (), "sentence"),))
    if profile.longest is not None and len(sentence.split()) > profile.longest:
        return PreparedSentence(sentence, as_is, stated=(Stated(without_marks(sentence), marks_of(as_is), TOO_LONG),))
    if profile.rules == "expanded":
        ready = _located(sentence, profile, titles)
        text = ready.text or ""
        if profile.longest is not None and len(re.findall(r"\w+", text)) > 2 * profile.longest:
            return replace(ready, text=None, stated=(Stated(text, marks_of(ready.clean), TOO_LONG),))
        return ready
    clean = as_is.without([match.span() for match in _DELETED[profile.cleaning].finditer(sentence)])
    words, groups = words_and_groups(clean, profile)
    return PreparedSentence(sentence, clean, words, groups, " ".join(words))


def _located(sentence: str, profile: Profile, titles: Sequence[str]) -> PreparedSentence:
    """Return a sentence prepared for the expanded rules: without marks, and `STANDING` where they stand for a noun."""
    clean = whole(sentence).without([match.span() for match in _DELETED[profile.cleaning].finditer(sentence)])
    words, groups = words_and_groups(clean, profile)
    names: dict[int, str] = {}
    pieces, end = list[LocatedText](), 0
    for start, stop, mark, name in noun_marks(clean.text, titles):
        names[clean.at[mark]] = name
        pieces += [clean.part(end, start), LocatedText(STANDING, (clean.at[mark],) * len(STANDING))]
        end = stop
    named = joined(*pieces, clean.part(end, len(clean.text)))
    located = named.without(match.span() for match in _UNREAD.finditer(named.text)).stripped()
    return PreparedSentence(sentence, clean, words, groups, located.text, located=located, names=names)


def read(ready: PreparedSentence, parse: Parse, profile: Profile, priors: Sequence[Prior] = ()) -> SentenceClaims:
    """Return the claims of a prepared sentence, given the parse of its text; priors: see `resolved`."""
    if ready.located is not None:
        return _read_expanded(ready, ready.located, parse, profile, priors)
    if profile.hangs_on == "offset":
        places = _nodes_by_offset(ready, parse)
    else:
        places = [_node_of(group, ready.words, parse) for group in ready.groups]
    unmatched = [group for group, place in zip(ready.groups, places, strict=True) if place is None]
    if unmatched and profile.lost_group == "lost":
        lost = tuple(group.citations for group in ready.groups)
        return SentenceClaims(ready.sentence, (Stated(ready.clean.text, (), UNMATCHED),), "fallback", lost=lost)
    matched = zip(ready.groups, places, strict=True)
    nodes = by_word([CitationGroup(place, group.marks) for group, place in matched if place is not None], profile)
    at = tuple((node.word, node.citations) for node in nodes)
    tree, sentence = tree_of(parse), without_marks(ready.clean.text)
    glued = _glued(parse, ready.text or "") if profile.spacing == "written" else frozenset[int]()
    if profile.cited_root == "sentence" and tree is not None and any(tree.root == node for node, _ in at):
        claims = (Stated(sentence, marks_of(ready.clean), ROOT_CITED),)
        return SentenceClaims(ready.sentence, claims, "fallback", at)
    trace: list[AppliedRule] = []
    stated: list[Stated] = []
    lost_groups: list[tuple[int, ...]] = []
    for node in nodes:
        if tree is not None and node.word in tree:
            kept = _claim_of(tree, node.word, [place for place, _ in at], profile, trace)
            stated.append(Stated(_text(parse, kept, glued), node.marks, "tree", kept))
            continue
        trace.append((node.word, None, UNREACHABLE))
        if profile.lost_group == "sentence":
            stated.append(Stated(sentence, node.marks, UNREACHED))
        else:
            lost_groups.append(node.citations)
    stated.extend(Stated(sentence, group.marks, UNMATCHED) for group in unmatched)
    settled = {each.text: each for each in stated}.values() if profile.key == "text" else stated
    return SentenceClaims(ready.sentence, tuple(settled), "claims", at, tuple(lost_groups), tuple(trace))


def _read_expanded(
    ready: PreparedSentence, located: LocatedText, parse: Parse, profile: Profile, priors: Sequence[Prior]
) -> SentenceClaims:
    """Return the claims of a sentence by the expanded rules (see `expanded`), spelt as in the sentence."""
    starts = [start for start, _ in token_starts(parse, located.text)]
    names, tree = _names(ready, parse), tree_of(parse)
    nodes = by_word(_token_groups(ready, located, parse, starts), profile)
    names |= {} if tree is None else resolved(tree, priors)
    stated: list[Stated] = []
    for node in nodes:
        others = [each.word for each in nodes if each.word != node.word]
        if tree is None or node.word not in tree:
            cut = ClaimCut((), UNREACHED.removeprefix("fallback: "))
        else:
            cut = expanded(tree, node.word, others) if others else ClaimCut(whole_claim(tree))
        fault = cut.fault or (others and _torn(parse, starts, cut.places))
        places = range(len(parse.tokens)) if fault else cut.places
        text = _written(located.text, parse, {**names, **cut.words}, places) if places else located.text
        stated.append(Stated(text, node.marks, f"fallback: {fault}" if fault else "tree", () if fault else cut.places))
    at = tuple((node.word, node.citations) for node in nodes)
    return SentenceClaims(ready.sentence, tuple(stated), "claims", at)


def _token_groups(
    ready: PreparedSentence, located: LocatedText, parse: Parse, starts: Sequence[int]
) -> list[CitationGroup]:
    """Return each group with its token: the last word before it, or, if it stands for a noun, before the next group."""
    words = [place for place, token in enumerate(parse.tokens) if starts[place] >= 0 and re.search(r"\w", token)]
    hanging: list[CitationGroup] = []
    for number, group in enumerate(ready.groups):
        end = group.marks[0][0]
        if end in ready.names:
            end = ready.groups[number + 1].marks[0][0] if number + 1 < len(ready.groups) else len(ready.sentence)
        before = [place for place in words if located.at[starts[place]] < end]
        while end != group.marks[0][0] and len(before) > 1 and parse.labels[before[-1]] in ("cc", "mark"):
            before.pop()
        hanging.append(CitationGroup((before or words or [0])[-1 if before else 0], group.marks))
    return hanging


def _names(ready: PreparedSentence, parse: Parse) -> dict[int, str]:
    """Return the names of marks in place of a noun, by the index of the token that stands for each."""
    at = ready.located.at if ready.located is not None else ()
    starts = enumerate(start for start, _ in token_starts(parse, ready.text or ""))
    return {place: ready.names[at[start]] for place, start in starts if start >= 0 and at[start] in ready.names}


def _torn(parse: Parse, starts: Sequence[int], places: Sequence[int]) -> str:
    """Return a fault if the tokens at `places` hold only a part of a word, such as one side of a hyphen; else empty."""
    kept = set(places)
    for place in range(1, len(starts)):
        joined = starts[place] == starts[place - 1] + len(parse.tokens[place - 1])
        sides = parse.tokens[place - 1] + parse.tokens[place]
        if joined and (place in kept) != (place - 1 in kept) and not re.search(r"[^\w\s'’/%-]", sides):
            return "a word is cut"
    return ""


def _written(text: str, parse: Parse, names: Mapping[int, str], places: Sequence[int]) -> str:
    """Return the tokens at these indices with the text's own spacing; across a gap, a space, but for closing signs.

    names: what is written for a token, by index; empty for a token that is left out.
    """
    written, last, starts = "", -1, [start for start, _ in token_starts(parse, text)]
    for place in places:
        if names.get(place) == "":
            last += last == place - 1
            continue
        follows = last >= 0 and last == place - 1 and min(starts[place - 1], starts[place]) >= 0
        between = text[starts[place - 1] + len(parse.tokens[place - 1]) : starts[place]] if follows else " "
        glued = last < 0 or (not follows and parse.tokens[place] in ",;:)]}”’")
        written += ("" if glued else between) + names.get(place, parse.tokens[place])
        last = place
    return written


def _node_of(group: CitationGroup, words: tuple[str, ...], parse: Parse) -> int | None:
    """Return the index of the nearest token that holds a group's word or is held by it; the first of two; else None."""
    if group.word >= len(words):
        return None
    word = words[group.word]
    matches = (place for place, token in enumerate(parse.tokens) if word in token or token in word)
    return min(matches, key=lambda place: abs(place - group.word), default=None)


def _nodes_by_offset(ready: PreparedSentence, parse: Parse) -> list[int | None]:
    """Return, for each group, the index of the last token of its word, punctuation left out; None without a token."""
    starts = zip(token_starts(parse, ready.text or ""), parse.tokens, strict=True)
    spans = [(start, start + len(token) if start >= 0 else start) for (start, _), token in starts]
    ends = list(accumulate(len(word) + 1 for word in ready.words))
    places: list[int | None] = []
    for group in ready.groups:
        end = ends[group.word] - 1 if ends else 0
        start = end - len(ready.words[group.word]) if ends else 0
        tokens = [place for place, (first, last) in enumerate(spans) if first < end and last > start]
        while tokens and tokens[-1] > 0 and not re.search(r"\w", parse.tokens[tokens[-1]]):
            tokens.append(tokens[-1] - 1)
        places.append(tokens[-1] if tokens else None)
    return places


def _claim_of(tree: Tree, i: int, nodes: Sequence[int], profile: Profile, trace: list[AppliedRule]) -> tuple[int, ...]:
    """Return the token indices of node i's claim, without what belongs to the claims of the other `nodes`.

    trace: an output, to which the rules that were applied are appended.
    """
    others = [node for node in nodes if node != i]
    for j in others:
        if j not in tree:
            trace.append((i, j, GONE))
            continue
        step = as_printed(tree, i, j) if profile.rules == "algorithm" else separated(tree, i, j, profile.replace_root)
        tree, rule = step
        trace.append((i, j, rule))
    return tree.subtree(tree.root)


def _text(parse: Parse, places: Sequence[int], glued: frozenset[int]) -> str:
    """Return the tokens at these indices joined by spaces; none before `glued` ones behind a neighbour, or commas."""
    written = ""
    for at, place in enumerate(places):
        follows = places[at - 1] == place - 1 or parse.tokens[place] == ","
        written += ("" if not at or (follows and place in glued) else " ") + parse.tokens[place]
    return written


def _glued(parse: Parse, text: str) -> frozenset[int]:
    """Return the indices of the tokens that follow the one before without white space in `text`, and of all commas."""
    starts = enumerate(token_starts(parse, text))
    return frozenset(place for place, (start, before) in starts if start == before or parse.tokens[place] == ",")


def token_starts(parse: Parse, text: str) -> list[tuple[int, int]]:
    """Return, for each token, its start in the text (-1 if not found) and the end of the token before it (0: none)."""
    starts, end = [], 0
    for token in parse.tokens:
        start = text.find(token, end)
        starts.append((start, end))
        end = max(start, end) + len(token)
    return starts


@dataclass(frozen=True, slots=True)
class AnswerClaims:
    """An answer with its claims. sentences: with marks moved (`Profile.leading`) and rewritten as [n]."""

    answer: Answer
    sentences: tuple[SentenceClaims, ...]
    claims: tuple[Claim, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts of the sentences, with their marks."""
        return tuple(sentence.sentence for sentence in self.sentences)


def read_answers(
    answers: Sequence[Answer], parser: Parser, profile: Profile, splitter: SentenceSplitter = RULES
) -> list[AnswerClaims]:
    """Return the claims of every answer, in order."""
    split_up: list[list[LocatedText]] = []
    for answer in answers:
        moved = move_leading(split(in_one_form(answer, profile), splitter), profile.leading, profile.styles)
        split_up.append([each for each in moved if profile.emptied == "keep" or each.text.strip()])
    texts = [[each.text for each in sentences] for sentences in split_up]
    contexts = [each for answer, parts in zip(answers, texts, strict=True) for each in contexts_of(answer, parts)]
    read = iter(read_sentences([text for each in texts for text in each], parser, profile, contexts))
    answer_claims = []
    for answer, sentences in zip(answers, split_up, strict=True):
        answer_sentences = tuple(next(read) for _ in sentences)
        claims = tuple(
            _cited(stated, sentence, number)
            for number, (sentence, stated_there) in enumerate(zip(sentences, answer_sentences, strict=True), start=1)
            for stated in stated_there.claims
        )
        answer_claims.append(AnswerClaims(answer, answer_sentences, claims))
    return answer_claims


def contexts_of(answer: Answer, sentences: Sequence[str]) -> list[SentenceContext]:
    """Return the context of each of an answer's sentences: the passages' titles, and up to 3 sentences before."""
    titles = tuple(passage.title for passage in answer.passages)
    return [
        SentenceContext(titles, tuple(sentences[max(0, number - REACH) : number])) for number in range(len(sentences))
    ]


def in_one_form(answer: Answer, profile: Profile) -> LocatedText:
    """Return the answer with each mark that the profile reads rewritten as [n], from 1 on (lower numbers as [0])."""
    text = whole(answer.text)
    pieces: list[LocatedText] = []
    end = 0
    for mark in find_marks(answer.text, profile.styles, answer.first):
        bracket = answer.text[mark.start : mark.end]
        if mark.number is None or (answer.first == 1 and MARK.fullmatch(bracket)):
            continue
        if mark.start >= end:
            pieces.append(text.part(end, mark.start))
        written = f"[{max(mark.number, 0)}]"
        pieces.append(LocatedText(written, (mark.start,) + (mark.end - 1,) * (len(written) - 1)))
        end = mark.end
    return joined(*pieces, text.part(end, len(answer.text)))


def _cited(stated: Stated, sentence: LocatedText, number: int) -> Claim:
    marks = tuple(Mark(sentence.at[start], sentence.at[end - 1] + 1, cited) for start, end, cited in stated.marks)
    return Claim(stated.text, marks, number, *sentence.span(), stated.made_by)
