"""Predictions of LongCite: statements, each with citations that hold their text.

Keys of a citation are `start_char_idx` and so on by the published code (THUDM/LongCite @ d7d772e `auto_scorer.py`), and
`start_char` in the older files of `pred_one_shot.py`; both are read. Each citation is a source of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metaeval.citation.readers.cited_text import AnswerDraft, CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished, named_by, offset, parts
from metaeval.citation.readers.formats.trec import SentenceWriter
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import RULES

_OPENING = "<statement>"
_STATEMENT = re.compile(r"<statement>(.*?)</statement>", re.DOTALL)
_CITE = re.compile(r"<cite>(.*?)</cite>", re.DOTALL)
_RANGE = re.compile(r"\[([0-9]{1,9})-([0-9]{1,9})\]")
_LEAST_TEXT = 6
_MOST_RANGES = 3

SentenceRange = tuple[int, int]
"""The numbers of the first and the last sentence of a cited text, from 0."""

_ENDS = (("start_char_idx", "end_char_idx"), ("start_char", "end_char"))


def _read(row: DataRow) -> Iterator[CitedText]:
    draft, writer = AnswerDraft(), SentenceWriter()
    context = row.optional_text("context")
    for statement in row.rows("statements"):
        cited = []
        for citation in parts(statement, "citation"):
            text, place = citation.optional_text("cite"), _ends(citation)
            if context and text and place and context[slice(*place)] != text:
                draft.left_out["citations quote a text that the context does not have at their offsets"] += 1
            first = named_by(citation, "start_sentence_idx", "st_sent")
            last = named_by(citation, "end_sentence_idx", "ed_sent")
            text = text or (context[slice(*place)] if place else "")
            name = f"{first}-{last}" if first or last else text[:40]
            cited.append(draft.source((name, text), id=name, text=text))
        writer.write(draft, statement.text("statement"), cited)
    yield finished(draft, row, id=_name(row))


def _ends(citation: DataRow) -> tuple[int, int] | None:
    for names in _ENDS:
        start, end = (offset(citation, name) for name in names)
        if start is not None and end is not None:
            return start, end
    return None


@dataclass(frozen=True, slots=True)
class TaggedStatement:
    """A statement of a reply in tags. ranges: of the sentences that it cites. lost: number of ranges left out."""

    text: str
    ranges: Sequence[SentenceRange] = ()
    lost: int = 0


def tagged_statements(reply: str, n_sentences: int) -> list[TaggedStatement]:
    """Return the statements of a model's reply in LongCite's tags. n_sentences: of the context that they cite.

    A text of six characters or more between statements is a statement that cites nothing; a statement that is not
    closed, and what follows it, is left out. As THUDM/LongCite d7d772e reads replies.
    """
    statements = []
    done = 0
    for match in _STATEMENT.finditer(reply):
        statements += _outside(reply[done : match.start()])
        if match[1].strip():
            statements.append(_tagged(match[1], n_sentences))
        done = match.end()
    return statements + _outside(reply[done:].partition(_OPENING)[0])


def _outside(text: str) -> list[TaggedStatement]:
    return [TaggedStatement(text)] if len(text.strip()) >= _LEAST_TEXT else []


def _tagged(statement: str, n_sentences: int) -> TaggedStatement:
    """Return a statement with its ranges: cut at the last sentence, joined where adjacent, and only the first three."""
    ranges: list[SentenceRange] = []
    lost = 0
    for match in _RANGE.finditer(" ".join(_CITE.findall(statement))):
        first, last = int(match[1]), min(int(match[2]), n_sentences - 1)
        if last < first:
            lost += 1
        elif ranges and ranges[-1][1] == first - 1:
            ranges[-1] = (ranges[-1][0], last)
        else:
            ranges.append((first, last))
    kept = ranges[:_MOST_RANGES]
    return TaggedStatement(_CITE.sub("", statement), kept, lost + len(ranges) - len(kept))


def _read_reply(row: DataRow) -> Iterator[CitedText]:
    draft, writer = AnswerDraft(), SentenceWriter()
    sentences = row.texts("sentences") if row.fields.get("sentences") else RULES.split(row.text("context"))
    reply = row.text("prediction")
    for statement in tagged_statements(reply, len(sentences)):
        cited = []
        for first, last in statement.ranges:
            text = " ".join(sentence.strip() for sentence in sentences[first : last + 1])
            cited.append(draft.source((first, last), id=f"{first}-{last}", text=text))
        writer.write(draft, statement.text, cited)
        draft.left_out["ranges name no sentence of the context, or are beyond the third of their statement"] += (
            statement.lost
        )
    draft.left_out["statements are not closed"] += _OPENING in _STATEMENT.sub("", reply)
    yield finished(draft, row, id=_name(row))


def _name(row: DataRow) -> str:
    return "/".join(filter(None, (named_by(row, "dataset"), named_by(row, "idx", "id"))))


LONGCITE = AnswerFormat(
    name="longcite",
    title="LongCite predictions: statements with citations",
    needs=("statements[].statement", "statements[].citation"),
    example='{"idx": 0, "dataset": "hotpotqa", "query": "When?", "statements": [{"statement": "It opened in 1999.", '
    '"citation": [{"start_sentence_idx": 3, "end_sentence_idx": 4, "start_char_idx": 210, "end_char_idx": 236, '
    '"cite": "The bridge opened in 1999."}]}]}',
    read=_read,
)

LONGCITE_REPLY = AnswerFormat(
    name="longcite-reply",
    title="Replies of LongCite's models in tags, and the context whose sentences they cite by number",
    needs=("prediction", "context"),
    example='{"idx": 0, "query": "When?", "context": "It is a bridge. It opened in 1999.", "prediction": '
    '"<statement>It opened in 1999.<cite>[1-1]</cite></statement>"}',
    note="sentences are numbered from 0, by the field sentences or by our rules",
    read=_read_reply,
)
