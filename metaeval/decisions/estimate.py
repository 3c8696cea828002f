"""Estimates of citation quality from a metric's scores of all citations and people's labels of some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.citation.stated_answers import TITLES
from metaeval.core.config import RunConfig
from metaeval.core.errors import count
from metaeval.core.files import sha256_json, signature, versions
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.estimated_measures import (
    LABELS,
    RECALL,
    LabelEstimate,
    LabelRows,
    LabelSide,
    aligned_parts,
    citation_rows,
    claim_rows,
    difference_of,
    estimate_of,
    estimate_shares,
    none_labelled,
)
from metaeval.decisions.item_labels import agreement, labelled_sample, labels_of_each
from metaeval.decisions.item_scores import PERCENT, data_of, item_sheet, scored
from metaeval.decisions.sample_check import check_sample
from metaeval.report import result as results
from metaeval.report.data_frame import Recorded
from metaeval.report.result_tables import cell
from metaeval.report.table import Note, Record, Scalar, Table, TableRow, blocks_of, plain
from metaeval.runs.score import MetricProgress
from metaeval.stats.prediction_powered import Estimand

HEADINGS = ("estimate", "labels alone", "metric alone (biased)", "labels saved")


@dataclass(frozen=True)
class Estimates(Recorded):
    """Estimates of citation quality for one or two files.

    Parameters
    ----------
    estimates : tuple of LabelEstimate
        Of each measure and file.
    differences : tuple of LabelEstimate
        First file minus second, by measure.
    data : Data
        What was judged.
    settings : mapping
        What else the numbers depend on.
    notes : tuple of (str, str)
        Label and text of each note.
    signatures : tuple of str
        Everything that the numbers depend on.
    """

    estimates: tuple[LabelEstimate, ...]
    differences: tuple[LabelEstimate, ...]
    data: results.Data
    settings: Mapping[str, Scalar]
    notes: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...]

    @property
    def records(self) -> list[Record]:
        """One record for each estimate, then for each difference, with the values by labels alone and by PPI++."""
        return [estimate.record for estimate in (*self.estimates, *self.differences)]

    def __getitem__(self, measure: str) -> LabelEstimate:
        """Return the first file's estimate of a measure.

        Parameters
        ----------
        measure : str
            A key of `LABELS`.

        Returns
        -------
        LabelEstimate

        Raises
        ------
        KeyError
            Without one.
        """
        return {estimate.measure: estimate for estimate in reversed(self.estimates)}[measure]


def estimate(
    answers: Any,
    labels: Any = None,
    metric: str = "overlap",
    other: Any = None,
    estimand: Estimand = "set",
    mapping: Mapping[str, str] | None = None,
    assume_sample: bool = False,
    config: RunConfig | None = None,
    progress: MetricProgress | None = None,
    pipeline: str = "",
) -> Estimates:
    """Estimate the shares of full, partial and no support, precision and recall, by prediction-powered inference.

    answers, other: input of `items_of`; with both, differences are estimated too. labels: input of `labels_of`, for the
    items of both files. metric: name of a metric, a score file, or a column of the items' file. estimand: this set of
    answers, or the process that makes such answers. mapping: the heading of each role. assume_sample: do not check that
    the labelled items can be a sample. pipeline: alce or aliice, whose recall and precision are estimated, from labels
    of its questions.

    Raises `UserError` for unreadable input, and for labels that cannot be a sample of the items.
    """
    config = (config or RunConfig()).with_metrics([metric])
    level = config.interval.level
    files = [items_of(file, mapping, pipeline) for file in (answers, other) if file is not None]
    if len(files) == 2 and files[0].name == files[1].name:
        files = [replace(items, name=f"{items.name} ({number})") for number, items in enumerate(files, 1)]
    sides = []
    for items, file_labels in zip(files, labels_of_each(files, labels, mapping), strict=True):
        labelled = labelled_sample(items, file_labels)
        (column,) = scored(items, config, progress)
        sides.append(LabelSide(items, file_labels, labelled, column))
        if not assume_sample:
            check_sample(items, labelled, {column.name: sides[-1].score})
    three = any(side.labels.three for side in sides)
    rows = [claim_rows(side, of) if (of := side.items.claims) else citation_rows(side, three) for side in sides]
    shares = [{name: estimate_shares(mean, estimand, level) for name, mean in measures.items()} for measures in rows]
    estimates = [
        estimate_of(side, name, measures[name], *pair, estimand, level)
        for side, measures, measure_shares in zip(sides, rows, shares, strict=True)
        for name, pair in measure_shares.items()
    ]
    for side, measures in zip(sides, rows, strict=True):
        if not three and "full" in measures:
            estimates.append(none_labelled(side, "partial", measures["full"], estimand, level))
    names, order = [side.items.name for side in sides], list(LABELS)
    estimates.sort(key=lambda estimate: (names.index(estimate.system), order.index(estimate.measure)))
    differences = []
    if len(sides) == 2:
        for name in sorted(shares[0].keys() & shares[1].keys(), key=order.index):
            aligned = aligned_parts(sides, [measure_shares[name] for measure_shares in shares], estimand)
            differences.append(difference_of(sides, name, aligned))
    data, *others = (data_of(side.items) for side in sides)
    for second in others:
        sums = {name: getattr(data, name) + getattr(second, name) for name in ("statements", "documents", "citations")}
        fingerprint = sha256_json([data.fingerprint, second.fingerprint])
        named = {"name": f"{data.name}-{second.name}", "fingerprint": fingerprint, "levels": {}}
        data = data.model_copy(update={**sums, **named})
    return Estimates(tuple(estimates), tuple(differences), data, *_notes(sides, estimand, level, rows))


def _notes(
    sides: Sequence[LabelSide], estimand: Estimand, level: float, rows: Sequence[Mapping[str, LabelRows]]
) -> tuple[Mapping[str, Scalar], tuple[tuple[str, str], ...], tuple[str, ...]]:
    settings: dict[str, Scalar] = {"unit": "citation", "estimand": estimand, "level": level}
    if estimand == "set":
        population, jackknife = "these very answers (finite-population correction)", "what was drawn"
    else:
        population, jackknife = "the process that made these answers, of which they are a sample", "answers"
    interval = f"{100 * level:g} %, Wilson's form with t, variance by a jackknife over {jackknife}"
    notes = [
        ("estimand", population),
        ("interval", f"{interval}; it includes the metric's errors"),
        ("metric alone", "biased: the share of its decisions, with thresholds from these labels, as if it never erred"),
        ("labels saved", "how many more labels would be as precise without the metric; 0: it adds nothing here"),
    ]
    if not any(side.items.claims for side in sides):
        notes.append(("shares", "of citations; ALCE's precision also asks whether each is needed: --pipeline alce"))
    signatures = []
    for side, measures in zip(sides, rows, strict=True):
        items, labelled, labels = side.items, side.judged, side.labels
        name = f"{plain(items.name)}: " if len(sides) > 1 else ""
        lines = [("items", f"{items.counted}; {labelled.design}")]
        lines += [("read", text) for text in (*items.notes, *labels.notes)]
        if labelled.lost:
            lines.append(("not judged", f"{labelled.lost:,} drawn {items.what} are blank; taken as missing at random"))
        if missing := int(np.isnan(side.column.score).sum()):
            unscored = f"{count(missing, 'item')} without a score of {plain(side.column.name)}: their mean"
            lines.append(("unscored", unscored))
        if items.claims:
            lines += [
                ("judge", "full support is entailment; of two annotators or more, by more than half of them"),
                ("mean", f"over answers, of each answer's share, as {TITLES[items.claims.pipeline]} has it"),
            ]
            if items.uncited:
                lines.append(("recall", f"{count(len(items.uncited), 'claim')} without a passage: not supported"))
            if not any(key.endswith("precision") for key in measures):
                lack = "some claims with several citations lack a label that decides"
                lines.append(("precision", f"not estimated: {lack} (each citation alone, and the others without it)"))
        elif RECALL not in measures:
            why = "not estimated: only some citations of a statement are labelled (draw whole answers)"
            lines.append(("recall", why))
        elif items.uncited:
            lines.append(("recall", f"{count(len(items.uncited), 'statement')} without a citation: not supported"))
        if agreed := agreement(labels):
            lines.append(("annotators", agreed))
        notes += [(label, f"{name}{text}") for label, text in lines]
        settings |= {f"labels{name and ' of ' + items.name}": labels.fingerprint[:12]}
        scored_by = {key: value for key, value in side.column.fields.items() if key not in ("data", "levels")}
        fields: dict[str, object] = {"data": items.signed, "labels": f"sha256:{labels.fingerprint[:12]}"}
        fields |= {**(items.claims.fields if items.claims else {}), "design": labelled.unit, "estimand": estimand}
        fields |= {**scored_by, "interval": f"ppi-wilson-{level}", **versions("metaeval", "numpy", "scipy")}
        signatures.append(signature(fields))
    return settings, tuple(notes), tuple(signatures)


def estimate_sheet(estimates: Estimates) -> Table:
    """Return the table of the estimates, with a block for each file and one for differences."""
    several = len({estimate.system for estimate in estimates.estimates}) > 1
    rows: list[TableRow] = []
    for number, estimate in enumerate((*estimates.estimates, *estimates.differences)):
        signed = number >= len(estimates.estimates)
        title = f"difference: {estimate.system}" if signed else estimate.system if several else ""
        cells = (
            cell(estimate.value, estimate.low, estimate.high, PERCENT, signed=signed),
            cell(*estimate.alone, PERCENT, signed=signed),
            cell(estimate.metric_only, column=PERCENT),
            f"{estimate.saved:.0f}",
        )
        rows.append((plain(title), LABELS[estimate.measure], cells))
    statuses = [Note(LABELS[estimate.measure], estimate.status) for estimate in estimates.estimates if estimate.status]
    first = estimates.estimates[0]
    return item_sheet(
        "estimate",
        "Citation quality (%)",
        estimates.data,
        ("share of citations", HEADINGS, blocks_of(rows)),
        estimates.records,
        [*(Note(*note) for note in estimates.notes), *dict.fromkeys(statuses)],
        estimates.signatures,
        settings=estimates.settings,
        subtitle=f"{plain(estimates.data.name)}, {count(first.labels, 'label')}, {plain(first.metric)}",
    )
