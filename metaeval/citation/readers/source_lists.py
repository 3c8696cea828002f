"""Find the lists of sources in a text by what they hold: addresses, labels that the text cites, headings.

A list under a heading such as "References" may stand anywhere; one without a heading only at the end of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, takewhile
from pathlib import Path
from unicodedata import normalize

from metaeval.citation.marks_and_sentences import brackets, find_marks
from metaeval.core.cells import plain_heading


@dataclass(frozen=True, slots=True)
class ListedSource:
    """An entry of a list of sources. label: as marks cite it ("1", "1_1"); empty for an entry without one."""

    label: str
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class SourceList:
    """A list of sources. start, end: offsets of the list with its heading and the ornaments before it."""

    start: int
    end: int
    sources: tuple[ListedSource, ...]


KIND = "list"  # what is said to be left out, with the number of its sources

# How sure a heading of a list of sources is (_: between words); 1: other lists have it too. The last are fillers.
_SURE, _OFTEN, _FILLERS = (
    frozenset(map(plain_heading, names.split()))
    for names in Path(__file__).with_name("source_headings.txt").read_text(encoding="utf-8").split("\n\n")
)
_NAMES = {2: _SURE, 1: _OFTEN}

_ADDRESS = re.compile(
    r"""(?:https?://|www\.|doi:\s?(?=10\.))[^\s<>"`\[\]{}|\\，。；、！？（）【】「」《》”“]{2,2000}+""", re.IGNORECASE
)
_WORDS = r"(?:[^\[\]\n\\]|\\.|\[[^\[\]\n]{0,99}+\]){0,300}+"
_URL = r"(?:https?://|www\.)(?:[^\s()<>]|\((?:[^\s()<>]|\([^\s()<>]{0,200}+\)){0,200}+\)){1,2000}+"
_CLOSE = r""">?(?:\s{1,3}+["'][^\n"']{0,300}+["'])?\s?\)"""
LINK = re.compile(rf"(?<!\\)\[({_WORDS})\]\(\s?<?({_URL}){_CLOSE}", re.IGNORECASE)

_LABEL = re.compile(
    r"""(?P<indent>[ \t]*+)(?:>[ \t]?)?(?P<bullet>[-*+•·▪–][ \t]++)?+[*_]{0,3}+(?:<sup>)?(?:
        \\?[\[【［](?P<definition>\^)?(?:(?:doc|document|source|ref|citation|passage)[ _-]?)?
            (?P<bracket>\d{1,9}(?:[_-]\d{1,9})?)\\?[\]】］](?!\s?[,;]?\s?\[\^?\d{1,9}\])
        | \[\[(?P<nested>\d{1,9})\]\](?=\() | \[\^(?P<word>[^\[\]\s]{1,60})\]:
        | \[(?P<defined>[^\[\]\n]{1,60})\]:(?=\s*<?(?:https?://|www\.))
        | [(（](?P<round>\d{1,4})[)）] | (?P<number>\d{1,4})(?:[.)](?=[\s\[<*_]|https?:)|[、．）])
        | (?P<raised>[¹²³⁰⁴-⁹]{1,4})
    )?(?:</sup>)?[:：]?[*_]{0,3}+[:：.]?""",
    re.VERBOSE | re.IGNORECASE,
)
_STYLES = ("bracket", "nested", "word", "defined", "round", "number", "raised", "bullet")
_ORNAMENT = re.compile(
    r"\s*+(?:<(?:div|p|center|hr|br)\b[^<>\n]{0,200}>)?\s*+[⁂*＊_=~·—–\-]*+\s*+(?:</\w{1,9}>)?\s*+", re.IGNORECASE
)
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}+|~{3,}+)([^\n]*+)", re.MULTILINE)
_PUBLISHED = re.compile(
    r"""[(（][^()（）\n]{0,30}\b(?:1[5-9]|20)\d\d[a-z]?\b[^()（）\n]{0,30}[)）] | \d\(\d | \[[A-Z]{1,2}(?:/OL)?\]
    | https?:
    | \b(?:doi|isbn|issn|arxiv|et\ al|pp?\.|vol\.|eds?\.|accessed|retrieved) | \*[^*\n]{3,200}\*""",
    re.VERBOSE | re.IGNORECASE,
)
_ACCESSED = re.compile(
    r"\W*(?:\(?(?:accessed|retrieved|abgerufen|consult\w+|zugriff|访问)[^\n]{0,60})?\W*", re.IGNORECASE
)
_MARK_AT_END = re.compile(r"\[\^?\d[^\[\]\n]{0,40}\][\s.!?。]*+$")
_SEPARATORS = re.compile(r"(?:[\s,;:|/&.()*_<>、，；·•–—-]|and\b|und\b|et\b|y\b)*+", re.IGNORECASE)
_LONGEST_HEADING = 80


def address(text: str) -> str:
    """Return an address without the brackets, punctuation and highlighted text behind it."""
    text = _trimmed(text).split("#:~:text=")[0]
    text = re.sub(r"^doi:\s?", "https://doi.org/", text, flags=re.IGNORECASE)
    return f"https://{text}" if text[:4].lower() == "www." else text


