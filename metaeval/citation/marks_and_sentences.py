"""Find the citation marks and the sentences of an answer, with the offset of each character in the answer.

Every bracket that holds a digit counts as an attempt at a citation, and so do raised digits that are no power. A
readable one gives one mark for each number; an unreadable one gives one mark without a number, so that it is counted.
Each step of a published pipeline is a function or an option with a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from metaeval.citation.data_model import Answer, Mark
from metaeval.core.errors import unknown
from metaeval.corpus.sentences import (
    CLOSING,
    COMMA,
    DASH,
    MARK,
    MARK_NAME,
    OPENING,
    RULES,
    SUPERSCRIPT,
    SentenceSplitter,
)

# Where a mark may start; and there: a mark, any other short bracket or tag, an unclosed bracket that starts with a
# number. Possessive quantifiers and bounded lengths keep the search linear on runs of digits and brackets.
_START = re.compile(rf"[{OPENING}<{SUPERSCRIPT}]")
_MARK = re.compile(
    rf"""(?P<read>{MARK})
        |(?:[{OPENING}](?P<other>[^{OPENING}{CLOSING}\n]{{1,80}}+)[{CLOSING}]
        |<sup>(?P<tagged>[^<>\n]{{1,80}}+)</sup>
        |[{OPENING}]\s*+\^?\d++)""",
    re.VERBOSE,
)
_UNCLOSED = re.compile(r"\[(\d+)")
_DIGIT = re.compile(r"\d")
# What becomes of the text of a mark before its numbers are read: names and tags go, other forms become the usual.
_USUAL = str.maketrans(SUPERSCRIPT + "⁻" + OPENING + CLOSING, "0123456789-" + "," * len(OPENING + CLOSING))
_LEFT_OUT = re.compile(rf"<[^<>]*+>|\^|{MARK_NAME}")
_COMMA, _DASH = re.compile(rf"{COMMA}|[˒⸴]|(?<=\d)\s++(?=\d)"), re.compile(DASH)

# Raised digits, as "BEFORE^DIGITS\0BEHIND". A power: behind a letter, a unit, a function, a short number or a formula;
# before a sign; an exponent with a sign; the mass of a nuclide. Not clear: behind a longer number but a year, two
# letters, a unit in words or a bracket. A raised 1 is a power only with a sign.
_UNITS = r"\w*km|[nµμmcd]?m|ft|in|yd|mi|min|k?Pa|mol|rad|sin|cos|tan|log|ln|mc|chi|[CNS]O|[мскд]?м|米|(?:कि|से)?मी"
_NEAR = 12
_POWER = re.compile(
    rf"""[⁻⁺|−-]\^|\^(?:[+−–-]|\d[+−-]\0)
        |(?<![^\W\d_])(?:(?!m\^)[A-Za-z\u0370-\u03ff]\^(?!1\0)|(?:{_UNITS})\^[2-9]\0)
        |(?<![\d.,–-])\d{{1,2}}\^(?!1\0)
        |[=×·]\s?\w{{1,3}}\^(?!1\0)
        |[+=*/×·−-]\s?\w{{1,3}}[)\]}}]\^(?!1\0)
        |(?:\A|[\s(–-])\^[^\0]*+\0[A-Z][a-z]?(?![A-Za-z])
        |\^[^\0]*+\0\s?[⁺⁻⁄=+×·≈±]""",
    re.VERBOSE,
)
_UNCLEAR = re.compile(
    rf"""(?:(?<=\d)(?<!(?<!\d)1[1-9]\d\d)(?<!(?<!\d)20\d\d)
        |(?<![^\W\d_])(?:[A-Za-z\u0370-\u03ff]{{2}}|{_UNITS}|foot|feet|met(?:er|re)s?|miles?|yards?|inch(?:es)?)
        |(?<=[)\]}}])(?<![^\W\d_]{{4}}.))\^(?!1\0)
        |(?<![\d.,])10\^1\0""",
    re.VERBOSE,
)
_LONGEST_RANGE = 50  # a longer one is unparsable
_LONGEST_NUMBER = 18  # digits; no list of passages is that long, and Python refuses to read some longer numbers


# Which citation marks are read.
#
# all: [1], lists ([1, 2], [1;2], [1 and 2]), ranges ([1-3], with any dash), carets ([^1]), names ([doc1],
# [Source: 1]), other brackets (【1】, ［1］, 〔1〕), tags (<sup>1</sup>), superscript digits (¹) that are no power.
# plain: [1] alone, as in the released code of ALiiCE and of CiteEval. unclosed: '[' and digits, whether the bracket
# closes or not, as in the released code of ALCE.
MarkStyles = Literal["all", "plain", "unclosed"]


@dataclass(frozen=True, slots=True)
class MarkGroup:
    """Marks with nothing or white space between them. start, end: offsets of the whole group. marks: in order."""

    start: int
    end: int
    marks: tuple[Mark, ...]


def find_marks(text: str, styles: MarkStyles = "all", first: int = 1) -> list[Mark]:
    """Return every mark in the text, in order; one that the styles cannot read has no number.

    The marks of one bracket (`[1, 2]`) share its offsets. first: the number by which the text cites the first passage;
    numbers are shifted so that it is 1.
    """
    marks: list[Mark] = []
    for start, end, numbers in brackets(text, styles, first):
        marks.extend([Mark(start, end, number) for number in numbers] or [Mark(start, end, None)])
    return marks


def cited_spans(text: str, styles: MarkStyles = "all", first: int = 1) -> list[MarkGroup]:
    """Return the groups of adjacent marks in the text, in order; marks without a number are ignored."""
    groups: list[MarkGroup] = []
    for mark in find_marks(text, styles, first):
        if mark.number is None:
            continue
        last = groups[-1] if groups else None
        if last is not None and not text[last.end : mark.start].strip():
            groups[-1] = MarkGroup(last.start, mark.end, (*last.marks, mark))
        else:
            groups.append(MarkGroup(mark.start, mark.end, (mark,)))
    return groups


def unread(every: Sequence[Mark], read: Sequence[Mark]) -> list[Mark]:
    """Return the marks of `every` that are not in `read` (the multiset difference by start and number)."""
    counted = (Counter((mark.start, mark.number) for mark in marks) for marks in (every, read))
    marks = {(mark.start, mark.number): mark for mark in every}
    return [marks[key] for key in (next(counted) - next(counted)).elements()]


def brackets(text: str, styles: MarkStyles = "all", first: int = 1) -> Iterator[tuple[int, int, list[int]]]:
    """Yield (start, end, numbers) of each mark or bracket with a digit; numbers: empty if the styles cannot read it.

    A power or a unit (10², km²) is left out. first: the number by which the text cites the first passage; numbers are
    shifted so that it is 1.
    """
    if styles == "unclosed":
        for unclosed in _UNCLOSED.finditer(text):
            yield unclosed.start(), unclosed.end(), _items(unclosed[1], first)
        return
    end = 0
    for opening in _START.finditer(text):
        start = opening.start()
        if start < end or (match := _MARK.match(text, start)) is None:
            continue
        end = match.end()
        raised = text[start] not in OPENING and _raised(text, start, end)
        if raised == "power":
            continue
        read, other = match["read"], match["other"] or match["tagged"]
        if read is not None and text[start] in OPENING:
            read = read[1:-1].strip()
            plain = text[start] == "[" and read.isdecimal()
            year = text[start] == "〔" and re.search(r"\d{4}", read)  # of a Chinese document
            yield start, end, _items(read, first) if plain or (styles == "all" and not year) else []
        elif read is not None:
            yield start, end, _items(read, first) if styles == "all" and raised == "mark" else []
        elif other is None or _DIGIT.search(other):
            yield start, end, []


def _raised(text: str, start: int, end: int) -> Literal["mark", "power", "unclear"]:
    """Return what raised digits (superscript, or in a tag) are, by what stands before and behind them."""
    raised = re.sub(r"</?+sup[^<>]*+>", "", text[start:end]).translate(_USUAL).strip()
    if raised[:1] in ("<", ","):  # <cite>, or brackets within a tag
        return "mark"
    context = f"{text[max(0, start - _NEAR) : start]}^{raised}\0{text[end : end + 3]}"
    return "power" if _POWER.search(context) else "unclear" if _UNCLEAR.search(context) else "mark"


def _items(body: str, first: int) -> list[int]:
    """Return the numbers in a mark's text, shifted by `first`; empty where any part of the text is unreadable."""
    numbers: list[int] = []
    for item in filter(None, map(str.strip, _COMMA.split(_LEFT_OUT.sub("", body).translate(_USUAL)))):
        ends = _DASH.split(item)
        readable = len(ends) <= 2 and all(end.isdecimal() and len(end) <= _LONGEST_NUMBER for end in ends)
        lowest, highest = (int(ends[0]), int(ends[-1])) if readable else (0, -1)
        if not 0 <= highest - lowest < _LONGEST_RANGE:
            return []
        numbers.extend(range(lowest - first + 1, highest - first + 2))
    return numbers


