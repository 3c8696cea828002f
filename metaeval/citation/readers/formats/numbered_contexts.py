"""Answers with marks [n] and the list of their contexts: RAGAS, DeepEval and Vectara's open-rag-eval.

RAGAS: `SingleTurnSample` (explodinggradients/ragas @ 2b38724); DeepEval: `LLMTestCase` (confident-ai/deepeval @
a2e0d4c), whose fields are in camelCase in files. Neither has citations; their own metrics of citations count marks from
1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.cited_text import CitedSource, CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished, named_by, question_of
from metaeval.corpus.data_rows import DataRow
from metaeval.tables import UserTable

_COUNTED = "marks [n] in the texts count the contexts, from 1"


def _read_ragas(row: DataRow) -> Iterator[CitedText]:
    texts = row.texts("retrieved_contexts")
    ids = row.texts("retrieved_context_ids") if row.fields.get("retrieved_context_ids") is not None else []
    if ids and len(ids) != len(texts):
        raise row.error("retrieved_context_ids", f"one id for each of {len(texts)} contexts")
    sources = [CitedSource(id=ids[place] if ids else "", text=text) for place, text in enumerate(texts)]
    yield _answer(row, row.text("response"), sources, row.optional_text("user_input"))


def _read_deepeval(row: DataRow) -> Iterator[CitedText]:
    context = "retrievalContext" if "retrievalContext" in row.fields else "retrieval_context"
    output = "actualOutput" if "actualOutput" in row.fields else "actual_output"
    listed = row.fields.get(context)
    if not isinstance(listed, list) or not all(isinstance(entry, str | Mapping) for entry in listed):
        raise row.error(context, "a list of strings, or of objects with source and context")
    sources = []
    for number, entry in enumerate(listed):
        inner = DataRow(
            f"{row.where}, {context}[{number}]", entry if isinstance(entry, Mapping) else {"context": entry}
        )
        sources.append(CitedSource(named_by(inner, "source"), text=inner.text("context")))
    yield _answer(row, row.text(output), sources, row.optional_text("input"))


def _answer(row: DataRow, text: str, sources: list[CitedSource], question: str) -> CitedText:
    draft = CitedText(sources, marks_in_text=True)
    draft.write(text)
    return finished(draft, row, id=named_by(row, "id", "name"), question=question or question_of(row), system="")


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


RAGAS = AnswerFormat(
    name="ragas",
    title="RAGAS: a response with marks, and its retrieved contexts",
    needs=("response", "retrieved_contexts[]"),
    example='{"user_input": "When?", "response": "It opened in 1999 [1].", '
    '"retrieved_contexts": ["It opened in 1999."]}',
    note=_COUNTED,
    read=_read_ragas,
)

DEEPEVAL = AnswerFormat(
    name="deepeval",
    title="DeepEval: test cases with an output with marks, and the retrieval context",
    needs=("actualOutput|actual_output", "retrievalContext[]|retrieval_context[]"),
    example='{"input": "When?", "actualOutput": "It opened in 1999 [1].", "retrievalContext": ["It opened in 1999."]}',
    note=_COUNTED,
    read=_read_deepeval,
)

VECTARA = AnswerFormat(
    name="vectara",
    title="Vectara's open-rag-eval: a CSV with query_id, passage_id, passage (one a row) and generated_answer",
    needs=("generated_answer", "passages[]"),
    example='{"id": "query_1/1", "query": "When?", "generated_answer": "It opened in 1999 [1].", "passages": ['
    '{"id": "1", "text": "The bridge opened in 1999."}]}',
    read=_read_vectara,
)
