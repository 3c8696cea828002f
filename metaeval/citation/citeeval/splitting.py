"""From a response to its statements, each with what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.model import Answer, Mark
from metaeval.citation.sentences import (
    RULES,
    Reading,
    SentenceSplitter,
    added,
    joined,
    marks_in,
    move_leading,
    part,
    span,
    split,
    stripped,
    whole,
    without_marks,
)
from metaeval.errors import UserError

NO_ANSWER = "No answer is found."
"""What a response that says that it found no answer is replaced by, in the published data too."""

# A negation, and at most 30 characters on a word for what was looked for.
_REFUSES = re.compile(
    r"\b(?:no|none|not)\b.{0,30}?\b(?:information|details|answer|mention(?:ed)?|provided|sources?|passages?|found)\b",
    re.IGNORECASE,
)
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
        reading = part(reading, match.end(), len(answer.text))
    reading = stripped(reading)
    sentences, alone = _sentences(reading, answer, options, splitter)
    where, marks = span(reading), marks_in(reading, options.styles, answer.first)
    refused = options.no_answer == "anywhere" or (
        options.no_answer == "lone sentence" and len(sentences) == 1 and not marks
    )
    if refused and _REFUSES.search(reading.text):
        return Split((Statement(1, NO_ANSWER, (), where.start, where.end),), no_answer=True, unread=tuple(marks))
    found = [_statement(number, own, answer, options) for number, own in enumerate(sentences, start=1)]
    lost = [mark for own in alone for mark in marks_in(own, options.styles, answer.first)]
    return Split(tuple(found), no_answer=False, unread=tuple(lost))


def _sentences(
    reading: Reading, answer: Answer, options: CiteEvalOptions, splitter: SentenceSplitter
) -> tuple[list[Reading], list[Reading]]:
    """The sentences, and what stands before all of them and is marks alone."""
    sentences: list[Reading] = []
    alone: list[Reading] = []
    lines = list(_lines(reading, answer, options))
    for line in lines:
        own = [one for one in move_leading(split(line, splitter), "move all", options.styles) if one.text.strip()]
        for place, sentence in enumerate(own, start=1):
            ends_line = place == len(own) and line is not lines[-1]
            length = len(_clean(sentence, answer, options))
            numbers = (mark.number for mark in marks_in(sentence, options.styles, answer.first))
            short = length < options.merge_below and (ends_line or any(number is not None for number in numbers))
            if sentences and (length == 0 or short):
                sentences[-1] = joined(sentences[-1], added(" "), stripped(sentence))
            else:
                (sentences if length else alone).append(stripped(sentence))
    return sentences, alone


def _lines(reading: Reading, answer: Answer, options: CiteEvalOptions) -> Iterator[Reading]:
    """The lines that hold text; of two line breaks in a row one counts, and a third makes a line empty."""
    start, breaks = 0, 0
    for match in re.finditer(r"\n|\Z", reading.text):
        line = part(reading, start, match.start())
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
    marks = marks_in(sentence, options.styles, answer.first)
    cited = [one.number for one in marks if one.number is not None and 1 <= one.number <= highest]
    unread = tuple(one for one in marks if one.number is None or not 1 <= one.number <= highest)
    where, citations = span(sentence), tuple(dict.fromkeys(cited))
    return Statement(number, _clean(sentence, answer, options), citations, where.start, where.end, unread)


def _clean(sentence: Reading, answer: Answer, options: CiteEvalOptions) -> str:
    return without_marks(sentence, options.styles, answer.first).text.strip()
