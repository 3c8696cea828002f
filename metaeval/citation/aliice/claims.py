"""Extract the claims of answers: find the marks of sentences, parse these, and cut the claim of each citation group."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from metaeval.citation.aliice.claim_options import AliiceProfile
from metaeval.citation.aliice.dependency_tree import GONE, UNREACHABLE, separated, tree_of
from metaeval.citation.data_model import Answer, Claim, Mark
from metaeval.citation.marks_and_sentences import (
    LocatedText,
    find_marks,
    joined,
    leading_in,
    move_leading,
    reading_of,
    split,
    states,
    whole,
)
from metaeval.citation.parsers.dependency_parsers import Parse, Parser
from metaeval.corpus.sentences import RULES, SentenceSplitter

# The only form of mark that the rules read; `in_one_form` rewrites all other marks.
#
# No list of passages needs more digits, and Python refuses to read some longer numbers.
MARK = re.compile(r"\[(\d{1,18})\]")
_DELETED = re.compile(r"[^\w\s\[\],]")  # characters that the parser and the metric never see: 3.5% becomes 35
_LONGEST = 50  # words of a sentence that is parsed
_MOST = 5_000  # characters of one: the time of spaCy's tokenizer is quadratic in those of a word
PART = re.compile(rf"(?P<mark>{MARK.pattern})|(?P<word>(?:(?!{MARK.pattern})\S)+)")

MarkSpan = tuple[int, int, int]  # a mark of a sentence: (start, end, cited number), with its offsets in the sentence


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


def letters_of(text: str) -> str:
    """Return the case-folded letters and digits of a text, which cleaning and spacing do not change."""
    return re.sub(r"[\W_]+", "", text).casefold()


def marks_of(reading: LocatedText) -> tuple[MarkSpan, ...]:
    """Return all marks [n] of a cleaned sentence, with their offsets in the sentence before cleaning."""
    at = reading.at
    return tuple((at[m.start()], at[m.end() - 1] + 1, int(m[1])) for m in MARK.finditer(reading.text))


def without_marks(sentence: str) -> str:
    """Return the sentence as released ALCE gives it to the NLI model: without marks, " |", and closing brackets."""
    return re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", sentence)).replace(" |", "").replace("]", "")


def words_and_groups(clean: LocatedText, profile: AliiceProfile) -> tuple[tuple[str, ...], tuple[CitationGroup, ...]]:
    """Return (words, citation groups) of a cleaned sentence, in order.

    A group belongs to the word before it; at the start of the sentence to the first word (index 0, even if there is no
    word). `merge_groups` decides what happens to two groups of one word.
    """
    words: list[str] = []
    groups: list[CitationGroup] = []
    marks, new_group = iter(marks_of(clean)), True
    for unit in PART.finditer(clean.text):
        if unit["mark"] is None:
            words.append(unit["word"].strip(string.punctuation) if profile.strip_words else unit["word"])
            new_group = True
            continue
        mark = next(marks)
        if new_group:
            groups.append(CitationGroup(max(len(words) - 1, 0), (mark,)))
        else:
            groups[-1] = CitationGroup(groups[-1].word, (*groups[-1].marks, mark))
        new_group = False
    return tuple(words), by_word(groups, profile)


def by_word(groups: list[CitationGroup], profile: AliiceProfile) -> tuple[CitationGroup, ...]:
    """Return one group per word, in order of first appearance: a word's groups merged, or its last (`merge_groups`)."""
    at: dict[int, CitationGroup] = {}
    for group in groups:
        before = at[group.word].marks if profile.merge_groups and group.word in at else ()
        at[group.word] = CitationGroup(group.word, (*before, *group.marks))
    return tuple(at.values())


