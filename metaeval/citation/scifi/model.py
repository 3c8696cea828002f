"""SCiFi's options, one for every choice that its paper leaves open, its nouns (sentences, facts, segments),
and the sentences of an answer and its reference without marks, with where groups and a fact's segment stand in them.
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

from metaeval.citation.model import Answer, Mark
from metaeval.citation.profiles import differing
from metaeval.citation.sentences import (
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
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.errors import UserError
from metaeval.stats.arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ScifiOptions:
    """How answers become facts, facts get citations, and citations get values."""

    facts: Literal["parser", "model"] = "parser"
    """Who makes facts of sentences: the parser (ALiiCE's claims) or a chat model."""
    styles: MarkStyles = field(default_factory=MarkStyles)
    """Citation marks that are read, as NAME: VALUE of the marks' own options."""
    leading: Leading = "move all"
    """What becomes of marks that open a sentence, as they do after a full stop: they stay, or the first or all of
    them move to the sentence before."""
    decomposition_file: Path | None = None
    """A prompt of your own that asks for the facts, with {sentence}."""
    mapping_file: Path | None = None
    """A prompt of your own that asks for a fact's segment, with {sentence} and {fact}."""
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
            raise UserError(
                "marks=kept is how a chat model sees sentences, and a parser makes the facts: leave it out, or name a "
                "model."
            )
        if self.window < 1:
            raise UserError(f"window is {self.window}; allowed: a whole number from 1.")

    @property
    def signature(self) -> str:
        """Every option with its value but the prompt files, whose wordings are named apart; defaults as well."""
        left = ("decomposition_file", "mapping_file", "styles")
        said = [f"{one.name}={getattr(self, one.name)}" for one in fields(self) if one.name not in left]
        return ",".join([*said, *differing(self.styles, MarkStyles())])


DEFAULTS = ScifiOptions()

Found = Literal["verbatim", "case folded", "fuzzy", "sentence", "not asked", "no reply"]
"""How a segment was found.

verbatim: as it stands. case folded: but for case and white space. fuzzy: by likeness. sentence: not at all, and the
whole sentence stands for it. Two more that are no failure to find it, and no success: not asked: the sentence has one
citation group or none, so that every segment would lead to the same. no reply: it was asked for, and no usable reply
came; such a fact is not judged. In both the segment is the whole sentence.
"""

LEFT_OUT = "left out: segment not found"
"""Among `AnswerFacts.problems`: how many facts the option `unmapped=left out` took away."""

DUPLICATE = "duplicate fact"
"""Among `AnswerFacts.problems`: how many facts were said again in their sentence; they count once.

One that a parser cut out for another citation group keeps that group too (`Fact.own`).
"""


@dataclass(frozen=True, slots=True)
class Placed:
    """A citation group: where it stands in the sentence without marks (an offset, 0 to its length), and its marks."""

    at: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer. text: without its marks. start, end: offsets in the answer. number: from 1."""

    number: int
    text: str
    start: int
    end: int
    groups: tuple[Placed, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """The stretch of a sentence that a fact is stated in: offsets in `Sentence.text`, and how it was found."""

    start: int
    end: int
    found: Found


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a sentence. number: in the answer, from 1. made_by: "model", or the rule of the parser's claims.

    trouble: why its segment is not known, where no usable reply said it (`metaeval.llm.exchange.Trouble`).
    own: where the citation groups stand (`Placed.at`) that a parser cut it out for; several where their claims read
    alike, none where a model made it.
    """

    number: int
    text: str
    sentence: int
    segment: Segment
    made_by: str
    trouble: str = ""
    own: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceFacts:
    """Facts of the reference that an answer should cover. sentences_lost: sentences of it that gave no facts."""

    facts: tuple[str, ...]
    sentences_lost: int = 0


@dataclass(frozen=True)
class AnswerFacts:
    """An answer with its sentences and facts. lost: numbers of the sentences whose facts are missing, with the reason.

    reference: None where the answer comes without one. problems: what was wrong inside replies, by kind.
    """

    answer: Answer
    sentences: tuple[Sentence, ...]
    facts: tuple[Fact, ...]
    lost: dict[int, str] = field(default_factory=dict)
    reference: ReferenceFacts | None = None
    problems: Counter[str] = field(default_factory=Counter)


State = Literal["judged", "unjudged", "uncited", "fails"]
"""What became of a fact.

judged: it has a value. unjudged: the backend gave no score that decides it, or no reply said which citation it has;
`reason` says why. uncited: its sentence has no citation, and it takes no part. fails: what it cites is no passage, and
its value is 0, or None where the options leave it out.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLine:
    """One fact, and how far its citation entails it.

    segment_start, segment_end: offsets in the sentence without marks. citations: the numbers of the marks it was
    assigned, cited_at: where they stand in that sentence. passage: the number of the passage that decided, None where
    its text holds several; chunk: which of the chunks, of the passage or of all that are one premise; both from 1.
    value: in [0, 1]; None where undefined. cut: a premise was longer than what the backend reads.
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
    found: Found
    citations: tuple[int | None, ...] = ()
    cited_at: int | None = None
    distance: int | None = None
    passage: int | None = None
    chunk: int | None = None
    value: float | None = None
    state: State = "judged"
    reason: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageLine:
    """One fact of the reference, and how far the answer entails it; value None: missing, and `reason` says why."""

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
    """The sentences of an answer, in order, numbered from 1.

    A sentence without a letter is none ("1.", "--"), unless it holds a number and a citation. Marks that the styles
    cannot read stay in the text.
    """
    moved = move_leading(split(whole(answer.text), splitter), options.leading, options.styles)
    found: list[Sentence] = []
    for reading in moved:
        clean, groups = _cleaned(reading.stripped(), options, answer.first)
        if has_letter(clean.text) or (groups and any(character.isalnum() for character in clean.text)):
            where = reading.span()
            found.append(Sentence(len(found) + 1, clean.text, where.start, where.end, groups))
    return tuple(found)


def unread_marks(answer: Answer, sentences: Sequence[Sentence]) -> list[Mark]:
    """The marks of the answer that belong to no group: of forms that the styles do not read, or in no sentence."""
    read = [mark for sentence in sentences for group in sentence.groups for mark in group.marks]
    return unread(find_marks(answer.text, first=answer.first), read)


def without_marks(text: str, options: ScifiOptions) -> str:
    """A text without the citation groups that the styles read, and the white space before each."""
    clean, _ = _cleaned(whole(text), options, first=1)
    return clean.text


def has_letter(text: str) -> bool:
    """Whether a text can state anything: a fact needs a letter."""
    return any(character.isalpha() for character in text)


def _cleaned(reading: LocatedText, options: ScifiOptions, first: int) -> tuple[LocatedText, tuple[Placed, ...]]:
    """The reading without its groups and the white space before each, and the groups at their places."""
    clean, end = LocatedText("", ()), 0
    placed: list[Placed] = []
    for group in cited_spans(reading.text, options.styles, first):
        before = len(reading.text[: group.start].rstrip())
        clean = _continued(clean, reading.part(end, max(end, before)), bool(placed))
        marks = tuple(Mark(reading.at[mark.start], reading.at[mark.end - 1] + 1, mark.number) for mark in group.marks)
        placed.append(Placed(len(clean.text), marks))
        end = group.end
    return _continued(clean, reading.part(end, len(reading.text)), bool(placed)), tuple(placed)


def _continued(clean: LocatedText, rest: LocatedText, behind_mark: bool) -> LocatedText:
    """What stands behind a mark, put behind what stands before it; two words that it parted stay two."""
    if not clean.text:
        return rest.part(len(rest.text) - len(rest.text.lstrip()), len(rest.text))
    parted = behind_mark and clean.text[-1].isalnum() and rest.text[:1].isalnum()
    return joined(clean, added(" "), rest) if parted else joined(clean, rest)


def given_facts(answer: Answer) -> tuple[str, ...] | None:
    """The reference's own `claims`, as they are; None where there are none."""
    claims = answer.reference.get("claims")
    if not isinstance(claims, list | tuple) or not all(isinstance(claim, str) for claim in claims):
        return None
    return tuple(claim for claim in claims if has_letter(claim)) or None


def reference_sentences(
    answer: Answer, options: ScifiOptions = DEFAULTS, splitter: SentenceSplitter = RULES
) -> tuple[str, ...] | None:
    """The sentences of the reference's `answer`, without marks; None where there is no such text."""
    text = answer.reference.get("answer")
    if not isinstance(text, str) or not text.strip():
        return None
    read = read_sentences(Answer(answer.id, text, (), first=answer.first), options, splitter)
    return tuple(sentence.text for sentence in read if has_letter(sentence.text)) or None


_WORD = re.compile(r"\w+(?:[^\w\s]+\w+)*")
_WORK = 600_000
"""What is spent on comparing, in characters of a run times characters of the text: about ten milliseconds."""


def likest_run(sentence: str, text: str, likeness: float, last: bool = False) -> tuple[int, int] | None:
    """Offsets of the run of about as many words whose characters are likest to the text's, from `likeness` on.

    Likeness is difflib's ratio without regard to case; of equally like runs the shortest is taken, then the first, or
    the last. Runs that share most words are compared first, and of the others those that could be likest; what would
    go beyond `_WORK` is left out, which sentences of usual length do not come near. None where no run is like enough.
    """
    if len(text) ** 2 > _WORK:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(text.casefold())  # the one of the two that the matcher prepares once
    best: tuple[float, int, int] | None = None
    found, work = None, _WORK
    for start, end, most in _runs(sentence, text, likeness):
        if best is not None and most < best[0]:
            continue
        work -= (end - start) * len(text)
        if work < 0:
            break
        matcher.set_seq1(sentence[start:end].casefold())
        rank = (matcher.ratio(), start - end, start if last else -start)
        if rank[0] >= likeness and (best is None or rank > best):
            best, found = rank, (start, end)
    return found


def _runs(sentence: str, text: str, likeness: float) -> Iterator[tuple[int, int, float]]:
    """Runs of about as many words as the text has, (start, end, the most that the likeness can be), in the order in
    which they are compared; without those that cannot be like enough, and without the punctuation around them.
    """
    spans = np.array([match.span() for match in _WORD.finditer(sentence)], dtype=np.int64).reshape(-1, 2)
    folded = [character.casefold() for character in sentence]
    letters, words = Counter(text.casefold()), Counter(match[0].casefold() for match in _WORD.finditer(text))
    letters_before = _seen(folded, letters)
    words_before = _seen([[sentence[start:end].casefold()] for start, end in spans], words)
    before = np.concatenate(([0], np.cumsum([len(one) for one in folded], dtype=np.int64)))
    weights = np.array([len(word) for word in words], dtype=np.int64)
    said = len(text.split())
    slack = max(1, said // 4)  # a run may be longer or shorter than the text by a quarter of its words
    found = []
    for size in range(max(1, said - slack), min(said + slack, len(spans)) + 1):
        starts, ends = spans[: len(spans) - size + 1, 0], spans[size - 1 :, 1]
        both = before[ends] - before[starts] + letters.total()
        most = 2 * _shared(letters_before[ends] - letters_before[starts], letters).sum(axis=1) / both
        shared = 2 * (_shared(words_before[size:] - words_before[:-size], words) @ weights) / both
        found.append(np.stack((starts, ends, most, shared))[:, most >= likeness])
    runs = np.concatenate(found, axis=1) if found else np.empty((4, 0))
    for start, end, most_of_run, _ in runs[:, np.lexsort((runs[1] - runs[0], -runs[2], -runs[3]))].T:
        yield int(start), int(end), float(most_of_run)


def _seen(units: Sequence[Iterable[str]], wanted: Mapping[str, int]) -> Ints:
    """How often each of the wanted has occurred before every unit, and in the end: (units + 1, wanted)."""
    column = {one: place for place, one in enumerate(wanted)}
    counts = np.zeros((len(units) + 1, len(column)), dtype=np.int64)
    for row, unit in enumerate(units, start=1):
        for one in unit:
            if one in column:
                counts[row, column[one]] += 1
    return counts.cumsum(axis=0)


def _shared(counts: Ints, wanted: Mapping[str, int]) -> Ints:
    return np.minimum(counts, np.array(list(wanted.values()), dtype=np.int64))


def find_segment(sentence: str, said: str, options: ScifiOptions = DEFAULTS) -> Segment | None:
    """Where in a sentence stands what was said: verbatim, else but for case, else the likest words (`likest_run`).

    Of several places the option `twice` takes the first or the last; but one where no word is cut comes before one
    where some is ("art" in "started by art"). Where nothing is found: the whole sentence, or None, as the option
    `unmapped` says.
    """
    last = options.twice == "last"
    said = said.strip()
    if said:
        pattern = r"\s+".join(map(re.escape, said.split()))
        if found := _place(re.escape(said), sentence, last, True) or _place(pattern, sentence, last, False):
            return found
        if options.likeness < 1 and (run := likest_run(sentence, said, options.likeness, last)):
            return Segment(*run, "fuzzy")
    return Segment(0, len(sentence), "sentence") if options.unmapped == "sentence" else None


def _place(pattern: str, sentence: str, last: bool, verbatim: bool) -> Segment | None:
    flags = re.NOFLAG if verbatim else re.IGNORECASE
    for one in (rf"(?<!\w){pattern}(?!\w)", pattern):
        # Looked ahead, so that a place may begin within another one.
        if matches := list(re.finditer(f"(?=({one}))", sentence, flags)):
            return Segment(*matches[-1 if last else 0].span(1), "verbatim" if verbatim else "case folded")
    return None