def _trimmed(text: str) -> str:
    depths = accumulate((character == "(") - (character == ")") for character in text)
    end = next((place for place, depth in enumerate(depths) if depth < 0), len(text))
    return text[:end].rstrip(".,;:!?*'’»…")


def bare_addresses(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield ((start, end), address) of each address in a text, with the round or pointed brackets around it."""
    for match in _ADDRESS.finditer(text):
        url = address(match[0])
        start, end = match.start(), match.start() + len(_trimmed(match[0]))
        around = text[start - 1 : start] + text[end : end + 1] if start else ""
        bracketed = around in ("()", "<>", "（）")
        yield (start - bracketed, end + bracketed), url


def code_blocks(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the fenced code blocks; one that is not closed ends with the text."""
    blocks, start, fence = [], 0, ""
    for match in _FENCE.finditer(text):
        if not fence:
            start, fence = match.start(), match[1]
        elif match[1].startswith(fence) and not match[2].strip():
            blocks.append((start, match.end()))
            fence = ""
    return [*blocks, (start, len(text))] if fence else blocks


@dataclass(slots=True)
class _Entry:
    label: str
    style: str
    indent: int
    text: str
    line: int = 0

    def listed(self) -> ListedSource:
        links, bare = LINK.search(self.text), _ADDRESS.search(self.text)
        url = address(links[2] if links else bare[0] if bare else "")
        words = LINK.sub(lambda link: "" if _ADDRESS.match(link[1]) else link[1], self.text)
        return ListedSource(self.label, url, " ".join(_ADDRESS.sub("", words).split()).strip(' -–—:|.,;()[]<>*_"“”'))

    @property
    def has_address(self) -> bool:
        return bool(_ADDRESS.search(self.text))


def _is_address(text: str) -> bool:
    """Return whether nothing but a link, or an address with the day of the visit, is in a text."""
    rest = (LINK if LINK.search(text) else _ADDRESS).sub("", text, count=1)
    return bool(_ADDRESS.search(text) and _ACCESSED.fullmatch(rest))


def source_lists(text: str) -> list[SourceList]:
    """Return the lists of sources in a text, in order; none where the text holds nothing else."""
    lists = list(_found(text))
    pieces = zip([0, *(block.end for block in lists)], [*(block.start for block in lists), len(text)], strict=True)
    rest = "\n".join(text[start:end] for start, end in pieces)
    return lists if re.search(r"\w", re.sub(r"(?m)^#.*+", "", rest)) else []


def _found(text: str) -> Iterator[SourceList]:
    lines = text.split("\n")
    starts = [*accumulate((len(line) + 1 for line in lines[:-1]), initial=0), len(text)]
    places = (map(partial(bisect_left, starts), block) for block in code_blocks(text))
    fenced = {at for first, end in places for at in range(first, end)}
    cited: dict[str, int] = {}
    for mark in find_marks(text):
        cited.setdefault(str(mark.number), mark.start)
    for word in re.finditer(r"\[\^([^\[\]\s]{1,60})\]", text):
        cited.setdefault(word[1], word.start())
    at = done = 0
    while at < len(lines):
        strength = 0 if at in fenced else _heading(lines[at])
        entries, end = [] if at in fenced else _inline(lines[at]), at + 1
        if entries:
            strength = 2
        else:
            level = len(lines[at]) - len(lines[at].lstrip("#")) if strength else None
            entries, end = _run(lines, at if level is None else at + 1, fenced, level)
        kept = entries
        before = {entry.label for entry in entries if cited.get(entry.label, len(text)) < starts[at]}
        if not entries or not (
            _headed(entries, before, strength, bool(cited) and min(cited.values()) < starts[at])
            if strength
            else _closes(lines, end) and (kept := _unheaded(entries, before))
        ):
            at = end if entries and not strength else at + 1
            continue
        first = at if strength else kept[0].line
        headed = bool(strength)
        while first > done:
            if first - 1 in fenced or not _ORNAMENT.fullmatch(lines[first - 1]):
                words = "" if headed else lines[first - 1].strip().rstrip("*_ ")
                if not 0 < len(words) <= 60 or not (words[0] == "#" or words[-1] in ":：" or _heading(words)):
                    break
                headed = True  # the heading of what follows it
            first -= 1
        yield SourceList(starts[first], starts[end], tuple(entry.listed() for entry in kept))
        at = done = end


def _heading(line: str) -> int:
    """Return 2 for a line that names a list of sources, 1 for one that other lists have too, else 0."""
    words = re.sub(r"[(（].*?[)）]", "", line) if len(line) <= _LONGEST_HEADING else ""
    words = re.sub(r"^\W*(?:\d{1,2}(?:\.\d{1,2})*[.)]|[IVX]{1,5}\.)\s", "", words)
    plain = [plain_heading(word) for word in re.split(r"[\s&/,_]+", words) if plain_heading(word)]
    if not plain or re.search(r"[.!?。]\s*$", line):
        return 0
    known, joined = _FILLERS, "".join(plain)
    for strength, names in _NAMES.items():
        known |= names
        if joined in names or (names & {*plain} and known.issuperset(plain)):
            return strength
    return 0


def _inline(line: str) -> list[_Entry]:
    """Return the entries of a line such as `Sources: [1], [2]`, of which nothing but marks and addresses is left."""
    name, _, rest = line.replace("：", ":").partition(":")
    rest = rest.strip().lstrip("*_ ")
    if not rest or not _heading(name):
        return []
    addresses = [*LINK.finditer(rest), *_ADDRESS.finditer(left := LINK.sub("", rest))]
    left = _ADDRESS.sub("", left)
    marks = [*brackets(left)]
    starts, ends = [start for start, *_ in marks], [end for _, end, _ in marks]
    before, *texts = (left[start:end] for start, end in zip([0, *ends], [*starts, len(left)], strict=True))
    bare = all(map(_SEPARATORS.fullmatch, (before, *texts)))
    if not bare and (addresses or before or not re.search(r"\w{3}", " ".join(texts))):
        return []
    labelled = [(str(number), text) for (*_, numbers), text in zip(marks, texts, strict=True) for number in numbers]
    cited = [_Entry(label, "bracket", 0, "" if bare else text) for label, text in labelled]
    return [*(_Entry("", "bullet", 0, match[0]) for match in addresses), *cited]


def _run(lines: Sequence[str], at: int, fenced: set[int], level: int | None) -> tuple[list[_Entry], int]:
    """Return the entries from a line on, and the line behind the last. level: of the heading; None: without one."""
    entries: list[_Entry] = []
    headed, end, blank = level is not None, at, False
    while at < len(lines) and at not in fenced:
        line = lines[at]
        if not line.strip() or (not entries and headed and _ORNAMENT.fullmatch(line)):
            blank, at = True, at + 1
            if not headed and not entries:
                break
            continue
        marks = re.match(r"\s{0,3}(#{1,6})\s", line)
        if _ORNAMENT.fullmatch(line) or _heading(line) or (marks and not (level and level < len(marks[1]))):
            break
        match: re.Match[str] = _LABEL.match(line)  # type: ignore[assignment]
        style = next((name for name in _STYLES if match[name]), "")
        indent = len(match["indent"])
        deeper = bool(entries) and indent > entries[-1].indent + 1
        last = entries[-1] if entries else None
        if marks:
            pass
        elif style and not deeper:
            label = normalize("NFKC", match[style]) if style != "bullet" else ""
            label = str(int(label)) if label.isdecimal() else label
            if last and not headed and (style != last.style or label == "1"):
                break
            entries.append(_Entry(label, style, indent, line[match.end() :], at))
        elif last and (
            deeper
            or not (blank or last.has_address or (not last.style and _PUBLISHED.search(line)))
            or (not last.has_address and _is_address(line))
        ):
            last.text += "\n" + line
        elif (
            (_ADDRESS.search(line) and (headed or _is_address(line)))
            or (headed and _PUBLISHED.search(line))
            or ((headed or (last and not blank)) and _leads(lines, at + 1))
        ):
            entries.append(_Entry("", "", indent, line, at))
        else:
            break
        at, blank = at + 1, False
        end = end if marks else at
    return entries, end


def _leads(lines: Sequence[str], at: int) -> bool:
    """Return whether an address alone is on the next line that is not blank."""
    return _is_address(next((line for line in lines[at : at + 3] if line.strip()), ""))


def _headed(entries: Sequence[_Entry], cited: set[str], strength: int, has_marks: bool) -> bool:
    """Return whether entries under a heading are sources."""
    if strength == 2 or any(entry.has_address or entry.style in ("bracket", "word") for entry in entries):
        return True
    states = sum(bool(_MARK_AT_END.search(entry.text)) for entry in entries)
    published = sum(bool(_PUBLISHED.search(entry.text)) for entry in entries)
    return not states and (bool(cited - {""}) or 2 * published >= len(entries) or has_marks)


def _unheaded(entries: list[_Entry], cited: set[str]) -> list[_Entry]:
    """Return the last entries that are sources, though no heading says so."""
    style = entries[0].style
    if style in ("bracket", "word", "defined", "nested"):
        known = sum(entry.has_address or entry.label in cited for entry in entries)
        return entries if 2 * known >= len(entries) and not _MARK_AT_END.search(entries[0].text) else []
    by_label = style and all(entry.has_address for entry in entries) and {entry.label for entry in entries} & cited
    closing = [*takewhile(lambda entry: _is_address(entry.text), reversed(entries))][::-1]
    return entries if by_label else closing if len(closing) > 1 else []


def _closes(lines: Sequence[str], at: int) -> bool:
    """Return whether nothing but ornaments, further lists and one short remark follow."""
    following = [line for line in lines[at : at + 40] if not _ORNAMENT.fullmatch(line)][:2]
    if not following or _heading(following[0]) or _LABEL.match(following[0]).end() > 2:  # type: ignore[union-attr]
        return True
    return len(following) == 1 and len(following[0]) <= 300 and not find_marks(following[0])
