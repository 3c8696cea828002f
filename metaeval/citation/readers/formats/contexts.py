"""Answers with marks [n] and the list of their contexts: RAGAS and DeepEval.

RAGAS: `SingleTurnSample` (explodinggradients/ragas @ 2b38724); DeepEval: `LLMTestCase` (confident-ai/deepeval @
a2e0d4c), whose fields are in camelCase in files. Neither has citations; their own metrics of citations count marks from
1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metaeval.citation.readers.cited_text import CitedSource, CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, named_by, question_of
from metaeval.corpus.loaders.rows import DataRow


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
    question = question or question_of(row)
    return CitedText(text, sources, id=named_by(row, "id", "name"), question=question, marks_in_text=True)


RAGAS = AnswerFormat(
    name="ragas",
    title="RAGAS: a response with marks, and its retrieved contexts",
    needs=("response", "retrieved_contexts[]"),
    example='{"user_input": "When?", "response": "It opened in 1999 [1].", '
    '"retrieved_contexts": ["It opened in 1999."]}',
    read=_read_ragas,
)

DEEPEVAL = AnswerFormat(
    name="deepeval",
    title="DeepEval: test cases with an output with marks, and the retrieval context",
    needs=("actualOutput|actual_output", "retrievalContext[]|retrieval_context[]"),
    example='{"input": "When?", "actualOutput": "It opened in 1999 [1].", "retrievalContext": ["It opened in 1999."]}',
    read=_read_deepeval,
)
