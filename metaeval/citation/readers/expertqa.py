"""ExpertQA's long answers (`lfqa` files): each claim with its evidence, the answer made of its claims.

The published answer strings do not hold every claim as it was judged, so an answer's text is its claims one after the
other, each with marks for the passages of its evidence. Evidence that is a URL without text is no passage. An answer
all of whose evidence is URLs (bing_chat, gpt4) is left out: its citations point at nothing that could be read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metaeval.citation.model import Answer, Passage
from metaeval.corpus.loaders import expertqa as published
from metaeval.corpus.loaders.rows import DataRow, content_id, strip_marks
from metaeval.corpus.sentences import RULES

# What closes a sentence, with the quotes, brackets and marks of emphasis around it; marks stand in front of it, for
# behind it a splitter takes them for the beginning of the next sentence.
_CLOSING = re.compile(r"[.!?…:;]+[\"'”’»)\]*_]*\Z")


def written(statements: Sequence[tuple[str, Sequence[int]]]) -> tuple[str, list[tuple[int, int]]]:
    """The text of statements (text, cited numbers), one after the other with `[n]` marks; offsets of each, in order.

    Marks stand before the closing punctuation. A space parts statements where a splitter sees the end of one sentence
    and the beginning of the next, a line break all others.
    """
    text, last = "", ""
    places: list[tuple[int, int]] = []
    for own, citations in statements:
        shown = with_marks(own, citations)
        if places:
            together = RULES.split(f"{last} {shown}")
            text += " " if len(together) == len(RULES.split(last)) + len(RULES.split(shown)) else "\n"
        places.append((len(text), len(text) + len(shown)))
        text, last = text + shown, shown
    return text, places


def with_marks(statement: str, citations: Sequence[int]) -> str:
    """A statement with its marks before its closing punctuation, or at its end without any."""
    if not citations:
        return statement
    marks = "".join(f"[{number}]" for number in citations)
    closing = _CLOSING.search(statement)
    end = closing.start() if closing else len(statement)
    return f"{statement[:end].rstrip()} {marks}{statement[end:]}".lstrip()


URLS_ALONE = "answers whose evidence is URLs without text"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim in its answer's text: offsets with its marks, text without, and the expert's word on its evidence.

    bare: how much of its evidence is a URL alone. level: support from 0 to 1; None where the expert gave none, or
    without a passage to hold the claim against.
    """

    start: int
    end: int
    text: str
    bare: int
    level: float | None


@dataclass(frozen=True)
class JudgedAnswer:
    """An answer with its claims; all_urls: it has evidence, and none of it has text."""

    answer: Answer
    claims: tuple[JudgedClaim, ...]

    @property
    def all_urls(self) -> bool:
        """Whether it has evidence, and none of it has text."""
        return not self.answer.passages and any(claim.bare for claim in self.claims)


def read_expertqa(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """One answer for each question and system. Its id is the same in every file of the set; the question is its group.

    Answers whose evidence is URLs alone are left out, and how many is logged.
    """
    left_out = 0
    for judged in read_judged(rows):
        if judged.all_urls:
            left_out += 1
        else:
            yield judged.answer
    if left_out:
        _log.info("expertqa: %s left out: %d", URLS_ALONE, left_out)


def read_judged(rows: Sequence[DataRow]) -> Iterator[JudgedAnswer]:
    """The answers with the experts' judgements, those of URLs alone too."""
    for row in rows:
        question, answers = row.text("question"), row.row("answers")
        for system in answers.fields:
            answer = answers.row(system)
            answer.text("answer_string")
            yield _judged(question, system, answer.rows("claims"))


def _judged(question: str, system: str, claims: Sequence[DataRow]) -> JudgedAnswer:
    numbers: dict[str, int] = {}
    read: list[tuple[str, tuple[int, ...], int, float | None]] = []
    for claim in claims:
        support = claim.choice("support", published.SUPPORT)
        entries = dict.fromkeys(claim.texts("evidence"))
        texts = [text for entry in entries if (text := published.Passage.parse(entry).text)]
        own = dict.fromkeys(numbers.setdefault(text, len(numbers) + 1) for text in texts)
        # One line a claim: some claims end in a list's first number, which would be a sentence on a line of its own.
        if text := " ".join(strip_marks(claim.text("claim_string")).split()):
            level = None if support is None or not own else support / 2
            read.append((text, tuple(own), len(entries) - len(texts), level))
    text, places = written([(text, own) for text, own, _, _ in read])
    answer = Answer(
        id=content_id(question, system),
        text=text,
        passages=tuple(map(Passage, numbers)),
        question=question,
        group=f"q-{content_id(question)}",
        system=system,
    )
    placed = zip(places, read, strict=True)
    return JudgedAnswer(answer, tuple(JudgedClaim(*at, own, bare, level) for at, (own, _, bare, level) in placed))
