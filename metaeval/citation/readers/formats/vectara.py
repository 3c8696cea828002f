"""Tables of Vectara's open-rag-eval: a row for each passage, and the answer with marks on the first of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished
from metaeval.core.tables import UserTable
from metaeval.corpus.data_rows import DataRow


def vectara_rows(table: UserTable) -> list[DataRow]:
    """Return one row for each answer of a table of Vectara's open-rag-eval; none for another table.

    A row of the file is a passage; the answer is on the first row of its query and run (vectara/open-rag-eval @ dfc4175
    `data/test_csv_connector.csv`).
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    if not {"query_id", "passage_id", "passage", "generated_answer"} <= set(table.headings):
        return []
    for row in table.rows:
        fields = {heading: row.text(heading) for heading in table.headings}
        key = fields["query_id"], fields.get("query_run", "")
        usual = {"id": "/".join(filter(None, key)), "query": fields.get("query", ""), "generated_answer": ""}
        answer = rows.setdefault(key, {**usual, "passages": [], "where": row.where})
        answer["generated_answer"] = answer["generated_answer"] or fields["generated_answer"]
        answer["passages"].append({"id": fields["passage_id"].strip("[] "), "text": fields["passage"]})
    return [DataRow(fields.pop("where"), fields) for fields in rows.values()]


def _read_vectara(row: DataRow) -> Iterator[CitedText]:
    draft = CitedText()
    for passage in row.rows("passages"):
        draft.source(passage.text("id"), id=passage.text("id"), text=passage.text("text"))
    draft.write(text := row.text("generated_answer"))
    for mark in find_marks(text):
        draft.mark(mark.start, mark.end, (draft.find(str(mark.number)),))
    yield finished(draft, row)


VECTARA = AnswerFormat(
    name="vectara",
    title="Vectara's open-rag-eval: a CSV with query_id, passage_id, passage (one a row) and generated_answer",
    needs=("generated_answer", "passages[]"),
    read=_read_vectara,
)
