"""Answers as a text with marks and a list of documents, as evaluation tools and frameworks of retrieval write them.

They differ in the names of their fields, and in how marks are written; what documents call their text, id, address and
title is one vocabulary. RAGAS: `SingleTurnSample` (explodinggradients/ragas @ 2b38724), and its columns before 0.2;
DeepEval: `LLMTestCase` (confident-ai/deepeval @ a2e0d4c), whose fields are in camelCase in files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from metaeval.citation.readers.cited_text import CitedSource, CitedText
from metaeval.citation.readers.formats.answer_format import (
    AnswerFormat,
    finished,
    named_by,
    question_of,
    text_in,
    values_at,
)
from metaeval.core.errors import UserError, shown
from metaeval.corpus.data_rows import DataRow

# Paths of what describes a document: its id, address, title and text.
_DOCUMENT = (
    "id|id_|node.id_|doc_id|document_id|segment_id|chunk_id|metadata.source|kwargs.metadata.source|source|filepath"
    "|meta.name|title",
    "url|metadata.url|meta.url|link",
    "title|document_name|docnm_kwd|filename|metadata.title|metadata.file_name|node.metadata.file_name|paper.title",
    "text|content|page_content|pageContent|context|snippets[]|node.text|node.text_resource.text"
    "|kwargs.page_content|content_with_weight|snippet|chunk",
)

_IDS = "retrieved_context_ids[]"  # beside the texts of the documents, or in their place


@dataclass(frozen=True)
class TextAndDocuments:
    """Where a record holds answers and their documents, as paths (see `AnswerFormat.needs`).

    each: of the objects with an answer. text, documents: within such an object. question: fields of the question; ():
    the usual ones. first: the number of the first document in marks. marks: pattern of the marks, whose last group
    holds their numbers, or which are the ids of documents; "": marks [n].
    """

    name: str
    title: str
    text: str
    documents: str
    each: str = ""
    question: tuple[str, ...] = ()
    first: int = 1
    marks: str = ""

    def declared(self) -> AnswerFormat:
        """Return the format of answers."""
        needs = tuple(
            "|".join(f"{start}.{path}".strip(".") for start in self.each.split("|") for path in paths.split("|"))
            for paths in (self.text, self.documents)
        )
        note = "" if self.marks else "marks [n] in the texts count the documents, from 1"
        return AnswerFormat(self.name, self.title, needs, self._read, note=note)

    def _read(self, row: DataRow) -> Iterator[CitedText]:
        number = 0
        for entry in values_at(row.fields, self.each):
            values = values_at(entry, self.text)
            if wrong := [value for value in values if not text_in(value) and not isinstance(value, str)]:
                raise UserError(f"{row.where}: {self.text.split('|')[0]} holds {shown(wrong[0])}; allowed: a text.")
            texts = [*map(text_in, values)]
            inner = DataRow(row.where, entry if isinstance(entry, Mapping) else {})
            # Several texts are samples of one reply if they are a list, and else sections of one answer.
            for text in texts if self.text.endswith("[]") else ["\n\n".join(texts)]:
                draft = CitedText(self._sources(inner), marks_in_text=not self.marks)
                draft.write(text)
                places = {source.id: place for place, source in enumerate(draft.sources)}
                for match in re.finditer(self.marks, text) if self.marks else ():
                    numbers = [int(digits) - self.first for digits in re.findall(r"\d+", "".join(match.groups("")))]
                    counted = [place if 0 <= place < len(draft.sources) else None for place in numbers]
                    draft.mark(match.start(), match.end(), [places[match[0]]] if match[0] in places else counted)
                named = named_by(inner, "id", "name", "query_id", "message_id")
                question = named_by(inner, *self.question) if self.question else question_of(inner) or question_of(row)
                yield finished(draft, row, number, id=named or None, question=question)
                number += 1
        if not number:
            raise UserError(f"{row.where}: field {self.text.split('|')[0]!r} is missing.")

    def _sources(self, row: DataRow) -> list[CitedSource]:
        ids = [str(name) for name in values_at(row.fields, _IDS)]
        documents = values_at(row.fields, self.documents) or [{"id": name} for name in ids]
        if ids and len(ids) != len(documents):
            raise row.error(_IDS[:-2], f"one id for each of {len(documents)} contexts")
        sources = []
        for place, document in enumerate(documents):
            if isinstance(document, str):
                document = {"text": document}
            id, url, title, text = (
                "\n".join(value for value in values_at(document, path) if isinstance(value, str)) for path in _DOCUMENT
            )
            if not (id or url or title or text) and document != {"text": ""}:
                holder = f"{row.where}: {self.documents.split('|')[0]} holds {shown(document)}"
                raise UserError(f"{holder}; allowed: a text, or an object with one.")
            sources.append(CitedSource(ids[place] if ids else "" if url and id == title else id, url, title, text))
        return sources


AZURE = TextAndDocuments(
    name="azure",
    title="Azure OpenAI on your data: choices whose message has a context with citations, marks [doc1]",
    each="choices[].message",
    text="content",
    documents="context.citations[]|context.messages[].content.citations[]",
    marks=r"[\[【]((?:doc\d{1,9}+[\s,;]{0,3}+){1,50}+)[\]】]",
)

LAYOUTS = (
    TextAndDocuments(
        name="ragas",
        title="RAGAS: a response with marks, and its retrieved contexts",
        text="response|answer",
        documents="retrieved_contexts[]|contexts[]|retrieved_context_ids[]",
    ),
    TextAndDocuments(
        name="deepeval",
        title="DeepEval: test cases with an output with marks, and the retrieval context",
        text="actualOutput|actual_output",
        documents="retrievalContext[]|retrieval_context[]",
    ),
    TextAndDocuments(
        name="rag",
        title="LangChain, LlamaIndex, Dify, RAGChecker, Vercel AI SDK: an answer with marks, and its documents",
        each="input_data[]|results[]|",
        text="answer.content|answer.kwargs.content|answer|response|result|text",
        documents="context[]|source_documents[]|sourceDocuments[]|source_nodes[]|sourceNodes[]|retrieved_context[]"
        "|metadata.retriever_resources[]|retriever_resources[]|sources[]",
    ),
    TextAndDocuments(
        name="haystack",
        title="Haystack pipelines: answers with their documents, or replies beside a component's documents",
        each="*.answers[].init_parameters|*.answers[]|answers[]|",
        text="data|*.replies[]",
        documents="documents[]|*.documents[]",
    ),
    TextAndDocuments(
        name="ragflow",
        title="RAGFlow: an answer and the chunks of its reference; marks [ID:0] or ##0$$ count from 0",
        each="data|choices[].message|",
        text="answer|content",
        documents="reference.chunks[]|reference[]",
        question=("question", "query"),
        first=0,
        marks=r"[\[【(]\s?+ID:((?:[\s,;]{0,3}+(?:ID:\s?+)?+\d{1,9}+(?!\d)){1,50}+)\s?+[\]】)]|##(\d{1,9})\$\$",
    ),
    TextAndDocuments(
        name="scholarqa-reply",
        title="Ai2 ScholarQA: sections whose marks are the ids of their citations, with snippets",
        text="sections[].text",
        documents="sections[].citations[]",
        marks=r"\[(\d{1,18}) \|[^\[\]\n]{1,300}\]",
        first=0,
    ),
)
