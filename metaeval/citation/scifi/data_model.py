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
    LocatedText,
    added,
    cited_spans,
    joined,
    move_leading,
    reading_of,
    split,
    states,
    unread,
    whole,
)
from metaeval.corpus.languages import ends_in_word, marks
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.stats.arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ScifiOptions:
    """Options for making facts of answers, assigning citations to facts, and scoring both.

    facts: who makes facts of sentences: the parser or a chat model. prompts: folder of prompts in place of our own:
    decomposition.txt asks for the facts of a {sentence}, mapping.txt for the segment of a {fact}. uncited: value of a
    fact that no citation reaches: it is left out, or 0 (fails). group: how marks that stand together are read: each
    passage by itself (max), all as one premise (joint), or only the mark that is nearest to the fact (nearest).
    tokenizer: unit of the window: words, or the tokens of a tokenizer (its hub id or folder). window: most words (or
    tokens) in a chunk of a passage; the best chunk decides.
    """

    facts: Literal["parser", "model"] = "parser"
    prompts: Path | None = None
    uncited: Literal["left out", "fails"] = "left out"
    group: Literal["max", "joint", "nearest"] = "max"
    tokenizer: str = "words"
    window: int = 256

    @property
    def signature(self) -> str:
        """All options as NAME=VALUE, without the prompts."""
        names = [option.name for option in fields(self) if option.name != "prompts"]
        return ",".join(f"{name}={getattr(self, name)}" for name in names)


DEFAULTS = ScifiOptions()

# The paper's definition (Appendix C.3), with the tokenizer of its entailment model.
PAPER = ScifiOptions(uncited="fails", group="nearest", tokenizer="google/t5_xxl_true_nli_mixture")

SegmentMatch = Literal["verbatim", "case folded", "fuzzy", "sentence", "not asked", "no reply"]


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


# The stretch of a sentence that states a fact: start and end in `Sentence.text`, and how it was found.
Segment = tuple[int, int, SegmentMatch]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a sentence. number: in the answer, from 1. made_by: "model", or the rule of the parser's claims.

    sentence: the number of its sentence. segment: how it was found, too: verbatim (unchanged), case folded (except for
    case and white space), fuzzy (by similarity), sentence (not found, and replaced by the whole sentence), not asked
    (the sentence has one citation group or none, so that every segment would lead to the same citation), or no reply
    (no usable reply named it; such a fact is not judged); in the last two cases it is the whole sentence. trouble: why
    its segment is unknown, where no usable reply named it (`metaeval.llm.messages.Trouble`).
    """

    number: int
    text: str
    sentence: int
    segment: Segment
    made_by: str
    trouble: str = ""


@dataclass(frozen=True)
class AnswerFacts:
    """An answer with its sentences and facts. lost: numbers of the sentences whose facts are missing, with the reason.

    reference: the facts of the reference that the answer should cover; None without a reference. reference_lost: number
    of the reference's sentences without facts. problems: the number of problems in the replies, by kind.
    """

    answer: Answer
    sentences: tuple[Sentence, ...]
    facts: tuple[Fact, ...]
    lost: dict[int, str] = field(default_factory=dict)
    reference: tuple[str, ...] | None = None
    reference_lost: int = 0
    problems: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLine:
    """One fact, and how far its citation entails it.

    segment_start, segment_end: offsets in the sentence without marks. citations: the numbers of the citation's marks
    (None: unparsable); cited_at: its offset in the sentence without marks; distance: from the segment's end to the
    citation. passage: the number of the passage that decided, None where the premise has several; chunk: the number of
    the chunk in the passage, or in the joint premise; both from 1. value: in [0, 1]; None where undefined. state:
    judged (it has a value), unjudged (the backend gave no score that decides it, or no reply named its citation; see
    `reason`), uncited (its sentence has no citation, and it is ignored, or its value is 0 as the options say), or fails
    (it cites no existing passage, and its value is 0). cut: a premise was longer than the backend can read.
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
    distance: int | None = None
    passage: int | None = None
    chunk: int | None = None
    value: float | None = None
    state: Literal["judged", "unjudged", "uncited", "fails"] = "judged"
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


