"""The sentences of an answer and of its reference without marks, and where each citation group stands in them."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.citation.marks import cited_spans, find_marks, unread
from metaeval.citation.model import Answer, Mark
from metaeval.citation.scifi.model import Placed, Sentence
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.sentences import (
    RULES,
    Reading,
    SentenceSplitter,
    added,
    joined,
    move_leading,
    part,
    span,
    split,
    stripped,
    whole,
)


def read_sentences(
    answer: Answer, options: ScifiOptions | None = None, splitter: SentenceSplitter = RULES
) -> tuple[Sentence, ...]:
    """The sentences of an answer, in order, numbered from 1.

    A sentence without a letter is none ("1.", "--"), unless it holds a number and a citation. Marks that the styles
    cannot read stay in the text.
    """
    options = options or ScifiOptions()
    moved = move_leading(split(whole(answer.text), splitter), options.leading, options.styles)
    found: list[Sentence] = []
    for reading in moved:
        clean, groups = _cleaned(stripped(reading), options, answer.first)
        if has_letter(clean.text) or (groups and any(character.isalnum() for character in clean.text)):
            where = span(reading)
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


def _cleaned(reading: Reading, options: ScifiOptions, first: int) -> tuple[Reading, tuple[Placed, ...]]:
    """The reading without its groups and the white space before each, and the groups at their places."""
    clean, end = Reading("", ()), 0
    placed: list[Placed] = []
    for group in cited_spans(reading.text, options.styles, first):
        clean = _continued(clean, _without_last_space(part(reading, end, group.start)), bool(placed))
        marks = tuple(Mark(reading.at[mark.start], reading.at[mark.end - 1] + 1, mark.number) for mark in group.marks)
        placed.append(Placed(len(clean.text), marks))
        end = group.end
    return _continued(clean, part(reading, end, len(reading.text)), bool(placed)), tuple(placed)


def _continued(clean: Reading, rest: Reading, behind_mark: bool) -> Reading:
    """What stands behind a mark, put behind what stands before it; two words that it parted stay two."""
    if not clean.text:
        return stripped(rest) if not rest.text.strip() else part(rest, _indent(rest.text), len(rest.text))
    parted = behind_mark and clean.text[-1].isalnum() and rest.text[:1].isalnum()
    return joined(clean, added(" "), rest) if parted else joined(clean, rest)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _without_last_space(reading: Reading) -> Reading:
    return part(reading, 0, len(reading.text.rstrip()))


def given_facts(answer: Answer) -> tuple[str, ...] | None:
    """The reference's own `claims`, as they are; None where there are none."""
    claims = answer.reference.get("claims")
    if not isinstance(claims, list | tuple) or not all(isinstance(claim, str) for claim in claims):
        return None
    return tuple(claim for claim in claims if has_letter(claim)) or None


def reference_sentences(
    answer: Answer, options: ScifiOptions | None = None, splitter: SentenceSplitter = RULES
) -> tuple[str, ...] | None:
    """The sentences of the reference's `answer`, without marks; None where there is no such text."""
    text = answer.reference.get("answer")
    if not isinstance(text, str) or not text.strip():
        return None
    read = read_sentences(Answer(answer.id, text, (), first=answer.first), options, splitter)
    return tuple(sentence.text for sentence in read if has_letter(sentence.text)) or None
