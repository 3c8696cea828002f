"""ExpertQA: claims of six systems' answers to experts' questions, judged by the experts against their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.corpus.data_rows import CorpusDraft, DataRow, all_rows, content_id, strip_marks
from metaeval.corpus.dataset import Dataset, Option, Repository, with_all
from metaeval.corpus.model import Corpus, Statement, SupportLevel

REPOSITORY = Repository("chaitanyamalaviya/ExpertQA", "1aa7ba81bd4c083c12ef1aa2fee338f6cb60fa87", "data/lfqa")
SUPPORT: Mapping[str | None, SupportLevel | None] = {
    "Complete": SupportLevel.FULL,
    "Partial": SupportLevel.PARTIAL,
    "Incomplete": SupportLevel.NONE,
    "Missing": None,
    "N/A": None,
    None: None,
}


class EvidencePassage(NamedTuple):
    """An evidence entry of a claim, parsed from "[1] url" and, after a blank line, the passage, which may be empty."""

    url: str
    text: str

    @classmethod
    def parse(cls, entry: str) -> EvidencePassage:
        """Parse an entry; only the first blank line separates the url from the passage."""
        head, _, text = entry.partition("\n\n")
        return cls(strip_marks(head), text.strip())


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    draft = CorpusDraft(f"expertqa/{split}")
    seen: set[tuple[str, str, str]] = set()
    for row in all_rows(paths):
        answers = row.row("answers")
        about = {"question": row.text("question"), "field": row.row("metadata").optional_text("field")}
        for system in answers.fields:
            answer = answers.row(system)
            key = (about["question"], system, answer.text("answer_string"))
            if key in seen:
                draft.drop("answers that another file of the split has too")
                continue
            seen.add(key)
            _add_answer(draft, about, system, answer, options)
    return draft.corpus()


def _add_answer(
    draft: CorpusDraft, about: Mapping[str, str], system: str, answer: DataRow, options: Mapping[str, Any]
) -> None:
    group = f"a-{content_id(about['question'], system)}"
    for number, claim in enumerate(answer.rows("claims"), start=1):
        level = claim.choice("support", SUPPORT)
        entries = claim.texts("evidence")
        passages = [EvidencePassage.parse(entry) for entry in dict.fromkeys(entries)]
        text = strip_marks(claim.text("claim_string"))
        reason = ""
        if not passages:
            reason = "claims without evidence"
        elif level is None:
            reason = f"claims with evidence and no support judgement ({claim.fields['support'] or 'empty'})"
        elif not text:
            reason = "claims of nothing but citation marks"
        elif options["without_text"] == "drop" and not any(passage.text for passage in passages):
            reason = "claims whose evidence is a bare URL (without_text=drop)"
        if level is None or reason:
            draft.drop(reason)
            continue
        together = level if options["unit"] == "passage" else None  # else the only citation has it
        statement_id = draft.statement(Statement(f"{group}-{number}", text, group, system, about, together))
        if options["unit"] == "claim":
            texts = dict.fromkeys(passage.text for passage in passages if passage.text)
            passages = [EvidencePassage(passages[0].url, "\n\n".join(texts))]
        elif len(passages) < len(entries):
            draft.drop("evidence listed twice for one claim", len(entries) - len(passages))
        for passage in passages:
            draft.cite(draft.next_id(statement_id), statement_id, draft.document(passage.text, url=passage.url), level)


_FILES = {
    name: REPOSITORY.file(f"{name}.jsonl", sha256, size)
    for name, sha256, size in (
        ("rand_val", "4da2b2e637104fb816716eaa4c60898c6892395d596c03b7d1f9a72c6327069c", 2_899_355),
        ("rand_test", "022d6c19bdd91fb33c3185ef59f9c18510655c15598061e631c434487aa07b28", 3_082_685),
        ("domain_val", "876fac217bbee9c33b50105e6a62feb60344e66c7e1998b99dcc4a45f8433f0b", 2_700_629),
        ("domain_test", "7a1895dbcf16c4fc135116996d1bdb22412b8d791e620241ac9e80729d55ea6b", 3_411_642),
    )
}

DATASET = Dataset(
    name="expertqa",
    title="ExpertQA: experts' judgements of attributed long answers",
    **REPOSITORY.card,
    licence="MIT",
    citation="Malaviya, Lee, Chen, Sieber, Yatskar, Roth: ExpertQA: Expert-Curated Questions and Attributed Answers. "
    "NAACL 2024, arXiv 2309.07852",
    schema="expertqa-lfqa/1",
    folder="expertqa",
    files=with_all(_FILES),
    load=_load,
    options={
        "without_text": Option("drop", "claims whose evidence is a bare URL: left out, or kept", ("drop", "keep")),
        "unit": Option(
            "claim",
            "what is cited: a claim's evidence as one document, or each passage with the claim's label",
            ("claim", "passage"),
        ),
    },
    note="The expert judged a claim against all its evidence at once, so support is per claim and not per passage. "
    "unit=claim joins the evidence of a claim into one document; unit=passage gives every passage the claim's label, "
    "which no annotator gave. Evidence of bing_chat and gpt4 is URLs alone. The random and the domain files split the "
    "same 479 answers in two ways: never tune on one and test on the other. Only citation marks are taken out of "
    "claims; Markdown stays. The group is the answer.",
)
