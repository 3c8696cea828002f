"""Find the spans of an answer in its text, and write their citations into it as marks [n].

Records count offsets in code points, in bytes of UTF-8 or in UTF-16 units, and few say in which. Each unit is tried;
where a record also holds a span's text, the text decides, and a span whose text stands elsewhere is not placed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate

from metaeval.citation.marks_and_sentences import brackets
from metaeval.citation.readers.cited_text import CitedSpan, CitedText, Reasons
from metaeval.corpus.sentences import CLOSING, MARK, OPENING, SUPERSCRIPT, split_sentences

# Units of offsets, in the order in which they are tried, with the encoding that counts them.
UNITS: Mapping[str, str] = {"code points": "", "bytes": "utf-8", "UTF-16 units": "utf-16-le"}

EXACT = "the text"
NOT_PLACED = "with offsets that fit the text in no unit"
PLACED = "placed in "
BRACKETS = "brackets"
NO_SOURCE = "pointing at a source that the record does not list"
NO_SOURCES = "naming no source"

_ROUND = dict(zip(f"{OPENING}<{CLOSING}>{SUPERSCRIPT}", "((((((" + "))))))" + "*" * 10, strict=True))
_LONGEST_MARK = 2_000
_CLOSING, _SPACES = ".!?…:;,。！？।॥۔؟\"'”’»)*_", " \t\xa0"


# A span in the text: offsets in code points, whether it is a mark, the unit of the record's offsets, and whether more
# than these says so: the file reader found the span, the record quotes it, or it looks like a mark.
Placed = tuple[int, int, bool, str, bool]


def place_spans(cited: CitedText) -> list[Placed | None]:
    """Return where each span is, in order; None for one that fits the text in no unit.

    A span goes where some unit makes its place certain, or else where the answer's unit puts it: the one in which most
    spans are certain (of equals, in which most spans fit).
    """
    fits: dict[str, list[Placed | None]] = {}
    for unit in ["code points"] if cited.text.isascii() else UNITS:
        # The offset in code points of each character boundary, by its offset in the unit.
        width, encoding = 2 if unit == "UTF-16 units" else 1, UNITS[unit]
        sizes = (len(each.encode(encoding, "surrogatepass")) // width if encoding else 1 for each in cited.text)
        offsets = {offset: place for place, offset in enumerate(accumulate(sizes, initial=0))}
        fits[unit] = [_fit(span, cited, offsets, unit) for span in cited.spans]
    certain = {unit: sum(place is not None and place[-1] for place in places) for unit, places in fits.items()}
    inside = {unit: len(places) - places.count(None) for unit, places in fits.items()}
    best = max(fits, key=lambda unit: (certain[unit], inside[unit]))
    placed: list[Placed | None] = []
    for number in range(len(cited.spans)):
        tried = [fits[unit][number] for unit in (best, *(unit for unit in fits if unit != best))]
        placed.append(next((place for place in tried if place is not None and place[-1]), tried[0]))
    return placed


def _fit(span: CitedSpan, cited: CitedText, offsets: Mapping[int, int], unit: str) -> Placed | None:
    if span.start is None or span.end is None or not 0 <= span.start <= span.end:
        return None
    if span.exact:
        blank = span.kind == "claim" and not cited.text[span.start : span.end].strip()
        return None if blank else (span.start, span.end, span.kind == "mark", EXACT, True)
    start, end = offsets.get(span.start), offsets.get(span.end)
    if start is None or end is None:
        return None
    text = cited.text[start:end]
    if span.text is not None and span.start < span.end:
        return (start, end, span.kind == "mark", unit, True) if text == span.text else None
    if span.kind == "claim" and not text.strip():
        return None
    looks = span.kind == "either" and len(text) <= _LONGEST_MARK and _is_mark(text)
    return (start, end, looks or span.kind == "mark" or start == end, unit, looks)


def _is_mark(text: str) -> bool:
    """Return whether a text looks like a citation: a bracket, a link in brackets, a bare address, ChatGPT's token."""
    text = text.strip()
    if text[:1] in ("(", "（"):
        text = text[1:].removesuffix("）").removesuffix(")").strip()
    if re.match(f"[{OPENING}]", text):
        return text[-1] in CLOSING or "](" in text
    address = text.startswith(("http://", "https://")) and not any(map(str.isspace, text))
    return address or text.startswith("\ue200") or re.fullmatch(MARK, text) is not None


