"""Samples of SCiFi's kind (Section 3 of arXiv 2406.06125): choosing densely cited paragraphs, and splitting them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.scifi_samples import with_marks
from metaeval.citation.scifi.data_model import read_sentences
from metaeval.citation.scifi.wikitext import Paragraph, key_of, paragraphs_of, sources_of
from metaeval.corpus.sentences import RULES, SentenceSplitter


@dataclass(frozen=True)
class ScifiSample:
    """A paragraph with its candidate documents: all sources of its article that have a text.

    citations: (offset in the paragraph, number of the document from 1). density: citations per sentence. query: at
    first empty.
    """

    id: str
    paragraph: Paragraph
    citations: tuple[tuple[int, int], ...]
    documents: tuple[Passage, ...]
    density: float
    query: str = ""

    @property
    def answer(self) -> Answer:
        """The paragraph with its marks, as an answer to its query."""
        text = with_marks(self.paragraph.text, self.citations)
        return Answer(self.id, text, self.documents, self.query, self.paragraph.page, "reference")

    @property
    def row(self) -> dict[str, Any]:
        """The sample as a row that `metaeval.citation.readers.scifi_samples` reads; the page is its group."""
        documents = [
            {"id": str(number), "title": document.title, "text": document.text}
            for number, document in enumerate(self.documents, start=1)
        ]
        place = {"page": self.paragraph.page, "section": self.paragraph.section, "group": self.paragraph.page}
        citations = [{"position": at, "document": str(number)} for at, number in self.citations]
        row = {"id": self.id, "query": self.query, "paragraph": self.paragraph.text, "citations": citations}
        return {**row, "documents": documents, **place}


def candidates(
    articles: Iterable[tuple[str, str]],
    pages: Mapping[str, Passage],
    fewest: int = 3,
    splitter: SentenceSplitter = RULES,
) -> tuple[list[ScifiSample], Counter[str]]:
    """Return the paragraphs with enough citations, and counts by name of what was read and left out.

    articles: (title, wikitext). pages: texts of sources, by `key_of` their addresses. fewest: the number of citations
    of sources with a text that a paragraph needs; citations of other sources are dropped from it.
    """
    samples: list[ScifiSample] = []
    counts: Counter[str] = Counter()
    for title, wikitext in articles:
        paragraphs = paragraphs_of(title, wikitext)
        documents = sources_of(paragraphs, pages)
        numbers = {key: number for number, key in enumerate(documents, start=1)}
        counts += Counter({"articles": 1, "paragraphs": len(paragraphs)})
        for place, paragraph in enumerate(paragraphs, start=1):
            cited = [(at, numbers.get(key_of(address))) for at, address in paragraph.citations]
            known = tuple((at, number) for at, number in cited if number is not None)
            counts += Counter({"citations": len(cited), "citations of sources without a text": len(cited) - len(known)})
            if any(mark.number is not None for mark in find_marks(paragraph.text)):
                counts["paragraphs left out: brackets that read like marks"] += 1
            elif len(known) < fewest:
                counts[f"paragraphs left out: fewer than {fewest} citations"] += 1
            else:
                sample = ScifiSample(f"{title}#{place}", paragraph, known, tuple(documents.values()), 0.0)
                sentences = len(read_sentences(sample.answer, splitter=splitter))
                if sentences:
                    samples.append(replace(sample, density=len(known) / sentences))
    return samples, counts


def draw_densest(
    samples: Sequence[ScifiSample], top: float = 0.25, most: int = 10_000, seed: int = 0
) -> list[ScifiSample]:
    """Return at most `most` samples, drawn at random from the densest share (`top`), in the order of their ids."""
    ranked = sorted(samples, key=lambda sample: (-sample.density, sample.id))[: ceil(top * len(samples))]
    drawn = ranked if len(ranked) <= most else random.Random(seed).sample(ranked, most)
    return sorted(drawn, key=lambda sample: sample.id)


def split(samples: Sequence[ScifiSample], share: float = 0.1, seed: int = 0) -> dict[str, list[ScifiSample]]:
    """Return the samples as "train" and "test", drawn at random; round(share * number of samples) are for the test."""
    size = round(share * len(samples))
    tested = {samples[place].id for place in random.Random(seed).sample(range(len(samples)), size)}
    return {
        "train": [sample for sample in samples if sample.id not in tested],
        "test": [sample for sample in samples if sample.id in tested],
    }
