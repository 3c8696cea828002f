"""From answers to claims: sentences, marks in one form, every sentence parsed in one batch, offsets kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.citation.aliice.claims import SentenceClaims, Stated, read_sentences
from metaeval.citation.aliice.profile import Profile
from metaeval.citation.aliice.released_text import MARK
from metaeval.citation.marks import find_marks
from metaeval.citation.model import Answer, Claim, Mark
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.reading import Reading, joined, part, span, whole
from metaeval.citation.sentences import RULES, SentenceSplitter, move_leading, split


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A claim with the marks of its citation group, in the order of `claim.citations`."""

    claim: Claim
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class AnswerClaims:
    """An answer with its claims. sentences: as they were read, marks moved and brought to one form."""

    answer: Answer
    sentences: tuple[SentenceClaims, ...]
    claims: tuple[CitedClaim, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentences, with their marks."""
        return tuple(sentence.sentence for sentence in self.sentences)


def read_answers(
    answers: Sequence[Answer], parser: Parser, profile: Profile, splitter: SentenceSplitter = RULES
) -> list[AnswerClaims]:
    """The claims of every answer, in order."""
    split_up = [_sentences(answer, profile, splitter) for answer in answers]
    read = iter(read_sentences([each.text for sentences in split_up for each in sentences], parser, profile))
    found = []
    for answer, sentences in zip(answers, split_up, strict=True):
        own = tuple(next(read) for _ in sentences)
        claims = tuple(
            _cited(stated, sentence, number)
            for number, (sentence, stated_there) in enumerate(zip(sentences, own, strict=True), start=1)
            for stated in stated_there.claims
        )
        found.append(AnswerClaims(answer, own, claims))
    return found


def _sentences(answer: Answer, profile: Profile, splitter: SentenceSplitter) -> list[Reading]:
    moved = move_leading(split(in_one_form(answer, profile), splitter), profile.leading, profile.styles)
    return [each for each in moved if profile.emptied == "keep" or each.text.strip()]


def in_one_form(answer: Answer, profile: Profile) -> Reading:
    """The answer with every mark that the profile's styles read as a [n] of its own, counted from 1."""
    text = whole(answer.text)
    pieces: list[Reading] = []
    end = 0
    for mark in find_marks(answer.text, profile.styles, answer.first):
        bracket = answer.text[mark.start : mark.end]
        if mark.number is None or (answer.first == 1 and MARK.fullmatch(bracket)):
            continue
        if mark.start >= end:
            pieces.append(part(text, end, mark.start))
        written = f"[{max(mark.number, 0)}]"
        pieces.append(Reading(written, (mark.start,) + (mark.end - 1,) * (len(written) - 1)))
        end = mark.end
    return joined(*pieces, part(text, end, len(answer.text)))


def _cited(stated: Stated, sentence: Reading, number: int) -> CitedClaim:
    where = span(sentence)
    marks = tuple(Mark(sentence.at[start], sentence.at[end - 1] + 1, cited) for start, end, cited in stated.marks)
    claim = Claim(stated.text, stated.citations, number, where.start, where.end, stated.made_by)
    return CitedClaim(claim, marks)
