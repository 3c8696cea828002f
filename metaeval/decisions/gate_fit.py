"""The fit of a gate: the cheapest metric and threshold that keep a promise on unsupported citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.gate_check import average, cleared, looks_of, made_of
from metaeval.decisions.gate_model import Candidate, Gate, Reference, Terms, candidate_of, effective_number
from metaeval.decisions.items import Items, items_of
from metaeval.decisions.labels import LabelledItems, Labels, agreement, judged, labels_of
from metaeval.decisions.scores import PERCENT, data_of, item_sheet, scored
from metaeval.errors import UserError
from metaeval.report.cells import cell
from metaeval.report.notebook import Recorded
from metaeval.report.table import Note, Record, Table, TableRow, blocks_of, plain
from metaeval.runs.columns import Column
from metaeval.runs.metrics import MetricProgress
from metaeval.signature import signature, versions
from metaeval.stats.risk_control import answers_for_mean, effective_labels, labels_for

_QUANTILES = 201
_SETTINGS = ("chunk", "aggregate", "metric_options")
"""The settings of a run on which a score depends, and which the gate keeps."""


@dataclass(frozen=True)
class Fitted(Recorded):
    """The outcome of a fit. gate: None where no metric is good enough. needed, there: unsupported labels, and with the
    promise "mean" answers that have one.

    effective: as how many independent ones those that there are count where none is missed (with the first metric).
    wanted: labels of any level that the missing unsupported ones take, as common as they are; None: nothing would do.
    """

    terms: Terms = field(repr=False)
    gate: Gate | None
    candidates: tuple[Candidate, ...]
    needed: int
    there: int
    effective: float
    wanted: int | None
    items: Items = field(repr=False)
    labels: Labels = field(repr=False)
    notes: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...] = field(repr=False)

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """A mapping a metric: its threshold, what the labels say of it, and whether it is the gate."""
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
    """Find the first of the metrics, the cheapest first, and its threshold, that keep the terms (None: the usual ones).

    The promise holds with chance 1 - alpha over labels, the choice of metric (alpha is shared out) and threshold (in a
    fixed order) included; "mean" bounds the missed share of an answer on average, for one metric.

    Raises `UserError` for metrics that no promise holds for, and for labels without an unsupported, or a supported,
    citation.
    """
    terms = terms or Terms()
    max_missed, confident = terms.max_missed, terms.promise == "confidence"
    several = tuple(dict.fromkeys(metrics))
    if not several:
        raise UserError("No metric is asked for: name at least one, for example -m overlap.")
    if not confident and len(several) > 1:
        raise UserError(
            f"{len(several)} metrics are named; allowed: one, for a promise on the mean does not hold after a choice "
            f"among several: name one, for example -m {several[0]}."
        )
    config = (config or RunConfig()).model_copy(update={"metrics": several})
    items = items_of(answers, mapping)
    own = labels_of(labels, items, mapping)
    found = judged(items, own)
    good = (SupportLevel.FULL,) if terms.target == "full" else (SupportLevel.FULL, SupportLevel.PARTIAL)
    bad = found.label(*good) < 0.5
    there = int(bad.sum())
    if there in (0, bad.size):
        what = "no" if there == 0 else "no other than"
        raise UserError(
            f"{own.name} has {what} unsupported citations among {bad.size:,} labels: a gate is fitted on both kinds; "
            "label more ('metaeval label')."
        )
    columns = scored(items, config, progress)
    each = terms.alpha / len(columns)
    results = [
        candidate_of(column.name, cleared(column), items.groups, found.sample, bad, terms, each) for column in columns
    ]
    first = next((number for number, one in enumerate(results) if one.passes), None)
    gate = None
    if first is not None:
        gate = _gate(items, own, found, bad, columns[first], results[first], terms, config)
    more = [one.more for one in results if one.more is not None]
    rate = there / bad.size
    weight = 1 / found.sample.probability
    cluster = items.groups[found.sample.rows]
    score = cleared(columns[0])[found.sample.rows][bad]
    effective = float(effective_labels(score, cluster[bad], weight[bad], np.array([np.inf]))[0])
    bad_answers = int(np.unique(cluster[bad]).size)
    read = {"data": items.signed, "labels": f"sha256:{own.fingerprint[:12]}"}
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
        labels=own,
        notes=(
            ("items", f"{len(items.rows):,} citations of {data_of(items).groups:,} answers; {found.said}"),
            *(("read", text) for text in (*items.notes, *own.notes)),
            *((("annotators", agreed),) if (agreed := agreement(own)) else ()),
        ),
        signatures=tuple(signature({**read, **made_of(column), **promised, **used}) for column in columns),
    )


def _gate(
    items: Items,
    labels: Labels,
    found: LabelledItems,
    bad: Any,
    column: Column,
    candidate: Candidate,
    terms: Terms,
    config: RunConfig,
) -> Gate:
    chosen = candidate.chosen
    if chosen is None:
        raise ValueError("a gate takes a candidate that keeps the promise")
    weight, cluster = 1 / found.sample.probability, items.groups[found.sample.rows]
    fine = ~bad
    supported = cleared(column)[found.sample.rows][fine]
    supported_labels = effective_labels(supported, cluster[fine], weight[fine], np.array([chosen.threshold]))
    dumped = config.model_dump(mode="json")
    gate = Gate(
        metric=column.name,
        made=made_of(column),
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
                quantiles=[float(one) for one in np.quantile(values, np.linspace(0, 1, _QUANTILES))],
                effective=effective_number(values, items.groups),
            )
            for name, values in looks_of(items, column).items()
        },
        date=datetime.now(UTC).date().isoformat(),
    )
    return gate.model_copy(update={"hash": gate.content})


def fit_sentences(found: Fitted) -> list[str]:
    """What a fit found, in sentences: what the promise needs, and the gate or what would tell."""
    lines = [_needs(found)]
    if found.gate:
        gate = found.gate
        seen = f"{100 * gate.missed:.1f} % of these labels"
        lines.append(
            f"{plain(gate.metric)} keeps it: a citation with a score below {gate.threshold:.4g} is flagged. At most "
            f"{100 * gate.bound:.1f} % of the unsupported are missed{average(gate)} ({seen}); "
            f"{100 * gate.flagged:.0f} % of the supported are flagged too, and {100 * gate.precision:.0f} % of what is "
            "flagged is unsupported."
        )
        return lines
    wanted = f"about {found.wanted:,} more labels would tell" if found.wanted else _hopeless(found)
    lines.append(f"Not good enough with these labels: {wanted}.")
    return lines


def _needs(found: Fitted) -> str:
    most = f"{100 * found.terms.max_missed:g} %"
    if found.terms.promise == "mean":
        return (
            f"The promise on the mean (of an answer's unsupported citations at most {most} missed, on average over "
            f"answers and over labels) needs {found.needed} answers with an unsupported label, and no miss; there are "
            f"{found.there:,}."
        )
    labels = f"{found.there:,} unsupported labels"
    if found.effective < 0.95 * found.there:
        labels += f", which tell as much as {found.effective:.0f} independent ones"
    many = len(found.candidates)
    tests = f", shared by {many} metrics" if many > 1 else ""
    return (
        f"The promise (at most {most} of unsupported citations missed, with confidence "
        f"{100 * (1 - found.terms.alpha):g} %{tests}) needs {found.needed} unsupported labels without a single miss; "
        f"there are {labels}."
    )


def _hopeless(found: Fitted) -> str:
    known = [(one.best.missed, one.best.flagged, one.metric) for one in found.candidates if one.best]
    if not known:
        return f"every threshold flags more than {100 * found.terms.max_flagged:g} % of the supported"
    missed, flagged, metric = min(known, key=itemgetter(0))
    missed, flagged = 100 * missed, 100 * flagged
    return (
        f"no number of labels will help these metrics; {plain(metric)} misses least, {missed:.0f} % of the "
        f"unsupported where it flags {flagged:.0f} % of the supported: try another metric"
    )


def fit_sheet(found: Fitted) -> Table:
    """A line a metric: its last threshold that keeps the promise, else the one that misses least."""
    rows: list[TableRow] = []
    records = []
    names = ("threshold", "missed", "bound", "supported_flagged", "effective_labels")
    for one in found.candidates:
        at = one.chosen if one.passes else (one.best or one.chosen)
        chosen = bool(found.gate and found.gate.metric == one.metric)
        verdict = "gate" if chosen else "keeps it" if one.passes else "not told" if one.more else "no"
        numbers = (at.threshold, at.missed, at.bound, at.flagged, at.labels) if at else (None,) * 5
        threshold, missed, bound, flagged, _ = numbers
        shares = missed, bound, None if missed is None else 1 - missed, flagged, one.precision
        percents = (cell(value, column=PERCENT) for value in shares)
        rows.append(("", one.metric, (cell(threshold), *percents, verdict)))
        stored = (value if value is None or abs(value) < 1e300 else None for value in numbers)
        record: Record = {"metric": one.metric, **dict(zip(names, stored, strict=True)), "precision": one.precision}
        records.append({**record, "promise": verdict, "more_labels": one.more})
    return item_sheet(
        "gate-fit",
        "Gate for unsupported citations (%)",
        data_of(found.items),
        (
            "metric",
            ("threshold", "missed", "at most", "recall", "supported flagged", "precision", "promise"),
            blocks_of(rows),
        ),
        records,
        [Note(*note) for note in found.notes]
        + [
            Note("recall", "of unsupported citations: those that are flagged; precision: of flagged, the unsupported"),
            Note(
                "promise",
                "gate: taken, the first named that keeps it; keeps it: would do too, if named first; no: not with any "
                "number of labels; not told: more labels would tell",
            ),
        ],
        found.signatures,
    )
