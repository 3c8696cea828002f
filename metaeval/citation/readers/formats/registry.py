"""The formats of answers by name, in the order in which a record is recognised."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.citation.readers.formats import (
    anthropic,
    deep_research,
    gemini,
    numbered_contexts,
    openai,
    trec,
)
from metaeval.citation.readers.formats.answer_format import AnswerFormat

RECORD_FORMATS: Mapping[str, AnswerFormat] = {
    declared.name: declared
    for declared in (
        numbered_contexts.RAGAS,
        numbered_contexts.DEEPEVAL,
        numbered_contexts.VECTARA,
        trec.TREC,
        openai.RESPONSES,
        openai.CHAT,
        openai.XAI,
        gemini.GEMINI,
        anthropic.INSPECT,
        openai.LANGCHAIN,
        anthropic.ANTHROPIC,
        deep_research.RESEARCH,
    )
}
