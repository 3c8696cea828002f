"""Reports of deep research in Markdown: marks in the text, and a list of addresses at its end.

Read are `[n]`, `[n†...]`, `[^n]` and `[title](url)`; a bare number behind a space is not. In the published reports of
one real system the list is `[n] URL - title` behind a plain line such as `References` (Ayanami0730/deep_research_bench
@ 214741e). `#:~:text=` in an address is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished
from metaeval.corpus.data_rows import DataRow

_LISTED = re.compile(r"\s*(?:[-*]\s+)?\[\^?(\d{1,9})\][:.]?\s*(.*?)<?(https?://[^\s<>]+)>?(.*)")
_TITLE = re.compile(r"\s*(?:#+\s*)?[*_]*[^\n.!?。]{1,40}?[*_]*\s*[:：]?\s*[*_]*")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,300})\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)")
_DAGGER = re.compile(r"[\[【](\d{1,9})†[^\[\]【】\n]{0,200}[\]】]")


def _read(row: DataRow) -> Iterator[CitedText]:
    draft = CitedText()
    body = _without_list(row.text("article"), draft)
    done = 0
    for match in _LINK.finditer(body):
        in_round = body[done : match.start()].endswith("(") and body[match.end() : match.end() + 1] == ")"
        is_number = match[1].lstrip("^").isdigit()
        _write(draft, body[done : match.start() - in_round])
        done = match.end() + in_round
        start = draft.write(match[0] if in_round or is_number else match[1])
        url = _address(match[2])
        if in_round or is_number:
            draft.mark(start, draft.length, (draft.source(url, url=url),))
        else:
            draft.mark(draft.length, draft.length, (draft.source(url, url=url, title=match[1]),))
    _write(draft, body[done:])
    yield finished(draft, row)


def _write(draft: CitedText, text: str) -> None:
    """Append a text with its marks to the draft; the marks' numbers are those of the list of sources."""
    shift = draft.write(text)
    daggers = [(match.start(), match.end(), int(match[1])) for match in _DAGGER.finditer(text)]
    inside = {start for start, _, _ in daggers}
    marks = [(mark.start, mark.end, mark.number) for mark in find_marks(text) if mark.start not in inside]
    for start, end, number in sorted([*daggers, *marks], key=lambda mark: mark[:2]):
        draft.mark(start + shift, end + shift, (draft.find(("listed", number)),))


def _without_list(article: str, draft: CitedText) -> str:
    """Add the sources of the list at the article's end to the draft; return the text before the list and its title."""
    lines = article.split("\n")
    end = len(lines)
    while end and (not lines[end - 1].strip() or _LISTED.fullmatch(lines[end - 1])):
        end -= 1
    listed = [match for line in lines[end:] if (match := _LISTED.fullmatch(line))]
    if not listed:
        return article
    for match in listed:
        title = (match[2] or match[4]).strip(" -–—:|\t")
        draft.source(("listed", int(match[1])), url=_address(match[3]), title=title)
    if end and _TITLE.fullmatch(lines[end - 1]) and len(lines[end - 1]) <= 60:
        end -= 1
    return "\n".join(lines[:end])


def _address(url: str) -> str:
    return url.split("#:~:text=")[0].rstrip(".,;")


RESEARCH = AnswerFormat(
    name="research",
    title="Deep-research reports in Markdown: an article with marks and a list of addresses",
    needs=("article", "prompt"),
    example='{"id": 1, "prompt": "When?", "article": "# Report\\n\\nIt opened in 1999. [1]\\n\\nReferences\\n\\n[1] '
    'https://a.example/x - Title"}',
    read=_read,
)