def read_sentences(answer: Answer, splitter: SentenceSplitter = RULES) -> tuple[Sentence, ...]:
    """Return the sentences of an answer, in order, numbered from 1.

    A text without a letter ("1.", "--") is not a sentence, unless it has a digit and a citation. Marks that open a
    sentence, as they do after a full stop, move to the sentence before. Marks that cannot be read stay in the text.
    """
    moved = move_leading(split(reading_of(answer), splitter), "move all")
    sentences: list[Sentence] = []
    for reading in moved:
        clean, groups = _cleaned(reading.stripped(), answer.first)
        if states(clean.text, bool(groups)):
            sentences.append(Sentence(len(sentences) + 1, clean.text, *reading.span(), groups))
    return tuple(sentences)


def unread_marks(answer: Answer, sentences: Sequence[Sentence]) -> list[Mark]:
    """Return the answer's marks without a group: marks that cannot be read, or outside all sentences."""
    read = [mark for sentence in sentences for group in sentence.groups for mark in group.marks]
    return unread(reading_of(answer).marks(first=answer.first), read)


def without_marks(text: str) -> str:
    """Return the text without its citation groups, and without the white space before each."""
    return _cleaned(whole(text), first=1)[0].text


def _cleaned(reading: LocatedText, first: int) -> tuple[LocatedText, tuple[PlacedGroup, ...]]:
    """Return the text without its citation groups and the spaces before them, and the groups with their offsets.

    first: the number by which the text cites the first passage.
    """
    clean, end = LocatedText("", ()), 0
    placed: list[PlacedGroup] = []
    for group in cited_spans(reading.text, first=first):
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


def reference_texts(answer: Answer, splitter: SentenceSplitter = RULES) -> tuple[tuple[str, ...] | None, bool]:
    """Return the facts that the file gives for the reference (`claims`) and True, or else its sentences and False.

    These are those of the field `answer`, without marks. Texts without a letter are left out; without a text: None.
    """
    claims, text = answer.reference.get("claims"), answer.reference.get("answer")
    if not isinstance(claims, list | tuple) or not all(isinstance(claim, str) for claim in claims):
        claims = ()
    if facts := tuple(claim for claim in claims if states(claim)):
        return facts, True
    sentences: tuple[Sentence, ...] = ()
    if isinstance(text, str):
        sentences = read_sentences(Answer(answer.id, text, (), first=answer.first), splitter)
    return tuple(sentence.text for sentence in sentences if states(sentence.text)) or None, False


_WORD = re.compile(rf"\w+(?:[^\w\s]+\w+)*[{marks()}]*")
LIKENESS = 0.8  # lowest similarity, from 0 to 1, at which a segment that is not in its sentence is found by likeness
_WORK = 600_000  # limit of comparisons, in characters of a run times characters of the text: about ten milliseconds


def most_similar_run(sentence: str, text: str, likeness: float = LIKENESS) -> tuple[int, int] | None:
    """Return the offsets of the run of words in the sentence that is most similar to the text; None below `likeness`.

    Similarity is difflib's ratio, ignoring case; of equally similar runs the shortest is taken, then the first.
    Runs that share most words are compared first, then those with the highest possible similarity. Comparisons
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
        rank = (matcher.ratio(), start - end, -start)
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


def find_segment(sentence: str, wording: str) -> Segment:
    """Return where a wording is in a sentence: verbatim, ignoring case, or the most similar words (`most_similar_run`).

    Of several places the first is taken, among those at the borders of words if there are any ("art" in "started by
    art"). If the wording is not found, the segment is the whole sentence.
    """
    wording = wording.strip()
    if wording:
        pattern = r"\s+".join(map(re.escape, wording.split()))
        if segment := _place(re.escape(wording), sentence, True) or _place(pattern, sentence, False):
            return segment
        if run := most_similar_run(sentence, wording):
            return *run, "fuzzy"
    return 0, len(sentence), "sentence"


def _place(pattern: str, sentence: str, verbatim: bool) -> Segment | None:
    flags = re.NOFLAG if verbatim else re.IGNORECASE
    for form in (rf"(?<!\w){pattern}(?![\w{marks()}])", pattern):
        if match := re.search(form, sentence, flags):
            return *match.span(), "verbatim" if verbatim else "case folded"
    return None
