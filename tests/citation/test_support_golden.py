"""TREC RAG's and FACT's arithmetic against the outputs of their official code.

tests/golden/citation_measures/*.json hold made inputs and what castorini/RAGDoll 1f06719 and deep_research_bench
214741e gave for them; `origin` and `reading` in each file say how.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from metaeval.citation.data_model import check_ids
from metaeval.citation.measures import value_of
from metaeval.citation.readers.support_level_files import read_fact, read_trec_judgements
from metaeval.citation.support.citation_judging import support_statements
from metaeval.citation.support.level_readings import fact_level
from metaeval.citation.support.measure_definitions import fact_values, trec_values
from metaeval.citation.support.measures import StatementLevels
from metaeval.core.errors import UserError
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import RULES

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


def levels_in(reader, rows):
    """The statements with their levels of each row of a file, as the pipeline reads them."""
    answers = list(reader([DataRow(f"row {number}", row) for number, row in enumerate(rows)]))
    return [[row.levels for row in support_statements(answer, RULES)] for answer in answers]


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


def mean_or_none(values):
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@pytest.mark.parametrize("case", golden("fact", "stat"))
def test_fact_is_the_official_one(case):
    if case["official_released"].get("raises") == "KeyError":
        with pytest.raises(UserError):
            levels_in(read_fact, case["tasks"])
        return
    levels = levels_in(read_fact, case["tasks"])
    values, pooled = fact_values(levels)
    official = case["official_released"]
    for key, name in (
        ("released", "valid_rate"),
        ("effective", "total_valid_citations"),
        ("citations", "total_citations"),
    ):
        value = value_of(pooled[f"fact_{key}"])
        # Where nothing is judged the script ends in a division by zero: undefined here.
        assert value == (pytest.approx(official[name], **EXACT) if name in official else None), name
    for key, name in (
        ("paper", "mean_over_tasks_with_judged_pairs"),
        ("paper_all", "mean_over_all_tasks_without_pairs_0"),
    ):
        assert mean_or_none(values[f"fact_{key}"]) == (
            pytest.approx(case[name], **EXACT) if case[name] is not None else None
        )


@pytest.mark.parametrize("case", golden("fact", "pipeline"))
def test_fact_of_the_official_pairs_is_the_official_one(case):
    pairs = [{"id": task["id"], "pairs": task["pairs"]} for task in case["official_pairs"]]
    levels = [[StatementLevels((fact_level(verdict),), (url,)) for url, verdict in task["pairs"]] for task in pairs]
    _, pooled = fact_values(levels)
    assert value_of(pooled["fact_released"]) == pytest.approx(case["official_released"]["valid_rate"], **EXACT)


def in_order(topics):
    """Topics by the number behind their last hyphen, as the official program adds them."""
    return sorted(topics, key=lambda topic: int(number) if (number := topic.rpartition("-")[2]).isdecimal() else 10**9)


def cells_of(rows, runs, topics):
    """Precision and recall of each run on each topic, rounded as in the files that the official program reads."""
    values = trec_values(levels_in(read_trec_judgements, rows))
    cells = {name: np.full((len(runs), len(topics)), np.nan) for name in ("precision", "recall")}
    for number, row in enumerate(rows):
        for name, of_measure in cells.items():
            place = runs.index(row["run_id"]), topics.index(row["topic_id"])
            of_measure[place] = round(values[f"trec_{name}"][number], 6)
    return cells


def or_nan(value):
    return np.nan if value is None else value


@pytest.mark.filterwarnings("ignore:One or more sample arguments is too small:RuntimeWarning")  # its tau is NaN
@pytest.mark.parametrize("case", golden("trec_support", "runs"))
def test_trec_run_level_is_the_official_one(case):
    rows = case["human"] + case["other"]
    if "raises" in case["official"]:
        answers = list(read_trec_judgements([DataRow("row", row) for row in case["human"]]))
        with pytest.raises(UserError, match="two answers have the id"):
            check_ids((answer.id for answer in answers), "answers", "file")
        return
    runs, topics = sorted({row["run_id"] for row in rows}), in_order(sorted({row["topic_id"] for row in rows}))
    human, other = (cells_of(case[side], runs, topics) for side in ("human", "other"))
    for name in ("precision", "recall"):
        official = case["official"][f"weighted_{name}"]
        divisor = case["denominator"] or len(topics)
        means = [np.nansum(side[name], axis=1) / divisor for side in (human, other)]
        level = {row["run_id"]: (row["human"], row["other"]) for row in official["run_level"]}
        kept = [runs.index(run) for run in level]
        for number, run in zip(kept, level, strict=True):
            assert [side[number] for side in means] == pytest.approx(level[run], **EXACT)
        tau = kendalltau(means[0][kept], means[1][kept])[0]
        assert tau == pytest.approx(or_nan(official["tau_run_level"]), abs=1e-9, nan_ok=True)
        paired = np.isfinite(human[name]) & np.isfinite(other[name])
        taus = [kendalltau(human[name][kept, n], other[name][kept, n])[0] for n, kept in enumerate(paired.T)]
        of_topics = {row["topic_id"]: row["tau"] for row in official["topic_taus"]}
        assert [*taus] == pytest.approx([or_nan(of_topics[topic]) for topic in topics], abs=1e-9, nan_ok=True)
        average = np.nanmean(taus) if np.isfinite(taus).any() else np.nan
        assert average == pytest.approx(or_nan(official["tau_topic_average"]), abs=1e-9, nan_ok=True)
        tau = kendalltau(human[name][paired], other[name][paired])[0]
        assert tau == pytest.approx(or_nan(official["tau_all_paired_rows"]), abs=1e-9, nan_ok=True)
