"""Reports of deep research in Markdown: an article with marks, links and addresses, and lists of sources.

Read are `[n]`, `[n†...]`, `[^n]`, `[n](url)`, `[title](url)`, `<sup>n</sup>`, bare addresses, and, where there are no
other marks, `(n)` and numbers behind the full stop, as Gemini writes them; a bare number behind a space is not. In the
published reports of one real system the list is `[n] URL - title` behind a plain line such as `References`
(Ayanami0730/deep_research_bench @ 214741e). `#:~:text=` in an address is cut.
"""

from __future__ import annotations

from collections.abc import Iterator

from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, finished
from metaeval.citation.readers.report_citations import cite_report
from metaeval.corpus.data_rows import DataRow


def _read(row: DataRow) -> Iterator[CitedText]:
    draft = CitedText()
    cite_report(row.text("article"), draft)
    yield finished(draft, row)


RESEARCH = AnswerFormat(
    name="research",
    title="Deep-research reports in Markdown: an article with marks and a list of addresses",
    needs=("article", "prompt"),
    example='{"id": 1, "prompt": "When?", "article": "# Report\\n\\nIt opened in 1999. [1]\\n\\nReferences\\n\\n[1] '
    'https://a.example/x - Title"}',
    read=_read,
)
