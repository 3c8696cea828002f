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
from metaeval.citation.readers.source_lists import KIND, LINK, address, source_lists
from metaeval.citation.readers.source_texts import plain_url
from metaeval.corpus.data_rows import DataRow

_FOOTNOTE = re.compile(r"\[\^(\d{1,9}[_-]\d{1,9})\]")
_DAGGER = re.compile(r"[\[【](\d{1,9})†[^\[\]【】\n]{0,200}[\]】]")


def _read(row: DataRow) -> Iterator[CitedText]:
    draft = CitedText()
    body = _without_lists(row.text("article"), draft)
    done = 0
    for match in LINK.finditer(body):
        before, after = body[done : match.start()], body[match.end() :]
        closes = {"(": ")", "<sup>": "</sup>"}
        opened = next((sign for sign in closes if before.endswith(sign) and after.startswith(closes[sign])), "")
        is_number = match[1].strip("\\[]^ ").isdigit()
        _write(draft, before.removesuffix(opened))
        done = match.end() + len(closes.get(opened, ""))
        start = draft.write(match[0] if opened or is_number else match[1])
        url = address(match[2])
        known = (place for place, source in enumerate(draft.sources) if plain_url(source.url) == plain_url(url))
        place = next(known, None)
        if place is None:
            place = draft.source(url, url=url, title="" if opened or is_number else match[1])
        draft.mark(start if opened or is_number else draft.length, draft.length, (place,))
    _write(draft, body[done:])
    yield finished(draft, row)


def _write(draft: CitedText, text: str) -> None:
    """Append a text with its marks to the draft; the marks' labels are those of the list of sources."""
    shift = draft.write(text)
    named = [match for pattern in (_DAGGER, _FOOTNOTE) for match in pattern.finditer(text)]
    labelled = [(match.start(), match.end(), match[1]) for match in named]
    inside = {start for start, _, _ in labelled}
    marks = [(mark.start, mark.end, str(mark.number)) for mark in find_marks(text) if mark.start not in inside]
    for start, end, label in sorted([*labelled, *marks], key=lambda mark: mark[:2]):
        draft.mark(start + shift, end + shift, (draft.find(("listed", label)),))


def _without_lists(article: str, draft: CitedText) -> str:
    """Add the labelled sources of the article's lists to the draft; return the text without the lists."""
    kept, end = [], 0
    for listing in source_lists(article):
        for source in listing.sources:
            if source.label:
                draft.source(("listed", source.label), url=source.url, title=source.title)
        draft.cut.append(KIND)
        kept.append(article[end : listing.start])
        end = listing.end
    return "".join([*kept, article[end:]])


RESEARCH = AnswerFormat(
    name="research",
    title="Deep-research reports in Markdown: an article with marks and a list of addresses",
    needs=("article", "prompt"),
    example='{"id": 1, "prompt": "When?", "article": "# Report\\n\\nIt opened in 1999. [1]\\n\\nReferences\\n\\n[1] '
    'https://a.example/x - Title"}',
    read=_read,
)