_ADDED = -1


@dataclass(frozen=True, slots=True)
class LocatedText:
    """A text and, in `at`, the offset of each of its characters in the answer, (len(text),); -1: not in the answer."""

    text: str
    at: tuple[int, ...]

    def part(self, start: int, end: int) -> LocatedText:
        """Return the characters from start to end, with their offsets."""
        return LocatedText(self.text[start:end], self.at[start:end])

    def stripped(self) -> LocatedText:
        """Return the text without white space at either end."""
        start = len(self.text) - len(self.text.lstrip())
        return self.part(start, max(start, len(self.text.rstrip())))

    def without(self, pieces: Iterable[tuple[int, int]]) -> LocatedText:
        """Return the text without the pieces (start, end), which may overlap."""
        gone = bytearray(len(self.text))
        for start, end in pieces:
            gone[start:end] = b"\1" * (end - start)
        kept = [index for index, dropped in enumerate(gone) if not dropped]
        return LocatedText("".join(self.text[index] for index in kept), tuple(self.at[index] for index in kept))

    def span(self) -> tuple[int, int]:
        """Return the smallest span (start, end) of the answer that holds all characters from it; (0, 0) without any."""
        offsets = [offset for offset in self.at if offset != _ADDED]
        return (min(offsets), max(offsets) + 1) if offsets else (0, 0)

    def marks(self, styles: MarkStyles = "all", first: int = 1) -> list[Mark]:
        """Return the text's marks with their offsets in the answer; marks in added text are left out."""
        marks: list[Mark] = []
        for mark in find_marks(self.text, styles, first):
            start, last = self.at[mark.start], self.at[mark.end - 1]
            if start != _ADDED:
                marks.append(Mark(start, max(start, last) + 1, mark.number))
        return marks

    def without_marks(self, styles: MarkStyles = "all", first: int = 1) -> LocatedText:
        """Return the text without the readable marks and the white space before each."""
        marks = [mark for mark in find_marks(self.text, styles, first) if mark.number is not None]
        return self.without([(len(self.text[: mark.start].rstrip()), mark.end) for mark in marks])