def with_marks(cited: CitedText, reasons: Reasons) -> str:
    """Return the answer's text with a mark [n] for each citation of a placed span, where n is the source from 1.

    Marks of the record are cut out. A mark is written behind its claim and before the closing punctuation; a claim of
    several sentences gets its marks in each. Brackets of the text that would be read as marks become round.

    reasons: filled with counts of citations by what becomes of them. A citation of a source that the record does not
    list is written with a number that no source has; a span that cannot be placed gets no mark.
    """
    cuts: list[tuple[int, int]] = []
    claims: list[tuple[int, int, CitedSpan]] = []
    marks: list[tuple[int, CitedSpan]] = []
    for span, place in zip(cited.spans, place_spans(cited), strict=True):
        if not span.sources and not span.exact:  # an exact one is a piece that the file reader leaves out
            reasons[NO_SOURCES] += 1
        if place is None:
            reasons[NOT_PLACED] += len(span.sources)
            continue
        start, end, is_mark, unit, certain = place
        if span.sources:
            reasons[f"{PLACED}{unit}" + ("" if certain else ", unverified")] += len(span.sources)
        reasons[NO_SOURCE] += span.sources.count(None)
        if is_mark:
            marks.append((start, span))
            cuts.append((start, end))
        else:
            claims.append((start, end, span))
    inserts: dict[int, dict[int, None]] = defaultdict(dict)

    def numbers_of(span: CitedSpan) -> dict[int, None]:
        return dict.fromkeys(len(cited.sources) + 1 if source is None else source + 1 for source in span.sources)

    # The stretches to cut, each with the spaces before it; those that then touch are one.
    merged: list[tuple[int, int]] = []
    for start, end in sorted(cuts):
        while start and cited.text[start - 1] in _SPACES and (not merged or merged[-1][1] < start):
            start -= 1
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    for start, span in marks:
        group = merged[bisect_right(merged, (start, len(cited.text))) - 1]
        inserts[_anchor(cited.text, 0, group[0])] |= numbers_of(span)
    ends: list[int] = []
    for sentence in split_sentences(cited.text) if claims else ():
        ends.append(cited.text.find(sentence, ends[-1] if ends else 0) + len(sentence))
    for start, end, span in claims:
        for place_of_mark in (*ends[bisect_right(ends, start) : bisect_left(ends, end)], end):
            inserts[_anchor(cited.text, start, place_of_mark)] |= numbers_of(span)
    return _written(cited.text, merged, inserts, reasons)


def _anchor(text: str, start: int, end: int) -> int:
    """Return the offset of a mark for the text from start to end: before its closing punctuation, quotes and spaces."""
    least = max(start, end - 200)
    before = text[least:end].rstrip(_SPACES)
    inside = before.rstrip(_CLOSING)
    return least + len(inside if inside and not inside[-1].isspace() else before)


def _written(
    text: str, cuts: Sequence[tuple[int, int]], inserts: Mapping[int, Mapping[int, None]], reasons: Reasons
) -> str:
    # Brackets outside the cuts that would be read as marks become round, superscript digits stars.
    characters, left = list(text), list(text)
    for start, end in cuts:
        left[start:end] = " " * (end - start)
    while places := [(at, end) for at, end, read in brackets("".join(left)) if read or left[at] not in SUPERSCRIPT]:
        # Brackets may enclose brackets; a pass makes the innermost round.
        reasons[BRACKETS] += len(places)
        for start, end in places:
            for place in range(start, end) if left[start] in SUPERSCRIPT else (start, end - 1):
                characters[place] = left[place] = _ROUND.get(left[place], left[place])
    text = "".join(characters)
    edits = [(start, end, "") for start, end in cuts]
    edits += [(place, place, "".join(f"[{number}]" for number in numbers)) for place, numbers in inserts.items()]
    parts, done, last = [], 0, ""
    for start, end, new in sorted(edits):
        last = text[max(done, start - 1) : start] or last
        parts += [text[done:start], " " if new[:1] == "[" and last.strip() else "", new]
        last = new[-1:] or last
        done = max(done, end)
    return "".join([*parts, text[done:]])
