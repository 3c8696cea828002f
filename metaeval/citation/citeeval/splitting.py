"""From a response to its statements, each with what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metaeval.citation.citeeval.values import PAPER, CiteEvalOptions
from metaeval.citation.model import Answer, Mark
from metaeval.citation.sentences import Reading, added, find_marks, joined, move_leading, split, whole
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.errors import UserError

NO_ANSWER = "No answer is found."
"""What a response that says that it found no answer is replaced by, in the published data too."""

# A negation, and at most 30 characters on a word for what was looked for.
_REFUSES = re.compile(
    r"\b(?:no|none|not)\b.{0,30}?\b(?:information|details|answer|mention(?:ed)?|provided|sources?|passages?|found)\b",
    re.IGNORECASE,
)
_OPENING_MARKS = re.compile(r"\W*?(?:\[\d+\])+")
_THINKING = re.compile(r"\s*<thinking>.*?</thinking>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of a response without its marks, and what it cites.

    number: its place in the response, from 1. citations: passage numbers from 1, each once, in the order of the
    marks. unread: marks that cite nothing here, because no passage has their number or they cannot be read. start,
    end: offsets of the sentence in the response. id: what a published file calls it; empty where it was cut here.
    """

    number: int
    text: str
    citations: tuple[int, ...]
    start: int
    end: int
    unread: tuple[Mark, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Split:
    """The statements of a response. no_answer: it says that it found none, and that is its only statement.

    unread: marks that belong to no statement: of lines of marks before all of them, or of such a response.
    """

    statements: tuple[Statement, ...]
    no_answer: bool
    unread: tuple[Mark, ...] = ()


def split_response(answer: Answer, options: CiteEvalOptions = PAPER, splitter: SentenceSplitter = RULES) -> Split:
    """The statements of a response: lines first, then sentences; marks that open a sentence go to the one before.

    A block of thinking that opens the response is left out. A sentence of nothing but marks is none: the sentence
    before has them, and where there is none they are unread.
    Raises `UserError` on an empty line where the options say that the run stops there.
    """
    reading = whole(answer.text)
    if match := _THINKING.match(answer.text):
        reading = reading.part(match.end(), len(answer.text))
    reading = reading.stripped()
    where, marks = reading.span(), reading.marks(options.styles, answer.first)
    refused = Split((Statement(1, NO_ANSWER, (), where.start, where.end),), no_answer=True, unread=tuple(marks))
    refuses = _REFUSES.search(reading.text) is not None
    if refuses and options.no_answer == "anywhere":
        return refused
    sentences, alone = _sentences(reading, answer, options, splitter)
    if refuses and options.no_answer == "lone sentence" and len(sentences) == 1 and not marks:
        return refused
    found = [_statement(number, own, answer, options) for number, own in enumerate(sentences, start=1)]
    lost = [mark for own in alone for mark in own.marks(options.styles, answer.first)]
    return Split(tuple(found), no_answer=False, unread=tuple(lost))


def _sentences(
    reading: Reading, answer: Answer, options: CiteEvalOptions, splitter: SentenceSplitter
) -> tuple[list[Reading], list[Reading]]:
    """The sentences, and what belongs to none: marks alone before all of them, or that the released code loses."""
    cut = [split(line, splitter) for line in _lines(reading, answer, options)]
    if options.leading == "released":
        placed, alone = _moved_as_released(cut, answer, options)
    else:
        placed, alone = [], []
        for line in cut:
            own = [one for one in move_leading(line, "move all", options.styles) if one.text.strip()]
            placed += [(one, one is own[-1] and line is not cut[-1]) for one in own]
    sentences: list[Reading] = []
    for sentence, ends_line in placed:
        length = len(_clean(sentence, answer, options))
        numbers = (mark.number for mark in sentence.marks(options.styles, answer.first))
        short = length < options.merge_below and (ends_line or any(number is not None for number in numbers))
        if sentences and (length == 0 or short):
            sentences[-1] = joined(sentences[-1], added(" "), sentence.stripped())
        else:
            (sentences if length else alone).append(sentence.stripped())
    return sentences, alone


def _moved_as_released(
    lines: Sequence[Sequence[Reading]], answer: Answer, options: CiteEvalOptions
) -> tuple[list[tuple[Reading, bool]], list[Reading]]:
    """The sentences, each with whether it ends a line that is not the last, and the marks that are lost.

    Marks that touch each other and open a sentence, be it behind punctuation, go to the sentence before, in whatever
    line; of the first sentence, to its own end. What is left without words is dropped, with the marks left in it.
    A sentence is its words, then its marks: only their order counts.
    """
    placed: list[tuple[Reading, bool]] = []
    lost: list[Reading] = []
    for number, line in enumerate(lines, start=1):
        for place, sentence in enumerate(line, start=1):
            found = find_marks(sentence.text, options.styles, answer.first)
            spans = list(dict.fromkeys((one.start, one.end) for one in found if one.number is not None))
            marks = [sentence.part(*own) for own in spans]
            opens = _OPENING_MARKS.match(sentence.text)
            first = sum(end <= opens.end() for _, end in spans) if opens else 0
            words = sentence.without_marks(options.styles, answer.first).stripped()
            if placed:
                placed[-1] = joined(placed[-1][0], *marks[:first]), placed[-1][1]
                marks, first = marks[first:], 0
            if words.text:
                own = joined(words, *marks[first:], *marks[:first])
                placed.append((own, place == len(line) and number < len(lines)))
            elif marks:
                lost.append(joined(*marks))
    return placed, lost


def _lines(reading: Reading, answer: Answer, options: CiteEvalOptions) -> Iterator[Reading]:
    """The lines that hold text; of two line breaks in a row one counts, and a third makes a line empty."""
    start, breaks = 0, 0
    for match in re.finditer(r"\n|\Z", reading.text):
        line = reading.part(start, match.start())
        start = match.end()
        if line.text.strip():
            breaks = 0
            yield line
            continue
        breaks += 1
        if options.stops and reading.text and (breaks > 1 or line.text):
            raise UserError(
                f"Answer {answer.id}: an empty line, at which the released code stops; set stops=false to pass over it."
            )


def _statement(number: int, sentence: Reading, answer: Answer, options: CiteEvalOptions) -> Statement:
    highest = len(answer.passages) if options.highest is None else options.highest
    marks = sentence.marks(options.styles, answer.first)
    cited = [one.number for one in marks if one.number is not None and 1 <= one.number <= highest]
    unread = tuple(one for one in marks if one.number is None or not 1 <= one.number <= highest)
    where, citations = sentence.span(), tuple(dict.fromkeys(cited))
    if options.leading == "released":
        # The order in which a set gives numbers depends on all that it holds, and on which of them came first.
        citations = tuple(one for one in {mark.number for mark in marks if mark.number is not None} if one in citations)
    return Statement(number, _clean(sentence, answer, options), citations, where.start, where.end, unread)


def _clean(sentence: Reading, answer: Answer, options: CiteEvalOptions) -> str:
    return sentence.without_marks(options.styles, answer.first).text.strip()