def whole(text: str) -> LocatedText:
    """Return the text of a whole answer with the offset of each character: 0, 1, 2 and so on."""
    return LocatedText(text, tuple(range(len(text))))


def added(text: str) -> LocatedText:
    """Return text that is not in the answer (offsets -1), such as the question before a list item."""
    return LocatedText(text, (_ADDED,) * len(text))


def joined(*readings: LocatedText) -> LocatedText:
    """Return the concatenation of texts, with their offsets."""
    offsets = tuple(offset for reading in readings for offset in reading.at)
    return LocatedText("".join(reading.text for reading in readings), offsets)


# Marks that open a sentence stay, or the first mark (ALiiCE) or the whole group moves to the sentence before.
#
# auto: move all where every mark of the answer stands behind the full stop of a sentence, on its line; else keep.
Leading = Literal["auto", "keep", "move first", "move all"]

_BEHIND = re.compile(r"""[.!?…。！？｡।॥۔؟]["'”’»)*_]*+[^\S\n]*+\Z""")


def find_sentence_splitter(wish: str = "auto") -> SentenceSplitter:
    """Return the sentence splitter that `wish` names: NLTK's punkt (nltk) or the project's rules (rules).

    "auto" is punkt where its data are installed, else the rules. Raises `UserError` for another name, and for nltk
    without punkt's data.
    """
    from metaeval.scoring.backends.sentence_splitting import find_splitter

    if wish not in (wishes := ("auto", "nltk", "rules")):
        raise unknown("splitter", wish, wishes)
    return find_splitter(wish)  # type: ignore[arg-type]


