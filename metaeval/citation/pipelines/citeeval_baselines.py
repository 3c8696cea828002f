"""CiteEval's baselines beside it: AutoAIS by metrics, LQAC by the chat model, AttrScore by either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from metaeval.analyses.analysis import Progress
from metaeval.citation.citeeval.baselines import (
    BASELINES,
    KINDS,
    LABEL,
    MODES,
    NO_PASSAGE,
    UNREAD,
    JudgedStatements,
    Where,
    attrscore,
    autoais,
    labels_by_metric,
    prompts_of,
    response_means,
)
from metaeval.citation.citeeval.evaluate_responses import BASELINE_TOKENS, Rated, cells
from metaeval.citation.citeeval.judge import Asking, asked_fields
from metaeval.citation.citeeval.options_and_values import CitedScenario, Units
from metaeval.citation.data_model import NliPair
from metaeval.citation.measures import Statistic, means, system_codes
from metaeval.citation.pipelines.cited import CitedTable, Definition, Measure, Missing
from metaeval.citation.pipelines.metric_verdicts import Backend, Judges
from metaeval.citation.pipelines.provenance import options_text
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, count, unknown
from metaeval.report.table import Note, plain
from metaeval.runs.metrics import LoadedMetrics, judge_of, load_metrics, plug_in

_PAIRS = 1024  # pairs between two reports of progress

_TRIPLE = ("recall", "precision", "f1")
_NAMES = {"autoais": ("AutoAIS", _TRIPLE), "lqac": ("LQAC", _TRIPLE), "attrscore": ("AttrScore", MODES)}

_FULL = {
    "autoais": "all statements count",
    "lqac": "all statements count; one without citations has precision 0, and recall 1 if it needs none",
    "attrscore": "all statements count, and one without citations is 0",
}
_CITED = (
    "statements without citations are left out; an answer of nothing else is 0; CiteEval's own value of it is 0 only "
    "where one of its statements needs a citation"
)
_SUPPOSED = (
    "answers: those whose value is known; a missing value is supposed to be as the known ones of its kind in the system"
)

BaselineColumns = dict[str, Sequence[Any]]


def baseline_definition(name: str, rated: Rated, scenario: CitedScenario) -> Definition:
    """Return the table of a baseline."""
    title, keys = _NAMES[name]
    reading = _FULL[name] if scenario == "full" else _CITED
    if name == "autoais":
        uncited = "a statement without citations is 0 in both, and " if scenario == "full" else ""
        reading = f"not ALCE's: {uncited}a response is the mean over its statements; {reading}"
    if refusals := sum(split.no_answer for split in rated.splits):
        without = "a statement without citations" + (", which needs none" if name == "lqac" else "")
        reading += f"; no answer was found in {count(refusals, 'answer')}: read as {without}"
    measures = [Measure(f"{name}_{key}", key.replace("f1", "F1"), ranks=key in ("f1", "strict")) for key in keys]
    known = Measure(f"{name}_answers", "answers", scale=1, digits=0)
    return Definition(name, f"{title} of the same statements (%)", [*measures, known], f"{reading}; {_SUPPOSED}")


def load_labellers(names: Sequence[str], config: RunConfig) -> LoadedMetrics:
    """Return the metrics of attrscore:METRIC; `UserError` for an unknown baseline, and a metric without classes."""
    if wrong := next((name for name in names if name not in BASELINES and not name.startswith("attrscore:")), None):
        raise unknown("baseline", wrong, [*BASELINES, "attrscore:METRIC"])
    metrics = load_metrics([name.removeprefix("attrscore:") for name in names if name not in BASELINES], config)
    for name in metrics.names:
        if not judge_of(name, metrics).card.three_way:
            raise UserError(f"AttrScore needs three classes, and {name!r} gives one score: name attrscore or nli.")
    return metrics


def add_baselines(
    cited: CitedTable,
    rated: Rated,
    judges: Judges,
    labellers: LoadedMetrics,
    asking: Asking,
    models: Sequence[str],
    scenario: CitedScenario,
    progress: Progress,
) -> tuple[BaselineColumns, BaselineColumns, list[Note]]:
    """Add the baselines to the table, and return their columns in rows of answers and of statements, and notes.

    Metrics judge AutoAIS by decisions, the chat model judges LQAC, and the chat model or a metric with three classes
    judges AttrScore.
    """
    answers: BaselineColumns = {}
    statements: BaselineColumns = {}
    labels: list[tuple[str, str]] = []
    cuts: list[tuple[str, str]] = []

    def add(name: str, judge: Backend | str, judged: JudgedStatements, ending: str, **fields: Any) -> None:
        """Add a baseline with a judge. ending: of the names of its columns."""
        values = {f"{name}_{key}": units for key, units in judged.values.items()}
        whole = {
            key: response_means(units, rated.cited, rated.response, len(rated.splits), scenario)
            for key, units in values.items()
        }
        lacking = np.any([units.worst < units.best for units in values.values()], axis=0)
        known = [units.worst == units.best for units in whole.values()][-1]
        cited.add(
            judge,
            partial(_measured, whole, system_codes(rated.responses)[1]),
            lacking=rated.lacking(lacking, "no verdict"),
            whole={f"{name}_answers": lambda rows: float(known[rows].sum())},
            fields=fields,
        )
        for columns, of in ((answers, whole), (statements, values)):
            for key, units in of.items():
                columns[f"{key}{ending}"] = cells(np.where(units.worst == units.best, units.worst, np.nan))
                if not key.endswith(("recall", "precision")):
                    columns[f"{key}_least{ending}"] = cells(units.worst)
                    columns[f"{key}_most{ending}"] = cells(units.best)
        statements.update({key: [row[key] for row in judged.words] for key in (judged.words or [{}])[0]})
        reasons = {None: "got no label", UNREAD: "got none of the three", NO_PASSAGE: "of no passage with text"}
        of_labels = judged.labels
        lost = [f"{count(of_labels[label], 'citation')} {why}" for label, why in reasons.items() if of_labels[label]]
        if lost:
            labels.append((plain(str(judge)), "; ".join(lost)))

    for backend in judges:
        values = autoais(rated.responses, rated.splits, backend.entails)
        add("autoais", backend, JudgedStatements(values, [], Counter()), f"_{backend.name}", baseline="autoais")
    for name, judged in rated.baselines.items():
        prompts = prompts_of([LABEL] if name == "attrscore" else KINDS)
        fields = asked_fields(asking, models, prompts, max_tokens=BASELINE_TOKENS)
        add(name, asking.model, judged, f"_{asking.model}" if name == "attrscore" else "", baseline=name, **fields)
    for metric in labellers.names:
        by_place, signed, cut = _labelled(metric, labellers, rated, progress)
        judged = attrscore(rated.responses, rated.splits, by_place, rated.options, metric)
        add("attrscore", metric, judged, f"_{metric}", baseline="attrscore", **signed)
        cuts += [(plain(metric), cut)] if cut else []
    return answers, statements, [Note("labels", "", tuple(labels)), Note("input limits", "", tuple(cuts))]


def _labelled(
    name: str, metrics: LoadedMetrics, rated: Rated, progress: Progress
) -> tuple[Mapping[Where, str | None], dict[str, Any], str]:
    """Return a metric's labels (the most probable of its classes), its fields in signatures, and what it may cut."""
    metric = judge_of(name, metrics)
    attributable, contradictory, extrapolatory = LABEL.choices
    by_class = (attributable, extrapolatory, contradictory)  # a metric gives (support, neither, against)

    def label(pairs: Sequence[NliPair]) -> list[str | None]:
        metric.prepare(*([*dict.fromkeys(texts)] for texts in zip(*pairs, strict=True)))
        labels: list[str | None] = []
        for start in range(0, len(pairs), _PAIRS):
            sources, claims = zip(*pairs[start : start + _PAIRS], strict=True)
            every = metric.entail(sources, claims)
            labels += [None if ways is None else by_class[max(range(3), key=ways.__getitem__)] for ways in every]
            if progress:
                progress(name, len(labels), len(pairs))
        return labels

    with plug_in(name):
        options = metric.identity()["options"]
        labels = labels_by_metric(rated.responses, rated.splits, label)
    text = options_text(options)
    fields = {"backend": f"{name}@v{metric.card.version}" + (f"({text})" if text else ""), **metric.provenance()}
    # Class probabilities come without counts of truncated tokens.
    limit = options.get("max_tokens") or metric.card.input_limit
    cut = f"pairs of more than {limit or 0:,} tokens may be cut; a metric that gives classes does not say how many were"
    return labels, {**fields, "otherwise": rated.options.otherwise}, cut if limit else ""


def _measured(whole: Mapping[str, Units], system: Any, missing: Missing) -> dict[str, Statistic]:
    """Return the means of a baseline's values of answers; one that cannot be estimated leaves its system without."""
    statistics = {}
    for key, units in whole.items():
        unsettled = np.isnan(units.value) & ~np.isnan(units.worst)
        estimated = np.where(np.isin(system, system[unsettled]), np.nan, units.value)
        statistics[key] = means(cells(estimated if missing is None else units[1 + missing]))
    return statistics
