"""TREC RAG's, FACT's, LongCite's and open-rag-eval's arithmetic against the outputs of their official code.

tests/golden/citation_measures/*.json hold made inputs and what castorini/RAGDoll 1f06719, deep_research_bench 214741e,
THUDM/LongCite d7d772e and vectara/open-rag-eval dfc4175 gave for them; `origin` and `reading` in each file say how.
"""

import json
from pathlib import Path

import pytest

from metaeval.citation.readers.judgements import read_trec_judgements
from metaeval.citation.support.definitions import (
    trec_values,
)
from metaeval.citation.support.judging import labels_of, support_statements
from metaeval.corpus.loaders.rows import DataRow
from metaeval.corpus.sentences import RULES
from metaeval.errors import UserError

FOLDER = Path(__file__).parents[1] / "golden" / "citation_measures"
EXACT = {"rel": 1e-12, "abs": 1e-12}
TREC = {
    "weighted_precision_first_citation": "trec_precision",
    "weighted_recall_first_citation": "trec_recall",
    "weighted_precision_all_judged_citations": "trec_precision_all",
    "weighted_recall_all_judged_citations": "trec_recall_all",
    "hard_precision": "trec_precision_hard",
    "hard_recall": "trec_recall_hard",
}


def golden(name, part):
    cases = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))[part]
    return [pytest.param(case, id=case["case"]) for case in cases]


def with_first_citations():
    """The cases that the official code also scored with the first citation of each sentence alone."""
    return [case for case in golden("trec_support", "cases") if "official_first_citation_file" in case.values[0]]


def levels_in(reader, rows, reading="official"):
    """The statements with their levels of each row of a file, as the pipeline reads them."""
    answers = list(reader([DataRow(f"row {number}", row) for number, row in enumerate(rows)]))
    judged = labels_of([support_statements(answer, RULES, reading) for answer in answers])
    return [[row.levels for row in of_answer] for of_answer in judged]


@pytest.mark.parametrize("case", golden("trec_support", "cases"))
def test_trec_support_is_the_official_one(case):
    official = case["official"]
    if "raises" in official:
        with pytest.raises(UserError):
            levels_in(read_trec_judgements, [case["row"]])
        return
    values = trec_values(levels_in(read_trec_judgements, [case["row"]]))
    for name, key in TREC.items():
        assert values[key][0] == pytest.approx(official[name], **EXACT), name


@pytest.mark.parametrize("case", with_first_citations())
def test_of_first_citations_alone_both_variants_are_one(case):
    sentences = case["row"].get("sentences") or []
    cut = [{**sentence, "citations": (sentence.get("citations") or [])[:1]} for sentence in sentences]
    values = trec_values(levels_in(read_trec_judgements, [{**case["row"], "sentences": cut}]))
    for name, key in TREC.items():
        assert values[key][0] == pytest.approx(case["official_first_citation_file"][name], abs=1e-6), name


@pytest.mark.parametrize("case", golden("trec_support", "assembly"))
def test_judges_levels_are_scored_as_the_official_code_scores_them(case):
    values = trec_values(levels_in(read_trec_judgements, case["official_rows"]))
    for number, official in enumerate(case["official"]):
        for name, key in TREC.items():
            assert values[key][number] == pytest.approx(official[name], **EXACT), name
