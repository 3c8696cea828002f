"""Fit a gate: the cheapest metric and its threshold that keep a promise on unsupported citations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, cast

import numpy as np

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, count
from metaeval.core.files import signature, versions
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.citation_items import CitationItems, items_of
from metaeval.decisions.gate_check import average, drift_values, filled_below, metric_fields
from metaeval.decisions.gate_model import Candidate, Gate, Reference, Terms, candidate_of, effective_number
from metaeval.decisions.item_labels import ItemLabels, LabelledItems, agreement, labelled_sample, labels_of
from metaeval.decisions.item_scores import PERCENT, data_of, filled, item_sheet, scored
from metaeval.decisions.sample_check import check_sample
from metaeval.report.data_frame import Recorded
from metaeval.report.result_tables import cell
from metaeval.report.table import Note, Scalar, Table, TableRow, blocks_of, plain
from metaeval.runs.score import AlignedColumn, MetricProgress
from metaeval.stats.arrays import Bools
from metaeval.stats.risk_control import answers_for_mean, effective_labels, labels_for

_QUANTILES = 201
# The settings of a run on which a score depends; the gate stores them.
_SETTINGS = ("chunk", "aggregate", "metric_options")


@dataclass(frozen=True)
class Fitted(Recorded):
    """The outcome of a fit.

    Parameters
    ----------
    terms : Terms
        The error limits.
    gate : Gate or None
        None where no metric keeps the promise.
    candidates : tuple of Candidate
        The metrics that were scored.
    unscored : tuple of str
        Metrics that were not needed.
    needed, there : int
        Numbers of unsupported labels that the promise needs and that exist; with the promise "mean", of answers with
        such a label.
    effective : float
        The number of independent labels that the existing ones are worth, for the first metric.
    wanted : (float, float) or None
        The least number of further labels of any level that could do, and the largest that a metric would take (inf: no
        number would do), as in `Candidate.more`; None: no metric fails, or each is shown to miss too many.
    left : int
        Number of citations without a label.
    items : CitationItems
        What is judged.
    labels : ItemLabels
        People's labels.
    notes : tuple of (str, str)
        Label and text of each note.
    signatures : tuple of str
        Everything that the numbers depend on.
    """

    terms: Terms = field(repr=False)
    gate: Gate | None
    candidates: tuple[Candidate, ...]
    unscored: tuple[str, ...]
    needed: int
    there: int
    effective: float
    wanted: tuple[float, float] | None
    left: int
    items: CitationItems = field(repr=False)
    labels: ItemLabels = field(repr=False)
    notes: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...] = field(repr=False)

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """One record for each metric scored: threshold, shares in the labels, and whether the metric is the gate's."""
        return fit_sheet(self).records


def fit(
    answers: Any,
    labels: Any = None,
    metrics: Sequence[str] = ("overlap", "support-mini", "minilm-bertscore"),
    terms: Terms | None = None,
    mapping: Mapping[str, str] | None = None,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
    score_all: bool = True,
    assume_sample: bool = False,
) -> Fitted:
    """Find the first of `metrics` (name the cheapest first) and its threshold that keep the terms (None: the default).

    The promise holds with probability 1 - alpha over labels; this includes the choice of the metric (each has an equal
    share of alpha) and of the threshold (tested in a fixed order). The promise "mean" bounds the mean missed share of
    an answer, for one metric.

    score_all: whether metrics behind the first that keeps the terms are scored too. The gate does not depend on it, for
    each metric has the same share of alpha either way. assume_sample: do not check that the labelled items can be a
    random sample.

    Raises `UserError` for metrics that a promise does not allow, for labels of one kind only, and for labels that
    cannot be a sample of the items.
    """
    terms = terms or Terms()
    names = tuple(dict.fromkeys(metrics))
    if not names:
        raise UserError("No metric is given: name at least one, for example -m overlap.")
    if terms.promise == "mean" and len(names) > 1:
        why = f"{len(names)} metrics are given, and a promise on the mean takes one"
        raise UserError(f"{why}: name one, for example -m {names[0]}.")
    config = (config or RunConfig()).with_metrics(names)
    items = items_of(answers, mapping)
    people = labels_of(labels, items, mapping)
    labelled = labelled_sample(items, people)
    supported = (SupportLevel.FULL,) if terms.target == "full" else (SupportLevel.FULL, SupportLevel.PARTIAL)
    unsupported = labelled.label(*supported) < 0.5
    if unsupported.all() or not unsupported.any():
        some = "only" if unsupported.any() else "no"
        what = f"{some} unsupported citations among {count(unsupported.size, 'labelled one')}"
        raise UserError(f"The labels in {people.name} have {what}: label more, of both kinds ('metaeval label').")
    alpha, groups = terms.alpha / len(names), items.groups
    columns: list[AlignedColumn] = []
    candidates: list[Candidate] = []
    for column in scored(items, config, progress) if score_all else _one_by_one(items, config, progress):
        if str(column.fields.get("code")).endswith("@undeclared"):
            raise UserError(f"{column.name} declares no version to hold a gate to: add metaeval.metric(identity=...).")
        score = filled_below(column)
        columns.append(column)
        candidates.append(candidate_of(column.name, score, groups, labelled.sample, unsupported, terms, alpha))
        if candidates[-1].passes and not score_all:
            break
    if not assume_sample:
        check_sample(items, labelled, {column.name: filled(column) for column in columns})
    passing = next((pair for pair in zip(columns, candidates, strict=True) if pair[1].passes), None)
    gate = None
    if passing:
        column, candidate = passing
        gate = _gate(column, candidate, items, people, labelled, unsupported, terms, config)
    more = [candidate.more for candidate in candidates if candidate.more is not None]
    if terms.promise == "mean":
        there = int(np.unique(groups[labelled.sample.rows][unsupported]).size)
        needed, effective = cast("int", answers_for_mean(terms.max_missed)), float(there)
    else:
        there, effective = int(unsupported.sum()), candidates[0].labels
        needed = labels_for(terms.max_missed, alpha)
    notes = [("items", f"{items.counted}; {labelled.design}")]
    notes += [("read", text) for text in (*items.notes, *people.notes)]
    notes += [("annotators", agreed)] if (agreed := agreement(people)) else []
    read = {"data": items.signed, "labels": f"sha256:{people.fingerprint[:12]}"}
    named = ("promise", "max-missed", "max-flagged", "target", "max-unsupported")
    promised = {name: getattr(terms, name.replace("-", "_")) for name in named}
    promised |= {"may-fail": terms.alpha, "candidates": ",".join(names), **versions("metaeval", "numpy", "scipy")}
    return Fitted(
        terms=terms,
        gate=gate,
        candidates=tuple(candidates),
        unscored=names[len(columns) :],
        needed=needed,
        there=there,
        effective=effective,
        wanted=tuple(np.ceil(np.min(more, axis=0) / unsupported.mean()).tolist()) if more else None,
        left=len(items.rows) - unsupported.size,
        items=items,
        labels=people,
        notes=tuple(notes),
        signatures=tuple(signature({**read, **metric_fields(column), **promised}) for column in columns),
    )


