"""GenSearch: statements of four generative search engines, with people's labels of the pages that they cite.

There are two published schemas: one judgement with its page text, and one response with all its judgements.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, DataRow, content_id, read_rows, strip_marks
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus, Evidence, Statement, SupportLevel

JUDGEMENTS: Mapping[str, SupportLevel] = {
    "complete_support": SupportLevel.FULL,
    "partial_support": SupportLevel.PARTIAL,
    "no_support": SupportLevel.NONE,
}
ALSO_REFUTES = "Citation Completely Supports but Also Refutes Statement"
INACCESSIBLE = "Citation Inaccessible"
RESPONSES = ("annotations", "intrinsic_halls")  # the splits of whole responses with six verdicts
UNCLEAR = "Statement is Unclear, Can't Make Judgment"
VERDICTS: Mapping[str, SupportLevel] = {
    "Citation Completely Supports Statement": SupportLevel.FULL,
    "Citation Partially Supports Statement": SupportLevel.PARTIAL,
    "Citation Provides No Support for Statement": SupportLevel.NONE,
    ALSO_REFUTES: SupportLevel.NONE,
    INACCESSIBLE: SupportLevel.NONE,
    UNCLEAR: SupportLevel.NONE,
}


def add_judgement(draft: CorpusDraft, row: DataRow) -> None:
    """Add a row of verifiability_judgments to the draft: a statement, unless it is empty, and one cited page."""
    text = strip_marks(row.text("statement"))
    if not text:
        draft.drop("statements of nothing but citation marks")
        return
    level = row.choice("source_supports_statement", JUDGEMENTS)
    query, response = row.text("query"), row.text("response")
    # The rows name neither response nor system: the response's own text is its identity.
    group = f"r-{content_id(query, response)}"
    statement_id = draft.statement(Statement(f"{group}-{content_id(text)}", text, group, meta={"query": query}))
    document = draft.document(
        row.optional_text("source_raw_text") or row.optional_text("source_text"),
        title=row.optional_text("source_content_title") or row.optional_text("source_title"),
        url=row.text("source_url"),
    )
    draft.cite(draft.next_id(statement_id), statement_id, document, level, _evidence(row, "source_localized_evidence"))


def add_response(draft: CorpusDraft, row: DataRow, options: Mapping[str, Any]) -> None:
    """Add a response's statements and judged citations to the draft, which counts what is left out, by reason."""
    group, system, query = row.text("id"), row.text("system_name"), row.text("query")
    annotated = row.row("annotation").row("statement_to_annotation")
    for number, marked in enumerate(annotated.fields, start=1):
        judged = annotated.row(marked).rows("citation_annotations")
        text = strip_marks(marked)
        if not judged or not text:
            draft.drop("statements without a judged citation" if text else "statements of nothing but citation marks")
            continue
        most = max(citation.choice("citation_supports", VERDICTS) for citation in judged)
        supported = annotated.row(marked).optional_text("statement_supported") == "Yes"
        # Citations that contradict each other count as a statement that is not fully supported.
        together = SupportLevel.FULL if supported else min(most, SupportLevel.PARTIAL)
        statement = Statement(f"{group}-{number}", text, group, system, {"query": query}, together)
        statement_id = draft.statement(statement)
        for citation in judged:
            own_id = draft.next_id(statement_id)
            level = citation.choice("citation_supports", VERDICTS)
            verdict = citation.text("citation_supports")
            if verdict in (INACCESSIBLE, UNCLEAR) and options["unusable"] == "drop":
                draft.drop(f"citations judged {verdict!r} (unusable=drop)")
                continue
            if verdict == ALSO_REFUTES and options["also_refutes"] == "full":
                level = SupportLevel.FULL
            document = draft.document(url=_target(row, marked, citation))
            draft.cite(own_id, statement_id, document, level, _evidence(citation, "evidence"), verdict=verdict)


def _target(row: DataRow, statement: str, citation: DataRow) -> str:
    """Return the URL that a citation's mark links to; of equal marks, the one inside the statement, else the first."""
    mark = citation.text("citation_text")
    marks = [link for link in row.rows("citations") if link.text("text") == mark]
    if not marks:
        raise citation.error("citation_text", f"a mark of the response's citations in {row.where}")
    start = row.text("response").find(statement)
    inside = [m for m in marks if start <= m.number("start_index") < start + len(statement)]
    return (inside or marks)[0].text("link_target")


def _evidence(row: DataRow, name: str) -> Evidence:
    text = row.optional_text(name)
    return Evidence(texts=(text,)) if text.strip() else Evidence()


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"gensearch/{split}")
    content = attrgetter("statement_id", "document_id", "level", "evidence")
    for path in paths.values():
        earlier = [*draft.citations]
        for row in read_rows(path):
            if split in RESPONSES:
                add_response(draft, row, options)
            else:
                add_judgement(draft, row)
        known, added = {*map(content, earlier)}, draft.citations[len(earlier) :]
        draft.citations[len(earlier) :] = new = [citation for citation in added if content(citation) not in known]
        if len(new) < len(added):
            draft.drop("judgements that another file of the split has too", len(added) - len(new))
    return draft.corpus()


DATASET = published("gensearch", _load)
