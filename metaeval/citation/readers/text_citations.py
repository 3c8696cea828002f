"""Find the citations in a text by their form: links, addresses, and marks of its lists of sources, outside code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.source_lists import LINK, ListedSource, address, bare_addresses, code_blocks
from metaeval.citation.readers.source_texts import plain_url


@dataclass(frozen=True, slots=True)
class TextCitation:
    """A citation in a text: offsets of all that leaves the text, its form, what it cites, and the words that stay.

    kind: mark, number (without square brackets), linked mark, link, web address, or image, which cites nothing.
    """

    start: int
    end: int
    kind: str
    targets: tuple[ListedSource, ...]
    words: str = ""


_CODE = re.compile(r"(?<!`)(`{1,2}+)(?!`)[^`\n]{1,300}+\1(?!`)")
_GROUP = re.compile(
    rf"(?P<image>!)?(?:<sup>\s?)?(?P<open>[(（\[]?)(?P<cue>(?:see|sources?|via|from|cf\.|quellen?|siehe|来源)[:：]?\s?)?"
    rf"(?P<links>{LINK.pattern}(?:\s?[,;，；]?\s?{LINK.pattern}){{0,50}}+)(?P<close>[)）\]]?)(?:\s?</sup>)?",
    re.IGNORECASE,
)
_ANCHOR = re.compile(
    r"""(?:<sup>\s?)?+<a\s[^<>\n]{0,200}?href=["']?(?P<url>https?://[^\s"'<>]{1,2000}+)[^<>\n]{0,200}+>
        \s?\[?(?P<label>\d{1,9})\]?\s?</a>(?:\s?</sup>)?+""",
    re.VERBOSE | re.IGNORECASE,
)
_MARK = re.compile(
    r"[\[【](?P<dagger>\d{1,9})†[^\[\]【】\n]{0,200}[\]】]|\[\^(?P<word>[^\[\]\s]{1,60})\]"
    r"|<sup>\s?(?P<raised>\d{1,4}(?:\s?[,;]\s?\d{1,4}){0,20})\s?</sup>",
    re.IGNORECASE,
)
_ROUND = re.compile(
    r"(?:(?<=\w)|(?<=[.!?。,\"”»%]))[ ]?(?P<mark>[(（](?P<labels>\d{1,4}(?:\s?[,;]\s?\d{1,4}){0,20})[)）])"
    r"(?=\s{0,99}+(?:[.,;:!?。，(（]|$)|\s{1,99}+[A-Z])",
    re.MULTILINE,
)
_BEHIND_STOP = re.compile(
    r"(?<=[^\W_]|[)\]%\"”’»*])[.!?。][\"”’»*)]{0,3}(?P<mark>(?P<labels>\d{1,3}(?:,\s?\d{1,3}){0,20}))"
    r"(?=[ \t]{0,99}+(?:\n|$)|[ \t]{1,99}+(?:[^\Wa-z]|[\"“(\[*#|]))",
    re.MULTILINE,
)


def citations_in(body: str, listed: Mapping[str, ListedSource]) -> Iterator[TextCitation]:
    """Yield the citations of a text in order, without overlap and outside code.

    listed: the sources of its lists by label. Numbers without square brackets are read where there are no other marks.
    """
    code = sorted([*code_blocks(body), *(match.span() for match in _CODE.finditer(body))])
    links = _outside([*_links(body)], code)
    taken = sorted([*code, *((link.start, link.end) for link in links)])
    marks = _outside([*_marks(body, listed)], taken)
    bare = [TextCitation(*span, "web address", (ListedSource("", url, ""),)) for span, url in bare_addresses(body)]
    cited = [*links, *marks, *_outside(bare, taken)]
    if listed and not marks and all(link.words or not link.targets for link in links):
        taken = sorted([*taken, *((citation.start, citation.end) for citation in cited)])
        cited += _outside([*_numbers(body, listed, _ROUND)], taken) or _outside(_ascending(body, listed), taken)
    done = 0
    for citation in sorted(cited, key=lambda each: each.start):
        if citation.start >= done:
            yield citation
            done = citation.end


def _outside(cited: list[TextCitation], taken: list[tuple[int, int]]) -> list[TextCitation]:
    ends = [*accumulate((end for _, end in taken), max)]  # code in backticks may be inside a block
    places = ((citation, bisect_right(ends, citation.start)) for citation in cited)
    return [citation for citation, place in places if place == len(taken) or taken[place][0] >= citation.end]


def _links(body: str) -> Iterator[TextCitation]:
    for anchor in _ANCHOR.finditer(body):
        target = ListedSource(anchor["label"], address(anchor["url"]), "")
        yield TextCitation(anchor.start(), anchor.end(), "linked mark", (target,))
    for group in _GROUP.finditer(body):
        links = [*LINK.finditer(group["links"])]
        if group["image"]:
            yield TextCitation(group.start(), group.end(), "image", ())
            continue
        closed = group["open"] + group["close"] in ("()", "（）", "[]")
        # What opens or closes alone belongs to the text around.
        first = group.start() if closed or not group["open"] else group.start("links")
        last = group.end() if closed or not group["close"] else group.end("links")
        shift = group.start("links")
        for number, link in enumerate(links):
            words = link[1].replace("\\", "").strip("[]^ ")
            url = address(link[2])
            is_mark = closed or words.isdecimal() or words.startswith(("http:", "https:", "www."))
            is_mark = is_mark or words.lower().removeprefix("www.") == plain_url(url).split("/")[0]
            behind = re.search(r"[.!?。][\"”’»)*]{0,3}\s*$", body[max(0, first - 20) : first])
            is_mark = is_mark or bool(behind and re.match(r"[ \t]*(?:\n|$)", body[last : last + 50]))
            start = first if number == 0 else shift + links[number - 1].end()
            end = last if number == len(links) - 1 else shift + link.end()
            label, title = (words, "") if words.isdecimal() else ("", words)
            kept = "" if is_mark else body[start : shift + link.start()] + link[1] + body[shift + link.end() : end]
            kind = "linked mark" if label else "link"
            yield TextCitation(start, end, kind, (ListedSource(label, url, title),), kept)


def _marks(body: str, listed: Mapping[str, ListedSource]) -> Iterator[TextCitation]:
    read = []
    for match in _MARK.finditer(body):
        labels = re.split(r"\s?[,;]\s?", match["raised"]) if match["raised"] else [match["dagger"] or match["word"]]
        read.append(match.span())
        yield TextCitation(*match.span(), "mark", tuple(_of(label, listed) for label in labels))
    spans: dict[tuple[int, int], list[ListedSource]] = {}
    for mark in find_marks(body):
        spans.setdefault((mark.start, mark.end), []).append(_of(str(mark.number), listed))
    plain = [TextCitation(start, end, "mark", tuple(targets)) for (start, end), targets in spans.items()]
    yield from _outside(plain, read)


def _of(label: str, listed: Mapping[str, ListedSource]) -> ListedSource:
    label = str(int(label)) if label.isdecimal() else label
    return listed.get(label, ListedSource(label, "", ""))


def _numbers(body: str, listed: Mapping[str, ListedSource], pattern: re.Pattern[str]) -> Iterator[TextCitation]:
    """Yield the marks without square brackets of which the lists hold every number."""
    for match in pattern.finditer(body):
        labels = [str(int(label)) for label in re.split(r"\s?[,;]\s?", match["labels"])]
        if all(label in listed for label in labels):
            yield TextCitation(*match.span("mark"), "number", tuple(listed[label] for label in labels))


def _ascending(body: str, listed: Mapping[str, ListedSource]) -> list[TextCitation]:
    """Return the numbers behind full stops, which count up from the first sources; none where they do not."""
    highest, kept, orderly, seen = 0, [], [], set()
    for citation in _numbers(body, listed, _BEHIND_STOP):
        labels = [int(target.label) for target in citation.targets]
        if max(labels) > highest + 9 and body[citation.start - 2 : citation.start - 1].isdecimal():
            continue  # a decimal
        orderly += [label > highest for label in labels if label not in seen]
        seen.update(labels)
        highest = max(highest, *labels)
        kept.append(citation)
    return kept if 10 * sum(orderly) >= 8 * len(orderly) else []
