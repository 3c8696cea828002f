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
from metaeval.citation.readers.source_lists import KIND, code_blocks, source_lists
from metaeval.citation.readers.source_texts import plain_url
from metaeval.citation.readers.text_citations import citations_in
from metaeval.core.errors import count

_READ = "\ufffc"  # stands for a character of a piece that something else is read for

_THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|tool_call|tool_response|function_calls"
_REASONING = re.compile(
    rf"^[ \t]*[<\[◁]({_THINK})\b[^<>\n]{{0,200}}?[>\]▷].*?(?:[<\[◁]/\1[>\]▷]|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
# A template may have written the opening tag; the channels are those of gpt-oss.
_UNOPENED = re.compile(
    rf"[<\[◁]/(?:{_THINK})[>\]▷][ \t]*$|<\|channel\|>final<\|message\|>", re.IGNORECASE | re.MULTILINE
)

_INLINE = re.compile(r"(?<!`)`([^`\n]{1,500})`(?!`)")
_HEADING = re.compile(
    r"""^(?P<signs>[ \t]{0,3}\#{1,6}[ \t]+)\S[^\n]*+
        |^[ \t]*(?P<bold>\*\*|__)[^*_\n]{1,100}(?P=bold):?[ \t]*$
        |^[^\n]{1,200}\n(?P<under>[ \t]*={3,}+[ \t]*)$
        |^(?P<rule>[ \t]*(?:[-*_=⁂][ \t]*){3,200}+)$""",
    re.VERBOSE | re.MULTILINE,
)
_TABLE = re.compile(
    r"^[^\n|]*+\|[^\n]*+\n(?=[^\n|]*\|)[ \t]*\|?"
    r"[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*+\|?[ \t]*$",
    re.MULTILINE,
)
_ROW = re.compile(r"^([ \t]*\|[ \t]?)[^\n]*?([ \t]?\|[ \t]*)$", re.MULTILINE)
_ITEM = re.compile(
    r"""^[ \t]*(?P<quote>(?:>[ \t]?)*)(?:[-*+•·▪‣◦●○][ \t]+)?+[*_]{0,3}
        (?:(?P<number>[(（]?(?P<value>\d{1,3})(?:[.)）][*_]{0,3}(?=\s|\Z)|[、．])[ \t]*)
        |(?P<letter>[(（]?[A-Za-z][)）](?=[ \t])))?""",
    re.VERBOSE | re.MULTILINE,
)

_EMPHASIS = re.compile(
    r"(\*\*)(?=[^\s*])([^*\n]{1,1000})(?<=\S)\*\*|(?<![\w*\\])(\*|__)(?=[^\s*_])([^*\n_]{1,500})(?<=\S)\3(?![\w*])"
)
_TAGS = re.compile(
    r"<sup>(?=\s?[\[【])|(?<=[\]】])\s?</sup>|</?(?:div|p|center|span|font|u|b|i|em|strong|br|hr|answer|response|output)\b[^<>\n]{0,300}>"
    r"|\\(?=\[\^?\d)|(?<=\d)\\(?=\])|<\|(?:channel|message|start|end|return)\|>",
    re.IGNORECASE,
)


def clean_up(answers: Sequence[Answer], name: str) -> list[Answer]:
    """Return the answers with the pieces that are not read, and log one line with their counts. name: of the file."""
    shortened = [replace(answer, left_out=(*left_out_of(answer), *answer.left_out)) for answer in answers]
    if counted := left_out_text(shortened):
        _log.info("%s: %s.", name, counted)
    return shortened


def left_out_text(answers: Sequence[Answer]) -> str:
    """Return the counts of what is left out of answers, by kind, but for signs of Markdown; empty without any."""
    kinds = Counter(piece.kind for answer in answers for piece in answer.left_out if piece.kind)
    cut = sum(any(piece.kind for piece in answer.left_out) for answer in answers)
    of_sources = {KIND: " of " + count(sum(piece.sources for answer in answers for piece in answer.left_out), "source")}
    counted = ", ".join(count(number, kind) + of_sources.get(kind, "") for kind, number in kinds.items())
    return f"left out of {count(cut, 'answer')}: {counted}" if kinds else ""


_log = logging.getLogger("metaeval")


def is_cleaned(clean: bool | None, profile: str) -> bool:
    """Return whether what does not belong to answers is left out. clean: as the user chose (None: not chosen)."""
    return profile not in ("released", "aliice") if clean is None else clean


def left_out_of(answer: Answer) -> tuple[LeftOut, ...]:
    """Return the pieces of an answer's text that are no part of the answer, in order and without overlap.

    Where nothing but headings, lists and the like is in the text, only reasoning and code are left out.
    """
    text, pieces = answer.text, list[LeftOut]()
    sources = enumerate((passage.source for passage in answer.passages), start=answer.first)
    known = {plain_url(source): str(number) for number, source in sources if source}
    steps: tuple[Callable[..., Iterator[LeftOut]], ...] = (_reasoning, _code, _lists, _lines, _links, _signs)
    for number, step in enumerate(steps):
        new = _apart([*pieces, *step(text, known)])
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
    blocks = [LeftOut(*match.span(), "reasoning block") for match in _REASONING.finditer(text)]
    ends = [match.end() for match in _UNOPENED.finditer(_blanked(text, blocks))]
    yield from [LeftOut(0, ends[-1], "reasoning block")] if ends else []
    yield from blocks


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
            yield LeftOut(code.start(1) + start, code.start(1) + end, "code bracket", written)


def _lists(text: str, *_: Any) -> Iterator[LeftOut]:
    lists = source_lists(text)
    pieces = [LeftOut(listed.start, listed.end, KIND, sources=len(listed.sources)) for listed in lists]
    yield from pieces
    labelled = {source.label: source for listed in lists for source in listed.sources if source.label}
    for citation in citations_in(_blanked(text, pieces), labelled) if labelled else ():
        if citation.kind == "number":
            marks = "".join(f"[{target.label}]" for target in citation.targets)
            gap = "" if text[citation.start - 1].isspace() else " "
            yield LeftOut(citation.start, citation.end, "", gap + marks)


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


def _links(text: str, known: dict[str, str]) -> Iterator[LeftOut]:
    for citation in citations_in(text, {}):
        if citation.kind == "mark":
            continue
        start, end = citation.start, citation.end
        numbers = [target.label or known.get(plain_url(target.url), "") for target in citation.targets]
        marks = "".join(f"[{number}]" for number in numbers if number)
        if citation.words and (at := text.find(citation.words, start, end)) >= 0:
            yield LeftOut(start, at, "")
            start = at + len(citation.words)
        else:
            marks = citation.words + marks
        while not marks and start and text[start - 1] in " \t":
            start -= 1
        yield LeftOut(start, end, citation.kind, marks)


def _signs(text: str, *_: Any) -> Iterator[LeftOut]:
    for match in _EMPHASIS.finditer(text):
        width = len(match[1] or match[3])
        yield from (LeftOut(place, place + width, "") for place in (match.start(), match.end() - width))
    for match in _TAGS.finditer(text):
        yield LeftOut(*match.span(), "", "\n" if match[0][:3].lower() == "<br" else "")
