"""Fit a gate: the cheapest metric and its threshold that keep a promise on unsupported citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.gate_check import average, drift_values, filled_below, metric_fields
from metaeval.decisions.gate_model import Candidate, Gate, Reference, Terms, candidate_of, effective_number
from metaeval.decisions.items import CitationItems, items_of
from metaeval.decisions.labels import ItemLabels, LabelledItems, agreement, judged, labels_of
from metaeval.decisions.scores import PERCENT, data_of, item_sheet, scored
from metaeval.errors import UserError
from metaeval.report.cells import cell
from metaeval.report.frame import Recorded
from metaeval.report.table import Note, Scalar, Table, TableRow, blocks_of, plain
from metaeval.runs.columns import AlignedColumn
from metaeval.runs.metrics import MetricProgress
from metaeval.signature import signature, versions
from metaeval.stats.risk_control import answers_for_mean, effective_labels, labels_for

_QUANTILES = 201
_SETTINGS = ("chunk", "aggregate", "metric_options")
"""The settings of a run on which a score depends; the gate stores them."""


@dataclass(frozen=True)
class Fitted(Recorded):
    """The outcome of a fit. gate: None where no metric keeps the promise.

    needed, there: numbers of unsupported labels that the promise needs and that exist; with the promise "mean", of
    answers with such a label. effective: effective number of the existing ones, for the first metric without a miss.
    wanted: number of further labels of any level that would suffice; None: no number would.
    """

    terms: Terms = field(repr=False)
    gate: Gate | None
    candidates: tuple[Candidate, ...]
    needed: int
    there: int
    effective: float
    wanted: int | None
    items: CitationItems = field(repr=False)
    labels: ItemLabels = field(repr=False)
    notes: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...] = field(repr=False)

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """One record per metric: its threshold, its shares in the labels, and whether it is the gate."""
        return fit_sheet(self).records


def fit(
    answers: Any,
    labels: Any = None,
    metrics: Sequence[str] = ("overlap", "support-mini", "minilm-bertscore"),
    terms: Terms | None = None,
    mapping: Mapping[str, str] | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
) -> Fitted:
    """Find the first metric, with the cheapest first, and its threshold that keep the terms (None: default terms).

    The promise holds with probability 1 - alpha over labels; this includes the choice of the metric (each has an equal
    share of alpha) and of the threshold (tested in a fixed order). The promise "mean" bounds the mean missed share of
    an answer, for one metric.

    Raises `UserError` for metrics that a promise does not allow, and for labels of one kind only.
    """
    terms = terms or Terms()
    max_missed, confident = terms.max_missed, terms.promise == "confidence"
    several = tuple(dict.fromkeys(metrics))
    if not several:
        raise UserError("No metric is given: name at least one, for example -m overlap.")
    if not confident and len(several) > 1:
        raise UserError(
            f"{len(several)} metrics are given, but a promise on the mean does not hold after a choice among "
            f"several: give one, for example -m {several[0]}."
        )
    config = (config or RunConfig()).model_copy(update={"metrics": several})
    items = items_of(answers, mapping)
    item_labels = labels_of(labels, items, mapping)
    labelled = judged(items, item_labels)
    good = (SupportLevel.FULL,) if terms.target == "full" else (SupportLevel.FULL, SupportLevel.PARTIAL)
    bad = labelled.label(*good) < 0.5
    there = int(bad.sum())
    if there in (0, bad.size):
        what = "no" if there == 0 else "no other than"
        raise UserError(
            f"{item_labels.name} has {what} unsupported citations among {bad.size:,} labels: a gate is fitted on both "
            "kinds; label more ('metaeval label')."
        )
    columns = scored(items, config, progress)
    each = terms.alpha / len(columns)
    results = [
        candidate_of(column.name, filled_below(column), items.groups, labelled.sample, bad, terms, each)
        for column in columns
    ]
    gate = None
    for column, candidate in zip(columns, results, strict=True):
        if candidate.passes and gate is None:
            gate = _gate(items, item_labels, labelled, bad, column, candidate, terms, config)
    more = [candidate.more for candidate in results if candidate.more is not None]
    rate = there / bad.size
    weight = 1 / labelled.sample.probability
    cluster = items.groups[labelled.sample.rows]
    score = filled_below(columns[0])[labelled.sample.rows][bad]
    effective = float(effective_labels(score, cluster[bad], weight[bad], np.array([np.inf]))[0])
    bad_answers = int(np.unique(cluster[bad]).size)
    read = {"data": items.signed, "labels": f"sha256:{item_labels.fingerprint[:12]}"}
    named = ("promise", "max-missed", "max-flagged", "target", "max-unsupported")
    promised = {name: getattr(terms, name.replace("-", "_")) for name in named}
    promised |= {"may-fail": terms.alpha, "candidates": ",".join(config.metrics)}
    used = versions("metaeval", "numpy", "scipy")
    return Fitted(
        terms=terms,
        gate=gate,
        candidates=tuple(results),
        needed=labels_for(max_missed, each) if confident else answers_for_mean(max_missed) or 0,
        there=there if confident else bad_answers,
        effective=effective if confident else bad_answers,
        wanted=int(np.ceil(min(more) / rate)) if more else None,
        items=items,
        labels=item_labels,
        notes=(
            ("items", f"{len(items.rows):,} citations of {data_of(items).groups:,} answers; {labelled.design}"),
            *(("read", text) for text in (*items.notes, *item_labels.notes)),
            *((("annotators", agreed),) if (agreed := agreement(item_labels)) else ()),
        ),
        signatures=tuple(signature({**read, **metric_fields(column), **promised, **used}) for column in columns),
    )


def _gate(
    items: CitationItems,
    labels: ItemLabels,
    labelled: LabelledItems,
    bad: Any,
    column: AlignedColumn,
    candidate: Candidate,
    terms: Terms,
    config: RunConfig,
) -> Gate:
    chosen = candidate.chosen
    if chosen is None:
        raise ValueError("a gate takes a candidate that keeps the promise")
    weight, cluster = 1 / labelled.sample.probability, items.groups[labelled.sample.rows]
    fine = ~bad
    supported = filled_below(column)[labelled.sample.rows][fine]
    supported_labels = effective_labels(supported, cluster[fine], weight[fine], np.array([chosen.threshold]))
    dumped = config.model_dump(mode="json")
    gate = Gate(
        metric=column.name,
        made=metric_fields(column),
        settings={key: dumped[key] for key in _SETTINGS},
        **asdict(terms),
        **{name: getattr(chosen, name) for name in ("threshold", "bound", "missed", "flagged")},
        precision=candidate.precision,
        unsupported_labels=chosen.labels,
        supported_labels=float(supported_labels[0]),
        labels=labels.fingerprint,
        items=items.fingerprint,
        labelled=int(bad.size),
        reference={
            name: Reference(
                quantiles=[float(quantile) for quantile in np.quantile(values, np.linspace(0, 1, _QUANTILES))],
                effective=effective_number(values, items.groups),
            )
            for name, values in drift_values(items, column).items()
        },
        date=datetime.now(UTC).date().isoformat(),
    )
    return gate.model_copy(update={"hash": gate.content})


def fit_sentences(fitted: Fitted) -> list[str]:
    """Return sentences on a fit: what the promise needs, and the gate or what would help."""
    lines = [_needs(fitted)]
    if fitted.gate:
        gate = fitted.gate
        seen = f"{100 * gate.missed:.1f} % of these labels"
        lines.append(
            f"{plain(gate.metric)} keeps it: a citation with a score below {gate.threshold:.4g} is flagged. At most "
            f"{100 * gate.bound:.1f} % of the unsupported are missed{average(gate)} ({seen}); "
            f"{100 * gate.flagged:.0f} % of the supported are flagged too, and {100 * gate.precision:.0f} % of what is "
            "flagged is unsupported."
        )
        return lines
    wanted = f"about {fitted.wanted:,} more labels would do" if fitted.wanted else _hopeless(fitted)
    lines.append(f"Not good enough with these labels: {wanted}.")
    return lines


def _needs(fitted: Fitted) -> str:
    most = f"{100 * fitted.terms.max_missed:g} %"
    if fitted.terms.promise == "mean":
        return (
            f"The promise on the mean (of an answer's unsupported citations at most {most} missed, on average over "
            f"answers and over labels) needs {fitted.needed} answers with an unsupported label, and no miss; there are "
            f"{fitted.there:,}."
        )
    labels = f"{fitted.there:,} unsupported labels"
    if fitted.effective < 0.95 * fitted.there:
        labels += f", which tell as much as {fitted.effective:.0f} independent ones"
    many = len(fitted.candidates)
    tests = f", shared by {many} metrics" if many > 1 else ""
    return (
        f"The promise (at most {most} of unsupported citations missed, with confidence "
        f"{100 * (1 - fitted.terms.alpha):g} %{tests}) needs {fitted.needed} unsupported labels without a single miss; "
        f"there are {labels}."
    )


def _hopeless(fitted: Fitted) -> str:
    known = [(row.best.missed, row.best.flagged, row.metric) for row in fitted.candidates if row.best]
    if not known:
        return f"every threshold flags more than {100 * fitted.terms.max_flagged:g} % of the supported"
    missed, flagged, metric = min(known, key=itemgetter(0))
    missed, flagged = 100 * missed, 100 * flagged
    return (
        f"no number of labels will help these metrics; {plain(metric)} misses least, {missed:.0f} % of the "
        f"unsupported where it flags {flagged:.0f} % of the supported: try another metric"
    )


def fit_sheet(fitted: Fitted) -> Table:
    """Return a table with a row per metric: its last threshold that keeps the promise, else that of fewest misses."""
    rows: list[TableRow] = []
    records = []
    names = ("threshold", "missed", "bound", "supported_flagged", "effective_labels")
    for candidate in fitted.candidates:
        at = candidate.chosen if candidate.passes else (candidate.best or candidate.chosen)
        chosen = bool(fitted.gate and fitted.gate.metric == candidate.metric)
        verdict = "gate" if chosen else "keeps it" if candidate.passes else "not told" if candidate.more else "no"
        numbers = (at.threshold, at.missed, at.bound, at.flagged, at.labels) if at else (None,) * 5
        threshold, missed, bound, flagged, _ = numbers
        shares = missed, bound, None if missed is None else 1 - missed, flagged, candidate.precision
        percents = (cell(value, column=PERCENT) for value in shares)
        rows.append(("", candidate.metric, (cell(threshold), *percents, verdict)))
        stored = (value if value is None or abs(value) < 1e300 else None for value in numbers)
        record: dict[str, Scalar] = {"metric": candidate.metric, **dict(zip(names, stored, strict=True))}
        records.append(record | {"precision": candidate.precision, "promise": verdict, "more_labels": candidate.more})
    return item_sheet(
        "gate-fit",
        "Gate for unsupported citations (%)",
        data_of(fitted.items),
        (
            "metric",
            ("threshold", "missed", "at most", "recall", "supported flagged", "precision", "promise"),
            blocks_of(rows),
        ),
        records,
        [Note(*note) for note in fitted.notes]
        + [
            Note("recall", "of unsupported citations: those that are flagged; precision: of flagged, the unsupported"),
            Note(
                "promise",
                "gate: taken, the first named that keeps it; keeps it: would do too, if named first; no: not with any "
                "number of labels; not told: more labels would tell",
            ),
        ],
        fitted.signatures,
    )
