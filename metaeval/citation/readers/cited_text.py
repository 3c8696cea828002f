"""The normal form of an answer whose citations are data beside its text: spans of the text that point at sources.

A span of kind "claim" is the text that its sources should support; one of kind "mark" is the citation itself, such as
`([a.example](https://a.example))`, and leaves the text. A span of kind "either" is a mark if its text looks like one,
and a claim otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SpanKind = Literal["claim", "mark", "either"]


@dataclass(slots=True)
class CitedSource:
    """A source of an answer, as its record describes it. quotes: pieces of its text that the answer's citations hold.

    places: further names of the source, such as its index in a record.
    """

    id: str = ""
    url: str = ""
    title: str = ""
    text: str = ""
    quotes: list[str] = field(default_factory=list)
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """A span of an answer's text: offsets in the unit of its record, and the indices of its sources.

    start, end: None where the record holds no offset; equal: an insertion point. text: the span's text as the record
    quotes it; None: the record does not quote it. sources: None for a source that the record does not list.
    """

    kind: SpanKind
    start: int | None
    end: int | None
    sources: tuple[int | None, ...]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class CitedText:
    """An answer with its spans and sources. left_out: counts of citations that the format does not read, by reason.

    marks_in_text: the citations are marks [n] in the text, which stay there; first: the number of the first source in
    them. id: empty where the record has none.
    """

    text: str
    sources: list[CitedSource]
    spans: list[CitedSpan] = field(default_factory=list)
    id: str = ""
    question: str = ""
    group: str = ""
    system: str = ""
    marks_in_text: bool = False
    first: int = 1
    left_out: Mapping[str, int] = field(default_factory=dict)


class SourceList:
    """Collects the distinct sources of an answer, in order."""

    def __init__(self) -> None:
        self.sources: list[CitedSource] = []
        self._places: dict[object, int] = {}

    def add(self, key: object, quote: str = "", *, id: str = "", url: str = "", title: str = "", text: str = "") -> int:
        """Return the index of the source with this key, which is added with these fields where it is new."""
        place = self._places.setdefault(key, len(self.sources))
        if place == len(self.sources):
            self.sources.append(CitedSource(id, url, title, text))
        if quote and quote not in self.sources[place].quotes[-50:]:
            self.sources[place].quotes.append(quote)
        return place

    def find(self, key: object) -> int | None:
        """Return the index of the source with this key; None where there is none."""
        return self._places.get(key)


Reasons = Counter[str]
"""Counts of citations, by what became of them."""
