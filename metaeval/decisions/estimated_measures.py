"""The measures that labels estimate: shares of citations, recall of statements, a pipeline's recall and precision.

Each is a mean; it is estimated by prediction-powered inference, from labels alone, and by PPI++.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import get_args

import numpy as np

from metaeval.citation.data_model import group_of
from metaeval.citation.stated_answers import TITLES
from metaeval.core.errors import UserError, shown
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.citation_items import CitationItems
from metaeval.decisions.claim_questions import ClaimMeasure, Claims
from metaeval.decisions.item_labels import ItemLabels, LabelledItems
from metaeval.decisions.item_scores import filled
from metaeval.report.table import Record, Scalar
from metaeval.runs.score import AlignedColumn
from metaeval.stats.arrays import Floats, Ints, codes_of
from metaeval.stats.decisions import best_thresholds, decide
from metaeval.stats.prediction_powered import (
    Estimand,
    Sample,
    Share,
    difference,
    labels_saved,
    ppi_mean,
    share,
    with_zeros,
)

FULL, PARTIAL, NONE = SupportLevel.FULL, SupportLevel.PARTIAL, SupportLevel.NONE

# The measures of citations: the label of each, and the levels that it counts.
SHARES: Mapping[str, tuple[str, tuple[SupportLevel, ...]]] = {
    "full": ("full support", (FULL,)),
    "partial": ("partial support", (PARTIAL,)),
    "none": ("no support", (NONE,)),
    "precision": ("any support (full or partial)", (FULL, PARTIAL)),
}

RECALL = "recall"
LABELS: Mapping[str, str] = {
    **{name: label for name, (label, _) in SHARES.items()},
    RECALL: "statements in full (recall)",
    **{
        f"{name}-{measure}": f"{title} {measure}"
        for name, title in TITLES.items()
        for measure in get_args(ClaimMeasure)
    },
}


@dataclass(frozen=True, eq=False)
class LabelSide:
    """One file of an estimate (one of two in a difference): items, labels, labelled sample, and one metric's scores."""

    items: CitationItems
    labels: ItemLabels
    judged: LabelledItems
    column: AlignedColumn

    @cached_property
    def score(self) -> Floats:
        """The scores of all items, (N,), with the mean of the known ones in place of missing ones."""
        return filled(self.column)


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The values that a measure averages: labels (n,) of sampled units, and scores and clusters (N,) of all units.

    Units are citations, statements or claims; sample.rows are indices of the N. metric_only: the measure by the
    metric's decisions alone; None: not known. size: (N,) weights of the units; None: equal weights. settled: (K,) by
    cluster, the total weight of further units, which are known to be 0.
    """

    label: Floats
    score: Floats
    sample: Sample
    cluster: Ints
    metric_only: float | None
    size: Floats | None = None
    settled: Floats | None = None


def citation_rows(side: LabelSide, three: bool) -> dict[str, LabelRows]:
    """Return, by measure, the rows of the shares of citations by level, and of recall if the labels determine it.

    three: whether labels use three levels; without, "partial" and "precision" are left out.
    """
    labelled, groups = side.judged, side.items.groups
    rows = {
        name: LabelRows(labelled.label(*levels), side.score, labelled.sample, groups, _metric_only(side, levels))
        for name, (_, levels) in SHARES.items()
        if three or name not in ("partial", "precision")
    }
    recall = _recall_rows(side)
    return {**rows, RECALL: recall} if recall else rows


def _metric_only(side: LabelSide, levels: Sequence[SupportLevel]) -> float | None:
    """Return the share by the metric's decisions alone, with the thresholds that fit the labels best.

    levels: those that count. None for labels of one level.
    """
    gold = np.rint(side.judged.level).astype(np.int64)
    if np.unique(gold).size < 2:
        return None
    labelled = side.score[side.judged.sample.rows]
    if side.labels.three:
        decided = decide(side.score, best_thresholds(labelled, gold))
    else:
        decided = 2 * decide(side.score, best_thresholds(labelled, gold // 2, "macro-f1", 2))
    return float(np.isin(decided, [int(level) for level in levels]).mean())


def _recall_rows(side: LabelSide) -> LabelRows | None:
    """Return the rows of recall (a citation fully supports the statement); None if the labels do not determine it.

    A statement without a citation is not supported. A statement is labelled where all its citations are; the
    probability of this is known if whole answers were drawn, or if every statement has one citation.
    """
    items, labelled = side.items, side.judged
    statement = codes_of([row.statement_id for row in items.rows])
    n = int(statement.max()) + 1
    size = np.bincount(statement, minlength=n)
    if labelled.unit == "item" and int(size.max()) > 1:
        return None
    held = np.bincount(statement[labelled.sample.rows], minlength=n)
    whole = np.flatnonzero(held == size)
    best = np.zeros(n)
    np.maximum.at(best, statement[labelled.sample.rows], labelled.label(FULL))
    score = np.full(n, -np.inf)
    np.maximum.at(score, statement, side.score)
    first = np.zeros(n, dtype=np.int64)
    first[statement[::-1]] = np.arange(statement.size)[::-1]
    place = np.full(statement.size, -1)
    place[labelled.sample.rows] = np.arange(labelled.sample.size)
    places = place[first[whole]]
    unit = whole if labelled.unit == "item" else labelled.sample.unit[places]
    sample = Sample(whole, labelled.sample.probability[places], unit, labelled.sample.stratum[places])
    return LabelRows(best[whole], score, sample, items.groups[first], None, settled=_by_cluster(items, items.uncited))


def _by_cluster(items: CitationItems, groups: Sequence[str], size: Floats | None = None) -> Floats:
    """Return the number of groups in each of the K clusters, or the sum of their weights `size`."""
    code = {name: number for number, name in enumerate(items.clusters)}
    return np.bincount([code[group] for group in groups], size, len(code)).astype(np.float64)


def claim_rows(side: LabelSide, claims: Claims) -> dict[str, LabelRows]:
    """Return, by measure, the rows of recall and precision of the pipeline of the items' claims.

    Precision is left out where a claim with labels lacks one that its precision needs. Both are means over answers of
    each answer's share, as in the pipeline, so that a claim's weight depends on the number of claims of its answer.
    Claims without items are settled: they have no mark that points at a passage. Raises `UserError` if the labels
    decide no recall.
    """
    items, sample = side.items, side.judged.sample
    full = side.judged.label(FULL) > 0.5
    place = {int(row): number for number, row in enumerate(sample.rows)}
    drawn = [[place[row] for row in claim.items.values() if row in place] for claim in claims.claims]
    groups = [group_of(claim.answer) for claim in claims.claims]
    cluster = {name: number for number, name in enumerate(items.clusters)}
    people = {row: bool(full[number]) for row, number in place.items()}
    gold = full.astype(np.int64)
    cut = best_thresholds(side.score[sample.rows], gold, "macro-f1", 2)[0] if np.ptp(gold) else None
    rows_by_measure = {}
    for measure in get_args(ClaimMeasure):
        size = claims.sizes(measure)
        rows = [number for number, claim in enumerate(claims.claims) if claim.items]
        of_rows = (claims.claims[row] if drawn[row] else None for row in rows)
        values = [claim and claim.value(measure, people.get, claims.untitled) for claim in of_rows]
        known = [number for number, value in enumerate(values) if value is not None]
        heard = sum(bool(drawn[row]) for row in rows)
        if not known or (measure == "precision" and len(known) < heard):
            continue
        places = np.array([drawn[rows[number]][0] for number in known])
        unit = sample.unit[places]
        chance = sample.probability[places] * (len(known) / heard)
        by_metric = None
        if cut is not None:
            says = (side.score >= cut).tolist()
            decided = [claims.claims[row].value(measure, says.__getitem__, claims.untitled) or 0.0 for row in rows]
            by_metric = float(size[rows] @ np.array(decided) / size.sum())
        settled = [row for row in np.flatnonzero(size > 0).tolist() if not claims.claims[row].items]
        rows_by_measure[f"{claims.pipeline}-{measure}"] = LabelRows(
            np.array([values[number] for number in known], dtype=np.float64),
            np.array([claims.claims[row].degree(measure, side.score, claims.untitled) for row in rows]),
            Sample(np.array(known), chance, unit, sample.stratum[places]),
            np.array([cluster[groups[row]] for row in rows]),
            by_metric,
            size[rows],
            _by_cluster(items, [groups[row] for row in settled], size[settled]),
        )
    if not rows_by_measure:
        several = max((claim.names for claim in claims.claims), key=len)[0]
        why = f"The labels in {side.labels.name} include no claim with all its passages together"
        raise UserError(f"{why}: label such items too (for example {shown(several)}).")
    return rows_by_measure


def estimate_shares(rows: LabelRows, estimand: Estimand, level: float) -> tuple[Share, Share]:
    """Return estimates of a measure from labels and scores, and from labels alone; `UserError` for too few labels."""
    of_rows = partial(share, rows.label, rows.score, rows.sample, rows.cluster, estimand, level, size=rows.size)
    try:
        shares = of_rows(), of_rows(use_scores=False)
    except ValueError as error:
        raise UserError(f"Too few labels: {error}. Label more items ('metaeval label' draws them).") from error
    if rows.settled is None or not rows.settled.any():
        return shares
    counted = np.bincount(rows.cluster, rows.size, rows.settled.size).astype(np.float64)
    powered, alone = (with_zeros(estimate, counted, rows.settled, estimand, level) for estimate in shares)
    return powered, alone


def wald(rows: LabelRows, level: float) -> tuple[float, float, float] | None:
    """Return (value, low, high) of PPI++ as ppi-python computes it, with scores scaled to 0 .. 1.

    None where every unit is labelled, or all scores are equal.
    """
    rest = np.ones(rows.score.size, dtype=bool)
    rest[rows.sample.rows] = False
    spread = np.ptp(rows.score)
    if not rest.any() or spread == 0:
        return None
    guess = (rows.score - rows.score.min()) / spread
    if np.cov(guess[rows.sample.rows], rows.label)[0, 1] < 0:
        guess = 1 - guess
    return ppi_mean(rows.label, guess[rows.sample.rows], guess[rest], 1 / rows.sample.probability, level=level)


def aligned_parts(
    sides: Sequence[LabelSide], shares: Sequence[tuple[Share, Share]], estimand: Estimand
) -> list[list[Share]]:
    """Return, for each of two files, its two estimates (`estimate_shares`) with `parts` by common codes of clusters.

    Answers to the same question are dependent. If items (not whole answers) were drawn and the estimand is "set", the
    files have no unit in common, and the codes of their clusters stay apart.
    """
    apart = estimand == "set" and any(side.judged.unit == "item" for side in sides)
    names = [side.items.clusters for side in sides]
    common = {name: number for number, name in enumerate(sorted({*names[0], *names[1]}))}

    def parts(number: int, estimate: Share) -> Floats:
        if apart:
            return np.pad(estimate.parts, (number * shares[0][0].parts.size, 0))
        aligned = np.zeros(len(common))
        aligned[[common[name] for name in names[number][: estimate.parts.size]]] = estimate.parts
        return aligned

    return [[replace(share, parts=parts(number, share)) for share in pair] for number, pair in enumerate(shares)]


@dataclass(frozen=True)
class LabelEstimate:
    """Estimates of one share: from labels and scores, from labels alone, and from the metric alone.

    Parameters
    ----------
    system, metric : str
        Name of the file, and of the metric.
    measure : str
        A key of `LABELS`.
    value, low, high : float
        Prediction-powered.
    alone : (float, float, float)
        (value, low, high) from labels alone.
    metric_only : float or None
        Share of the metric's decisions, biased by its errors.
    lam : float
        Weight of the scores.
    saved : float
        Number of labels that the metric saves.
    labels, items : int
        Numbers of labelled and of all units.
    wald : (float, float, float), optional
        (value, low, high) of PPI++, which takes units as independent.
    status : str
        How the interval was made where it is not the usual one.
    """

    system: str
    metric: str
    measure: str
    value: float
    low: float
    high: float
    alone: tuple[float, float, float]
    metric_only: float | None
    lam: float
    saved: float
    labels: int
    items: int
    wald: tuple[float, float, float] | None = None
    status: str = ""

    @property
    def record(self) -> Record:
        """Return the estimates as a record."""
        alone, wald = (self.alone, self.wald or (None,) * 3)
        fields: dict[str, Scalar] = {"system": self.system, "metric": self.metric, "measure": self.measure}
        fields |= {"value": self.value, "low": self.low, "high": self.high}
        fields |= zip(("labels_only", "labels_only_low", "labels_only_high"), alone, strict=True)
        fields |= {"metric_only": self.metric_only, "lambda": self.lam, "labels_saved": self.saved}
        fields |= {"labels": self.labels, "items": self.items, "status": self.status}
        return fields | dict(zip(("ppi", "ppi_wald_low", "ppi_wald_high"), wald, strict=True))


def estimate_of(
    side: LabelSide, name: str, rows: LabelRows, estimate: Share, alone: Share, estimand: Estimand, level: float
) -> LabelEstimate:
    """Return the estimates of one measure of one file. estimate: from labels and scores. alone: from labels alone."""
    independent = rows.size is None and (rows.settled is None or not rows.settled.any())
    return LabelEstimate(
        *(side.items.name, side.column.name, name),
        *(min(max(estimate.value, 0.0), 1.0), estimate.low, estimate.high),
        alone=(alone.value, alone.low, alone.high),
        metric_only=rows.metric_only,
        lam=estimate.lam,
        saved=labels_saved(rows.label.size, estimate, alone, rows.score.size if estimand == "set" else None),
        labels=int(rows.label.size),
        items=int(rows.score.size),
        wald=wald(rows, level) if independent else None,
    )


NO_LABEL = "no label has it: the upper end is what as many units without one leave possible"


def none_labelled(side: LabelSide, name: str, rows: LabelRows, estimand: Estimand, level: float) -> LabelEstimate:
    """Return the estimate 0 for a measure that no label counts, with an upper bound from the number of labels.

    The units are those drawn, of a process the answers (of n, 1 - (1 - level)^(1/n): the rule of three), with Kish's
    factor for their weights; the bound is 0 where every unit was drawn. rows: those of another measure.
    """
    weight = 1 / rows.sample.probability
    units = rows.sample.unit if estimand == "set" else rows.cluster[rows.sample.rows]
    number = np.unique(units).size * weight.sum() ** 2 / (weight**2).sum() / weight.size
    whole = estimand == "set" and bool((rows.sample.probability >= 1).all())
    high = 0.0 if whole else float(1 - (1 - level) ** (1 / number))
    bounds, labels, items = (0.0, 0.0, high), int(rows.label.size), int(rows.score.size)
    names = side.items.name, side.column.name, name
    return LabelEstimate(*names, *bounds, bounds, None, 0.0, 0.0, labels, items, status=NO_LABEL)


def difference_of(sides: Sequence[LabelSide], name: str, pairs: Sequence[Sequence[Share]]) -> LabelEstimate:
    """Return the first file's value of a measure minus the second's, with its interval. pairs: from `aligned_parts`."""
    (first, first_alone), (second, second_alone) = pairs
    value, low, high = difference(first, second)
    alone, variance = difference(first_alone, second_alone), float((high - low) ** 2)
    labels = sum(side.judged.sample.size for side in sides)
    return LabelEstimate(
        *(f"{sides[0].items.name} less {sides[1].items.name}", sides[0].column.name, name, value, low, high),
        alone=alone,
        metric_only=None,
        lam=(first.lam + second.lam) / 2,
        saved=max(0.0, labels * ((alone[2] - alone[1]) ** 2 / variance - 1)) if variance else 0.0,
        labels=labels,
        items=sum(len(side.items.rows) for side in sides),
    )