def _one_by_one(items: CitationItems, config: RunConfig, progress: MetricProgress | None) -> Iterator[AlignedColumn]:
    """Yield the scores of each metric; a metric is scored only when its column is taken."""
    for name in config.metrics:
        others = {*config.metrics} - {name}
        options = {owner: values for owner, values in config.metric_options.items() if owner not in others}
        yield from scored(items, config.model_copy(update={"metrics": (name,), "metric_options": options}), progress)


def _gate(
    column: AlignedColumn,
    candidate: Candidate,
    items: CitationItems,
    labels: ItemLabels,
    labelled: LabelledItems,
    unsupported: Bools,
    terms: Terms,
    config: RunConfig,
) -> Gate:
    chosen = candidate.chosen
    if chosen is None:
        raise ValueError("a gate takes a candidate that keeps the promise")
    dumped = config.model_dump(mode="json")
    rows, weight = labelled.sample.rows[~unsupported], 1 / labelled.sample.probability[~unsupported]
    at_threshold = filled_below(column)[rows], items.groups[rows], weight, np.array([chosen.threshold])
    gate = Gate(
        metric=column.name,
        made=metric_fields(column),
        settings={key: dumped[key] for key in _SETTINGS},
        **asdict(terms),
        **{name: getattr(chosen, name) for name in ("threshold", "bound", "missed", "flagged")},
        precision=candidate.precision,
        unsupported_labels=chosen.labels,
        supported_labels=float(effective_labels(*at_threshold)[0]),
        labels=labels.fingerprint,
        items=items.fingerprint,
        labelled=int(unsupported.size),
        reference={
            name: Reference(
                quantiles=np.quantile(values, np.linspace(0, 1, _QUANTILES)).tolist(),
                effective=effective_number(values, items.groups),
            )
            for name, values in drift_values(items, column).items()
        },
        date=datetime.now(UTC).date().isoformat(),
    )
    return gate.model_copy(update={"hash": gate.content})


def fit_sentences(fitted: Fitted) -> list[str]:
    """Return sentences on a fit: what the promise needs, and the gate or what would help."""
    gate = fitted.gate
    if gate is None:
        return [_needs(fitted), f"Not good enough with these labels: {_help(fitted)}."]
    keeps = f"{plain(gate.metric)} keeps the promise: a citation with a score below {gate.threshold:.4g} is flagged."
    missed = f"At most {100 * gate.bound:.1f} % of the unsupported are missed{average(gate)}"
    flagged = f"{100 * gate.flagged:.0f} % of the supported are flagged too"
    precision = f"{100 * gate.precision:.0f} % of what is flagged is unsupported"
    of_labels = f"{100 * gate.missed:.1f} % of these labels"
    return [_needs(fitted), f"{keeps} {missed} ({of_labels}); {flagged}, and {precision}."]


