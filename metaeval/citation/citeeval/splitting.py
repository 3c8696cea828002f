"""Split a response into statements with their citations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from metaeval.citation.citeeval.options_and_values import PAPER, CiteEvalOptions
from metaeval.citation.data_model import Answer, Mark
from metaeval.citation.marks_and_sentences import (
    LocatedText,
    added,
    find_marks,
    joined,
    move_leading,
    reading_of,
    split,
    states,
)
from metaeval.core.errors import UserError
from metaeval.corpus.sentences import RULES, SentenceSplitter

NO_ANSWER = "No answer is found."  # replaces a response that says that it found no answer, as in the published data

# A negation, and within 30 characters a word for the missing information.
_REFUSES = re.compile(
    r"\b(?:no|none|not)\b.{0,30}?\b(?:information|details|answer|mention(?:ed)?|provided|sources?|passages?|found)\b",
    re.IGNORECASE,
)
_OPENING_MARKS = re.compile(r"\W*?(?:\[\d+\])+")


@dataclass(frozen=True, slots=True)
class ResponseStatement:
    """One sentence of a response without its marks, and its citations.

    number: in the response, from 1. citations: passage numbers from 1 without duplicates, in the order of the marks.
    unread: marks that cite nothing, because no passage has their number, they are above the highest number that is
    read, or they are unparsable. start, end: offsets of the sentence in the response. id: in a published file; empty
    for statements that we split. no_text: a cited passage has no text, so that the citations are not judged.
    """

    number: int
    text: str
    citations: tuple[int, ...]
    start: int
    end: int
    unread: tuple[Mark, ...] = ()
    id: str = ""
    no_text: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """The statements of a response.

    no_answer: the response says that it found no answer; `NO_ANSWER` then stands for it as the only statement.
    unread: marks that belong to no statement: before all statements, dropped as in the released code, or in a response
    that says that it found no answer.
    """

    statements: tuple[ResponseStatement, ...]
    no_answer: bool
    unread: tuple[Mark, ...] = ()


def split_responses(
    answers: Sequence[Answer], options: CiteEvalOptions = PAPER, splitter: SentenceSplitter = RULES
) -> tuple[list[Split], str]:
    """Return the statements of responses, and what cut them: the splitter's name, "as published", or both."""
    names = sorted({"as published" if answer.split else splitter.name for answer in answers})
    return [split_response(answer, options, splitter) for answer in answers], " and ".join(names)


def split_response(answer: Answer, options: CiteEvalOptions = PAPER, splitter: SentenceSplitter = RULES) -> Split:
    """Return the statements of a response: those of its file, or else its lines, split into sentences.

    Marks that open a sentence go to the sentence before (see the option `leading`). A block of reasoning that opens the
    response is left out. A sentence that
    states nothing is dropped, and one that holds only marks: these go to the sentence before, and are
    unread without one. Raises `UserError` on an empty line with the option stops=true.
    """
    if answer.split is not None:
        published = (replace(each, no_text=answer.cites_blank(each.citations)) for each in answer.split.statements)
        return replace(answer.split, statements=tuple(published))
    reading = reading_of(answer)
    thinking = re.match(r"\s*<thinking>.*?</thinking>", reading.text, re.DOTALL)  # where the text is not cleaned
    reading = reading.part(thinking.end() if thinking else 0, len(reading.text)).stripped()
    marks = reading.marks(options.styles, answer.first)
    refused = Split((ResponseStatement(1, NO_ANSWER, (), *reading.span()),), no_answer=True, unread=tuple(marks))
    refuses = _REFUSES.search(reading.text) is not None
    if refuses and options.no_answer == "anywhere":
        return refused
    sentences, alone = _sentences(reading, answer, options, splitter)
    if refuses and len(sentences) == 1 and not marks:
        return refused
    statements = [_statement(number, sentence, answer, options) for number, sentence in enumerate(sentences, start=1)]
    lost = [mark for piece in alone for mark in piece.marks(options.styles, answer.first)]
    return Split(tuple(statements), no_answer=False, unread=tuple(lost))


