"""Find what an answer holds beside the answer: reasoning, code, headings, list numbers, lists of sources, links.

The text stays as it was read; `metaeval.citation.marks_and_sentences.reading_of` leaves the pieces out. Each step sees
the text with the pieces of the steps before it blanked.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from metaeval.citation.data_model import Answer, LeftOut
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.source_lists import KIND, LINK, address, code_blocks, source_lists
from metaeval.citation.readers.source_texts import plain_url
from metaeval.display_text import count

_READ = "\ufffc"
"""Stands for a character of a piece that something else is read for."""

_THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|tool_call|tool_response|function_calls"
_REASONING = re.compile(
    rf"^[ \t]*[<\[◁]({_THINK})\b[^<>\n]{{0,200}}?[>\]▷].*?(?:[<\[◁]/\1[>\]▷]|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
# A template may have written the opening tag; the channels are those of gpt-oss.
_UNOPENED = re.compile(rf"[<\[◁]/(?:{_THINK})[>\]▷]|<\|channel\|>final<\|message\|>", re.IGNORECASE)

_INLINE = re.compile(r"(?<!`)`([^`\n]{1,500})`(?!`)")
_HEADING = re.compile(
    r"""^(?P<signs>[ \t]{0,3}\#{1,6}[ \t]+)\S[^\n]*+
        |^[ \t]*(?P<bold>\*\*|__)[^*_\n]{1,100}(?P=bold):?[ \t]*$
        |^[^\n]{1,200}\n(?P<under>[ \t]*={3,}+[ \t]*)$
        |^(?P<rule>[ \t]*(?:[-*_=⁂][ \t]*){3,200}+)$""",
    re.VERBOSE | re.MULTILINE,
)
_TABLE = re.compile(
    r"^[^\n]*\|[^\n]*\n(?=[^\n|]*\|)[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*+\|?[ \t]*$", re.MULTILINE
)
_ROW = re.compile(r"^([ \t]*\|[ \t]?)[^\n]*?([ \t]?\|[ \t]*)$", re.MULTILINE)
_ITEM = re.compile(
    r"""^[ \t]*(?P<quote>(?:>[ \t]?)*)(?:[-*+•·▪‣◦●○][ \t]+)?+[*_]{0,3}
        (?:(?P<number>[(（]?(?P<value>\d{1,3})(?:[.)）][*_]{0,3}(?=\s|\Z)|[、．])[ \t]*)
        |(?P<letter>[(（]?[A-Za-z][)）](?=[ \t])))?""",
    re.VERBOSE | re.MULTILINE,
)

_ADDRESS = r"\((?:[^\s()]|\([^\s()]{0,300}\)){1,2000}+(?:\s[\"'][^\"'\n]{0,200}[\"'])?\)"
_LINKED = rf"\[(?:\\?\[\^?\d{{1,9}}\^?\\?\]|\^?\d{{1,9}}\^?)\]{_ADDRESS}"
_LINKED_MARKS = re.compile(
    rf"(?:<sup>\s?)?+(?P<open>[\[(（]\s?)?{_LINKED}(?:[\s,;，、]{{0,4}}{_LINKED})*+(?P<close>\s?[\])）])?(?:\s?</sup>)?+"
    r"|(?:<sup>\s?)?+<a\b[^<>\n]{0,2000}>\s?\[?(\d{1,9})\]?\s?</a>(?:\s?</sup>)?+",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\[\\?\[?\^?(\d{1,9})\^?\\?\]?\]\(|>\s?\[?(\d{1,9})\]?\s?</a>", re.IGNORECASE)
_IMAGE = re.compile(rf"!\[[^\[\]\n]{{0,300}}\]{_ADDRESS}")
_BARE = re.compile(
    r"[ \t]*(?P<open>[(（<]\s?)?+(?P<url>https?://[^\s<>\"，。；、）】」]{2,2000}+)(?P<close>>)?", re.IGNORECASE
)
_ROUND = re.compile(r"(?<=\S)[ \t]?[(（](\d{1,3})[)）]")
_EMPHASIS = re.compile(
    r"(\*\*)(?=[^\s*])([^*\n]{1,1000})(?<=\S)\*\*|(?<![\w*\\])(\*|__)(?=[^\s*_])([^*\n_]{1,500})(?<=\S)\3(?![\w*])"
)
_TAGS = re.compile(
    r"<sup>(?=\s?[\[【])|(?<=[\]】])\s?</sup>|</?(?:div|p|center|span|font|u|b|i|em|strong|br|hr|answer|response|output)\b[^<>\n]{0,300}>"
    r"|<\|(?:channel|message|start|end|return)\|>",
    re.IGNORECASE,
)


def clean_up(answers: Sequence[Answer], name: str) -> list[Answer]:
    """Return the answers with the pieces that are not read, and log one line with their counts. name: of the file."""
    shortened = [replace(answer, left_out=(*left_out_of(answer), *answer.left_out)) for answer in answers]
    kinds = Counter(piece.kind for answer in shortened for piece in answer.left_out if piece.kind)
    if kinds:
        cut = sum(any(piece.kind for piece in answer.left_out) for answer in shortened)
        counted = ", ".join(count(number, kind) for kind, number in kinds.items())
        _log.info("%s: left out of %s: %s.", name, count(cut, "answer"), counted)
    return shortened


_log = logging.getLogger("metaeval")


def is_cleaned(clean: bool | None, profile: str) -> bool:
    """Return whether what does not belong to answers is left out. clean: as the user chose (None: not chosen)."""
    return profile not in ("released", "aliice") if clean is None else clean


def left_out_of(answer: Answer) -> tuple[LeftOut, ...]:
    """Return the pieces of an answer's text that are no part of the answer, in order and without overlap.

    Where nothing but headings, lists and the like is in the text, only reasoning and code are left out.
    """
    text, pieces = answer.text, list[LeftOut]()
    known = {plain_url(passage.source): place for place, passage in enumerate(answer.passages) if passage.source}
    steps: tuple[Callable[..., Iterator[LeftOut]], ...] = (_reasoning, _code, _lists, _lines, _links, _signs)
    for number, step in enumerate(steps):
        new = _apart([*pieces, *step(text, pieces, known, answer.first)])
        if number > 1 and not re.search(r"\w", _blanked(answer.text, new)):
            break
        text, pieces = _blanked(answer.text, new), new
    return tuple(pieces)


def _apart(pieces: Sequence[LeftOut]) -> list[LeftOut]:
    """Return pieces in order, without those that another one holds or overlaps."""
    kept: list[LeftOut] = []
    for piece in sorted(pieces, key=lambda piece: (piece.start, -piece.end)):
        if not kept or piece.start >= kept[-1].end:
            kept.append(piece)
    return kept


def _blanked(text: str, pieces: Sequence[LeftOut]) -> str:
    parts, end = [], 0
    for piece in pieces:
        gone = text[piece.start : piece.end]
        parts += [text[end : piece.start], _READ * len(gone) if piece.written else re.sub(r"[^\n]", " ", gone)]
        end = piece.end
    return "".join([*parts, text[end:]])


def _reasoning(text: str, *_: Any) -> Iterator[LeftOut]:
    opened = [match.span() for match in _REASONING.finditer(text)]
    ends = [
        match.end() for match in _UNOPENED.finditer(text) if not any(a <= match.start() < b for a, b in opened[:99])
    ]
    if ends:
        yield LeftOut(0, ends[-1], "reasoning block")
    for start, end in opened:
        if start >= (ends or [0])[-1]:
            yield LeftOut(start, end, "reasoning block")


def _code(text: str, *_: Any) -> Iterator[LeftOut]:
    for start, end in code_blocks(text):
        yield LeftOut(start, end, "code block")
    for code in _INLINE.finditer(text):
        spans = dict.fromkeys((mark.start, mark.end) for mark in find_marks(code[1]))
        if (0, len(code[1])) in spans:  # nothing but a mark is not code
            yield from (LeftOut(place, place + 1, "") for place in (code.start(), code.end() - 1))
            continue
        for start, end in spans:
            written = f"({code[1][start + 1 : end - 1]})"
            yield LeftOut(code.start(1) + start, code.start(1) + end, "bracket in code", written)


def _lists(text: str, _: Any, known: dict[str, int], first: int) -> Iterator[LeftOut]:
    lists = source_lists(text)
    yield from (LeftOut(listed.start, listed.end, KIND) for listed in lists)
    body = _blanked(text, [LeftOut(listed.start, listed.end, KIND) for listed in lists])
    labels = {source.label for listed in lists for source in listed.sources if source.label}
    if labels and not any(mark.number is not None for mark in find_marks(body)):
        for match in _ROUND.finditer(body):
            if match[1] in labels:
                yield LeftOut(match.start(), match.end(), "", f" [{match[1]}]")


def _lines(text: str, *_: Any) -> Iterator[LeftOut]:
    for match in _HEADING.finditer(text):
        if match["rule"] is not None:
            yield LeftOut(*match.span(), "")
        elif find_marks(match[0]) or (match["bold"] and re.search(r"[.!?。]\W*$", match[0])):
            if signs := match["signs"] or match["under"]:
                start = match.start("signs" if match["signs"] else "under")
                yield LeftOut(start, start + len(signs), "")
        else:
            yield LeftOut(*match.span(), "heading")
    tables = [*_TABLE.finditer(text)]
    for table in tables:
        head = table.start() if not find_marks(table[0]) else table[0].index("\n") + table.start()
        yield LeftOut(head, table.end(), "table header")
    if tables:
        yield from (LeftOut(*row.span(side), "") for row in _ROW.finditer(text) for side in (1, 2))
    items = [match for match in _ITEM.finditer(text) if match.end() > match.start()]
    values = {int(match["value"]) for match in items if match["value"]}
    for match in items:
        end = match.end()
        value = int(match["value"]) if match["value"] else None
        if value is not None and value > 1 and not {value - 1, value + 1} & values:
            end = match.start("number")  # "3. Mai" opens a line, and no list
        numbered = match["letter"] or (value is not None and end == match.end())
        if text[match.start() : end].strip(" \t*_"):
            yield LeftOut(match.start(), end, "list number" if numbered else "")


def _links(text: str, _: Any, known: dict[str, int], first: int) -> Iterator[LeftOut]:
    def cited(url: str) -> str:
        place = known.get(plain_url(address(url)))
        return "" if place is None else f" [{place + first}]"

    marks = [LeftOut(*match.span(), "image") for match in _IMAGE.finditer(text)]
    for match in _LINKED_MARKS.finditer(text):
        numbers = "".join(f"[{a or b}]" for a, b in _NUMBER.findall(match[0]))
        start, end = match.span()
        if bool(match["open"]) != bool(match["close"]):
            start, end = (match.end("open"), end) if match["open"] else (start, match.start("close"))
        marks.append(LeftOut(start, end, "linked mark", numbers))
    yield from marks
    text = _blanked(text, _apart(marks))
    for match in LINK.finditer(text):
        before = len(text[: match.start()].rstrip(" \t("))
        alone = text[before : match.start()].strip() == "(" and text[match.end() : match.end() + 1] == ")"
        if alone or not re.search(r"\w", match[1]) or "://" in match[1]:
            yield LeftOut(before if alone else match.start(), match.end() + alone, "link", cited(match[2]))
        else:
            yield LeftOut(match.start(), match.start(1), "")
            yield LeftOut(match.end(1), match.end(), "link", cited(match[2]))
    for match in _BARE.finditer(text):
        url = address(match["url"])
        end = match.start("url") + len(url)
        closes = match["open"] and text[end : end + 1] in (")", "）", ">")
        start = match.start() if closes or not match["open"] else match.start("url")
        yield LeftOut(start, end + bool(closes), "web address", cited(url))


def _signs(text: str, *_: Any) -> Iterator[LeftOut]:
    for match in _EMPHASIS.finditer(text):
        width = len(match[1] or match[3])
        yield from (LeftOut(place, place + width, "") for place in (match.start(), match.end() - width))
    for match in _TAGS.finditer(text):
        yield LeftOut(*match.span(), "", "\n" if match[0][:3].lower() == "<br" else "")
