"""The normal form of an answer whose citations are data beside its text: spans of the text that point at sources.

A span of kind "claim" is the text that its sources should support; one of kind "mark" is the citation itself, such as
`([a.example](https://a.example))`, and leaves the text. A span of kind "either" is a mark if its text looks like one,
and a claim otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

SpanKind = Literal["claim", "mark", "either"]


@dataclass(slots=True)
class CitedSource:
    """A source of an answer, as the record describes it. quotes: the pieces of its text that citations quote."""

    id: str = ""
    url: str = ""
    title: str = ""
    text: str = ""
    quotes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """A span of an answer's text: offsets in the record's unit, and indices of the sources that it cites.

    start, end: None where the record holds no offset; if equal, an insertion point. text: the span's text as the record
    quotes it; None: the record does not quote it. sources: None for a source that the record does not list. exact: the
    file reader wrote or found the span itself, and its offsets are code points.
    """

    kind: SpanKind
    start: int | None
    end: int | None
    sources: tuple[int | None, ...]
    text: str | None = None
    exact: bool = False


WITHOUT_TEXT = "citations are those of a part without text"


@dataclass
class CitedText:
    """An answer with its spans and distinct sources, written in the order of its record.

    left_out: counts of citations that the format does not read, by reason. cut: what the file reader left out of the
    text, as no part of the answer: kinds, each with the number of sources of a list, else 0. marks_in_text: the
    citations are marks [n] in the text, which stay there. id, question, group, system: empty where the record has none.
    """

    sources: list[CitedSource] = field(default_factory=list)
    spans: list[CitedSpan] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    cut: list[tuple[str, int]] = field(default_factory=list)
    id: str = ""
    question: str = ""
    group: str = ""
    system: str = ""
    marks_in_text: bool = False
    length: int = 0
    _pieces: list[str] = field(default_factory=list)
    _places: dict[object, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text written so far."""
        return "".join(self._pieces)

    def write(self, text: str) -> int:
        """Append a text, and return its offset."""
        self._pieces.append(text)
        self.length += len(text)
        return self.length - len(text)

    def source(
        self, key: object, quote: str = "", *, id: str = "", url: str = "", title: str = "", text: str = ""
    ) -> int:
        """Return the index of the source with this key, added with these fields if new; `quote` joins its quotes."""
        place = self._places.setdefault(key, len(self.sources))
        if place == len(self.sources):
            self.sources.append(CitedSource(id, url, title, text))
        if quote and quote not in self.sources[place].quotes[-50:]:
            self.sources[place].quotes.append(quote)
        return place

    def find(self, key: object) -> int | None:
        """Return the index of the source with this key; None where there is none."""
        return self._places.get(key)

    def cite(
        self, kind: SpanKind, start: int | None, end: int | None, sources: Iterable[int | None], text: str | None = None
    ) -> None:
        """Add a span with offsets of the record. text: the span's text by the record; None: not quoted."""
        self.spans.append(CitedSpan(kind, start, end, tuple(sources), text))

    def claim(self, text: str, sources: Iterable[int | None]) -> None:
        """Append a text as a claim that sources should support; without sources no span is added."""
        start, cited = self.write(text), tuple(sources)
        if not text.strip():
            self.left_out[WITHOUT_TEXT] += len(cited)
        elif cited:
            self.spans.append(CitedSpan("claim", start, self.length, cited, exact=True))

    def mark(self, start: int, end: int, sources: Iterable[int | None]) -> None:
        """Add a mark that the file reader found in the text, at offsets in code points."""
        self.spans.append(CitedSpan("mark", start, end, tuple(sources), exact=True))


# Counts of citations, by what became of them.
Reasons = Counter[str]