def reading_of(answer: Answer) -> LocatedText:
    """Return the text of an answer that is read, without the pieces that are left out, with its offsets."""
    text, pieces, end = whole(answer.text), [], 0
    for piece in answer.left_out:
        pieces.append(text.part(end, piece.start))
        last = piece.end - 1
        offsets = (min(piece.start + place, last) for place in range(len(piece.written)))
        pieces.append(LocatedText(piece.written, tuple(offsets)))
        end = piece.end
    return joined(*pieces, text.part(end, len(answer.text))) if pieces else text


def cleaned(answer: Answer) -> Answer:
    """Return an answer whose text is what is read of it."""
    return replace(answer, text=reading_of(answer).text.strip(), left_out=()) if answer.left_out else answer


def prepare(answer: Answer, lines: Literal["first", "all"] = "all") -> LocatedText:
    """Return an answer's text with its offsets, without white space at its ends and without the token <|im_end|>.

    lines: keep all lines, or only the first one, as ALCE does. Some generators leave the end-of-turn token <|im_end|>.
    """
    reading = reading_of(answer).stripped()
    if lines == "first":
        reading = reading.part(0, len(reading.text.split("\n")[0]))
    return reading.without([match.span() for match in re.finditer(re.escape("<|im_end|>"), reading.text)])


def split(reading: LocatedText, splitter: SentenceSplitter = RULES) -> list[LocatedText]:
    """Return the sentences of a text. Raises ValueError if the splitter returns one that the text does not hold."""
    sentences: list[LocatedText] = []
    end = 0
    for sentence in splitter.split(reading.text):
        start = reading.text.find(sentence, end)
        if start < 0:
            raise ValueError(f"splitter {splitter.name} changed the text of sentence {sentence[:40]!r}")
        end = start + len(sentence)
        sentences.append(reading.part(start, end))
    return sentences


def leading_in(text: LocatedText, leading: Leading, styles: MarkStyles = "all") -> Leading:
    """Return what becomes of the marks of a text that open a sentence, which for "auto" depends on all of its marks."""
    if leading != "auto":
        return leading
    starts = [group.start for group in cited_spans(text.text, styles)]
    return "move all" if all(_BEHIND.search(text.text, max(0, at - _NEAR), at) for at in starts) else "keep"


def opens_with_mark(sentence: LocatedText) -> bool:
    """Return whether a readable mark opens a sentence."""
    return _leading(sentence, "move all", "all") is not None


def states(text: str, cited: bool = False) -> bool:
    """Return whether a text states anything: it has a letter, or a digit and a citation."""
    return any(map(str.isalpha, text)) or (cited and any(map(str.isalnum, text)))


def move_leading(
    sentences: Sequence[LocatedText], leading: Leading = "keep", styles: MarkStyles = "all"
) -> list[LocatedText]:
    """Return the sentences with marks that open a sentence moved to the end of the sentence before.

    Written after the full stop, such marks belong to that sentence. "move first" is the released ALiiCE rule: if a
    sentence opens with a bracket, its first plain mark is cut out and appended without a space, even if it does not
    open the sentence; further marks stay. "move all" moves the whole group that opens the sentence, "keep" nothing. An
    emptied sentence stays in the list, and so do marks that open the first sentence.
    """
    moved: list[LocatedText] = []
    for sentence in sentences:
        span = _leading(sentence, leading, styles) if moved else None
        if span is None:
            moved.append(sentence)
        else:
            moved[-1] = joined(moved[-1], sentence.part(*span))
            moved.append(sentence.without([span]))
    return moved


def _leading(sentence: LocatedText, leading: Leading, styles: MarkStyles) -> tuple[int, int] | None:
    """Return the offsets of the marks that open a sentence and are moved; None if there are none."""
    if leading == "move first" and sentence.text.startswith("["):
        match = re.search(r"\[\d+\]", sentence.text)
        return match.span() if match else None
    groups = cited_spans(sentence.text, styles) if leading == "move all" else []
    opens = groups and not sentence.text[: groups[0].start].strip()
    return (groups[0].start, groups[0].end) if opens else None
