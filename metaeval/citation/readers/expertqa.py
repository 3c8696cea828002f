"""ExpertQA's long answers (`lfqa` files): each claim with its evidence, the answer made of its claims.

The published answer strings lack some of the claims as they were judged, so an answer's text is its claims in order,
each with marks for the passages of its evidence. Evidence that is a URL without text is not a passage. An answer whose
evidence is URLs alone (bing_chat, gpt4) is left out: its citations have no text that could be read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence

from metaeval.citation.data_model import Answer, Passage
from metaeval.corpus.data_rows import DataRow, content_id, strip_marks
from metaeval.corpus.loaders import expertqa as published
from metaeval.corpus.sentences import RULES

# The closing punctuation of a sentence, with quotes, brackets and marks of emphasis. Marks are put in front of it:
# behind it a splitter would count them to the next sentence.
_CLOSING = re.compile(r"[.!?…:;]+[\"'”’»)\]*_]*\Z")


def write_statements(statements: Sequence[tuple[str, Sequence[int]]]) -> tuple[str, list[tuple[int, int]]]:
    """Return the statements (text, cited numbers) as one text with marks [n], and each statement's offsets in it.

    Marks stand before the closing punctuation.
    """
    text, last = "", ""
    places: list[tuple[int, int]] = []
    for statement, citations in statements:
        shown = with_marks(statement, citations)
        text += separator(last, shown) if places else ""
        places.append((len(text), len(text) + len(shown)))
        text, last = text + shown, shown
    return text, places


def separator(last: str, text: str) -> str:
    """Return what stands between two texts: a space where a splitter sees the end of a sentence, else a line break."""
    apart = len(RULES.split(last)) + len(RULES.split(text))
    return " " if len(RULES.split(f"{last} {text}")) == apart else "\n"


def with_marks(statement: str, citations: Sequence[int]) -> str:
    """Return a statement with its marks before its closing punctuation, or else at its end."""
    if not citations:
        return statement
    marks = "".join(f"[{number}]" for number in citations)
    closing = _CLOSING.search(statement)
    end = closing.start() if closing else len(statement)
    return f"{statement[:end].rstrip()} {marks}{statement[end:]}".lstrip()


URLS_ALONE = "answers whose evidence is URLs without text"

_log = logging.getLogger(__name__)


# Claims in their answer's text: offsets with marks, the text without them, and the expert's level of support.
#
# The level says how well the evidence supports the claim, 0, 0.5 or 1; None where the expert gave none, or where no
# evidence has a text.
ExpertClaims = list[tuple[int, int, str, float | None]]


def read_expertqa(rows: Sequence[DataRow], urls: bool = False) -> Iterator[Answer]:
    """Yield one answer for each question and system, with the same id in every file of the set; group: the question.

    Answers whose evidence is URLs alone are left out; their number is logged. urls: as in `read_judged`.
    """
    left_out = 0
    for answer, _, bare in read_judged(rows, urls):
        if bare and not answer.passages:
            left_out += 1
        else:
            yield answer
    if left_out:
        _log.info("expertqa: %s left out: %d", URLS_ALONE, left_out)


def read_judged(rows: Sequence[DataRow], urls: bool = False) -> Iterator[tuple[Answer, ExpertClaims, int]]:
    """Yield ExpertQA's answers, with their claims and the number of pieces of evidence that were left out.

    These are URLs alone; with `urls` they are passages without a text.
    """
    for row in rows:
        question, answers = row.text("question"), row.row("answers")
        for system in answers.fields:
            answer = answers.row(system)
            answer.text("answer_string")
            numbers: dict[Passage, int] = {}
            read: list[tuple[str, tuple[int, ...], float | None]] = []
            bare = 0
            for claim in answer.rows("claims"):
                support = claim.choice("support", published.SUPPORT)
                entries = list(map(published.parse_evidence, dict.fromkeys(claim.texts("evidence"))))
                held = [Passage(text) if text else Passage("", "", url) for url, text in entries if text or urls]
                cited = dict.fromkeys(numbers.setdefault(passage, len(numbers) + 1) for passage in held)
                # Each claim is one line: some end in the first number of a list, which a line break would make a
                # sentence.
                if text := " ".join(strip_marks(claim.text("claim_string")).split()):
                    bare += len(entries) - len(held)
                    read.append((text, tuple(cited), None if support is None or not cited else support / 2))
            text, places = write_statements([(text, cited) for text, cited, _ in read])
            group = f"q-{content_id(question)}"
            written = Answer(content_id(question, system), text, tuple(numbers), question, group, system)
            placed = zip(places, read, strict=True)
            yield written, [(start, end, text, level) for (start, end), (text, _, level) in placed], bare
