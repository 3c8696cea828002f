"""Citation marks in a text: where they stand, what number they hold, which of them stand together.

Every bracket that holds a digit is taken for an attempt at a citation. What the styles in force can read becomes one
mark for each number; what they cannot read becomes one mark without a number, so that nothing is lost unseen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metaeval.citation.model import Mark

# A bracket of numbers; any other short bracket; a bracket that opens on a number and does not close. Possessive
# quantifiers and bounded lengths keep the search linear on runs of digits and brackets.
_BRACKET = re.compile(
    r"""(?P<open>[\[【])\s*+(?P<body>\^?\d++(?:\s*+[,;–—-]\s*+\^?\d++)*+)\s*+[\]】]
        |[\[【](?P<other>[^\[\]【】\n]{1,80}+)[\]】]
        |[\[【]\s*+\^?\d++""",
    re.VERBOSE,
)
_UNCLOSED = re.compile(r"\[(\d+)")
_DIGIT = re.compile(r"\d")
_RANGE = re.compile(r"\s*[–—-]\s*")
_LONGEST_NUMBER = 18  # digits; no list of passages is that long, and Python refuses to read some longer numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkStyles:
    """Which citation marks are read; a plain `[1]` always is."""

    lists: bool = True
    """Read lists: [1, 2] and [1;2]."""
    ranges: bool = True
    """Read ranges: [1-3], with any dash."""
    carets: bool = True
    """Read carets: [^1]."""
    corners: bool = True
    """Read corner brackets: 【1】."""
    longest_range: int = 50
    """Most numbers that a range may stand for; a longer range, or one that runs downwards, is unparsable."""
    unclosed: bool = False
    """Read '[' and digits as a mark, whether the bracket closes or not, as ALCE's released code does; the other
    styles are then off."""


UNCLOSED = MarkStyles(lists=False, ranges=False, carets=False, corners=False, unclosed=True)
"""What the released ALCE code takes for a mark."""


@dataclass(frozen=True, slots=True)
class Group:
    """Marks that stand together, with nothing but white space between: start and end offsets, marks in order."""

    start: int
    end: int
    marks: tuple[Mark, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers in the marks, in order, repeats kept."""
        return tuple(mark.number for mark in self.marks if mark.number is not None)


def find_marks(text: str, styles: MarkStyles | None = None, first: int = 1) -> list[Mark]:
    """Every mark in the text, in order; what the styles (default: all) cannot read has no number.

    The marks of one bracket (`[1, 2]`) share its offsets. first: the number that the first passage goes by; numbers
    are shifted so that it is 1.
    """
    styles = styles or MarkStyles()
    marks: list[Mark] = []
    for start, end, numbers in _brackets(text, styles):
        shifted = [Mark(start, end, number - first + 1) for number in numbers]
        marks.extend(shifted or [Mark(start, end, None)])
    return marks


def cited_spans(text: str, styles: MarkStyles | None = None, first: int = 1) -> list[Group]:
    """The groups of adjacent marks in the text, in order; marks without a number belong to none and part no group."""
    groups: list[Group] = []
    for mark in find_marks(text, styles, first):
        if mark.number is None:
            continue
        last = groups[-1] if groups else None
        if last is not None and not text[last.end : mark.start].strip():
            groups[-1] = Group(last.start, mark.end, (*last.marks, mark))
        else:
            groups.append(Group(mark.start, mark.end, (mark,)))
    return groups


def unread(every: Sequence[Mark], read: Sequence[Mark]) -> list[Mark]:
    """The marks of `every` that are not among `read`: the same place and number, each counted once."""
    left = Counter((mark.start, mark.number) for mark in read)
    missed: list[Mark] = []
    for mark in every:
        key = (mark.start, mark.number)
        if left[key]:
            left[key] -= 1
        else:
            missed.append(mark)
    return missed


def _brackets(text: str, styles: MarkStyles) -> Iterator[tuple[int, int, list[int]]]:
    if styles.unclosed:
        for match in _UNCLOSED.finditer(text):
            yield match.start(), match.end(), _items(match[1], styles)
        return
    for match in _BRACKET.finditer(text):
        if match["body"] is not None:
            readable = styles.corners or match["open"] == "["
            yield match.start(), match.end(), _items(match["body"], styles) if readable else []
        elif match["other"] is None or _DIGIT.search(match["other"]):
            yield match.start(), match.end(), []


def _items(body: str, styles: MarkStyles) -> list[int]:
    """The numbers of a bracket's text; none where any part of it cannot be read."""
    items = re.split(r"[,;]", body)
    if len(items) > 1 and not styles.lists:
        return []
    numbers: list[int] = []
    for item in items:
        read = _item(item.strip(), styles)
        if not read:
            return []
        numbers.extend(read)
    return numbers


def _item(item: str, styles: MarkStyles) -> Sequence[int]:
    if item.startswith("^") and not styles.carets:
        return ()
    ends = _RANGE.split(item.replace("^", ""))
    if any(len(end) > _LONGEST_NUMBER for end in ends):
        return ()
    if len(ends) == 1:
        return (int(ends[0]),)
    if len(ends) > 2 or not styles.ranges or not 0 <= int(ends[1]) - int(ends[0]) < styles.longest_range:
        return ()
    return range(int(ends[0]), int(ends[1]) + 1)