# (token of the claim's group, token of another group, or None if the first is not in the tree, name of the rule).
AppliedRule = tuple[int, int | None, str]

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

    text: what the parser reads; None if the claims (`stated`) need no parse.
    """

    sentence: str
    clean: LocatedText
    words: tuple[str, ...] = ()
    groups: tuple[CitationGroup, ...] = ()
    text: str | None = None
    stated: tuple[Stated, ...] = ()


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


def read_sentences(sentences: Sequence[str], parser: Parser, profile: AliiceProfile) -> list[SentenceClaims]:
    """Return the claims of every sentence, in order; equal texts are parsed once, all in one batch."""
    drafts = [draft(sentence, profile) for sentence in sentences]
    texts = dict.fromkeys(each.text for each in drafts if each.text is not None)
    parses = dict(zip(texts, parser.parse(list(texts)), strict=True))
    return [
        SentenceClaims(each.sentence, each.stated, "fallback")
        if each.text is None
        else read(each, parses[each.text], profile)
        for each in drafts
    ]


def draft(sentence: str, profile: AliiceProfile) -> PreparedSentence:
    """Return a sentence prepared for the parser, or with its claim if it has no mark or is too long to parse."""
    as_is = whole(sentence)
    if not has_mark(sentence):
        return PreparedSentence(sentence, as_is, stated=(Stated(sentence, (), "sentence"),))
    if len(sentence) > _MOST or len(sentence.split()) > _LONGEST:
        return PreparedSentence(sentence, as_is, stated=(Stated(without_marks(sentence), marks_of(as_is), TOO_LONG),))
    clean = as_is.without([match.span() for match in _DELETED.finditer(sentence)])
    words, groups = words_and_groups(clean, profile)
    return PreparedSentence(sentence, clean, words, groups, " ".join(words))


def read(ready: PreparedSentence, parse: Parse, profile: AliiceProfile) -> SentenceClaims:
    """Return the claims of a prepared sentence, given the parse of its text."""
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
    if profile.cited_root == "sentence" and tree is not None and any(tree.root == node for node, _ in at):
        claims = (Stated(sentence, marks_of(ready.clean), ROOT_CITED),)
        return SentenceClaims(ready.sentence, claims, "fallback", at)
    trace: list[AppliedRule] = []
    stated: list[Stated] = []
    lost_groups: list[tuple[int, ...]] = []
    for node in nodes:
        if tree is not None and node.word in tree:
            # The tree without what belongs to the claims of the other nodes.
            cut = tree
            for j in [place for place, _ in at if place != node.word]:
                rule = GONE
                if j in cut:
                    cut, rule = separated(cut, node.word, j, profile.replace_root)
                trace.append((node.word, j, rule))
            kept = cut.subtree(cut.root)
            stated.append(Stated(" ".join(parse.tokens[place] for place in kept), node.marks, "tree", kept))
            continue
        trace.append((node.word, None, UNREACHABLE))
        if profile.lost_group == "sentence":
            stated.append(Stated(sentence, node.marks, UNREACHED))
        else:
            lost_groups.append(node.citations)
    stated.extend(Stated(sentence, group.marks, UNMATCHED) for group in unmatched)
    settled = {each.text: each for each in stated}.values() if profile.key == "text" else stated
    return SentenceClaims(ready.sentence, tuple(settled), "claims", at, tuple(lost_groups), tuple(trace))


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
    answers: Sequence[Answer], parser: Parser, profile: AliiceProfile, splitter: SentenceSplitter = RULES
) -> list[AnswerClaims]:
    """Return the claims of every answer, in order."""
    split_up: list[list[LocatedText]] = []
    for answer in answers:
        text = in_one_form(answer, profile)
        moved = move_leading(split(text, splitter), leading_in(text, profile.leading), profile.styles)
        keep = profile.emptied == "keep"
        split_up.append([each for each in moved if keep or states(MARK.sub("", each.text), has_mark(each.text))])
    texts = [[each.text for each in sentences] for sentences in split_up]
    read = iter(read_sentences([text for each in texts for text in each], parser, profile))
    answer_claims = []
    for answer, sentences in zip(answers, split_up, strict=True):
        answer_sentences = tuple(next(read) for _ in sentences)
        claims: list[Claim] = []
        for number, (sentence, of) in enumerate(zip(sentences, answer_sentences, strict=True), start=1):
            for stated in of.claims:
                spans = ((sentence.at[start], sentence.at[end - 1] + 1, cited) for start, end, cited in stated.marks)
                marks = tuple(Mark(*span) for span in spans)
                claims.append(Claim(stated.text, marks, number, *sentence.span(), stated.made_by))
        answer_claims.append(AnswerClaims(answer, answer_sentences, tuple(claims)))
    return answer_claims


def in_one_form(answer: Answer, profile: AliiceProfile) -> LocatedText:
    """Return the answer with each mark that the profile reads rewritten as [n], from 1 on (lower numbers as [0])."""
    text = reading_of(answer)
    pieces: list[LocatedText] = []
    end = 0
    for mark in find_marks(text.text, profile.styles, answer.first):
        bracket = text.text[mark.start : mark.end]
        if mark.number is None or (answer.first == 1 and MARK.fullmatch(bracket)):
            continue
        pieces.append(text.part(end, mark.start))  # empty where one bracket holds several marks
        written = f"[{max(mark.number, 0)}]"
        pieces.append(LocatedText(written, (text.at[mark.start],) + (text.at[mark.end - 1],) * (len(written) - 1)))
        end = mark.end
    return joined(*pieces, text.part(end, len(text.text)))