def _sentences(
    reading: LocatedText, answer: Answer, options: CiteEvalOptions, splitter: SentenceSplitter
) -> tuple[list[LocatedText], list[LocatedText]]:
    """Return (sentences, pieces of text with the marks outside them: before the first one, or dropped as released)."""
    cut = [split(line, splitter) for line in _lines(reading, answer, options)]
    if options.leading == "released":
        placed, alone = _moved_as_released(cut, answer, options)
    else:
        placed, alone = [], []
        for line in cut:
            moved = [sentence for sentence in move_leading(line, "move all", options.styles) if sentence.text.strip()]
            placed += [(sentence, sentence is moved[-1] and line is not cut[-1]) for sentence in moved]
    sentences: list[LocatedText] = []
    for sentence, ends_line in placed:
        text, marks = _clean(sentence, answer, options), sentence.marks(options.styles, answer.first)
        length = len(text) if options.leading == "released" or states(text, bool(marks)) else 0
        if not length and not marks:
            continue
        short = length < options.merge_below and (ends_line or any(mark.number is not None for mark in marks))
        if sentences and (length == 0 or short):
            sentences[-1] = joined(sentences[-1], added(" "), sentence.stripped())
        else:
            (sentences if length else alone).append(sentence.stripped())
    return sentences, alone


def _moved_as_released(
    lines: Sequence[Sequence[LocatedText]], answer: Answer, options: CiteEvalOptions
) -> tuple[list[tuple[LocatedText, bool]], list[LocatedText]]:
    """Return (sentences, each with whether it ends a line other than the last; pieces with the dropped marks).

    Adjacent marks that open a sentence, possibly behind punctuation, go to the sentence before, in any line; those of
    the first sentence go to its own end. A sentence left without words is dropped with its other marks. A sentence is
    written as its words followed by its marks, of which only the order counts.
    """
    placed: list[tuple[LocatedText, bool]] = []
    lost: list[LocatedText] = []
    for number, line in enumerate(lines, start=1):
        for place, sentence in enumerate(line, start=1):
            all_marks = find_marks(sentence.text, options.styles, answer.first)
            spans = list(dict.fromkeys((mark.start, mark.end) for mark in all_marks if mark.number is not None))
            marks = [sentence.part(*span) for span in spans]
            opens = _OPENING_MARKS.match(sentence.text)
            first = sum(end <= opens.end() for _, end in spans) if opens else 0
            words = sentence.without_marks(options.styles, answer.first).stripped()
            if placed:
                placed[-1] = joined(placed[-1][0], *marks[:first]), placed[-1][1]
                marks, first = marks[first:], 0
            if words.text:
                complete = joined(words, *marks[first:], *marks[:first])
                placed.append((complete, place == len(line) and number < len(lines)))
            elif marks:
                lost.append(joined(*marks))
    return placed, lost


def _lines(reading: LocatedText, answer: Answer, options: CiteEvalOptions) -> Iterator[LocatedText]:
    """Yield the lines with text; two adjacent line breaks count as one, a third makes an empty line (see `stops`)."""
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
            raise UserError(f"Answer {answer.id} has an empty line, where released code fails: use --profile paper.")


def _statement(number: int, sentence: LocatedText, answer: Answer, options: CiteEvalOptions) -> ResponseStatement:
    highest = len(answer.passages) if options.highest is None else options.highest
    marks = sentence.marks(options.styles, answer.first)
    cited = [mark.number for mark in marks if mark.number is not None and 1 <= mark.number <= highest]
    unread = tuple(mark for mark in marks if mark.number is None or not 1 <= mark.number <= highest)
    citations = tuple(dict.fromkeys(cited))
    if options.leading == "released":
        # The iteration order of a set depends on all of its members, and on the order of insertion.
        in_set_order = {mark.number for mark in marks if mark.number is not None}
        citations = tuple(number for number in in_set_order if number in citations)
    text, blank = _clean(sentence, answer, options), answer.cites_blank(citations)
    return ResponseStatement(number, text, citations, *sentence.span(), unread, no_text=blank)


def _clean(sentence: LocatedText, answer: Answer, options: CiteEvalOptions) -> str:
    return sentence.without_marks(options.styles, answer.first).text.strip()
