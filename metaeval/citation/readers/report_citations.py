"""Read the citations of a report in Markdown: links, addresses and marks of its lists of sources, out of its text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.source_lists import (
    KIND,
    LINK,
    LINK_PATTERN,
    ListedSource,
    address,
    bare_addresses,
    code_blocks,
    source_lists,
)
from metaeval.citation.readers.source_texts import plain_url


@dataclass(frozen=True, slots=True)
class _Citation:
    """A citation in a text: offsets of all that leaves the text, what it cites, and the words that stay."""

    start: int
    end: int
    targets: tuple[ListedSource, ...]
    words: str = ""


_CODE = re.compile(r"(?<!`)(`{1,2}+)(?!`)[^`\n]{1,300}+\1(?!`)")
_ESCAPED = re.compile(r"\\\[(\^?\d[\d,; -]{0,30})\\\]")
_GROUP = re.compile(
    rf"(?P<image>!)?(?:<sup>\s?)?(?P<open>[(（\[]?)(?P<cue>(?:see|sources?|via|from|cf\.|quellen?|siehe|来源)[:：]?\s?)?"
    rf"(?P<links>{LINK_PATTERN}(?:\s?[,;，；]?\s?{LINK_PATTERN}){{0,50}}+)(?P<close>[)）\]]?)(?:\s?</sup>)?",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"[\[【](?P<dagger>\d{1,9})†[^\[\]【】\n]{0,200}[\]】]|\[\^(?P<word>[^\[\]\s]{1,60})\]"
    r"|<sup>\s?(?P<raised>\d{1,4}(?:\s?[,;]\s?\d{1,4}){0,20})\s?</sup>",
    re.IGNORECASE,
)
_ROUND = re.compile(
    r"(?:(?<=\w)|(?<=[.!?。,\"”»%]))[ ]?[(（](\d{1,4}(?:\s?[,;]\s?\d{1,4}){0,20})[)）]"
    r"(?=\s{0,99}+(?:[.,;:!?。，(（]|$)|\s{1,99}+[A-Z])",
    re.MULTILINE,
)
_BEHIND_STOP = re.compile(
    r"(?<=[^\W_]|[)\]%\"”’»*])[.!?。][\"”’»*)]{0,3}(\d{1,3}(?:,\s?\d{1,3}){0,20})"
    r"(?=[ \t]{0,99}+(?:\n|$)|[ \t]{1,99}+(?:[^\Wa-z]|[\"“(\[*#|]))",
    re.MULTILINE,
)


def cite_report(article: str, draft: CitedText) -> None:
    """Write a report to a draft, with its citations as marks and without its lists of sources."""
    article = _ESCAPED.sub(r"[\1]", article)
    lists = source_lists(article)
    listed: dict[str, ListedSource] = {}
    titles: dict[str, str] = {}
    for block in lists:
        draft.cut.append(KIND)
        for source in block.sources:
            titles.setdefault(plain_url(source.url), source.title)
            if source.label and (source.url or source.title):
                listed.setdefault(source.label, source)
    for source in listed.values():
        _place(draft, source)
    if not listed and len(lists) == 1:
        listed = {str(number): source for number, source in enumerate(lists[0].sources, start=1)}
    pieces = zip([0, *(block.end for block in lists)], [*(block.start for block in lists), len(article)], strict=True)
    body = "\n".join(article[start:end] for start, end in pieces if start < end)
    done = 0
    for cited in _citations(body, listed):
        draft.write(body[done : cited.start] + cited.words)
        done = cited.end
        if not cited.targets:
            draft.cut.append("image")
            continue
        start = draft.length if cited.words else draft.write(body[cited.start : cited.end])
        places = []
        for target in cited.targets:
            title = titles.get(plain_url(target.url), "") or target.title
            places.append(_place(draft, ListedSource(target.label, target.url, title)))
        draft.mark(start, draft.length, places)
    draft.write(body[done:])


def _place(draft: CitedText, source: ListedSource) -> int | None:
    if not source.url and not source.title:
        return None
    key = ("url", plain_url(source.url)) if source.url else ("label", source.label)
    return draft.source(key, url=source.url, title=source.title)


def _citations(body: str, listed: Mapping[str, ListedSource]) -> Iterator[_Citation]:
    """Yield the citations of a text in order, without overlap and outside code."""
    code = sorted([*code_blocks(body), *(match.span() for match in _CODE.finditer(body))])
    links = _outside([*_links(body, listed)], code)
    taken = sorted([*code, *((link.start, link.end) for link in links)])
    marks = _outside([*_marks(body, listed)], taken)
    bare = [_Citation(start, end, (ListedSource("", url, ""),)) for start, end, url in bare_addresses(body)]
    cited = [*links, *marks, *_outside(bare, taken)]
    if listed and not marks and all(link.words or not link.targets for link in links):
        taken = sorted([*taken, *((citation.start, citation.end) for citation in cited)])
        cited += _outside([*_numbers(body, listed, _ROUND)], taken) or _outside(_ascending(body, listed), taken)
    done = 0
    for citation in sorted(cited, key=lambda each: each.start):
        if citation.start >= done:
            yield citation
            done = citation.end


def _outside(cited: list[_Citation], taken: list[tuple[int, int]]) -> list[_Citation]:
    ends = [*accumulate((end for _, end in taken), max)]  # code in backticks may be inside a block
    places = ((citation, bisect_right(ends, citation.start)) for citation in cited)
    return [citation for citation, place in places if place == len(taken) or taken[place][0] >= citation.end]


def _links(body: str, listed: Mapping[str, ListedSource]) -> Iterator[_Citation]:
    for group in _GROUP.finditer(body):
        links = [*LINK.finditer(group["links"])]
        if group["image"]:
            yield _Citation(group.start(), group.end(), ())
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
            target = ListedSource("", url, "" if is_mark and words.isdecimal() else words)
            kept = "" if is_mark else body[start : shift + link.start()] + link[1] + body[shift + link.end() : end]
            yield _Citation(start, end, (target,), kept)


def _marks(body: str, listed: Mapping[str, ListedSource]) -> Iterator[_Citation]:
    read = []
    for match in _MARK.finditer(body):
        labels = re.split(r"\s?[,;]\s?", match["raised"]) if match["raised"] else [match["dagger"] or match["word"]]
        read.append(match.span())
        yield _Citation(*match.span(), tuple(_of(label, listed) for label in labels))
    spans: dict[tuple[int, int], list[ListedSource]] = {}
    for mark in find_marks(body):
        spans.setdefault((mark.start, mark.end), []).append(_of(str(mark.number), listed))
    plain = [_Citation(start, end, tuple(targets)) for (start, end), targets in spans.items()]
    yield from _outside(plain, read)


def _of(label: str, listed: Mapping[str, ListedSource]) -> ListedSource:
    label = str(int(label)) if label.isdecimal() else label
    return listed.get(label, ListedSource(label, "", ""))


def _numbers(body: str, listed: Collection[str], pattern: re.Pattern[str]) -> Iterator[_Citation]:
    """Yield the marks without square brackets of which the lists hold every number."""
    for match in pattern.finditer(body):
        labels = [str(int(label)) for label in re.split(r"\s?[,;]\s?", match[1])]
        if all(label in listed for label in labels):
            start = match.start(1) - (pattern is _ROUND)
            end = match.end(1) + (pattern is _ROUND)
            yield _Citation(start, end, tuple(_of(label, listed) for label in labels))  # type: ignore[arg-type]


def _ascending(body: str, listed: Mapping[str, ListedSource]) -> list[_Citation]:
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
