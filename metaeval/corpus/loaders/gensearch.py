"""GenSearch: statements of four generative search engines, with people's labels of the pages that they cite.

There are two published schemas: one judgement with its page text, and one response with all its judgements.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from metaeval.corpus.data_rows import CorpusDraft, DataRow, content_id, read_rows, strip_marks
from metaeval.corpus.dataset import Dataset, Option, Repository, with_all
from metaeval.corpus.model import Corpus, Evidence, Statement, SupportLevel

JUDGEMENTS: Mapping[str, SupportLevel] = {
    "complete_support": SupportLevel.FULL,
    "partial_support": SupportLevel.PARTIAL,
    "no_support": SupportLevel.NONE,
}
ALSO_REFUTES = "Citation Completely Supports but Also Refutes Statement"
INACCESSIBLE = "Citation Inaccessible"
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
    for number, published in enumerate(annotated.fields, start=1):
        judged = annotated.row(published).rows("citation_annotations")
        text = strip_marks(published)
        if not judged or not text:
            draft.drop("statements without a judged citation" if text else "statements of nothing but citation marks")
            continue
        most = max(citation.choice("citation_supports", VERDICTS) for citation in judged)
        supported = annotated.row(published).optional_text("statement_supported") == "Yes"
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
            document = draft.document(url=_target(row, published, citation))
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


_NAME = "evaluating-verifiability-in-generative-search-engines"
REPOSITORY = Repository(f"nelson-liu/{_NAME}", "main")
_HALLS = Repository(f"liugz18/{_NAME}", "4e4484895a912df3e83f467fc73c3b694883addd")
_SPLITS = {split: f"verifiability_judgments_{split}.jsonl.gz" for split in ("train", "dev", "test")}
_JUDGEMENTS = with_all(
    {split: REPOSITORY.file(name, folder="verifiability_judgments") for split, name in _SPLITS.items()}
)


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"gensearch/{split}")
    content = attrgetter("statement_id", "document_id", "level", "evidence")
    for path in paths.values():
        earlier = [*draft.citations]
        for row in read_rows(path):
            if split in _JUDGEMENTS:
                add_judgement(draft, row)
            else:
                add_response(draft, row, options)
        known, added = {*map(content, earlier)}, draft.citations[len(earlier) :]
        draft.citations[len(earlier) :] = new = [citation for citation in added if content(citation) not in known]
        if len(new) < len(added):
            draft.drop("judgements that another file of the split has too", len(added) - len(new))
    return draft.corpus()


DATASET = Dataset(
    name="gensearch",
    title="GenSearch: verifiability of generative search engines",
    **REPOSITORY.card,
    licence="MIT",
    citation="Liu, Zhang, Liang: Evaluating Verifiability in Generative Search Engines. Findings of EMNLP 2023, "
    "arXiv 2304.09848",
    schema="gensearch-judgements/1, gensearch-annotated-query-response/1",
    folder="gensearch",
    files={
        **_JUDGEMENTS,
        "annotations": (REPOSITORY.file("human_evaluation_annotations.jsonl"),),
        "intrinsic_halls": (
            _HALLS.file(
                "intrinsic_halls.json", "c1bb0ebb2368e3513e686f003a1e36b987961c637b7ee6d85a0d61a4775c6980", 568_677
            ),
        ),
    },
    default_split="test",
    load=_load,
    options={
        "unusable": Option(
            "none",
            "citations that are inaccessible or whose statement is unclear: level none, or left out",
            ("none", "drop"),
        ),
        "also_refutes": Option(
            "none", "citations that completely support but also refute: level none, or full", ("none", "full")
        ),
    },
    note="all pools train, dev and test: 11,037 judgements (12,681 in arXiv 2406.15264). They hold page texts and "
    "three levels; the options do not apply there. annotations and intrinsic_halls "
    "hold whole responses with six verdicts and no page text (documents have an empty text and a "
    "url); by default every verdict but the first two is NONE, as the origin's README counts them. intrinsic_halls is "
    "a third party's selection of 114 responses in which some citation also refutes: a biased sample, for trying "
    "things out. Every file but intrinsic_halls.json is read from branch main and has no pinned checksum. The group is "
    "the response.",
)
