"""Traces: MLflow, OpenInference (Phoenix), OpenTelemetry's conventions for generative models, TruLens.

None of them has citations (open-telemetry/semantic-conventions-genai#22 is open): an answer is the output of the first
span without a parent, or else of the last span with an output; its marks [n] count the retrieved documents, in order.
Names: OpenInference `retrieval.documents.i.document.content` (Arize-ai/openinference @ 1fe497f), MLflow
`mlflow.spanOutputs` with `page_content`, `gen_ai.retrieval.documents`, TruLens `...retrieval.retrieved_contexts`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from metaeval.citation.readers.cited_text import AnswerDraft, CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished, named_by, part, parts
from metaeval.corpus.data_rows import DataRow
from metaeval.parsing import MalformedError, parse_json

_OUTPUTS = ("output.value", "mlflow.spanOutputs", "outputs", "output", "gen_ai.output.messages")
_INPUTS = ("input.value", "mlflow.spanInputs", "inputs", "input", "gen_ai.input.messages")
_PARENTS = ("parent_id", "parent_span_id", "parentSpanId")
_WORDS = ("content", "text", "answer", "output", "response", "result", "query", "question", "input", "value")
_DOCUMENT = ("page_content", "content", "text")


def _read(row: DataRow) -> Iterator[CitedText]:
    spans = [_values(span) for span in _spans(row)]
    draft = AnswerDraft()
    for document in (document for span in spans for document in _documents(span)):
        inner = part(DataRow(row.where, document), "metadata")
        text = next((document[name] for name in _DOCUMENT if isinstance(document.get(name), str)), "")
        names = DataRow(row.where, {**inner.fields, **document})
        url = named_by(inner, "doc_uri", "url", "source")
        draft.source(len(draft.sources), id=named_by(names, "id", "chunk_id", "document_id"), url=url, text=text)
    roots = [span for span in spans if not any(span.get(name) for name in _PARENTS)]
    candidates = [*roots[:1], *reversed(spans)]
    draft.write(next(filter(None, (_words(span, _OUTPUTS) for span in candidates)), ""))
    question = next(filter(None, (_words(span, _INPUTS) for span in candidates)), "")
    answer_id = named_by(part(row, "info"), "trace_id", "request_id") or named_by(row, "trace_id", "id")
    yield finished(draft, row, id=answer_id, question=question, marks_in_text=True)


def _spans(row: DataRow) -> list[DataRow]:
    if "resourceSpans" in row.fields:
        scopes = [scope for resource in parts(row, "resourceSpans") for scope in parts(resource, "scopeSpans")]
        return [span for scope in scopes for span in parts(scope, "spans")]
    return parts(part(row, "data"), "spans") if "data" in row.fields else parts(row, "spans")


def _values(span: DataRow) -> dict[str, Any]:
    """Return the fields and attributes of a span by dotted names; JSON in strings is parsed."""
    attributes = span.fields.get("attributes")
    if isinstance(attributes, list):  # OTLP: values under the name of their type
        pairs = parts(span, "attributes")
        attributes = {named_by(pair, "key"): next(iter(part(pair, "value").fields.values()), None) for pair in pairs}
    values = {**span.fields, **(attributes if isinstance(attributes, Mapping) else {})}
    return {name: _parsed(value) for name, value in values.items() if name != "attributes"}


def _parsed(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return parse_json(value, lone_surrogates=True)
        except MalformedError:
            return value
    return value


def _documents(span: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    numbered: dict[int, dict[str, Any]] = defaultdict(dict)
    for name, value in span.items():
        if name.endswith("retrieval.retrieved_contexts") and isinstance(value, list):
            return [{"text": text} for text in value]
        number, dot, key = name.removeprefix("retrieval.documents.").partition(".document.")
        if dot and number.isdigit() and len(number) < 10:
            numbered[int(number)][key] = value
    documents: list[Mapping[str, Any]] = [numbered[number] for number in sorted(numbered)]
    is_retriever = "RETRIEVER" in (span.get("mlflow.spanType"), span.get("span_type"))
    for name in ("retrieval.documents", "gen_ai.retrieval.documents", *(_OUTPUTS if is_retriever else ())):
        listed = span.get(name)
        objects = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
        inner = [entry.get("document", entry) for entry in objects]
        documents += [] if documents else [entry for entry in inner if isinstance(entry, Mapping)]
    return documents


def _words(span: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next(filter(None, (_text(span.get(name)) for name in names)), "")


def _text(value: Any, depth: int = 0) -> str:
    """Return the text of an output: a string, or that of the last message or of the first field that holds text."""
    if isinstance(value, str) or depth > 8:
        return value if isinstance(value, str) else ""
    if isinstance(value, list):
        return _text(value[-1], depth + 1) if value else ""
    if isinstance(value, Mapping):
        inner = [value[name] for name in ("choices", "messages", "message", "parts", *_WORDS) if name in value]
        return next(filter(None, (_text(entry, depth + 1) for entry in inner)), "")
    return ""


TRACE = AnswerFormat(
    name="trace",
    title="traces of MLflow, OpenInference, OpenTelemetry and TruLens: an output with marks, and retrieved documents",
    needs=("spans[]|data.spans[]|resourceSpans[].scopeSpans[].spans[]",),
    example='{"info": {"trace_id": "t"}, "data": {"spans": [{"name": "rag", "inputs": "When?", "outputs": "It opened '
    'in 1999 [1]."}, {"name": "search", "parent_id": "a", "span_type": "RETRIEVER", "outputs": [{"page_content": '
    '"The bridge opened in 1999.", "metadata": {"doc_uri": "a.pdf"}}]}]}}',
    note="traces hold no citations: marks [n] count the retrieved documents in their order, from 1",
    read=_read,
)
