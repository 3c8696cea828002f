"""Predictions of LongCite: statements, each with citations that hold their text.

Keys of a citation are `start_char_idx` and so on by the published code (THUDM/LongCite @ d7d772e `auto_scorer.py`), and
`start_char` in the older files of `pred_one_shot.py`; both are read. Each citation is a source of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from metaeval.citation.readers.cited_text import AnswerDraft, CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished, named_by, offset, parts
from metaeval.citation.readers.formats.trec import SentenceWriter
from metaeval.corpus.loaders.rows import DataRow

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
    name = "/".join(filter(None, (named_by(row, "dataset"), named_by(row, "idx", "id"))))
    yield finished(draft, row, id=name)


def _ends(citation: DataRow) -> tuple[int, int] | None:
    for names in _ENDS:
        start, end = (offset(citation, name) for name in names)
        if start is not None and end is not None:
            return start, end
    return None


LONGCITE = AnswerFormat(
    name="longcite",
    title="LongCite predictions: statements with citations",
    needs=("statements[].statement", "statements[].citation"),
    example='{"idx": 0, "dataset": "hotpotqa", "query": "When?", "statements": [{"statement": "It opened in 1999.", '
    '"citation": [{"start_sentence_idx": 3, "end_sentence_idx": 4, "start_char_idx": 210, "end_char_idx": 236, '
    '"cite": "The bridge opened in 1999."}]}]}',
    read=_read,
)
