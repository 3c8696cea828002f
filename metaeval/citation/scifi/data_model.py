"""SCiFi's options, one for every choice that the paper leaves open; its records (sentences, facts, segments); and
the sentences of answers and references without marks, with the places of citation groups and segments in them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

import numpy as np

from metaeval.citation.data_model import Answer, Mark
from metaeval.citation.marks_and_sentences import (
    Leading,
    LocatedText,
    MarkStyles,
    added,
    cited_spans,
    find_marks,
    joined,
    move_leading,
    split,
    unread,
    whole,
)
from metaeval.citation.profiles import differing
from metaeval.corpus.languages import ends_in_word, marks
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.errors import UserError
from metaeval.stats.arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ScifiOptions:
    """Options for making facts of answers, assigning citations to facts, and scoring both."""

    facts: Literal["parser", "model"] = "parser"
    """Who makes facts of sentences: the parser (ALiiCE's claims) or a chat model."""
    styles: MarkStyles = field(default_factory=MarkStyles)
    """Citation marks that are read, as NAME: VALUE of the marks' own options."""
    leading: Leading = "move all"
    """What becomes of marks that open a sentence, as they do after a full stop: they stay, or the first or all of
    them move to the sentence before."""
    decomposition_file: Path | None = None
    """A prompt of your own that asks for the facts, with {sentence}; see output for the form of its replies."""
    mapping_file: Path | None = None
    """A prompt of your own that asks for a fact's segment, with {sentence} and {fact}; as decomposition_file."""
    marks: Literal["removed", "kept"] = "removed"
    """Whether a chat model sees sentences with their citation marks; kept marks are cut out of the facts and
    segments."""
    map_all: bool = False
    """Ask for the segments of all facts, even in sentences whose citations leave no choice."""
    likeness: float = 0.8
    """Lowest similarity, from 0 to 1, at which a segment that is not in its sentence is found by likeness (1: it is
    not looked for)."""
    twice: Literal["first", "last"] = "first"
    """Which occurrence of a segment counts that stands several times in its sentence."""
    unmapped: Literal["sentence", "left out"] = "sentence"
    """What becomes of a fact whose segment is not found: the whole sentence is its segment, or it is left out."""
    own_group: bool = False
    """Let a parser's fact keep the citation group that it was cut out for, whatever is nearest."""
    reach: Literal["sentence", "answer"] = "sentence"
    """Where the nearest citation of a fact is looked for: in its sentence, or in the whole answer."""
    uncited: Literal["left out", "fails"] = "left out"
    """Value of a fact that no citation reaches: it is left out, or 0 (fails)."""
    distance: Literal["characters", "words"] = "characters"
    """Unit of the distance between a citation and the end of a fact's segment."""
    tie: Literal["after", "before"] = "after"
    """Which of two citations at the same distance is taken: the one after or before the segment's end."""
    group: Literal["max", "joint", "first"] = "max"
    """How marks that stand together are read: each passage by itself (max), all as one premise (joint), or the
    first alone."""
    out_of_range: Literal["fails", "left out"] = "fails"
    """Value of a fact whose citations are no passages: 0 (fails), or it is left out."""
    window: int = 256
    """Most words (or tokens) in a chunk of a passage; the best chunk decides."""
    window_unit: str = "words"
    """Unit of the window: words, or the tokens of a tokenizer (its hub id or folder)."""
    overlap: Literal["half", "none"] = "half"
    """Overlap of neighbouring chunks: half of a chunk's sentences, or none."""
    titles: bool = True
    """Begin every chunk with its passage's title."""
    entailment: Literal["auto", "probability", "binary"] = "auto"
    """Value of a fact: the backend's probability, its binary decision at the threshold, or auto (the probability
    where the backend's scores run from 0 to 1)."""
    average: Literal["facts", "answers"] = "facts"
    """What the headline is a mean over."""
    coverage: Literal["answer", "fact"] = "answer"
    """Which side is the premise of coverage: the answer, or the reference's fact."""
    coverage_over: Literal["facts", "sentences"] = "facts"
    """What of a reference is covered: its facts, which only a chat model makes, or its sentences, which are taken
    where a parser makes the facts."""
    density_over: Literal["all", "cited"] = "all"
    """Sentences over which citation density is computed: all, or cited ones."""

    def __post_init__(self) -> None:
        if not 0 < self.likeness <= 1:
            raise UserError(f"likeness is {self.likeness}; allowed: a number above 0, up to 1.")
        if self.own_group and self.facts == "model":
            raise UserError(
                "own_group=true keeps the citation groups of a parser's facts, and a chat model makes the facts: leave "
                "out one of the two."
            )
        if self.marks == "kept" and self.facts == "parser":
            raise UserError("marks=kept is for chat models, but a parser makes facts: leave it out or give a model.")
        if self.window < 1:
            raise UserError(f"window is {self.window}; allowed: a whole number from 1.")

    @property
    def signature(self) -> str:
        """All options as NAME=VALUE, of `styles` those that differ from the defaults, without the prompt files."""
        left = ("decomposition_file", "mapping_file", "styles")
        values = [f"{option.name}={getattr(self, option.name)}" for option in fields(self) if option.name not in left]
        return ",".join([*values, *differing(self.styles, MarkStyles())])


DEFAULTS = ScifiOptions()

SegmentMatch = Literal["verbatim", "case folded", "fuzzy", "sentence", "not asked", "no reply"]
"""How a segment was found.

verbatim: unchanged. case folded: except for case and white space. fuzzy: by similarity. sentence: not found, and
replaced by the whole sentence. not asked: the sentence has one citation group or none, so that every segment would lead
to the same citation. no reply: no usable reply named the segment; such a fact is not judged. In the last two cases the
segment is the whole sentence.
"""

LEFT_OUT = "left out: segment not found"
"""In `AnswerFacts.problems`: the number of facts that the option `unmapped=left out` removed."""

DUPLICATE = "duplicate fact"
"""In `AnswerFacts.problems`: the number of facts that repeat another of their sentence; they count once.

A fact that a parser cut out for another citation group keeps that group too (`Fact.group_places`).
"""


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A citation group: its offset (at) in the sentence without marks, from 0 to the length, and its marks."""

    at: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer. text: without its marks. start, end: offsets in the answer. number: from 1."""

    number: int
    text: str
    start: int
    end: int
    groups: tuple[PlacedGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """The stretch of a sentence that states a fact: offsets in `Sentence.text`, and how it was found."""

    start: int
    end: int
    match: SegmentMatch


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a sentence. number: in the answer, from 1. made_by: "model", or the rule of the parser's claims.

    sentence: the number of its sentence. trouble: why its segment is unknown, where no usable reply named it
    (`metaeval.llm.messages.Trouble`). group_places: the places (`PlacedGroup.at`) of the citation groups that a parser
    cut the fact out for; several where their claims are equal, none where a model made the fact.
    """

    number: int
    text: str
    sentence: int
    segment: Segment
    made_by: str
    trouble: str = ""
    group_places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceFacts:
    """Facts of the reference that an answer should cover. sentences_lost: number of its sentences without facts."""

    facts: tuple[str, ...]
    sentences_lost: int = 0


@dataclass(frozen=True)
class AnswerFacts:
    """An answer with its sentences and facts. lost: numbers of the sentences whose facts are missing, with the reason.

    reference: None where the answer has no reference. problems: the number of problems in the replies, by kind.
    """

    answer: Answer
    sentences: tuple[Sentence, ...]
    facts: tuple[Fact, ...]
    lost: dict[int, str] = field(default_factory=dict)
    reference: ReferenceFacts | None = None
    problems: Counter[str] = field(default_factory=Counter)


FactState = Literal["judged", "unjudged", "uncited", "fails"]
"""State of a fact.

judged: it has a value. unjudged: the backend gave no score that decides it, or no reply named its citation (`reason`).
uncited: no citation is within its reach, and it is ignored, or its value is 0 as the options say. fails: it cites no
existing passage, and its value is 0, or None where the options leave it out.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLine:
    """One fact, and how far its citation entails it.

    segment_start, segment_end: offsets in the sentence without marks. citations: the numbers of the citation's marks
    (None: unparsable); cited_at: its offset in the sentence with the number `cited_in`, which is the fact's own unless
    the options reach beyond it; distance: from the segment's end to the citation. passage: the number of the passage
    that decided, None where the premise has several; chunk: the number of the chunk in the passage, or in the joint
    premise; both from 1. value: in [0, 1]; None where undefined. cut: a premise was longer than the backend can read.
    """

    answer: str
    group: str
    system: str
    sentence: int
    sentence_start: int
    sentence_end: int
    fact_number: int
    fact: str
    made_by: str
    segment: str
    segment_start: int
    segment_end: int
    match: SegmentMatch
    citations: tuple[int | None, ...] = ()
    cited_at: int | None = None
    cited_in: int | None = None
    distance: int | None = None
    passage: int | None = None
    chunk: int | None = None
    value: float | None = None
    state: FactState = "judged"
    reason: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageLine:
    """One fact of the reference, and how far the answer entails it. value: None if missing (`reason`)."""

    answer: str
    group: str
    system: str
    fact_number: int
    fact: str
    value: float | None = None
    reason: str = ""
    cut: bool = False


def read_sentences(
    answer: Answer, options: ScifiOptions = DEFAULTS, splitter: SentenceSplitter = RULES
) -> tuple[Sentence, ...]:
    """Return the sentences of an answer, in order, numbered from 1.

    A text without a letter ("1.", "--") is not a sentence, unless it has a digit and a citation. Marks that the styles
    cannot read stay in the text.
    """
    moved = move_leading(split(whole(answer.text), splitter), options.leading, options.styles)
    sentences: list[Sentence] = []
    for reading in moved:
        clean, groups = _cleaned(reading.stripped(), options, answer.first)
        if has_letter(clean.text) or (groups and any(character.isalnum() for character in clean.text)):
            sentences.append(Sentence(len(sentences) + 1, clean.text, *reading.span(), groups))
    return tuple(sentences)


def unread_marks(answer: Answer, sentences: Sequence[Sentence]) -> list[Mark]:
    """Return the answer's marks without a group: marks that the styles do not read, or outside all sentences."""
    read = [mark for sentence in sentences for group in sentence.groups for mark in group.marks]
    return unread(find_marks(answer.text, first=answer.first), read)


def without_marks(text: str, options: ScifiOptions) -> str:
    """Return the text without the citation groups that the options read, and without the white space before each."""
    clean, _ = _cleaned(whole(text), options, first=1)
    return clean.text


def has_letter(text: str) -> bool:
    """Return whether a text has a letter, without which it states nothing."""
    return any(character.isalpha() for character in text)


def _cleaned(reading: LocatedText, options: ScifiOptions, first: int) -> tuple[LocatedText, tuple[PlacedGroup, ...]]:
    """Return the text without its citation groups and the spaces before them, and the groups with their offsets.

    first: the number by which the text cites the first passage.
    """
    clean, end = LocatedText("", ()), 0
    placed: list[PlacedGroup] = []
    for group in cited_spans(reading.text, options.styles, first):
        before = len(reading.text[: group.start].rstrip())
        clean = _continued(clean, reading.part(end, max(end, before)), bool(placed))
        marks = tuple(Mark(reading.at[mark.start], reading.at[mark.end - 1] + 1, mark.number) for mark in group.marks)
        placed.append(PlacedGroup(len(clean.text), marks))
        end = group.end
    return _continued(clean, reading.part(end, len(reading.text)), bool(placed)), tuple(placed)


def _continued(clean: LocatedText, rest: LocatedText, behind_mark: bool) -> LocatedText:
    """Return the text before and after a mark as one; two words that the mark separated stay two words."""
    if not clean.text:
        return rest.part(len(rest.text) - len(rest.text.lstrip()), len(rest.text))
    parted = behind_mark and ends_in_word(clean.text) and rest.text[:1].isalnum()
    return joined(clean, added(" "), rest) if parted else joined(clean, rest)


def given_facts(answer: Answer) -> tuple[str, ...] | None:
    """Return the facts that the file gives for the reference (`claims`) and that have a letter; None without any."""
    claims = answer.reference.get("claims")
    if not isinstance(claims, list | tuple) or not all(isinstance(claim, str) for claim in claims):
        return None
    return tuple(claim for claim in claims if has_letter(claim)) or None


def reference_sentences(
    answer: Answer, options: ScifiOptions = DEFAULTS, splitter: SentenceSplitter = RULES
) -> tuple[str, ...] | None:
    """Return the sentences of the reference's field `answer` that have a letter, without marks; None without any."""
    text = answer.reference.get("answer")
    if not isinstance(text, str) or not text.strip():
        return None
    read = read_sentences(Answer(answer.id, text, (), first=answer.first), options, splitter)
    return tuple(sentence.text for sentence in read if has_letter(sentence.text)) or None


_WORD = re.compile(rf"\w+(?:[^\w\s]+\w+)*[{marks()}]*")
_WORK = 600_000
"""Limit of comparisons, in characters of a run times characters of the text: about ten milliseconds."""


def most_similar_run(sentence: str, text: str, likeness: float, last: bool = False) -> tuple[int, int] | None:
    """Return the offsets of the run of words in the sentence that is most similar to the text; None below `likeness`.

    Similarity is difflib's ratio, ignoring case; of equally similar runs the shortest is taken, then the first, or the
    last. Runs that share most words are compared first, then those with the highest possible similarity. Comparisons
    beyond `_WORK` are left out, a limit that sentences of usual length do not reach.
    """
    if len(text) ** 2 > _WORK:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(text.casefold())  # the one of the two that the matcher prepares once
    best: tuple[float, int, int] | None = None
    best_run, work = None, _WORK
    for start, end, most in _runs(sentence, text, likeness):
        if best is not None and most < best[0]:
            continue
        work -= (end - start) * len(text)
        if work < 0:
            break
        matcher.set_seq1(sentence[start:end].casefold())
        rank = (matcher.ratio(), start - end, start if last else -start)
        if rank[0] >= likeness and (best is None or rank > best):
            best, best_run = rank, (start, end)
    return best_run


def _runs(sentence: str, text: str, likeness: float) -> Iterator[tuple[int, int, float]]:
    """Yield the runs of about as many words as the text, in the order of comparison.

    Each is (start, end, highest possible similarity). Runs that cannot reach `likeness`, and the punctuation around
    runs, are left out.
    """
    spans = np.array([match.span() for match in _WORD.finditer(sentence)], dtype=np.int64).reshape(-1, 2)
    folded = [character.casefold() for character in sentence]
    letters, words = Counter(text.casefold()), Counter(match[0].casefold() for match in _WORD.finditer(text))
    letters_before = _seen(folded, letters)
    words_before = _seen([[sentence[start:end].casefold()] for start, end in spans], words)
    before = np.concatenate(([0], np.cumsum([len(character) for character in folded], dtype=np.int64)))
    weights = np.array([len(word) for word in words], dtype=np.int64)
    word_count = len(text.split())
    slack = max(1, word_count // 4)  # a run may be longer or shorter than the text by a quarter of its words
    runs_by_size = []
    for size in range(max(1, word_count - slack), min(word_count + slack, len(spans)) + 1):
        starts, ends = spans[: len(spans) - size + 1, 0], spans[size - 1 :, 1]
        both = before[ends] - before[starts] + letters.total()
        most = 2 * _shared(letters_before[ends] - letters_before[starts], letters).sum(axis=1) / both
        shared = 2 * (_shared(words_before[size:] - words_before[:-size], words) @ weights) / both
        runs_by_size.append(np.stack((starts, ends, most, shared))[:, most >= likeness])
    runs = np.concatenate(runs_by_size, axis=1) if runs_by_size else np.empty((4, 0))
    for start, end, most_of_run, _ in runs[:, np.lexsort((runs[1] - runs[0], -runs[2], -runs[3]))].T:
        yield int(start), int(end), float(most_of_run)


def _seen(units: Sequence[Iterable[str]], wanted: Mapping[str, int]) -> Ints:
    """Return the cumulative counts of the wanted entries of units, from none to all units: (units + 1, wanted)."""
    column = {entry: place for place, entry in enumerate(wanted)}
    counts = np.zeros((len(units) + 1, len(column)), dtype=np.int64)
    for row, unit in enumerate(units, start=1):
        for entry in unit:
            if entry in column:
                counts[row, column[entry]] += 1
    return counts.cumsum(axis=0)


def _shared(counts: Ints, wanted: Mapping[str, int]) -> Ints:
    return np.minimum(counts, np.array(list(wanted.values()), dtype=np.int64))


def find_segment(sentence: str, wording: str, options: ScifiOptions = DEFAULTS) -> Segment | None:
    """Return where a wording is in a sentence: verbatim, ignoring case, or the most similar words (`most_similar_run`).

    Of several places the option `twice` takes the first or the last, among those at the borders of words if there
    are any ("art" in "started by art"). If the wording is not found, the segment is the whole sentence, or None, as
    the option `unmapped` says.
    """
    last = options.twice == "last"
    wording = wording.strip()
    if wording:
        pattern = r"\s+".join(map(re.escape, wording.split()))
        if segment := _place(re.escape(wording), sentence, last, True) or _place(pattern, sentence, last, False):
            return segment
        if options.likeness < 1 and (run := most_similar_run(sentence, wording, options.likeness, last)):
            return Segment(*run, "fuzzy")
    return Segment(0, len(sentence), "sentence") if options.unmapped == "sentence" else None


def _place(pattern: str, sentence: str, last: bool, verbatim: bool) -> Segment | None:
    flags = re.NOFLAG if verbatim else re.IGNORECASE
    for form in (rf"(?<!\w){pattern}(?![\w{marks()}])", pattern):
        # A look-ahead finds overlapping places too.
        if matches := list(re.finditer(f"(?=({form}))", sentence, flags)):
            return Segment(*matches[-1 if last else 0].span(1), "verbatim" if verbatim else "case folded")
    return None
