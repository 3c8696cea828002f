"""What each measure is a mean of (shares of citations, recall of statements, a pipeline's recall and precision).

Its estimates: prediction-powered, from labels alone, and as PPI++ has it; and how many labels an interval takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from metaeval.citation.model import group_of
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.claims import TITLES, ClaimMeasure
from metaeval.decisions.items import Items
from metaeval.decisions.labels import LabelledItems, Labels
from metaeval.errors import UserError, shown
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

SHARES: Mapping[str, tuple[str, tuple[SupportLevel, ...]]] = {
    "full": ("full support", (FULL,)),
    "partial": ("partial support", (PARTIAL,)),
    "none": ("no support", (NONE,)),
    "precision": ("precision (full or partial)", (FULL, PARTIAL)),
}
"""What is estimated of citations: its label, and the levels that count."""

RECALL = "recall"
LABELS: Mapping[str, str] = {
    **{name: label for name, (label, _) in SHARES.items()},
    RECALL: "recall (statements in full)",
    **{
        f"{name}-{measure}": f"{title} {measure}"
        for name, title in TITLES.items()
        for measure in get_args(ClaimMeasure)
    },
}


@dataclass(frozen=True, eq=False)
class LabelSide:
    """One file of answers with its labels and the scores of one metric, of this name."""

    items: Items
    labels: Labels
    judged: LabelledItems
    score: Floats
    metric: str


@dataclass(frozen=True, eq=False)
class LabelRows:
    """What one measure is a mean of: labels of a sample of units of analysis, their scores and clusters.

    size: what each counts; None: all alike. settled: (K,) by cluster, what units that are known to be 0 count.
    """

    label: Floats
    score: Floats
    sample: Sample
    cluster: Ints
    metric_only: float | None
    size: Floats | None = None
    settled: Floats | None = None


def citation_rows(side: LabelSide, three: bool) -> dict[str, LabelRows]:
    """Shares of citations by level, and recall where the labels tell it; three: some label is partial."""
    found, groups = side.judged, side.items.groups
    rows = {
        name: LabelRows(found.label(*levels), side.score, found.sample, groups, _metric_only(side, levels))
        for name, (_, levels) in SHARES.items()
        if three or name not in ("partial", "precision")
    }
    recall = _recall_rows(side)
    return {**rows, RECALL: recall} if recall else rows


def _metric_only(side: LabelSide, levels: Sequence[SupportLevel]) -> float | None:
    """The share that the metric's decisions give, with the thresholds that fit the labels best; None for one label."""
    gold = np.rint(side.judged.level).astype(np.int64)
    if np.unique(gold).size < 2:
        return None
    if not side.labels.three:
        cuts = best_thresholds(side.score[side.judged.sample.rows], gold // 2, None, "macro-f1", 2)
        decided = 2 * decide(side.score, cuts)
    else:
        decided = decide(side.score, best_thresholds(side.score[side.judged.sample.rows], gold))
    return float(np.isin(decided, [int(one) for one in levels]).mean())


def _recall_rows(side: LabelSide) -> LabelRows | None:
    """Statements of which some citation is full; a statement without a citation is not. None where labels cannot say.

    A statement is labelled where all its citations are; their chance of that is known where whole answers were drawn,
    or where every statement has one citation.
    """
    items, found = side.items, side.judged
    statement = codes_of([row.statement_id for row in items.rows])
    n = int(statement.max()) + 1
    size = np.bincount(statement, minlength=n)
    if found.unit == "item" and int(size.max()) > 1:
        return None
    held = np.bincount(statement[found.sample.rows], minlength=n)
    whole = np.flatnonzero(held == size)
    best = np.zeros(n)
    np.maximum.at(best, statement[found.sample.rows], found.label(FULL))
    score = np.full(n, -np.inf)
    np.maximum.at(score, statement, side.score)
    first = np.zeros(n, dtype=np.int64)
    first[statement[::-1]] = np.arange(statement.size)[::-1]
    place = np.full(statement.size, -1)
    place[found.sample.rows] = np.arange(found.sample.size)
    own = place[first[whole]]
    unit = whole if found.unit == "item" else found.sample.unit[own]
    sample = Sample(whole, found.sample.probability[own], unit, found.sample.stratum[own])
    return LabelRows(best[whole], score, sample, items.groups[first], None, settled=_by_cluster(items, items.uncited))


def _by_cluster(items: Items, groups: Sequence[str], size: Floats | None = None) -> Floats:
    """(K,) the number of these groups in each cluster, or the sum of what they count."""
    code = {name: number for number, name in enumerate(items.clusters)}
    return np.bincount([code[one] for one in groups], size, len(code)).astype(np.float64)


def claim_rows(side: LabelSide) -> dict[str, LabelRows]:
    """Recall and precision of the pipeline whose questions are the items; precision where no answer to one is missing.

    Both are means over answers of each answer's share, as the pipeline's own, so that a claim counts by how many its
    answer has. Claims that nothing is asked of are settled: their marks point at no passage, or they have none.
    Raises `UserError` where no claim's recall is told.
    """
    items, sample = side.items, side.judged.sample
    claims = items.claims
    if claims is None:
        return {}
    full = side.judged.label(FULL) > 0.5
    place = {int(row): number for number, row in enumerate(sample.rows)}
    drawn = [[place[row] for row in one.items.values() if row in place] for one in claims.claims]
    groups = [group_of(one.answer) for one in claims.claims]
    cluster = {name: number for number, name in enumerate(items.clusters)}

    def people(item: int) -> bool | None:
        return bool(full[place[item]]) if item in place else None

    gold = full.astype(np.int64)
    cut = best_thresholds(side.score[sample.rows], gold, None, "macro-f1", 2)[0] if np.ptp(gold) else None
    found = {}
    for measure in get_args(ClaimMeasure):
        size = claims.sizes(measure)
        rows = [number for number, one in enumerate(claims.claims) if one.items and size[number] > 0]
        value = [claims.claims[row].value(measure, people, claims.untitled) if drawn[row] else None for row in rows]
        known = [number for number, one in enumerate(value) if one is not None]
        heard = sum(bool(drawn[row]) for row in rows)
        if not known or (measure == "precision" and len(known) < heard):
            continue
        own = np.array([drawn[rows[number]][0] for number in known])
        unit = sample.unit[own]
        chance = sample.probability[own] * (len(known) / heard)
        by_metric = None
        if cut is not None:
            says = (side.score >= cut).tolist()
            decided = [claims.claims[row].value(measure, says.__getitem__, claims.untitled) or 0.0 for row in rows]
            by_metric = float(size[rows] @ np.array(decided) / size.sum())
        settled = [row for row in np.flatnonzero(size > 0).tolist() if not claims.claims[row].items]
        found[f"{claims.pipeline}-{measure}"] = LabelRows(
            np.array([value[number] for number in known], dtype=np.float64),
            np.array([claims.claims[row].degree(measure, side.score, claims.untitled) for row in rows]),
            Sample(np.array(known), chance, unit, sample.stratum[own]),
            np.array([cluster[groups[row]] for row in rows]),
            by_metric,
            size[rows],
            _by_cluster(items, [groups[row] for row in settled], size[settled]),
        )
    if not found:
        several = next(one.names[0] for one in claims.claims if len(one.names) > 1)
        raise UserError(
            f"{side.labels.name} labels no claim with all its passages together, which recall takes: label these items "
            f"too (for example {shown(several)})."
        )
    return found


def estimated(rows: LabelRows, estimand: Estimand, level: float) -> tuple[Share, Share]:
    """What a measure is from labels and scores, and from labels alone; `UserError` where there are too few labels."""
    given = rows.label, rows.score, rows.sample, rows.cluster, estimand, level
    try:
        found = share(*given, size=rows.size), share(*given, use_scores=False, size=rows.size)
    except ValueError as error:
        raise UserError(f"Too few labels: {error}.") from error
    if rows.settled is None or not rows.settled.any():
        return found
    asked = np.bincount(rows.cluster, rows.size, rows.settled.size).astype(np.float64)
    one, alone = (with_zeros(each, asked, rows.settled, estimand, level) for each in found)
    return one, alone


def wald(rows: LabelRows, level: float) -> tuple[float, float, float] | None:
    """PPI++ as ppi-python computes it, with scores moved into 0 .. 1; None where every item is labelled."""
    rest = np.ones(rows.score.size, dtype=bool)
    rest[rows.sample.rows] = False
    spread = np.ptp(rows.score)
    if not rest.any() or spread == 0:
        return None
    guess = (rows.score - rows.score.min()) / spread
    if np.cov(guess[rows.sample.rows], rows.label)[0, 1] < 0:
        guess = 1 - guess
    found = ppi_mean(rows.label, guess[rows.sample.rows], guess[rest], 1 / rows.sample.probability, level=level)
    return found.value, found.low, found.high


def aligned_parts(
    sides: Sequence[LabelSide], found: Sequence[tuple[Share, Share]], estimand: Estimand
) -> list[list[Share]]:
    """Both files' shares with parts under common codes: answers to one question are drawn, and err, together.

    Where items were drawn apart in each file, no unit of the one is a unit of the other.
    """
    apart = estimand == "set" and any(side.judged.unit == "item" for side in sides)
    names = [side.items.clusters for side in sides]
    common = {name: number for number, name in enumerate(sorted({*names[0], *names[1]}))}
    aligned = []
    for number, (own, pair) in enumerate(zip(names, found, strict=True)):
        made = []
        for one in pair:
            if apart:
                parts = np.pad(one.parts, (number * found[0][0].parts.size, 0))
            else:
                parts = np.zeros(len(common))
                parts[[common[name] for name in own[: one.parts.size]]] = one.parts
            made.append(replace(one, parts=parts))
        aligned.append(made)
    return aligned


@dataclass(frozen=True)
class LabelEstimate:
    """One share: from labels and scores, from labels alone, and from the metric alone.

    measure: a key of `LABELS`. value, low, high: prediction-powered. alone: (value, low, high) of labels
    alone, the same kind of interval. metric_only: what the metric's own decisions add up to; biased by its errors.
    saved: labels that the metric stands for. wald: of PPI++ (value, low, high), which takes items as independent and
    as many.
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


def estimate_of(
    side: LabelSide, name: str, rows: LabelRows, found: Share, alone: Share, estimand: Estimand, level: float
) -> LabelEstimate:
    """What labels and scores, labels alone, and the metric alone say of one measure of one file."""
    independent = rows.size is None and (rows.settled is None or not rows.settled.any())
    return LabelEstimate(
        system=side.items.name,
        metric=side.metric,
        measure=name,
        value=min(max(found.value, 0.0), 1.0),
        low=found.low,
        high=found.high,
        alone=(alone.value, alone.low, alone.high),
        metric_only=rows.metric_only,
        lam=found.lam,
        saved=labels_saved(rows.label.size, found, alone, rows.score.size if estimand == "set" else None),
        labels=int(rows.label.size),
        items=int(rows.score.size),
        wald=wald(rows, level) if independent else None,
    )


def difference_of(
    sides: Sequence[LabelSide], name: str, pairs: Sequence[Sequence[Share]], level: float
) -> LabelEstimate:
    """The first file's value of a measure less the second's; pairs: of `aligned_parts`."""
    (one, one_alone), (other, other_alone) = pairs
    value, low, high = difference(one, other)
    variance = float((high - low) ** 2)
    alone = difference(one_alone, other_alone)
    labels = sum(side.judged.sample.size for side in sides)
    return LabelEstimate(
        system=f"{sides[0].items.name} less {sides[1].items.name}",
        metric=sides[0].metric,
        measure=name,
        value=value,
        low=low,
        high=high,
        alone=alone,
        metric_only=None,
        lam=(one.lam + other.lam) / 2,
        saved=max(0.0, labels * ((alone[2] - alone[1]) ** 2 / variance - 1)) if variance else 0.0,
        labels=labels,
        items=sum(len(side.items.rows) for side in sides),
    )
