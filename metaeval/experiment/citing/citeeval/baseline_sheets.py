"""CiteEval's baselines as sheets: AutoAIS, LQAC and AttrScore of the same statements, in the same scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from metaeval.citation.citeeval.baselines import Open, response_triple, response_value
from metaeval.citation.citeeval.statement_questions import (
    KINDS,
    LABEL,
    MODES,
    NO_PASSAGE,
    UNREAD,
    Aggregation,
    Mode,
    lqac_response,
)
from metaeval.experiment.citing.citeeval.baseline_table import Scored, baseline_sheet
from metaeval.experiment.citing.citeeval.baselines import Labelled
from metaeval.experiment.citing.citeeval.fields import asked_fields
from metaeval.experiment.citing.citeeval.run import Rated
from metaeval.experiment.citing.claims import F1, PRECISION, RECALL
from metaeval.experiment.sheet import Sheet
from metaeval.report.grid import count
from metaeval.report.result import Column, Data

HEADLINES = (RECALL, PRECISION, F1)
ATTRSCORE: Mapping[Mode, Column] = {mode: Column(key=mode, label=mode, scale=100, digits=1) for mode in MODES}

AGGREGATIONS: Mapping[Aggregation, str] = {"statements": "of statements", "response": "as LongCite"}
"""Both ways in which LQAC's values of statements become a response's, and their names in the table."""

_LQAC = {
    "of statements": "each the mean over statements, as CiteEval has it",
    "as LongCite": "precision over all citations of an answer, F1 from its precision and recall",
}


def baseline_sheets(rated: Rated, data: Data) -> list[Sheet]:
    """A sheet for each baseline that was asked for."""
    found = []
    if rated.baselines:
        found.append(baseline_sheet(rated, data, "autoais", "backend", _autoais(rated), HEADLINES))
    if rated.lqac is not None:
        found.append(baseline_sheet(rated, data, "lqac", "aggregation", _lqac(rated), HEADLINES))
    if rated.attrscore:
        columns = tuple(ATTRSCORE.values())
        found.append(baseline_sheet(rated, data, "attrscore", "judge", _attrscore(rated), columns))
    return found


def cited_of(rated: Rated, number: int) -> list[bool]:
    """Which statements of an answer have citations."""
    return [bool(one.statement.citations) for one in rated.results[number].statements]


def _autoais(rated: Rated) -> list[Scored]:
    found = []
    for backend, triples in rated.baselines:
        own = [
            response_triple(few, cited_of(rated, number), rated.scenario).parts for number, few in enumerate(triples)
        ]
        values = {column.key: [parts[column.key] for parts in own] for column in HEADLINES}
        said = f"supported from {backend.cutoff.value} on ({backend.cutoff.source})"
        found.append(Scored(backend.name, values, backend.fields, said))
    return found


def _lqac(rated: Rated) -> list[Scored]:
    prompts = [f"{kind.name}@{kind.prompt().fingerprint}" for kind in KINDS]
    asked = asked_fields(rated.asking, rated.models, prompts, max_tokens=rated.baseline_options.baseline_max_tokens)
    found = []
    for aggregation, name in AGGREGATIONS.items():
        own = [
            lqac_response(few, cited_of(rated, number), rated.scenario, aggregation).parts
            for number, few in enumerate(rated.lqac or ())
        ]
        values = {column.key: [parts[column.key] for parts in own] for column in HEADLINES}
        found.append(Scored(name, values, {**asked, "aggregation": aggregation}, _LQAC[name]))
    return found


def _attrscore(rated: Rated) -> list[Scored]:
    found = []
    for judge in rated.attrscore:
        otherwise, limit = rated.baseline_options.otherwise, rated.baseline_options.baseline_max_tokens
        fields = judge.fields
        said = f"the likeliest of its three classes{_unlabelled(judge)}"
        if not fields:
            prompts = [f"{LABEL.name}@{LABEL.prompt().fingerprint}"]
            fields = {
                **asked_fields(rated.asking, rated.models, prompts, max_tokens=limit),
                "otherwise": otherwise,
            }
            said = f"as the chat model says; a reply with none of the three: {otherwise}{_unlabelled(judge)}"
        values: dict[str, Sequence[Open]] = {
            mode: [
                response_value([one.value(mode, otherwise) for one in own], cited_of(rated, number), rated.scenario)
                for number, own in enumerate(judge.statements)
            ]
            for mode in MODES
        }
        found.append(Scored(judge.name, values, fields, said))
    return found


def _unlabelled(judge: Labelled) -> str:
    """The citations without a label, by why."""
    labels = Counter(label for own in judge.statements for one in own for label in one.labels)
    reasons = {None: "got no label", UNREAD: "got none of the three", NO_PASSAGE: "of no passage with text"}
    return "".join(f"; {count(labels[label], 'citation')} {why}" for label, why in reasons.items() if labels[label])