def _needs(fitted: Fitted) -> str:
    most = f"{100 * fitted.terms.max_missed:g} %"
    if fitted.terms.promise == "mean":
        what = f"of an answer's unsupported citations at most {most} missed, on average over answers and over labels"
        needs = f"{fitted.needed} answers with an unsupported label, and no miss; there are {fitted.there:,}"
        return f"The promise on the mean ({what}) needs {needs}."
    labels = f"{fitted.there:,} unsupported labels"
    if fitted.effective < 0.95 * fitted.there:
        labels += f", which count as {fitted.effective:.0f} independent ones"
    many = len(fitted.candidates) + len(fitted.unscored)
    tests = f", shared by {many} metrics" if many > 1 else ""
    confidence = f"confidence {100 * (1 - fitted.terms.alpha):g} %"
    what = f"at most {most} of unsupported citations missed, with {confidence}{tests}"
    needs = f"{fitted.needed} unsupported labels without a single miss; there are {labels}"
    return f"The promise ({what}) needs {needs}."


def _help(fitted: Fitted) -> str:
    """Return what would help where no metric keeps the promise."""
    if fitted.wanted:
        left, (least, most) = fitted.left, fitted.wanted
        if least > left:
            others = f"labels of all other citations ({left:,}) would not do"
            return f"{others}; add answers, try another metric, or promise less"
        if most <= left:
            return f"about {least:,.0f} to {most:,.0f} more labels would do"
        enough = f"whether {count(left, 'further citation')} can be enough cannot be told yet"
        return f"at least about {least:,.0f} more labels are needed, and {enough}"
    known = [(row.best.missed, row.best.flagged, row.metric) for row in fitted.candidates if row.best]
    if not known:
        return f"every threshold flags more than {100 * fitted.terms.max_flagged:g} % of the supported"
    missed, flagged, metric = min(known, key=itemgetter(0))
    shares = f"{100 * missed:.0f} % of the unsupported where it flags {100 * flagged:.0f} % of the supported"
    return f"these metrics are shown to miss too many; {plain(metric)} misses least, {shares}: try another metric"


def fit_sheet(fitted: Fitted) -> Table:
    """Return a table with a row per metric scored: its `chosen` threshold, or `best` if it fails (see `Candidate`)."""
    rows: list[TableRow] = []
    records = []
    names = ("threshold", "missed", "bound", "supported_flagged", "effective_labels")
    for candidate in fitted.candidates:
        at = candidate.chosen if candidate.passes else (candidate.best or candidate.chosen)
        chosen = bool(fitted.gate and fitted.gate.metric == candidate.metric)
        verdict = "gate" if chosen else "keeps it" if candidate.passes else "open" if candidate.more else "no"
        numbers = (at.threshold, at.missed, at.bound, at.flagged, at.labels) if at else (None,) * 5
        threshold, missed, bound, flagged, _ = numbers
        percents = (cell(value, column=PERCENT) for value in (missed, bound, flagged, candidate.precision))
        rows.append(("", candidate.metric, (cell(threshold), *percents, verdict)))
        stored = (value if value is not None and np.isfinite(value) else None for value in numbers)
        record: dict[str, Scalar] = {"metric": candidate.metric, **dict(zip(names, stored, strict=True))}
        least, most = (None if number == np.inf else number for number in candidate.more or (np.inf, np.inf))
        record |= {"precision": candidate.precision, "promise": verdict}
        records.append(record | {"more_labels": least, "more_labels_at_most": most})
    alpha = f"{100 * fitted.terms.alpha:g} %"
    fits = f"; at most {alpha} of fits give a gate that breaks the promise; of those that give one, more can"
    fits = "" if fitted.terms.promise == "mean" else fits
    assumed = "citations of answers that are not named are independent, and no metric fails on whole answers"
    if not fitted.items.unnamed:
        few = "answers longer than those with a label hold few of the citations to come"
        assumed = f"a metric may fail on whole answers, and more often on long ones, but {few}"
    others = "keeps it: would do too; no: shown to miss too many; open: more labels could decide"
    unscored = []
    if fitted.unscored and fitted.gate:
        every = ",".join(plain(name) for name in (*(row.metric for row in fitted.candidates), *fitted.unscored))
        kept = f"{plain(fitted.gate.metric)} keeps the promise; -m {every} scores all"
        unscored.append(Note("not scored", f"{', '.join(map(plain, fitted.unscored))}: {kept}"))
    return item_sheet(
        "gate-fit",
        "Gate for unsupported citations (%)",
        data_of(fitted.items),
        ("metric", ("threshold", "missed", "at most", "supported flagged", "precision", "promise"), blocks_of(rows)),
        records,
        [Note(*note) for note in fitted.notes]
        + unscored
        + [
            Note("assumed", f"the labels are a random sample; {assumed}{fits}"),
            Note("missed", "of the unsupported citations, those not flagged; precision: of flagged, the unsupported"),
            Note("promise", f"gate: the first named that keeps it; {others}"),
        ],
        fitted.signatures,
    )
