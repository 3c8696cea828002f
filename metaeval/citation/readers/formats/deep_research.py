"""Reports of deep research in Markdown: an article with marks, links and addresses, and lists of sources.

Read are `[n]`, `[n†...]`, `[^n]`, `[n](url)`, `[title](url)`, `<sup>n</sup>`, bare addresses, and, where there are no
other marks, `(n)` and numbers behind the full stop, as Gemini writes them; a bare number behind a space is not. In the
published reports of one real system the list is `[n] URL - title` behind a plain line such as `References`
(Ayanami0730/deep_research_bench @ 214741e). `#:~:text=` in an address is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished
from metaeval.citation.readers.source_lists import KIND, ListedSource, source_lists
from metaeval.citation.readers.source_texts import plain_url
from metaeval.citation.readers.text_citations import citations_in
from metaeval.corpus.data_rows import DataRow

_ESCAPED = re.compile(r"\\\[(\^?\d[\d,; -]{0,30})\\\]")


def write_report(article: str, draft: CitedText) -> None:
    """Write a report to a draft, with its citations as marks and without its lists of sources."""
    article = _ESCAPED.sub(r"[\1]", article)
    lists = source_lists(article)
    listed: dict[str, ListedSource] = {}
    titles: dict[str, str] = {}
    for block in lists:
        draft.cut.append((KIND, len(block.sources)))
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
    for cited in citations_in(body, listed):
        draft.write(body[done : cited.start] + cited.words)
        done = cited.end
        if not cited.targets:
            draft.cut.append(("image", 0))
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


def _read(row: DataRow) -> Iterator[CitedText]:
    draft = CitedText()
    write_report(row.text("article"), draft)
    yield finished(draft, row)


RESEARCH = AnswerFormat(
    name="research",
    title="Deep-research reports in Markdown: an article with marks and a list of addresses",
    needs=("article", "prompt"),
    read=_read,
)
