"""The baselines in the rows of answers and statements: their values with bounds, and what the judges said."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.citation.citeeval.baselines import Open, Triple, response_triple, response_value
from metaeval.citation.citeeval.statement_questions import MODES, lqac_response
from metaeval.experiment.citing.citeeval.baseline_sheets import cited_of
from metaeval.experiment.citing.citeeval.run import Rated
from metaeval.experiment.sheet import Record, Scalar


def baselines_of_answer(rated: Rated, number: int) -> Record:
    """Columns of one answer, in the run's scenario."""
    cited = cited_of(rated, number)
    row: dict[str, Scalar] = {}
    for backend, triples in rated.baselines:
        row |= _triple("autoais", response_triple(triples[number], cited, rated.scenario), f"_{backend.name}")
    if rated.lqac is not None:
        own = rated.lqac[number]
        row |= _triple("lqac", lqac_response(own, cited, rated.scenario))
        row |= _triple("lqac_longcite", lqac_response(own, cited, rated.scenario, "response"))
    for judge in rated.attrscore:
        for mode in MODES:
            values = [one.value(mode, rated.baseline_options.otherwise) for one in judge.statements[number]]
            row |= _bounded(f"attrscore_{mode}", response_value(values, cited, rated.scenario), f"_{judge.name}")
    return row


def baselines_of_statement(rated: Rated, number: int, place: int) -> Record:
    """Columns of one statement of an answer; of citations in their order, a question mark where a word is missing."""
    row: dict[str, Scalar] = {}
    for backend, triples in rated.baselines:
        row |= _triple("autoais", triples[number][place], f"_{backend.name}")
    if rated.lqac is not None:
        own = rated.lqac[number][place]
        row["lqac_said"] = own.said
        row["lqac_relevant"] = " ".join("?" if one is None else str(int(one)) for one in own.relevant)
        row |= _triple("lqac", own.values)
    for judge in rated.attrscore:
        labels = judge.statements[number][place]
        row[f"attrscore_labels_{judge.name}"] = "; ".join(label or "?" for label in labels.labels)
        for mode in MODES:
            value = labels.value(mode, rated.baseline_options.otherwise)
            row |= _bounded(f"attrscore_{mode}", value, f"_{judge.name}")
    return row


def _triple(name: str, triple: Triple, ending: str = "") -> Mapping[str, Scalar]:
    parts = triple.parts
    row: dict[str, Scalar] = {
        f"{name}_{measure}{ending}": parts[measure].value for measure in ("recall", "precision", "f1")
    }
    return {**row, f"{name}_f1_least{ending}": parts["f1"].least, f"{name}_f1_most{ending}": parts["f1"].most}


def _bounded(name: str, value: Open, ending: str) -> Mapping[str, Scalar]:
    return {
        f"{name}{ending}": value.value,
        f"{name}_least{ending}": value.least,
        f"{name}_most{ending}": value.most,
    }
